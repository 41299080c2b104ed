"""What a person may set: flags, environment and files, validated once, each value with its source."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, get_args

from pydantic import Field, PrivateAttr, SecretStr, ValidationError, field_validator

from actors.directories import user_file
from actors.provider.servers.dialects import NAMES
from actors.secrets.redactor import Redactor
from actors.settings.addresses import normalize_base_url, origin
from actors.settings.credentials import Command, HeaderName, HeaderValue, find_key, pair
from actors.settings.layers import Layer, SettingsError, merge, nearest, read_file
from actors.settings.permission_flags import from_flags
from actors.settings.secret_values import secret_values, warn_if_open
from actors.settings.tables import (
    Delegation,
    InWorkspace,
    Permissions,
    Prices,
    Sandbox,
    Screen,
    Shell,
    Table,
    Timeouts,
    Web,
    WireApi,
)
from ipc.messages import Mode

OPENAI_BASE_URL = "https://api.openai.com/v1"
OFFLINE_MODEL = "fido-offline"

_PRINTED_FLAGS = {"max_tool_rounds": "--max-turns"}
ENVIRONMENT = (
    ("OPENAI_API_KEY", "api_key"),
    ("OPENAI_BASE_URL", "base_url"),
    ("FIDO_API_KEY", "api_key"),
    ("FIDO_BASE_URL", "base_url"),
    ("FIDO_MODEL", "model"),
    ("FIDO_MODE", "mode"),
)
"""Variable and setting; a later line wins."""

WORKSPACE_MAY_SET = frozenset(
    {"model", "mode", "max_tool_rounds", "context_window", "compact_at", "timeouts", "delegation", "prices"}
)
"""An allow-list: what is not in it, a repository somebody else wrote could abuse."""


class Settings(Table):
    """Everything a person has set, or its default."""

    model: Annotated[str, Field(min_length=1)] = "gpt-5.5"
    """Model name, sent to the server as it is."""
    base_url: str | None = None
    """Where the OpenAI-compatible server is; without one and without a key the built-in model answers."""
    api_key: SecretStr | None = None
    """Key of the server, sent to scheme, host and port of `base_url` and nowhere else."""
    api_key_variable: str | None = None
    """Name of a variable that holds the key, instead of `api_key`."""
    api_key_file: str | None = None
    """File that holds the key alone, for you alone (0600), instead of `api_key`."""
    api_key_command: Command | None = None
    """Command that prints the key, instead of `api_key`: a list is run as it is, a string by `sh`."""
    headers: dict[HeaderName, HeaderValue] = Field(default_factory=dict)
    """Extra headers of every request to the server; their values are kept secret as the key is."""
    provider: str = ""
    """Name of the server's dialect, such as `deepseek`; empty: told by the base URL."""
    wire_api: WireApi = "chat"
    """`chat`: Chat Completions, which every server has; `responses`: the Responses API."""
    max_output_tokens: Annotated[int, Field(ge=0)] = 0
    """Most tokens of one answer; 0: what the server gives."""
    mode: Mode = "agent"
    """`plan` refuses every change, `agent` follows the permissions, `yolo` allows all."""
    max_tool_rounds: Annotated[int, Field(ge=1, le=1_000)] = 30
    """Most rounds of tool calls in one turn."""
    retry_attempts: Annotated[int, Field(ge=1, le=20)] = 4
    """How often a request is sent in all when the server is busy or cannot be reached."""
    context_window: Annotated[int, Field(ge=0)] = 0
    """Tokens the model takes; 0: unknown, 128,000 are assumed until a server says otherwise."""
    compact_at: Annotated[float, Field(ge=0.5, le=0.95)] = 0.8
    """Part of the context window from which a conversation is compacted."""
    sandbox: Sandbox = "require"
    """Wall around a subagent: `require` a whole one, `best-effort`: what the kernel has, `off`: none."""
    permissions: Permissions = Permissions()
    workspaces: dict[str, InWorkspace] = Field(default_factory=dict)
    """Absolute path of a workspace to what holds there alone; approvals for good are kept here."""
    timeouts: Timeouts = Timeouts()
    delegation: Delegation = Delegation()
    shell: Shell = Shell()
    web: Web = Web()
    screen: Screen = Screen()
    prices: Prices | None = None

    _sources: dict[str, str] = PrivateAttr(default_factory=dict)
    _notices: tuple[str, ...] = PrivateAttr(default=())
    _secrets: tuple[str, ...] = PrivateAttr(default=())

    @property
    def offline(self) -> bool:
        """Whether the built-in model answers."""
        return self.api_key is None and self.base_url is None and not self.headers

    @property
    def endpoint(self) -> str:
        """The base URL that requests go to when not offline."""
        return self.base_url or OPENAI_BASE_URL

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should be told about these settings, one sentence each."""
        return self._notices

    def source(self, key: str) -> str:
        """Where a value such as `timeouts.idle_s` came from: a flag, a variable, a file, `default`."""
        return self._sources.get(key, "default")

    def key_for(self, url: str) -> str | None:
        """The key, if `url` has the very scheme, host and port it belongs to."""
        if self.api_key is None or origin(url) != origin(self.endpoint):
            return None
        return self.api_key.get_secret_value()

    def headers_for(self, url: str) -> dict[str, str]:
        """The extra headers, if `url` has the very scheme, host and port they belong to."""
        if origin(url) != origin(self.endpoint):
            return {}
        return {name: value.get_secret_value() for name, value in self.headers.items()}

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every secret value that was configured, in use or not."""
        return self._secrets

    @property
    def redactor(self) -> Redactor:
        """Takes these secrets out of texts."""
        return Redactor(self._secrets)

    @field_validator("provider")
    @classmethod
    def _known_provider(cls, given: str) -> str:
        if given and given not in NAMES:
            raise ValueError(f"unknown server{nearest(given, NAMES)}")
        return given

    @field_validator("base_url")
    @classmethod
    def _normalize(cls, given: str | None) -> str | None:
        return None if given is None else normalize_base_url(given)


