"""The result contract: what a parent's model gets of a delegation, its shape and its bounds (pure)."""

from typing import Final, Literal

import msgspec

from actors.delegation.problems import INSTEAD
from ipc.messages import DelegationStatus

MAX_BYTES: Final = 16 * 1024
"""The whole encoded result."""
CHECK_BYTES: Final = 200
"""Of what a check says of one finding, encoded; room for it is kept in `MAX_BYTES`."""
MAX_SUMMARY_BYTES: Final = 6 * 1024
"""The share of the summary; it may have what the lists leave, too."""
MAX_FINDINGS: Final = 40
MAX_ENTRIES: Final = 12
"""Of each list of sentences."""
MAX_LINE: Final = 400
"""Characters of a claim or a sentence."""

Confidence = Literal["high", "medium", "low"]


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Who worked; minted by the runner."""

    role: Literal["subagent"] = "subagent"
    agent_id: str
    parent_role: Literal["main"] = "main"


class Finding(msgspec.Struct, frozen=True):
    """One claim of the subagent, unverified."""

    file: str
    """Relative to the workspace, as claimed; empty when none was named."""
    line: int | None
    """From 1, as claimed."""
    claim: str
    confidence: Confidence
    checked: bool = False
    """Whether what it quotes was found where it says."""
    check: str = "not checked"
    """Why it is checked or not; at most `CHECK_BYTES` encoded."""


class ResultError(msgspec.Struct, frozen=True):
    """Why a result is not `completed`, where the runner knows."""

    code: str
    message: str


class DelegateResult(
    msgspec.Struct, frozen=True, tag_field="type", tag="delegate_result", omit_defaults=True
):
    """What the parent's model gets of a delegation, and all it gets."""

    identity: Identity
    status: DelegationStatus
    summary: str
    findings: tuple[Finding, ...]
    recommended_next_steps: tuple[str, ...]
    tests_to_run: tuple[str, ...]
    uncertainties: tuple[str, ...]
    error: ResultError | None = None

    def encoded(self) -> str:
        return msgspec.json.encode(self).decode()


def nested_failure(agent_id: str) -> str:
    """The result of a subagent's own call to `delegate`."""
    code = "nested_delegation_forbidden"
    return DelegateResult(
        identity=Identity(agent_id=agent_id),
        status="failed",
        summary="Nested delegation is not allowed.",
        findings=(),
        recommended_next_steps=(INSTEAD[code],),
        tests_to_run=(),
        uncertainties=(),
        error=ResultError(code, "A subagent cannot call delegate; no nested subagent was created."),
    ).encoded()
