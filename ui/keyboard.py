"""Who a key is for: the overlay that is open, the ask that waits, or the composer and the rest."""

from typing import Literal

from ipc.messages import SettleAsk
from ui import key_names, keys
from ui.desk import Message
from ui.orders import Order
from ui.screen import Screen, too_small
from ui.widgets.approval import AskForm
from ui.widgets.recall import RecallList
from ui.widgets.row import Size


class Keyboard:
    """Gives each key to one taker and returns what is to be done."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._view = screen.view
        self._cleared = False
        """Whether the last key cleared the draft."""

    def press(self, size: Size, key: str) -> list[Order]:
        """Take one key. `size`: columns and rows of the screen."""
        screen, desk = self._screen, self._view.desk
        form = screen.form if desk.overlay is None else None
        answering = form is not None and form.armed
        desk.message = None
        cleared, self._cleared = self._cleared, False
        if isinstance(key, keys.Pasted):
            return self._paste(size, key)
        action = self._view.keymap.action_of(key)
        if action == "interrupt" and desk.overlay is None and not answering and screen.completer.close():
            return []
        if action == "interrupt":
            return self._interrupt(cleared=cleared)
        if action == "redraw":
            return ["redraw"]
        if action == "background":
            return self._hand_over("background")
        if too_small(size):
            return self._unseen(size, key, action)
        if desk.overlay is not None:
            return self._in_overlay(size, key, action)
        if desk.reading.active:
            taken = screen.transcript.press(size[0], key)
            if taken is not None:
                return taken
            answering = False  # a key that ends the reading is no answer
        if form is not None and answering:
            answer = form.answer_key(size[0], key)
            if isinstance(answer, SettleAsk):
                return self._settle(form, answer)
            return [] if answer is None else self._beside(size, key, action)
        if form is not None:
            form.grace.typed(self._view.clock())
        return self._beside(size, key, action)

    def _interrupt(self, *, cleared: bool) -> list[Order]:
        """Stop the turn; when nothing runs, clear the draft, and with the next key leave: then it is kept."""
        desk, editor = self._view.desk, self._screen.composer.editor
        idle = desk.overlay is None and not self._view.state.conversation.busy
        orders = desk.interrupt(self._view.state, self._view.clock())
        if idle and not orders and editor.edit_text:
            editor.clear()
            self._cleared = True
            undo, again = key_names.shown(keys.UNDO), self._view.keymap.shown("interrupt")
            desk.message = Message("info", f"Cleared; {undo} brings it back. {again} again leaves.")
        elif cleared and "leave" in orders:
            editor.undo()
        return orders

    def _hand_over(self, order: Literal["background", "edit"]) -> list[Order]:
        """Give the terminal to somebody else: what asks is out of sight then."""
        if self._screen.form is not None:
            self._screen.form.grace.covered()
        return [order]

    def _unseen(self, size: Size, key: str, action: keys.Action | None) -> list[Order]:
        """Take a key on a screen that shows nothing: it stops the turn or is text, and answers nothing."""
        screen, desk = self._screen, self._view.desk
        if action == "cancel":
            desk.close()
            desk.reading.leave()
            return desk.cancel(self._view.state)
        if action == "newline":
            screen.composer.editor.newline()
        elif action is None:
            screen.composer.keypress(size, key)
            return screen.completer.typed(key)
        return []

    def _paste(self, size: Size, pasted: keys.Pasted) -> list[Order]:
        """Give a paste to whoever takes text now; it never answers or chooses anything."""
        screen, desk = self._screen, self._view.desk
        form = screen.form if desk.overlay is None else None
        if desk.recall is not None:
            screen.recall.press(size[0], pasted)
        elif desk.reading.finding:
            screen.transcript.press(size[0], pasted)
        elif form is not None and form.answering == "writing":
            form.answer_key(size[0], pasted)
        elif screen.completer.press(size, pasted, None) is None:
            screen.composer.keypress(size, pasted)
            return screen.completer.typed(pasted)
        return []

    def _settle(self, form: AskForm, answer: SettleAsk) -> list[Order]:
        """Give an answer; a local command that was written as one is carried out, and the ask stays open."""
        desk = self._view.desk
        entered = keys.local_command(answer.text) if form.answering == "writing" else None
        if entered is not None and entered.command is not None:
            form.drop_sentence()
            return desk.submit(self._view.state, answer.text)
        if entered is not None and keys.nearest(entered.line) and not desk.knows(answer.text):
            return []
        return desk.settle(answer)

    def _in_overlay(self, size: Size, key: str, action: keys.Action | None) -> list[Order]:
        desk, overlay = self._view.desk, self._screen.overlay
        if action == "cancel" or (action in ("plan", "help") and desk.recall is None):
            desk.close()
        elif isinstance(overlay, RecallList):
            if session_id := overlay.press(size[0], key):
                self._screen.transcript.to_newest()
                return desk.open_session(session_id)
        elif overlay is not None and action in keys.SCROLLING:
            overlay.scroll(keys.SCROLLING[action])
        elif overlay is not None and key in keys.ENDS:
            overlay.scroll(key)
        return []

    def _beside(self, size: Size, key: str, action: keys.Action | None) -> list[Order]:
        """Take a key that is neither for an overlay nor an answer."""
        screen, desk, composer = self._screen, self._view.desk, self._screen.composer
        writing = screen.form is None or not screen.form.armed
        if writing and (orders := screen.completer.press(size, key, action)) is not None:
            return orders
        match action:
            case "send":
                return self._submit()
            case "cancel":
                if desk.outbox.edited is None:
                    return desk.cancel(self._view.state)
                desk.walk.end()
                composer.editor.restore(desk.outbox.leave())
                return desk.advance(self._view.state)
            case "edit":
                return self._hand_over("edit")
            case "drop_queued":
                if desk.outbox.edited is not None:
                    desk.walk.end()
                desk.message = Message("info", composer.drop_queued(desk.outbox))
            case "expand":
                said = composer.expand()
                desk.message = Message("info", said) if said else None
            case "newline":
                composer.editor.newline()
            case "leave" if not composer.editor.edit_text:
                return desk.leave(self._view.state)
            case "take_back":
                if desk.outbox.waiting:
                    composer.editor.restore(desk.walk.kept(composer.editor.draft()))
                    desk.walk.end()
                composer.take_back(desk.outbox)
            case "plan" | "help":
                desk.overlay = action
            case "recall":
                desk.pick()
                return desk.advance(self._view.state)
            case "browse" | "search" | "select":
                screen.transcript.begin(action)
            case "fold":
                desk.unfolded = not desk.unfolded
            case "page_up" | "page_down":
                screen.transcript.scroll(keys.SCROLLING[action])
            case "prompt_up" | "prompt_down":
                screen.transcript.jump(action)
            case "oldest":
                screen.transcript.to_oldest()
            case "newest":
                screen.transcript.to_newest()
            case "panel_up" | "panel_down":
                screen.panel.scroll(keys.SCROLLING[action])
            case _:
                return self._type(size, key)
        return []

    def _type(self, size: Size, key: str) -> list[Order]:
        composer = self._screen.composer
        if key == keys.HELP_IN_EMPTY_LINE and not composer.editor.get_edit_text():
            self._view.desk.overlay = "help"
            return []
        composer.keypress(size, key)
        return self._screen.completer.typed(key)

    def _submit(self) -> list[Order]:
        editor, desk = self._screen.composer.editor, self._view.desk
        if not desk.knows(editor.draft()):
            editor.select()
            return []
        written = editor.take()
        left = self._screen.completer.sent(written)
        if desk.outbox.edited is not None:
            if written.command is None:
                editor.restore(desk.outbox.put_back(written))
                return desk.advance(self._view.state)
            editor.restore(desk.outbox.leave())
        else:
            editor.restore(left)
        self._screen.transcript.to_newest()
        return desk.submit(self._view.state, written)
