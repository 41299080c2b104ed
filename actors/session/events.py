"""The events of a session: everything that is worth keeping, each understandable alone.

The conversation, the transcript, the plan strip and the usage of a session are folds of these and of
nothing else. Unknown fields are ignored and unknown events skipped, so that an older Fido reads what a
newer one wrote.
"""

from typing import Literal

import msgspec

from ipc.messages import (
    DecidedBy,
    DelegationStatus,
    Level,
    Mode,
    Plan,
    Problem,
    ToolStatus,
    TurnStatus,
    Usage,
)

LOG_VERSION = 1


class Event(msgspec.Struct, frozen=True, kw_only=True, tag=True, gc=False):
    """One line of the log; the tag is the class name."""


class SessionStarted(Event, frozen=True):
    """The first event of every log."""

    session_id: str
    """As in the file's name."""
    workspace: str
    """Absolute path."""
    model: str
    """As sent to the server."""
    mode: Mode
    """Permission mode at the start."""
    at: str
    """UTC, milliseconds, `Z`."""
    system_sha256: str
    """Hex digest of the system message's bytes."""
    tools_sha256: str
    """Hex digest of the tools array's bytes."""
    version: int = LOG_VERSION
    """Version of this format."""


class PromptTaken(Event, frozen=True):
    """A turn began."""

    turn: int
    """Counts the session's prompts from 1."""
    text: str
    """The user's text."""
    at: str
    """UTC, milliseconds, `Z`."""
    run_id: str = ""
    """The run that began with this prompt; empty for one that was typed."""
    asides: tuple[str, ...] = ()
    """What Fido told the model behind it."""


class MessageAppended(Event, frozen=True):
    """The conversation grew by one message."""

    turn: int
    """The running turn; 0 before the first."""
    message: msgspec.Raw
    """The very bytes that are sent to the provider."""


class CallStarted(Event, frozen=True):
    """A tool call is about to be carried out; written before anything happens."""

    turn: int
    """The running turn."""
    call_id: str
    """The provider's id."""
    name: str
    """The tool's name."""
    arguments: str
    """As the model sent them."""
    summary: str = ""
    """One line for the screen."""


class CallEnded(Event, frozen=True):
    """A tool call has its result."""

    turn: int
    """The running turn."""
    call_id: str
    """The provider's id."""
    name: str
    """The tool's name."""
    status: ToolStatus
    """How it ended."""
    duration_ms: int
    """Milliseconds from start to result."""
    display: str = ""
    """What the person saw of it."""


class PlanWritten(Event, frozen=True):
    """The plan store acknowledged a plan; never a message of the conversation."""

    turn: int
    """The running turn; 0 when a person did it between turns."""
    plan: Plan
    """Complete and normalized."""


class ConversationCompacted(Event, frozen=True):
    """The conversation was replaced by a shorter one; what it was stands in the events before."""

    turn: int
    """The running turn, or the last one."""
    messages: tuple[msgspec.Raw, ...]
    """The whole new conversation behind the system message, as it is sent to the provider."""
    method: Literal["summary", "trim"]
    """Summed up by the model, or cut without it."""
    before_tokens: int
    """Size before, tokens; the server's number, else an estimate."""
    after_tokens: int
    """Size of the new conversation, tokens, estimated."""


class FileState(msgspec.Struct, frozen=True, kw_only=True):
    """What stood at a path."""

    kind: Literal["file", "folder", "link"]
    """A regular file, a folder, a symbolic link."""
    mode: int = 0
    """Permission bits; of a link 0."""
    content: str = ""
    """Name of the kept content of a file (hex SHA-256), or where a link leads."""


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """One path before and after."""

    path: str
    """Relative to the workspace; bytes that are no UTF-8 as surrogates are escaped."""
    before: FileState | None = None
    """Null when nothing was there."""
    after: FileState | None = None
    """Null when nothing is there now."""


class FilesChanging(Event, frozen=True):
    """A call is about to change files; written before it does, so that a crash can be cleaned up after."""

    turn: int
    """The running turn."""
    call_id: str
    """The call."""
    before: tuple[FileChange, ...] = ()
    """What stands at the paths it names, without `after`; empty for a shell command."""
    manifest: str = ""
    """For a shell command: name of the kept list of what was there before."""


