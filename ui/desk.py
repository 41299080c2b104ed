"""What the person's acts mean: sending, queueing, stopping, leaving, local commands; pure.

Methods return the orders to carry out. The draft is not here: nothing in this module can lose it.
"""

from dataclasses import dataclass, field
from typing import Final, Literal

from ipc.messages import CancelTurn, ClearPlan, GetPlan, Level, SettleAsk, StartTurn
from ui import keys
from ui.state import ViewState

LEAVE_WINDOW_S: Final = 2.0
"""Seconds in which a second Ctrl-C leaves."""


Act = Literal["leave", "suspend", "redraw"]
"""What the process itself does: end the screen and its run, stop until `fg`, paint again."""
Send = StartTurn | CancelTurn | SettleAsk | GetPlan | ClearPlan
Order = Send | Act
Overlay = Literal["plan", "help"]


@dataclass(frozen=True, slots=True)
class Message:
    """A line for the person above the composer; gone with the next key."""

    level: Level
    text: str


@dataclass(slots=True)
class Desk:
    """The person's side of the conversation, as far as the parent does not know it yet."""

    queue: list[str] = field(default_factory=list)
    """Messages that wait for the end of the turn, oldest first."""
    sending: str | None = None
    """The prompt that is on its way to the parent."""
    stopping: bool = False
    """Whether the running turn was asked to stop."""
    overlay: Overlay | None = None
    message: Message | None = None
    settled: set[str] = field(default_factory=set)
    """Asks whose answer is on its way."""
    held: bool = False
    """Whether the next message waits because the parent was still busy; whoever asks again clears it."""
    _turn_seen: int = 0
    _leave_until: float = float("-inf")

    def submit(self, state: ViewState, text: str) -> list[Order]:
        """Take what the person entered: a local command or a prompt. The text is used up."""
        command = keys.local_command(text)
        if command is not None:
            return self._local(command)
        if text.strip():
            self.queue.append(text)
        return self.advance(state)

    def knows(self, text: str) -> bool:
        """Tell whether `submit` can do something with a text; if not, say why."""
        command = keys.local_command(text)
        if command is None or command in keys.LOCAL_COMMANDS:
            return True
        known = ", ".join(keys.LOCAL_COMMANDS)
        self.message = Message("warning", f"There is no command {command}. Commands are {known}.")
        return False

    def advance(self, state: ViewState) -> list[Order]:
        """Look at what has happened; send the next queued message when it is its turn."""
        talk = state.conversation
        if talk.turn != self._turn_seen:
            self._turn_seen = talk.turn
            self.sending, self.stopping, self.held = None, False, False
        if not talk.running:
            self.stopping = False
        self.settled &= talk.asks.keys()
        free = not (talk.running or self.sending or self.held or state.parent_lost)
        if not (free and self.queue and talk.session):
            return []
        self.sending = self.queue.pop(0)
        return [StartTurn(prompt=self.sending)]

    def cancel(self, state: ViewState) -> list[Order]:
        """Do the one thing that Esc does now: close what is open, else stop the turn."""
        if self.overlay is not None:
            self.overlay = None
            return []
        if not state.conversation.running:
            return []
        self.stopping = True
        return [CancelTurn()]

    def interrupt(self, state: ViewState, now: float) -> list[Order]:
        """Do what Ctrl-C does now: as Esc, but it leaves when it is pressed twice with nothing to stop."""
        if self.overlay is not None or (state.conversation.running and not self.stopping):
            return self.cancel(state)
        if now < self._leave_until:
            return ["leave"]
        self._leave_until = now + LEAVE_WINDOW_S
        self.message = Message("info", f"Press {keys.shown('interrupt')} again to leave.")
        return self.cancel(state)

    def settle(self, order: SettleAsk) -> list[Order]:
        """Answer an ask, once."""
        if order.ask_id in self.settled:
            return []
        self.settled.add(order.ask_id)
        return [order]

    def take_back(self) -> str:
        """Return the last queued message to the composer; empty when there is none."""
        return self.queue.pop() if self.queue else ""

    def failed(self, order: Send, code: str, message: str, next_step: str) -> str:
        """Note that an order was not carried out; return the text to give back to the composer."""
        self.message = Message("error", f"{message} {next_step}".strip())
        match order:
            case StartTurn(prompt=prompt):
                if self.sending != prompt:
                    self.message = None  # It was taken all the same: the turn has begun.
                    return ""
                self.sending = None
                if code != "turn_running":
                    return prompt
                self.queue.insert(0, prompt)
                self.held = True
                self.message = None
            case SettleAsk(ask_id=ask_id):
                self.settled.discard(ask_id)
            case CancelTurn():
                self.stopping = False
            case GetPlan() | ClearPlan():
                pass
        return ""

    def _local(self, command: str) -> list[Order]:
        match command:
            case "/plan":
                self.overlay = "plan"
                return [GetPlan()]
            case "/plan clear":
                return [ClearPlan()]
            case "/help":
                self.overlay = "help"
            case "/quit":
                return ["leave"]
        return []
