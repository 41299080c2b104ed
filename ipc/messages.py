"""Every message that two processes exchange, and the values it carries.

A command is imperative and gets exactly one reply. A fact is past tense, carries its publisher's
sequence number and gets none. Ids, sender and sequence live in the envelope (`ipc/codec.py`), the
payload here is only what is said. All are frozen and refuse unknown fields. `docs/messages.md` is this
vocabulary as a protocol page; a test compares the two.
"""

from typing import Final, Literal

import msgspec

PROTOCOL_VERSION = 1
DISPLAY_LINES: Final = 301
"""Lines that a tool's output is told in, at most: those of both ends, and one that says what was left out."""
DIFFING: Final = ("patch",)
"""Tools that say in a diff what they do, before it in what they ask and after it in what they display."""

ActorName = Literal["supervisor", "parent", "plan_store", "worker", "ui", "headless", "client"]
PlanStatus = Literal["pending", "in_progress", "blocked", "done"]
ToolStatus = Literal["ok", "error", "denied", "cancelled"]
TurnStatus = Literal["completed", "failed", "limit", "cancelled"]
Mode = Literal["plan", "agent", "yolo"]
Level = Literal["info", "warning", "error"]
Decision = Literal["allow_once", "allow_session", "allow_always", "deny"]
DecidedBy = Literal["table", "rule", "mode", "grant", "person", "limit"]
DelegationStatus = Literal["completed", "partial", "failed"]
WorkerFault = Literal["out_of_memory", "internal_error"]
Verdict = Literal["verified", "claimed"]
Theme = Literal["auto", "dark", "light", "high-contrast"]
Glyphs = Literal["auto", "unicode", "ascii"]
Notify = Literal["auto", "title", "bell", "desktop", "off"]


