"""What the person's acts mean: sending, queueing, stopping, leaving, local commands; pure.

Methods return the orders to carry out. What is being written is not here: nothing in this module can lose it.
"""

from dataclasses import dataclass, field
from typing import Final, Literal, assert_never

from ipc.messages import (
    CancelTurn,
    ClearPlan,
    CompactConversation,
    GetPlan,
    Level,
    ListPaths,
    ListPrompts,
    ListSessions,
    OpenSession,
    RedoTurn,
    SettleAsk,
    StartTurn,
    StopJob,
    UndoTurn,
)
from ipc.terminal_text import clean_line
from ui import keys
from ui.composer.draft import Draft
from ui.composer.files import Files
from ui.composer.history import History, Walk
from ui.composer.outbox import Outbox
from ui.composer.sending import Sending
from ui.orders import Copy, Order, Send
from ui.recall import Recall
from ui.state import Conversation, ViewState
from ui.transcript.copying import last_answer, last_code
from ui.transcript.reading import Reading

LEAVE_WINDOW_S: Final = 2.0
"""Seconds in which a second Ctrl-C leaves."""

Overlay = Literal["plan", "help", "usage", "jobs", "recall"]


@dataclass(frozen=True, slots=True)
class Message:
    """A line for the person above the composer; gone with the next key."""

    level: Level
    text: str

    @property
    def line(self) -> str:
        """The text where there is room for one row."""
        return " ".join(self.text.split())


SILENT: Final = (
    "The agent does not answer: it ended, was stopped, or is busy. "
    f"Wait, or press {keys.DEFAULT.shown('interrupt')} twice to leave."
)
"""Said for as long as it is so."""
_UNDOING: Final = Message("info", "Taking the last changes back.")
_REDOING: Final = Message("info", "Making the changes again.")


