"""Keys that complete what is being written, or bring back what was written before."""

from typing import Final, Literal

from ipc.messages import ListPaths, ListPrompts
from ui import keys
from ui.composer import completion
from ui.composer.completion import Choice, Token
from ui.composer.composer import Composer
from ui.composer.draft import Draft
from ui.composer.editor import LineEditor
from ui.composer.history import Search
from ui.orders import Order
from ui.view import View
from ui.widgets.row import Size

PAGE: Final = 8
"""Choices that a page key passes over."""
_STEPS: Final[dict[keys.Action | None, int]] = {
    "choose_up": -1,
    "choose_down": 1,
    "page_up": -PAGE,
    "page_down": PAGE,
}


class Completer:
    """What is offered above the composer: choices for what is typed, or earlier prompts."""

    def __init__(self, view: View, composer: Composer) -> None:
        self._view = view
        self._composer = composer
        self.token: Token | None = None
        self.choices: list[Choice] = []
        self.chosen = 0
        self.search: Search | None = None
        self.search_line = LineEditor(multiline=False)
        self._closed_at: int | None = None
        """Where the token begins that the person wanted no choices for."""
        self._seen = ("", 0)
        self._files_seen = self._prompts_seen = 0
        self._walking = False
        """Whether the last key was a step of the walk: then the next one is, wherever the cursor stands."""
        self._steps_due = 0
        """Steps back that wait for the list of prompts, and go from what was written then."""
        self._steps_from = ("", 0)

    @property
    def offers(self) -> Literal["nothing", "choices", "prompts"]:
        """What the next key may choose of."""
        if self.search is not None:
            return "prompts"
        return "choices" if self.choices else "nothing"

    @property
    def is_open(self) -> bool:
        """Whether something is offered, or will be in a moment."""
        files = self._view.desk.files
        loading = self.token is not None and self.token.kind == "file" and not files.paths and files.asking
        return self.search is not None or bool(self.choices) or loading

    def close(self) -> bool:
        """Close what is offered; return whether there was anything."""
        was_open = self.is_open
        if self.search is not None:
            self.search = None
        elif self.token is not None:
            self._closed_at = self.token.start
            self._offer(None)
        return was_open

    def move(self, steps: int) -> None:
        """Choose the one so many rows further down; of prompts the older ones stand above."""
        if self.search is not None:
            self.search.move(-steps)
        else:
            self.choose(self.chosen + steps)

    def choose(self, at: int) -> None:
        """Choose the one at a place in the list, or the last before it."""
        if self.search is not None:
            self.search.move(at - self.search.chosen_at)
        else:
            self.chosen = max(0, min(at, len(self.choices) - 1))

    def changed(self) -> None:
        """Take up what has come since: files, prompts."""
        files, history = self._view.desk.files, self._view.desk.history
        if self.token is not None and self._written != self._seen:
            self._stay_closed()  # the text was replaced, by another key or from elsewhere
        if files.count != self._files_seen:
            self._files_seen = files.count
            if self.token is not None and self.token.kind == "file":
                self._offer(self.token)
        if self.search is not None and history.count != self._prompts_seen:
            self.search.again()
        self._prompts_seen = history.count
        if self._steps_due and not history.asking:
            steps, self._steps_due = self._steps_due, 0
            for _ in range(steps if self._steps_from == self._written else 0):
                self._step(older=True)

    def press(self, size: Size, key: str, action: keys.Action | None) -> list[Order] | None:
        """Take a key that is for what is offered, or that opens it; None when it is for others."""
        listed = self._view.keymap.action_of(key, "list")
        walking, self._walking = self._walking, False
        if self.search is not None:
            return self._search(size, key, action, listed)
        if self.choices and (orders := self._choose(action, listed)) is not None:
            return orders
        if listed == "cancel" and self.close():
            return []
        match action:
            case "history":
                return self._open_search()
            case "complete":
                return self._complete()
            case "line_up" | "line_down":
                if not walking and self._composer.keypress(size, key) is None:
                    return self.typed()
                return self._older() if action == "line_up" else self._newer()
            case _:
                return None

    def typed(self, key: str = "") -> list[Order]:
        """Look at what is written now, after the composer took a key."""
        editor = self._composer.editor
        before, self._seen = self._seen, (editor.edit_text, editor.edit_pos)
        if before == self._seen:
            return []
        token = completion.token_at(*self._seen)
        if token is None:
            self._closed_at = None
        elif token.start == self._closed_at or isinstance(key, keys.Pasted):
            token = None
        elif before[0] == self._seen[0] and self.token is None:
            token = None  # the cursor has only moved
        return self._offer(token)

    def sent(self, written: Draft) -> Draft:
        """Note that what was written is used up; return the draft that was left for it."""
        if written.command is None:
            self._view.desk.history.add(written.whole)
        self._seen, self._closed_at, self._steps_due = ("", 0), None, 0
        self._offer(None)
        return self._view.desk.walk.end()

    # --- choices for what is typed

    def _offer(self, token: Token | None) -> list[Order]:
        self.token, self.chosen, self.choices = token, 0, []
        if token is None:
            return []
        files = self._view.desk.files
        self.choices = completion.choices(token, files.paths, self._words())
        return [ListPaths()] if token.kind == "file" and files.ask(self._view.clock()) else []

    def _words(self) -> completion.Words:
        jobs = self._view.state.conversation.jobs
        return {"/jobs stop": [(str(number), job.command) for number, job in jobs.items()]}

    def _choose(self, action: keys.Action | None, listed: keys.Action | None) -> list[Order] | None:
        if listed in _STEPS:
            self.move(_STEPS[listed])
            return []
        return self._take(enter=action == "send") if listed == "take" else None

    def _complete(self) -> list[Order] | None:
        """Offer what was closed, or what is there to complete without having been typed just now."""
        token = completion.token_at(*self._written)
        if token is None:
            return None
        self._closed_at = None
        return self._offer(token)

    def _take(self, *, enter: bool) -> list[Order] | None:
        """Take the chosen one; None when Enter is to send what is written then."""
        token, choice, editor = self.token, self.choices[self.chosen], self._composer.editor
        assert token is not None
        text = editor.edit_text
        if enter and completion.is_written_out(token, choice, text):
            self._offer(None)
            return None
        put = completion.put_in(token, choice, text[token.end :], deeper=not enter)
        editor.replace(token.start, token.end, put)
        if enter and completion.is_carried_out(token, choice):
            self._offer(None)
            return None
        self._seen = self._written
        goes_on = put.endswith((" ", "/")) if token.kind == "command" else choice.is_folder and not enter
        return self._offer(completion.token_at(*self._seen) if goes_on else None)

    @property
    def _written(self) -> tuple[str, int]:
        return self._composer.editor.edit_text, self._composer.editor.edit_pos

    # --- earlier prompts

    def _older(self) -> list[Order]:
        history = self._view.desk.history
        if history.count and not history.asking:
            self._step(older=True)
            return []
        self._steps_due = self._steps_due + 1 if self._steps_from == self._written else 1
        self._steps_from = self._written
        return self._ask_for_prompts()

    def _step(self, *, older: bool) -> None:
        editor, desk = self._composer.editor, self._view.desk
        now = editor.draft()
        draft = desk.walk.older(desk.history, now) if older else desk.walk.newer(now)
        if draft is not None:
            editor.restore(draft)
        self._walking = True
        self._stay_closed()

    def _newer(self) -> list[Order]:
        self._step(older=False)
        return []

    def _open_search(self) -> list[Order]:
        history = self._view.desk.history
        self._offer(None)
        self.search, self.search_line = Search(history), LineEditor(multiline=False)
        return self._ask_for_prompts()

    def _ask_for_prompts(self) -> list[Order]:
        asking, self._view.desk.history.asking = self._view.desk.history.asking, True
        return [] if asking else [ListPrompts()]

    def _search(
        self, size: Size, key: str, action: keys.Action | None, listed: keys.Action | None
    ) -> list[Order] | None:
        assert self.search is not None
        if action == "history":
            self.search.move(1)
        elif listed in _STEPS:
            self.move(_STEPS[listed])
        elif listed == "cancel":
            self.close()
        elif listed == "take":
            self._take_found(self.search.chosen)
        elif listed is not None:
            return None
        elif action is None:
            self.search_line.type(size[0], key)
            self.search.look_for(self.search_line.edit_text)
        return []

    def _take_found(self, found: str | None) -> None:
        if found is not None:
            editor, desk = self._composer.editor, self._view.desk
            editor.restore(desk.walk.jump(desk.history, found, editor.draft()))
            self._walking = True
            self._stay_closed()
            self.search = None

    def _stay_closed(self) -> None:
        """Offer nothing for a text that was not typed."""
        self._seen = self._written
        self._offer(None)