def load(flags: Mapping[str, object], environ: Mapping[str, str], workspace: Path) -> Settings:
    """Read all layers, the strongest first: flags, environment, workspace file, user file, defaults.

    `flags` has the command line's names (`model`, `base_url`, `mode`, `max_turns`, `allow`, `deny`); others
    in it are not settings and are left alone. Raises `SettingsError` with one line for a person.
    """
    user = read_file(user_file(environ))
    here = _for_workspace(user, workspace)
    project = read_file(workspace / ".fido-config.toml")
    _refuse_abuse(project)
    surroundings = _from_environment(environ)
    arguments = _from_flags(flags)
    keys = [name for name, setting in ENVIRONMENT if setting == "api_key"]
    secrets = list(secret_values(user, environ, keys))
    notices = [*warn_if_open(user, user_file(environ)), *_pair(user, surroundings, arguments)]
    values, sources = merge([user, here, project, surroundings, arguments], Settings)
    settings = _validated(values, sources)
    found = find_key(dict(settings), sources, environ, user_file(environ).parent)
    if found is not None:
        key, sources["api_key"] = found
        settings = settings.model_copy(update={"api_key": SecretStr(key)})
        secrets.append(key)
    settings._sources.update(sources)  # noqa: SLF001 - filled once, here
    settings._notices = tuple(notices)  # noqa: SLF001
    settings._secrets = tuple(dict.fromkeys(filter(None, secrets)))  # noqa: SLF001
    return settings


def _for_workspace(user: Layer, workspace: Path) -> Layer:
    """What the user's own file says of this workspace alone; it counts more than the rest of that file."""
    own = user.values.get("workspaces")
    values = own.get(str(workspace.resolve()), {}) if isinstance(own, dict) else {}
    name = f'{user.name} [workspaces."{workspace.resolve()}"]'
    return Layer(name, dict(values) if isinstance(values, dict) else {})


def _validated(values: Mapping[str, object], sources: Mapping[str, str]) -> Settings:
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise _explained(error, sources) from None


def _from_environment(environ: Mapping[str, str]) -> Layer:
    values = {
        setting: environ[name].strip() for name, setting in ENVIRONMENT if environ.get(name, "").strip()
    }
    names = {setting: name for name, setting in ENVIRONMENT if environ.get(name, "").strip()}
    return Layer("environment", dict(values), names)


def _from_flags(flags: Mapping[str, object]) -> Layer:
    values: dict[str, Any] = {key: flags[key] for key in ("model", "base_url", "mode") if flags.get(key)}
    if flags.get("max_turns") is not None:
        values["max_tool_rounds"] = flags["max_turns"]
    if permissions := from_flags(flags):
        values["permissions"] = permissions
    names = {key: _PRINTED_FLAGS.get(key, "--" + key.replace("_", "-")) for key in values}
    return Layer("flag", values, names | {"permissions": "--allow/--deny"})


def _refuse_abuse(project: Layer) -> None:
    for key, value in project.values.items():
        if key not in Settings.model_fields:
            raise SettingsError(
                f"{project.name}: {key!r}: unknown setting{nearest(key, Settings.model_fields)}"
            )
        if key == "mode" and value != "plan" and value in get_args(Mode):
            raise SettingsError(
                f"{project.name}: mode: a workspace may only tighten it to 'plan', since a repository could "
                f"otherwise give itself rights; use --mode {value} or your own config.toml"
            )
        if key not in WORKSPACE_MAY_SET:
            raise SettingsError(
                f"{project.name}: {key}: may not be set by a workspace, since a repository could abuse it; "
                "move it to your own config.toml"
            )


def _pair(user: Layer, surroundings: Layer, arguments: Layer) -> tuple[str, ...]:
    moved = arguments.values.get("base_url", surroundings.values.get("base_url"))
    return pair(user, surroundings, OPENAI_BASE_URL, moved)


def _explained(error: ValidationError, sources: Mapping[str, str]) -> SettingsError:
    """Name the source, the key and the reason of the first fault; never the value, which may be a key."""
    fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
    key = ".".join(str(part) for part in fault["loc"] if part != "[key]")
    source = next((where for name, where in sources.items() if name == key or name.startswith(key + ".")), "")
    if not source:
        source = next((where for name, where in sources.items() if key.startswith(name + ".")), "settings")
    is_no_table = fault["type"] in {"model_type", "dict_type"}
    reason = "has to be a table" if is_no_table else fault["msg"].removeprefix("Value error, ")
    if fault["type"] == "string_pattern_mismatch":
        reason = "is no name of an HTTP header" if fault["loc"][-1:] == ("[key]",) else "may not be empty"
    return SettingsError(f"{source}: {key}: {reason[:1].lower()}{reason[1:]}")
