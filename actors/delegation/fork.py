"""A delegation's identity and fork: what the subagent starts from, and what it may add to it (pure).

Rules
-----
The fork is the parent's messages as they are at the call, shared byte by byte. Behind it every open call of
the batch gets one result, in order: the delegate call its bootstrap, a sibling the plain word that its
result is not here. The task comes last. Other tasks of the same batch are blanked: a subagent sees its own.
"""

import itertools
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Template
from typing import Final, Literal

import msgspec

from actors.calls import failure
from actors.catalog.aliases import canonical_name
from actors.conversation import Conversation, encode_assistant, encode_tool_result, encode_user
from actors.delegation.gate import BadTail, Gate, Message, decode_message
from actors.delegation.result import MAX_ENTRIES, MAX_FINDINGS, Identity
from actors.tools.delegate import DelegateInput, Scope
from ipc.messages import ModelAnswer, StartDelegation, ToolCall

RESPONSIBILITY: Final = (
    "Inspect only; return the final result to the parent. You are not the main agent, you may not delegate, "
    "and the parent will verify your claims."
)
_ASSISTANT: Final = b'{"role":"assistant"'
_TRIES_PER_LENGTH: Final = 64


class Bootstrap(msgspec.Struct, frozen=True, tag_field="type", tag="subagent_bootstrap"):
    """The tool result that tells the subagent who it is."""

    identity: Identity
    context_mode: Literal["forked_parent_messages"]
    forked_message_count: int
    task: str
    responsibility: str


@dataclass(frozen=True, slots=True)
class Fork:
    """What one subagent starts from; each request of the subagent extends it."""

    agent_id: str
    base: tuple[bytes, ...]
    """The parent's messages, shared."""
    opening: tuple[bytes, ...]
    """The results of the open calls, then the task."""
    head: bytes
    queued: int
    """Further delegations of the same message that come behind it."""

    def start(self, workspace: str, max_rounds: int) -> StartDelegation:
        """The command that hands the fork to a worker."""
        return StartDelegation(
            agent_id=self.agent_id,
            fork=memoryview(b",".join(self.base)),
            fork_count=len(self.base),
            opening=self.opening,
            workspace=workspace,
            max_rounds=max_rounds,
        )

    def extended(
        self,
        tail: Sequence[bytes],
        relayed: Iterable[ModelAnswer],
        redact: Callable[[str], str] = str,
    ) -> Conversation:
        """The conversation of a `CompleteModel`, built anew from what the worker sent. Raises `BadTail`.

        `relayed` are the answers that went to the worker, oldest first; of one that broke off, its beginning.
        """
        if tuple(tail[: len(self.opening)]) != self.opening:
            raise BadTail("the request does not extend the fork it was given")
        conversation = Conversation(self.head, [*self.base, *self.opening], fork_count=len(self.base))
        Gate(self.agent_id, conversation, relayed, redact).take(tail[len(self.opening) :])
        return conversation


def mint_agent_id(token_hex: Callable[[int], str], taken: Collection[str] = ()) -> str:
    """A new identity, `subagent-` and four hexadecimal digits, more when chance keeps hitting `taken`.

    `token_hex` brings the randomness: bytes to twice as many digits, as `secrets.token_hex`.
    """
    for attempt in itertools.count():
        agent_id = f"subagent-{token_hex(2 + attempt // _TRIES_PER_LENGTH)}"
        if agent_id not in taken:
            return agent_id
    raise AssertionError


def fork(conversation: Conversation, call_id: str, agent_id: str, request: DelegateInput) -> Fork:
    """Freeze the conversation at an open delegate call. Raises `ValueError` when the call is not open."""
    if call_id not in conversation.open_calls:
        raise ValueError(f"{call_id} is not an open call")
    at, batch = _last_answer(conversation.messages)
    base = _only_own_task(conversation.messages, at, batch, call_id)
    results = {call_id: _bootstrap(agent_id, len(base), request.task)}
    opening = [
        encode_tool_result(open_call, results.get(open_call) or _not_here())
        for open_call in conversation.open_calls
    ]
    opening.append(encode_user(instructions(agent_id, request)))
    return Fork(agent_id, base, tuple(opening), conversation.head, _behind(batch.calls(), call_id))


def instructions(agent_id: str, request: DelegateInput) -> str:
    """The last message of the opening: task, scope, rules, form of the answer."""
    return _template().substitute(
        agent_id=agent_id,
        task=request.task,
        why=request.context or "The main agent did not say.",
        scope=_scope(request.scope),
        max_findings=MAX_FINDINGS,
        max_entries=MAX_ENTRIES,
    )


@cache
def _template() -> Template:
    return Template(files("actors.prompts").joinpath("subagent.md").read_text(encoding="utf-8").strip())


def _scope(scope: Scope) -> str:
    lines = []
    if scope.paths:
        lines.append("Paths, relative to the workspace: " + ", ".join(scope.paths))
    if scope.symbols:
        lines.append("Symbols: " + ", ".join(scope.symbols))
    return "\n".join(lines) or "Anywhere in the workspace."


def _bootstrap(agent_id: str, count: int, task: str) -> str:
    bootstrap = Bootstrap(
        identity=Identity(agent_id=agent_id),
        context_mode="forked_parent_messages",
        forked_message_count=count,
        task=task,
        responsibility=RESPONSIBILITY,
    )
    return msgspec.json.encode(bootstrap).decode()


def _not_here() -> str:
    return failure(
        "not_in_this_fork",
        "The main agent made this call beside the delegation. It had no result yet when the fork was made.",
        "Do your own task; make the call yourself if you need what it reads.",
    )


def _last_answer(messages: Sequence[bytes]) -> tuple[int, Message]:
    """The answer whose calls are open, and where it stands."""
    at = max(index for index, message in enumerate(messages) if message.startswith(_ASSISTANT))
    return at, decode_message(messages[at])


def _only_own_task(messages: Sequence[bytes], at: int, batch: Message, call_id: str) -> tuple[bytes, ...]:
    """The messages, with the arguments of other delegate calls of the last batch blanked."""
    calls = [
        msgspec.structs.replace(call, arguments="{}")
        if canonical_name(call.name) == "delegate" and call.id != call_id
        else call
        for call in batch.calls()
    ]
    if calls == list(batch.calls()):
        return tuple(messages)
    return (*messages[:at], encode_assistant(batch.content or "", calls, batch.echo), *messages[at + 1 :])


def _behind(calls: Sequence[ToolCall], call_id: str) -> int:
    """How many delegations come behind a call."""
    at = next(position for position, call in enumerate(calls) if call.id == call_id)
    return sum(canonical_name(call.name) == "delegate" for call in calls[at + 1 :])