class FilesChanged(Event, frozen=True):
    """A call has changed files; an entry of the undo log."""

    turn: int
    """The turn they belong to."""
    call_id: str
    """The call."""
    changes: tuple[FileChange, ...]
    """Every path that differs, parents before what is in them."""
    unkept: tuple[str, ...] = ()
    """What the call may have changed besides, whose content was not kept; as a person reads it."""
    traces: tuple[str, ...] = ()
    """The same, as builds and tests leave it: something new, or changed inside an ignored folder."""


class FilesRestoring(Event, frozen=True):
    """Files are about to be taken back or made again; without its end, they may be half-way."""

    turn: int
    """The turn whose changes they are."""
    direction: Literal["undo", "redo"]
    """Which."""
    paths: tuple[str, ...]
    """What is to be written, removed or given another mode."""


class FilesRestored(Event, frozen=True):
    """A person took a turn's file changes back, or made them again."""

    turn: int
    """The turn whose changes they are."""
    direction: Literal["undo", "redo"]
    """Which."""
    paths: tuple[str, ...]
    """What was written, removed or given another mode."""


class RestoreTakenBack(Event, frozen=True):
    """Files could not be taken back or made again; every one is as it was before."""

    turn: int
    """The turn whose changes they are."""
    direction: Literal["undo", "redo"]
    """Which."""


class DelegationEnded(Event, frozen=True):
    """A subagent is done; its private transcript is not kept."""

    turn: int
    """The running turn."""
    call_id: str
    """The call of `delegate`."""
    agent_id: str
    """Minted by the parent."""
    task: str
    """What it was asked."""
    status: DelegationStatus
    """How it ended."""
    duration_ms: int
    """Milliseconds from start to result."""
    problem: Problem | None = None
    """Why it is not `completed`."""
    usage: Usage = Usage()
    """What all its requests used; each is a `UsageRecorded`, too."""


class UsageRecorded(Event, frozen=True):
    """What one model request cost."""

    turn: int
    """The running turn."""
    usage: Usage
    """Of this request alone."""
    subagent: bool = False
    """True when a subagent made it."""
    summary: bool = False
    """True when it asked for a summary: its size is not the conversation's."""


class CallDecided(Event, frozen=True):
    """Whether a call may run was decided, of the main agent or of a subagent on the web."""

    turn: int
    """The running turn."""
    call_id: str
    """The provider's id."""
    tool: str
    """The tool that is meant, whatever the model called it."""
    answer: Literal["allow", "deny"]
    """The decision."""
    by: DecidedBy
    """The tool's entry in the permissions, a pattern there, the mode, an earlier yes, the person, a bound."""
    because: str = ""
    """The pattern, the mode, or what the person chose, as in `SettleAsk`."""


class ApprovalSettled(Event, frozen=True):
    """A person answered an approval or a question, or it lapsed."""

    turn: int
    """The running turn."""
    ask_id: str
    """As on the screen."""
    tool: str
    """The tool that asked."""
    subject: str
    """What was asked, as it was shown: the command, the diff, the question."""
    outcome: str
    """The decision, or `lapsed`."""
    text: str = ""
    """The person's answer, or the sentence that went with a refusal."""


class TurnEnded(Event, frozen=True):
    """The turn is over."""

    turn: int
    """Which one."""
    status: TurnStatus
    """How it ended."""
    final_text: str = ""
    """The answer; may be empty when it did not complete."""
    problem: Problem | None = None
    """Why it did not complete."""
    worked_s: int = 0
    """Whole seconds that it took, of a turn that took long; else 0."""


class Notice(Event, frozen=True):
    """Something the person was told."""

    level: Level
    """How serious."""
    message: str
    """One or two sentences."""


AnyEvent = (
    SessionStarted | PromptTaken | MessageAppended | CallStarted | CallEnded | PlanWritten
    | ConversationCompacted | FilesChanging | FilesChanged | FilesRestoring | FilesRestored | RestoreTakenBack
    | DelegationEnded | UsageRecorded | CallDecided | ApprovalSettled | TurnEnded | Notice
)  # fmt: skip
