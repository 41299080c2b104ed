"""The tables that settings are made of, each value with its bounds and its default."""

from typing import Annotated, Literal, Self

import msgspec
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from actors.permissions.command_rules import Answer, CommandRule
from actors.permissions.place_rules import HostRule, PathRule
from actors.permissions.policy import DEFAULT_TABLE, Rules
from actors.settings.layers import nearest
from ipc.messages import Glyphs, Notify, ScreenConfigured, Theme

Sandbox = Literal["require", "best-effort", "off"]
WireApi = Literal["chat", "responses"]


class Table(BaseModel):
    """Base of every table: unknown keys are refused, nothing changes after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Timeouts(Table):
    """Limits of one request to the model server."""

    connect_s: Annotated[float, Field(gt=0, le=600)] = 10.0
    """Seconds until the connection must stand."""
    idle_s: Annotated[float, Field(gt=0, le=3600)] = 120.0
    """Seconds of silence in a stream before it is given up."""
    total_s: Annotated[float, Field(gt=0, le=86_400)] = 900.0
    """Seconds for one whole answer."""


class Delegation(Table):
    """Limits of one delegation to the subagent."""

    timeout_ms: Annotated[int, Field(ge=1_000, le=3_600_000)] = 300_000
    """Milliseconds a delegation may take when the model asks for no other limit."""
    max_timeout_ms: Annotated[int, Field(ge=1_000, le=3_600_000)] = 900_000
    """The most a model may ask for, milliseconds."""
    idle_ms: Annotated[int, Field(ge=1_000, le=3_600_000)] = 120_000
    """Milliseconds without a sign of the model or of the worker after which a delegation is ended."""
    request_ms: Annotated[int, Field(ge=1_000, le=3_600_000)] = 300_000
    """Milliseconds that one answer of the model may take in a delegation."""
    max_tool_rounds: Annotated[int, Field(ge=1, le=1_000)] = 20
    """Most rounds of tool calls in one delegation."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.timeout_ms > self.max_timeout_ms:
            raise ValueError(
                f"timeout_ms, {self.timeout_ms}, is above max_timeout_ms, {self.max_timeout_ms}; "
                "lower the one or raise the other"
            )
        return self


class Prices(Table):
    """US dollars for a million tokens; the cost is shown when these are set."""

    prompt: Annotated[float, Field(ge=0)]
    """US dollars for a million tokens sent that no cache served."""
    cached: Annotated[float, Field(ge=0)] = 0.0
    """US dollars for a million tokens sent that the provider's cache served."""
    completion: Annotated[float, Field(ge=0)]
    """US dollars for a million tokens generated."""


def _known_tool(name: str) -> str:
    if name not in DEFAULT_TABLE:
        raise ValueError(f"unknown tool{nearest(name, DEFAULT_TABLE)}")
    return name


class Permissions(Table):
    """Answers that differ from the built-in table."""

    tools: dict[Annotated[str, AfterValidator(_known_tool)], Answer] = {}
    """Tool name to `allow`, `ask` or `deny`."""
    commands: dict[str, Answer] = {}
    """Pattern of one `bash_exec` command, such as `git diff *`, to `allow`, `ask` or `deny`."""
    command_lines: dict[str, Answer] = {}
    """Whole `bash_exec` command line, just as it is written, to the answer to it."""
    paths: dict[str, Answer] = {}
    """Glob over paths, such as `docs/**` or `./Makefile`, to the answer to a call that changes one."""
    hosts: dict[str, Answer] = {}
    """Host, such as `docs.python.org` or `*.python.org`, to the answer to `browse_url`."""

    @field_validator("commands", "paths", "hosts")
    @classmethod
    def _readable(cls, given: dict[str, Answer], info: ValidationInfo) -> dict[str, Answer]:
        read = {"commands": CommandRule.parse, "paths": PathRule.parse, "hosts": HostRule.parse}
        for pattern, answer in given.items():
            read[str(info.field_name)](pattern, answer)
        return given

    @property
    def rules(self) -> Rules:
        """These answers, put over the built-in table."""
        return Rules.build(self.tools, self.commands, self.paths, self.hosts, self.command_lines)


class InWorkspace(Table):
    """What a person has set for one workspace, in their own file."""

    permissions: Permissions = Permissions()


class Shell(Table):
    """How `bash_exec` runs commands."""

    sandbox: Literal["off", "workspace-write"] = "off"
    """`workspace-write`: the kernel keeps writes in the workspace, and takes away their network."""


class Web(Table):
    """How `browse_url` and `websearch` reach the web."""

    search_url: str | None = None
    """A SearXNG-compatible search endpoint, such as `https://search.example.org/search`."""
    private_hosts: list[str] = []
    """Hosts with a loopback, link-local or private address that may be browsed all the same."""

    @field_validator("search_url")
    @classmethod
    def _is_url(cls, given: str | None) -> str | None:
        if given is not None:
            from actors.web.search import Search

            Search(given)
        return given


class Screen(Table):
    """How the screen looks and behaves; nothing here changes what Fido does."""

    theme: Theme = "auto"
    """`dark`, `light`, `high-contrast`; `auto`: dark or light, as the terminal's background is."""
    glyphs: Glyphs = "auto"
    """`unicode`, `ascii`; `auto`: as the locale says."""
    mouse: bool = True
    """Whether wheel and clicks work; the terminal's own selection then needs Shift."""
    motion: bool = True
    """False: nothing moves but numbers."""
    notify: Notify = "auto"
    """Tells who looks elsewhere: `title`, `bell`, `desktop`, `off`; `auto`: `desktop`, and in tmux a bell."""
    keys: dict[str, list[str]] = {}
    """Name of an action, such as `newline`, to the keys that mean it instead, such as `["ctrl n"]`."""

    @property
    def fact(self) -> ScreenConfigured:
        """What the screen is told of it."""
        return msgspec.convert(self.model_dump(), ScreenConfigured)
