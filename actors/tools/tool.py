"""What a tool is: a name, a description, an input model, an effect, a run."""

from dataclasses import dataclass
from importlib.resources import files
from typing import Any, ClassVar, Literal, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, model_validator

Effect = Literal["read", "plan", "delegate", "ask", "write", "execute", "web"]
"""What a call can do to the world; the policy decides on it."""


class ToolInput(BaseModel):
    """Base of what a model may send to a tool: unknown fields are refused with a hint."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    takes_mended: ClassVar[bool] = False
    """Whether arguments with one trailing comma are read without it; the note on that is in the validation's
    context. The comma may be the trace of a field that got lost: only a tool whose result shows all that it
    took goes on without it, never one that writes or runs."""

    @model_validator(mode="before")
    @classmethod
    def _null_is_not_given(cls, given: Any) -> Any:
        """Many models send null for what they leave out."""
        if isinstance(given, dict):
            return {name: value for name, value in given.items() if value is not None}
        return given


InputT = TypeVar("InputT", bound=ToolInput, contravariant=True)


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a call brought: the text for the model, and what a person sees of it."""

    content: str
    display: str = ""
    """First lines, a diff; empty: the start of `content` serves."""
    ok: bool = True
    """False when the tool did its work and the work failed: a command's exit status is not 0."""


class ToolFailure(Exception):
    """A call that could not be carried out, told to the model; everything else that is raised is a bug."""

    def __init__(self, code: str, message: str, next_step: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.next_step = next_step


@dataclass(frozen=True, slots=True)
class Invocation:
    """What a running call knows of itself."""

    call_id: str
    """The provider's id of the call."""


class Tool(Protocol[InputT]):
    """A tool; collaborators come by constructor. `run` may be cancelled at every await and cleans up."""

    name: ClassVar[str]
    effect: ClassVar[Effect]
    input: ClassVar[type[Any]]

    def summary(self, given: InputT) -> str:
        """One line for the screen: the path, the command, the query."""
        ...

    async def run(self, given: InputT, invocation: Invocation) -> ToolOutput: ...


def description(name: str) -> str:
    """The model-facing description of a tool, from `actors/tools/NAME.md`."""
    return files("actors.tools").joinpath(f"{name}.md").read_text(encoding="utf-8").strip()