class Value(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a message; never sent alone."""


# --- values ------------------------------------------------------------------------------------------


class PlanItem(Value, frozen=True):
    """One step of the plan, normalized: every field is present, empty ones are empty."""

    id: str
    """Stable, human-readable, unique in the plan: `inspect`, `run-tests`."""
    title: str
    """What the step achieves, one line."""
    status: PlanStatus
    """`blocked` means waiting for a person or a service."""
    details: str = ""
    """Short background, or empty."""
    dependencies: tuple[str, ...] = ()
    """Ids of items that come first."""
    next_action: str = ""
    """What happens next; empty only when done."""
    evidence: tuple[str, ...] = ()
    """What shows it is done: a command, a `file:line`; never a whole output."""
    verdicts: tuple[Verdict, ...] = ()
    """The store's verdict on each entry of `evidence`, in order; nothing a model can set."""


class Plan(Value, frozen=True):
    """The workspace plan: the tool result, the fact, the panel and the file are all this object."""

    version: int = 1
    """Version of the format."""
    revision: int = 0
    """Counts replacements of this workspace's plan."""
    updated_at: str = msgspec.field(default="", name="updatedAt")
    """UTC, milliseconds, `Z`; empty when there never was a plan."""
    reason: str = ""
    """Why the plan was last replaced."""
    session: str = ""
    """Id of the session that last replaced it; empty when a person or another program did."""
    items: tuple[PlanItem, ...] = ()
    """The steps in order, at most 20."""


class Deed(Value, frozen=True):
    """Something this session really did, as far as evidence may name it."""

    kind: Literal["command", "file"]
    """A shell command that was run, or a file that was read, searched or changed."""
    subject: str
    """The command on one line, or the path relative to the workspace."""
    ok: bool = True
    """Whether its last run succeeded."""
    first_line: int = 0
    """First line that was seen of a file; 0: all of it."""
    last_line: int = 0
    """Last line that was seen of a file; 0: up to its end."""


class SessionSummary(Value, frozen=True):
    """One session, for a list to choose from."""

    session_id: str
    """As in the log's file name."""
    started_at: str
    """UTC, milliseconds, `Z`."""
    model: str
    """As sent to the server."""
    turns: int
    """Prompts so far."""
    running: bool
    """Whether a process has it open."""
    first_prompt: str
    """Where it began; empty when nothing was asked yet."""
    changed_at: str = ""
    """When something last happened in it: UTC, milliseconds, `Z`."""


class Job(Value, frozen=True):
    """A process that a command left running, with all that belongs to it."""

    pid: int
    """Process id; names the job in `StopJob`."""
    command: str
    """The command that started it, on one line."""
    started_at: str
    """When that command began: UTC, milliseconds, `Z`."""


class PlanProblem(Value, frozen=True):
    """One broken rule of a refused plan."""

    item: str
    """The item as a person would point at it: `item 3 (id "verify")`, or `plan`."""
    rule: str
    """Stable code of the rule: `duplicate_id`, `second_in_progress`, ..."""
    message: str
    """What is wrong, with the value received and what is allowed."""
    fix: str
    """What to do about it, one sentence."""


class Usage(Value, frozen=True):
    """Tokens and money; sums of what the server reported."""

    prompt_tokens: int = 0
    """Tokens sent, cached ones included."""
    cached_tokens: int = 0
    """Of these, tokens the provider served from its prompt cache."""
    completion_tokens: int = 0
    """Tokens generated, reasoning included."""
    cost_usd: float | None = None
    """US dollars; null when no price is known."""


class Problem(Value, frozen=True):
    """What went wrong, for a person."""

    code: str
    """Stable, for scripts."""
    message: str
    """What happened, to what."""
    next_step: str = ""
    """What to do next."""


class ToolCall(Value, frozen=True):
    """A call as the model made it."""

    id: str
    """The provider's call id; the result carries the same."""
    name: str
    """The tool's name, unchecked."""
    arguments: str
    """The argument text as it came, unparsed."""


# --- what a model streams (provider -> turn loop, and parent -> worker) --------------------------------


class TextDelta(Value, frozen=True, tag=True):
    """A piece of the answer."""

    text: str
    """Any length, never empty."""


class ReasoningDelta(Value, frozen=True, tag=True):
    """A piece of the model's reasoning, where the server shows it."""

    text: str
    """Any length, never empty."""


class RetryScheduled(Value, frozen=True, tag=True):
    """The request failed before its first byte and will be sent again."""

    attempt: int
    """Number of the coming attempt, the first retry is 2."""
    delay_s: float
    """Seconds until it is sent."""
    reason: str
    """Why the last one failed, one line."""
    attempts: int = 0
    """How many attempts there are at most; 0 when that is not known."""


class ModelAnswer(Value, frozen=True, tag=True):
    """The whole answer, assembled; always the last piece of a stream."""

    text: str = ""
    """The content, empty when the model only called tools."""
    reasoning: str = ""
    """The reasoning, where the server shows it."""
    tool_calls: tuple[ToolCall, ...] = ()
    """In the order of the model, ids filled in and unique."""
    finish_reason: str = ""
    """As the server said: `stop`, `tool_calls`, `length`, ...; empty when it said nothing."""
    usage: Usage | None = None
    """Null when the server reports none."""
    echo: str = ""
    """JSON object of members that this server wants back with the message: its reasoning; empty: none."""


StreamEvent = TextDelta | ReasoningDelta | RetryScheduled | ModelAnswer


class Message(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag=True):
    """Base of all that is sent as a payload; the tag is the class name."""


# --- commands ------------------------------------------------------------------------------------------


class Command(Message, frozen=True):
    """An imperative; gets exactly one reply before the caller's deadline."""


class Ping(Command, frozen=True):
    """To any mailbox: are you there? Answered with `Pong`, also while work is going on."""


class GetSnapshot(Command, frozen=True):
    """To a publisher: everything published so far, shortened to what still matters. `Snapshot`."""


class Stop(Command, frozen=True):
    """To any mailbox: end in good order. `Accepted`, then the process exits."""

    reason: str
    """For the log and the person: `quit`, `left`, `suspend`, `SIGTERM`, ..."""


class StartTurn(Command, frozen=True):
    """To the parent: take this prompt. `Accepted`, or `Refused` with `turn_running`."""

    prompt: str
    """The user's text."""


class CancelTurn(Command, frozen=True):
    """To the parent: stop the running turn. `Accepted`, also when none runs."""


class SettleAsk(Command, frozen=True):
    """To the parent: the person's answer to an `AskRaised`. `Accepted` or `Refused`."""

    ask_id: str
    """As in the fact."""
    decision: Decision
    """For a question of the model: `allow_once` with the answer in `text`, or `deny`."""
    text: str = ""
    """The answer, or a sentence for the model that goes with a refusal."""
    by_person: bool = True
    """False when there is nobody who could have been asked: the text then is not theirs."""


class CompactConversation(Command, frozen=True):
    """To the parent: shorten the conversation now. `Accepted`, or `Refused` with `turn_running`."""

    focus: str = ""
    """What the summary shall keep above all, in the person's words; may be empty."""


class UndoTurn(Command, frozen=True):
    """To the parent: take back the last file changes of a turn that still stand. `Accepted` or `Refused`."""


class RedoTurn(Command, frozen=True):
    """To the parent: make the changes again that were taken back last. `Accepted` or `Refused`."""


class ListSessions(Command, frozen=True):
    """To the parent: the sessions of this workspace. `SessionsListed`."""


class OpenSession(Command, frozen=True):
    """To the parent: go on with another session of this workspace. `Accepted`, or `Refused`.

    The parent ends and comes back with that session; its facts begin anew.
    """

    session_id: str
    """As in `SessionsListed`."""


class StopJob(Command, frozen=True):
    """To the parent: end a background job and all that belongs to it. `Accepted` or `Refused`."""

    pid: int
    """As in `JobsChanged`."""


class ListPaths(Command, frozen=True):
    """To the parent: the files of the workspace that the ignore rules let in. `PathsListed`, or `Refused`."""


class ListPrompts(Command, frozen=True):
    """To the parent: what was prompted in this workspace before, in any session. `PromptsListed`."""


class ReplacePlan(Command, frozen=True):
    """To the plan store: replace the whole plan. `PlanStored` or `PlanRefused`."""

    reason: str
    """Why, one line."""
    items: tuple[PlanItem, ...]
    """All steps of the new plan."""
    based_on: int | None = None
    """The revision the caller saw; a different current one is refused as `stale_plan`. Null: any."""
    session_id: str = ""
    """The session that replaces it."""
    ledger: tuple[Deed, ...] = ()
    """What that session did, to check the evidence against."""


class GetPlan(Command, frozen=True):
    """To the plan store. `PlanStored` with the current plan."""


class ClearPlan(Command, frozen=True):
    """To the plan store: start over with no items. `PlanStored`."""


class StartDelegation(Command, frozen=True):
    """Parent to worker: work on this. `Accepted`, or `Refused` with `busy`."""

    agent_id: str
    """Minted by the parent: `subagent-7f3a`."""
    fork: memoryview
    """The parent's messages, encoded and joined by commas, system message first."""
    fork_count: int
    """How many messages `fork` holds."""
    opening: tuple[bytes, ...]
    """Encoded messages behind the fork: the bootstrap result and the instructions."""
    workspace: str
    """Absolute path of the workspace."""
    max_rounds: int
    """Most tool rounds of the delegation."""


class HandIn(Command, frozen=True):
    """Parent to worker: stop tools and request, and hand in what there is. `Accepted`.

    One last request to the model is left for that.
    """

    agent_id: str
    """As in `StartDelegation`."""


class CompleteModel(Command, frozen=True):
    """Worker to parent: send the fork plus this tail to the model. `ModelCompleted` or `Refused`."""

    agent_id: str
    """As in `StartDelegation`."""
    tail: tuple[bytes, ...]
    """Encoded messages behind the fork, the opening included."""


class InvokeTool(Command, frozen=True):
    """Worker to parent: run a call that needs the network. `ToolInvoked` or `Refused`."""

    agent_id: str
    """As in `StartDelegation`."""
    call: ToolCall
    """As the model made it; it has to stand in an answer that the parent relayed."""


class FinishDelegation(Command, frozen=True):
    """Worker to parent: the end of the delegation. `Accepted`; only then may the worker exit.

    There is no word in it: what was said, used and refused the parent knows, which relayed it.
    """

    agent_id: str
    """As in `StartDelegation`."""
    fault: WorkerFault | None = None
    """What only the worker can know of its end; null when there is nothing of that kind."""


# --- replies --------------------------------------------------------------------------------------------


class Reply(Message, frozen=True):
    """The one answer to a command."""


class Accepted(Reply, frozen=True):
    """Done, or begun."""


class Refused(Reply, frozen=True):
    """Not done; nothing has changed."""

    code: str
    """Stable: `unknown_message`, `bad_frame`, `wrong_version`, `too_large`, `not_for_me`, `busy`, ..."""
    message: str
    """What was refused and why."""
    next_step: str = ""
    """What to do about it."""


class Pong(Reply, frozen=True):
    """Alive."""

    actor: ActorName
    """Who answers."""
    pid: int
    """Its process id."""
    refused: dict[str, int]
    """Frames refused so far, by code."""


class PlanStored(Reply, frozen=True):
    """The plan as it now lies on disk."""

    plan: Plan
    """Complete and normalized."""


class PlanRefused(Reply, frozen=True):
    """The plan broke rules; file and panel are as before."""

    problems: tuple[PlanProblem, ...]
    """All of them, not only the first."""
    plan: Plan
    """The plan that still holds."""


class SessionsListed(Reply, frozen=True):
    """What there is to go on with."""

    sessions: tuple[SessionSummary, ...]
    """The latest first; the open one is among them."""


class PathsListed(Reply, frozen=True):
    """Files of the workspace."""

    paths: tuple[str, ...]
    """Relative to the workspace, sorted; a name that is no UTF-8 is left out."""
    is_cut: bool = False
    """Whether there are more than were listed."""


class PromptsListed(Reply, frozen=True):
    """Earlier prompts of this workspace, each once."""

    prompts: tuple[str, ...]
    """The newest first."""


class ModelCompleted(Reply, frozen=True):
    """The end of a `CompleteModel`; its stream came before as `ModelStreamed`."""

    answer: ModelAnswer
    """The whole answer."""


class ToolInvoked(Reply, frozen=True):
    """The end of an `InvokeTool`."""

    content: str
    """The result for the model."""
    status: ToolStatus
    """How it ended."""


class Snapshot(Reply, frozen=True):
    """The state of one publisher as the shortest list of facts that rebuilds it."""

    epoch: str
    """Names one life of the publisher; a new process has a new one."""
    seq: int
    """Facts up to this number are contained."""
    facts: tuple["AnyFact", ...]
    """Apply them in order to an empty state."""


# --- facts ----------------------------------------------------------------------------------------------


class Fact(Message, frozen=True):
    """Something that happened; numbered by its publisher."""


class Beat(Fact, frozen=True):
    """A publisher's heartbeat; carries the last number and uses none, so that a lost last fact shows."""


class ProcessStarted(Fact, frozen=True):
    """The supervisor started an actor."""

    actor: ActorName
    """Which one."""
    pid: int
    """Its process id."""


class ProcessExited(Fact, frozen=True):
    """An actor ended."""

    actor: ActorName
    """Which one."""
    pid: int
    """What its process id was."""
    status: int
    """Exit status, or minus the signal's number."""
    restarting: bool
    """Whether a successor is being started."""


class SessionOpened(Fact, frozen=True):
    """A session began or was opened again."""

    session_id: str
    """As in the log's file name."""
    workspace: str
    """Absolute path."""
    model: str
    """As sent to the server."""
    mode: Mode
    """Permission mode."""
    offline: bool
    """True when the built-in model answers."""
    context_window: int
    """Tokens; 0 when unknown."""
    system_sha256: str
    """Hex digest of the system message's bytes."""
    tools_sha256: str
    """Hex digest of the tools array's bytes."""
    first_turn: int = 1
    """Number of this run's first turn; earlier ones are what the session holds already."""


class ScreenConfigured(Fact, frozen=True):
    """How the person wants their screen; told before the session is opened."""

    theme: Theme = "auto"
    """Colours; `auto`: dark or light, as the terminal's background is."""
    glyphs: Glyphs = "auto"
    """Character set of signs and frames; `auto`: as the locale says."""
    mouse: bool = True
    """Whether wheel and clicks are ours; the terminal's own selection then needs Shift."""
    motion: bool = True
    """False: nothing on the screen moves but numbers."""
    notify: Notify = "auto"
    """How a waiting answer or question is told to who looks elsewhere; `auto`: title and desktop."""
    keys: dict[str, tuple[str, ...]] = {}
    """Name of an action to the keys that mean it, instead of its own ones."""


class TurnStarted(Fact, frozen=True):
    """A prompt was taken."""

    turn: int
    """Counts the session's prompts from 1."""
    prompt: str
    """The user's text."""


class MessageDelta(Fact, frozen=True):
    """A piece of the model's text."""

    turn: int
    """The running turn."""
    kind: Literal["text", "reasoning"]
    """Answer or reasoning."""
    text: str
    """Uncleaned: it is cleaned where it is drawn."""


class RequestDelayed(Fact, frozen=True):
    """A request to the model has failed and waits to be sent again."""

    attempt: int
    """Number of the coming attempt, the first retry is 2."""
    attempts: int
    """How many attempts there are at most; 0 when that is not known."""
    delay_s: float
    """Length of the whole wait, seconds."""
    until: float
    """When it ends: seconds of this machine's monotonic clock, so that no late listener counts anew."""
    reason: str
    """Why the last attempt failed, one line; empty for a subagent's, whose server may repeat what it read."""
    agent_id: str = ""
    """The subagent whose request it is; empty: the parent's own."""


class ToolStarted(Fact, frozen=True):
    """A tool call is being carried out."""

    call_id: str
    """The provider's id."""
    name: str
    """The tool's name."""
    summary: str
    """One line: path, command, query."""


class ToolPrinted(Fact, frozen=True):
    """A running tool has printed something; at most a few times a second."""

    call_id: str
    """The provider's id."""
    tail: str
    """The last lines of all its output so far; bounded, uncleaned."""


class ToolFinished(Fact, frozen=True):
    """A tool call has its result."""

    call_id: str
    """The provider's id."""
    name: str
    """The tool's name."""
    status: ToolStatus
    """How it ended."""
    duration_ms: int
    """Milliseconds from start to result."""
    display: str
    """For the person: both ends of the output, a diff, an error; bounded, uncleaned."""
    decided: str = ""
    """What the person has decided about it, as in `SettleAsk`; empty: they were not asked."""


class AskRaised(Fact, frozen=True):
    """An approval or a question waits for the person."""

    ask_id: str
    """To be sent back in `SettleAsk`."""
    kind: Literal["approval", "question"]
    """Whether a tool asks for leave, or the model for an answer."""
    tool: str
    """The tool's name."""
    title: str
    """One line: what is asked."""
    body: str
    """The command, the diff or the question in full; uncleaned."""
    options: tuple[str, ...] = ()
    """Suggested answers of a question."""
    grant: str = ""
    """What a yes for the session, or for good, would allow from then on; empty: only this once."""
    flag: str = ""
    """The arguments of `fido run` that would allow the same without asking; empty: there are none."""
    call_id: str = ""
    """The provider's id of the call that waits."""


class AskSettled(Fact, frozen=True):
    """An approval or a question was answered or has lapsed."""

    ask_id: str
    """As in `AskRaised`."""
    outcome: str
    """The decision, or `lapsed`."""


class UsageReported(Fact, frozen=True):
    """Tokens so far."""

    turn: Usage
    """This turn."""
    total: Usage
    """The session, subagents included."""
    subagent: Usage
    """The subagents' share of the total."""
    context_tokens: int
    """Size of the last request of the parent, tokens."""
    context_window: int = 0
    """Tokens that the model takes, as far as it is known by now; 0 when unknown."""


class CompactionStarted(Fact, frozen=True):
    """The conversation is being shortened."""

    automatic: bool
    """False when a person asked for it."""
    context_tokens: int
    """Size before, tokens; the server's number, else an estimate."""


class CompactionFinished(Fact, frozen=True):
    """The conversation was shortened, or stays as it is."""

    method: Literal["summary", "trim", "none"]
    """Summed up by the model, cut without it, or left as it is."""
    before_tokens: int
    """Size before, tokens; the server's number, else an estimate."""
    after_tokens: int
    """Size now, tokens, estimated."""
    detail: str = ""
    """For a person: why it was cut or left; empty when the model summed it up."""


class SubagentActivityChanged(Fact, frozen=True):
    """What the subagent does, as far as it is safe to show."""

    agent_id: str
    """Minted by the parent."""
    phase: str
    """`starting`, `reasoning`, a tool, `reviewing`; then `completed`, `partial`, `failed`, `cancelled`."""
    detail: str
    """One line, bounded."""
    elapsed_ms: int
    """Milliseconds since the delegation started, at this fact."""
    active: bool
    """False once it has ended."""
    usage: Usage = Usage()
    """What this delegation has used so far; the session's sum holds it, too."""
    queued: int = 0
    """Further delegations of the same message that wait for this one."""


class JobsChanged(Fact, frozen=True):
    """A command left something running, or it ended."""

    jobs: tuple[Job, ...]
    """All that run now, the oldest first."""


class NoticeRaised(Fact, frozen=True):
    """Something a person should know."""

    level: Level
    """How serious."""
    message: str
    """What happened and what to do, one or two sentences."""


class TurnFinished(Fact, frozen=True):
    """The turn is over."""

    turn: int
    """Which one."""
    status: TurnStatus
    """How it ended."""
    final_text: str
    """The answer; may be empty when it did not complete."""
    problem: Problem | None = None
    """Why it did not complete."""
    worked_s: int = 0
    """Whole seconds that it took, of a turn that took long; else 0."""


class PlanChanged(Fact, frozen=True):
    """The workspace plan was loaded, replaced or cleared."""

    plan: Plan
    """Complete and normalized."""


class ModelStreamed(Fact, frozen=True):
    """Parent to worker, on their private link: a piece of the answer to the running `CompleteModel`."""

    agent_id: str
    """As in `StartDelegation`."""
    event: StreamEvent
    """The piece."""


AnyCommand = (
    Ping | GetSnapshot | Stop | StartTurn | CancelTurn | SettleAsk | CompactConversation | UndoTurn | RedoTurn
    | ListSessions | OpenSession | StopJob | ListPaths | ListPrompts | ReplacePlan | GetPlan | ClearPlan
    | StartDelegation | HandIn | CompleteModel | InvokeTool | FinishDelegation
)  # fmt: skip
AnyReply = (
    Accepted | Refused | Pong | PlanStored | PlanRefused | SessionsListed | PathsListed | PromptsListed
    | ModelCompleted | ToolInvoked | Snapshot
)  # fmt: skip
AnyFact = (
    Beat | ProcessStarted | ProcessExited | ScreenConfigured | SessionOpened | TurnStarted | MessageDelta
    | RequestDelayed | ToolStarted | ToolPrinted | ToolFinished | AskRaised | AskSettled | UsageReported
    | CompactionStarted | CompactionFinished | SubagentActivityChanged | JobsChanged | NoticeRaised
    | TurnFinished | PlanChanged | ModelStreamed
)  # fmt: skip
AnyMessage = AnyCommand | AnyReply | AnyFact