@dataclass(slots=True)
class Desk:
    """The person's side of the conversation, as far as the parent does not know it yet."""

    outbox: Outbox = field(default_factory=Outbox)
    """Messages that wait for the end of the turn."""
    sending: Sending = field(default_factory=Sending)
    """The prompt that is on its way to the parent."""
    taken_late: list[Draft] = field(default_factory=list)
    """What was given back to the person and has begun all the same; whoever takes it away clears it."""
    stopping: bool = False
    """Whether the running turn was asked to stop."""
    overlay: Overlay | None = None
    recall: Recall | None = None
    """The picker, while its overlay is open."""
    opening: str = ""
    """The session that was chosen and has not opened yet."""
    unfolded: bool = False
    """Whether thoughts, outputs and diffs are shown as a whole."""
    reading: Reading = field(default_factory=Reading)
    """How the transcript is read."""
    message: Message | None = None
    files: Files = field(default_factory=Files)
    """What can be completed behind an @."""
    history: History = field(default_factory=History)
    walk: Walk = field(default_factory=Walk)
    """Through the history, and back to the draft."""
    settled: set[str] = field(default_factory=set)
    """Asks whose answer is on its way."""
    pasting: bool = False
    """Whether a paste has begun and does not end: it takes every key."""
    held: bool = False
    """Whether the next message waits because the parent was still busy; whoever asks again clears it."""
    _stopping_jobs: dict[int, str] = field(default_factory=dict)
    """Jobs that are asked to end, as a person calls them, by process."""
    _turn_seen: int = 0
    _doubt: Message | None = None
    """The message that something may yet be done that got no answer."""
    _said: int = 0
    """How many blocks the transcript had when it was last looked at."""
    _keymap: keys.Keymap = keys.DEFAULT
    _leave_until: float = float("-inf")
    _leave_seen: bool = False
    """Whether the person was shown that once more leaves."""
    _dropped: int = 0
    """How many queued messages the person was told that leaving drops."""

    @property
    def queue(self) -> list[str]:
        """What waits to be sent, in full."""
        return [draft.whole for draft in self.outbox.waiting]

    def submit(self, state: ViewState, given: str | Draft) -> list[Order]:
        """Take what the person entered: a local command or a prompt. The text is used up."""
        draft = Draft(given) if isinstance(given, str) else given
        entered = draft.command
        if entered is not None and entered.command is not None:
            return self._local(entered.command, entered.words, state)
        if draft.whole.strip():
            self.sending.submitted(draft)
            self.outbox.add(draft)
        return self.advance(state)

    def knows(self, given: str | Draft) -> bool:
        """Tell whether `submit` can do something with a text; if not, say why."""
        draft = Draft(given) if isinstance(given, str) else given
        entered = draft.command
        if entered is None or entered.command is not None:
            return True
        meant = keys.nearest(entered.line)
        hint = f"Did you mean {meant}?" if meant else f"{self._keymap.shown('help')} lists them."
        self.message = Message(
            "warning",
            f"There is no command {clean_line(entered.line, 40)}. {hint} "
            "Type over it; with a space before it, it is sent as it is.",
        )
        return False

    def advance(self, state: ViewState) -> list[Order]:
        """Look at what has happened; send the next queued message when it is its turn."""
        talk, self._keymap = state.conversation, state.keymap
        if talk.turn != self._turn_seen:
            self._turn_seen = talk.turn
            self.stopping = self.held = False
        if not talk.busy:
            self.stopping = False
        self.settled &= talk.asks.keys()
        if talk.session is None:
            return []
        self._look_back(talk)
        orders: list[Order] = []
        if self.opening == talk.session.session_id:
            self.opening = ""
        if self.recall is not None and not self.recall.asked:
            self.recall.asked = True
            orders.append(ListSessions())
        waits = talk.busy or self.sending.current or self.held or self.opening or state.parent_lost
        if not waits and (following := self.outbox.next()) is not None:
            self.sending.begin(following, talk.session.session_id, talk.turn)
            orders.append(StartTurn(prompt=following.whole))
        return orders

    def _look_back(self, talk: Conversation) -> None:
        """See what became of orders; take back what is said of one that was carried out after all."""
        assert talk.session is not None
        late = self.sending.look(talk.session.session_id, talk.turn, talk.prompts)
        for sent in late:
            if not sent.again:
                self.taken_late.append(sent.draft)
            else:
                self.outbox.forget(sent.draft.whole)
        said = talk.transcript.dropped + len(talk.transcript.blocks)
        heard, self._said = said != self._said or talk.compacting is not None, said
        if self._doubt is not None and (late or heard):
            self.message = None if self.message is self._doubt else self.message
            self._doubt = None

    def pick(self) -> None:
        """Open the list of earlier sessions; it is asked for as soon as somebody can answer."""
        self.overlay, self.recall = "recall", Recall()

    def open_session(self, session_id: str) -> list[Order]:
        """Go on with another session; what waits to be sent was meant for this one."""
        self.close()
        if self.outbox:
            back = self._keymap.shown("take_back")
            self.message = Message("warning", f"{self._unsent}. {back} takes them back; then choose again.")
            return []
        self.opening = session_id
        return [OpenSession(session_id=session_id)]

    def close(self) -> None:
        """Close what lies over the screen."""
        self.overlay = self.recall = None

    def cancel(self, state: ViewState) -> list[Order]:
        """Do the one thing that Esc does now: close what is open, else stop the turn."""
        if self.overlay is not None:
            self.close()
            return []
        if not state.conversation.busy:
            return []
        self.stopping = True
        return [CancelTurn()]

    def interrupt(self, state: ViewState, now: float) -> list[Order]:
        """Do what Ctrl-C does now: as Esc, but pressed twice it leaves, with nothing to stop or nobody to."""
        stops = state.conversation.busy and not self.stopping and not state.cut_off
        if self.overlay is not None or stops:
            return self.cancel(state)
        if now < self._leave_until and self._leave_seen:
            self._leave_until = float("-inf")
            return ["leave"]
        self._leave_until, self._leave_seen = now + LEAVE_WINDOW_S, False
        dropped = f" {self._unsent}." if self.outbox else ""
        self.message = Message("info", f"Press {state.keymap.shown('interrupt')} again to leave.{dropped}")
        return self.cancel(state)

    def copy(self, text: str, missing: str) -> list[Order]:
        """Copy a text; of an empty one say what is `missing`."""
        if not text:
            self.message = Message("warning", missing)
            return []
        order = Copy(text)
        self.message = Message("info", f"Copied {order.size}, if the terminal allows it.")
        return [order]

    def leave(self, state: ViewState) -> list[Order]:
        """Leave, as from an empty line with a key; not while something runs that would end with it."""
        key = state.keymap.shown("leave")
        if state.conversation.busy and not state.cut_off:
            stop = state.keymap.shown("cancel")
            self.message = Message("info", f"Fido still works: {stop} stops the turn, then {key} leaves.")
            return []
        return self._leave("leave", key)

    def seen(self) -> None:
        """Note that what is said was drawn: keys that waited together are no answer to it."""
        self._leave_seen = True

    def settle(self, order: SettleAsk) -> list[Order]:
        """Answer an ask, once."""
        if order.ask_id in self.settled:
            return []
        self.settled.add(order.ask_id)
        return [order]

    def done(self, order: Send) -> None:
        """Note that what was ordered is done; where the parent does not say so itself, say it."""
        if isinstance(order, StartTurn):
            self.sending.accepted(order.prompt)
        elif isinstance(order, StopJob):
            self.message = Message("info", f"Stopped {self._stopping_jobs.pop(order.pid, 'the job')}.")
        elif self.message in (_UNDOING, _REDOING):
            self.message = None

    def failed(self, order: Send, code: str, message: str, next_step: str) -> Draft | None:
        """Note that an order was not carried out; return what is to be given back to the composer."""
        self.message = Message("error", f"{message} {next_step}".strip())
        match order:
            case StartTurn(prompt=prompt):
                return self._not_started(prompt, code)
            case SettleAsk(ask_id=ask_id, text=text):
                self.settled.discard(ask_id)
                if text and code == "ask_settled":
                    return Draft(text)
            case CancelTurn():
                self.stopping = False
            case OpenSession():
                self.opening = ""
            case ListSessions():
                self.close()
            case ListPaths():
                self.files.failed()
            case ListPrompts():
                self.history.asking = False
            case CompactConversation() | UndoTurn() | RedoTurn() if code == "no_answer":
                self._doubt = self.message = Message("error", f"{message} It may yet be carried out.")
            case GetPlan() | ClearPlan() | CompactConversation() | UndoTurn() | RedoTurn() | StopJob():
                pass
            case _:
                assert_never(order)
        return None

    def _not_started(self, prompt: str, code: str) -> Draft | None:
        """Queue a prompt again that was refused as another turn had begun; return any other one."""
        said, self.message = self.message, None
        if code == "turn_running":
            self.held = True
            if (refused := self.sending.refused(prompt)) is not None:
                self.outbox.begin_with([refused])
            return None
        if code != "no_answer":
            self.message = said
            return self.sending.refused(prompt)
        unanswered = self.sending.unanswered(prompt)
        if unanswered is not None and said is not None:
            doubt = f"{said.text} Your message is back here, and may yet be taken."
            self._doubt = self.message = Message("error", doubt)
        return unanswered

    def still_stopping(self, state: ViewState) -> str:
        """Return what a cancel waits for, as a line; empty when it waits for nothing that has a name."""
        running = state.conversation.transcript.running.values() if self.stopping else ()
        return ", ".join(f"{block.name}: {block.summary}".removesuffix(": ") for block in running)

    @property
    def _unsent(self) -> str:
        count = len(self.outbox)
        return "1 queued message is not sent" if count == 1 else f"{count} queued messages are not sent"

    def _leave(self, act: Literal["leave", "suspend"], said: str) -> list[Order]:
        """Leave; when that drops messages, only once the person was told, and says the same again."""
        if len(self.outbox) > self._dropped:
            self._dropped = len(self.outbox)
            self.message = Message("warning", f"{self._unsent}. {said} again leaves without.")
            return []
        return [act]

    def _stop_job(self, state: ViewState, number: str) -> list[Order]:
        jobs = state.conversation.jobs
        job = jobs.get(int(number)) if number.isascii() and number.isdecimal() and len(number) < 10 else None
        if job is None:
            which = ", ".join(map(str, jobs)) or "none"
            self.message = Message(
                "warning", f"There is no job {number!r}. Running: {which}; /jobs lists them."
            )
            return []
        self._stopping_jobs[job.pid] = f"job {int(number)}: {job.command}"
        self.message = Message("info", f"Stopping {self._stopping_jobs[job.pid]}")
        return [StopJob(pid=job.pid)]

    def _local(self, command: keys.LocalCommand, words: str, state: ViewState) -> list[Order]:
        match command:
            case "/plan":
                self.overlay = "plan"
                return [GetPlan()]
            case "/plan clear":
                return [ClearPlan()]
            case "/help":
                self.overlay = "help"
            case "/usage":
                self.overlay = "usage"
            case "/jobs":
                self.overlay = "jobs"
            case "/jobs stop":
                return self._stop_job(state, words)
            case "/copy":
                return self.copy(last_answer(state.conversation.transcript.blocks), "There is no answer yet.")
            case "/copy code":
                return self.copy(last_code(state.conversation.transcript.blocks), "No answer has code in it.")
            case "/recall":
                self.pick()
                return self.advance(state)
            case "/compact":
                return [CompactConversation(focus=words)]
            case "/undo":
                self.message = _UNDOING
                return [UndoTurn()]
            case "/redo":
                self.message = _REDOING
                return [RedoTurn()]
            case "/quit":
                return self._leave("leave", command)
            case "/suspend":
                return self._leave("suspend", command)
            case _:
                assert_never(command)
        return []
