"""Settings: who wins, what is refused, where a value came from, where a key may go."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from actors.settings.addresses import below, normalize_base_url
from actors.settings.layers import Layer, SettingsError, merge
from actors.settings.settings import OPENAI_BASE_URL, Settings, load

ROOT = Path(__file__).parent.parent


class Home:
    """A person's surroundings on disk."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "work"
        self.workspace.mkdir()
        self.project = self.workspace / ".fido-config.toml"
        self.user = folder / "config" / "fido" / "config.toml"
        self.user.parent.mkdir(parents=True)
        self.environ = {"XDG_CONFIG_HOME": str(folder / "config"), "HOME": str(folder)}

    def load(self, flags: Mapping[str, object] | None = None, **environ: str) -> Settings:
        return load(flags or {}, self.environ | environ, self.workspace)

    def refusal(self, flags: Mapping[str, object] | None = None, **environ: str) -> str:
        with pytest.raises(SettingsError) as caught:
            self.load(flags, **environ)
        text = str(caught.value)
        assert len(text.splitlines()) == 1
        return text


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_without_key_and_url_the_built_in_model_answers(home: Home) -> None:
    assert home.load().offline
    assert not home.load(OPENAI_BASE_URL="http://localhost:1").offline
    assert not home.load(OPENAI_API_KEY="k").offline
    assert home.load(OPENAI_API_KEY="", OPENAI_BASE_URL=" ").offline


@pytest.mark.report("CFG-06")
@pytest.mark.parametrize("text", ["", "\n", " \n\t\n", "# nothing yet\n"])
def test_a_file_with_nothing_in_it_sets_nothing(home: Home, text: str) -> None:
    before = home.load()
    for path in (home.user, home.project):
        path.write_text(text, encoding="utf-8")
    assert home.load() == before


@pytest.mark.report("CFG-04")
def test_flags_beat_environment_beats_workspace_beats_user_beats_defaults(home: Home) -> None:
    seen = [home.load()]
    home.user.write_text('model = "user"', encoding="utf-8")
    seen.append(home.load())
    home.project.write_text('model = "workspace"', encoding="utf-8")
    seen.append(home.load())
    seen.append(home.load(FIDO_MODEL="environment"))
    seen.append(home.load({"model": "flag"}, FIDO_MODEL="environment"))
    assert [settings.model for settings in seen[1:]] == ["user", "workspace", "environment", "flag"]
    assert [settings.source("model") for settings in seen] == [
        "default",
        str(home.user),
        str(home.project),
        "environment FIDO_MODEL",
        "flag --model",
    ]


@pytest.mark.report("CFG-04")
def test_tables_are_merged_key_by_key(home: Home) -> None:
    home.user.write_text("[timeouts]\nconnect_s = 3\nidle_s = 4.5\n", encoding="utf-8")
    home.project.write_text("[timeouts]\nidle_s = 7\n", encoding="utf-8")
    settings = home.load()
    assert (settings.timeouts.connect_s, settings.timeouts.idle_s) == (3, 7)
    assert settings.timeouts.total_s == Settings().timeouts.total_s
    assert settings.source("timeouts.connect_s") == str(home.user)
    assert settings.source("timeouts.idle_s") == str(home.project)


class Inner(BaseModel):
    a: int = 0
    b: list[int] = []
    free: dict[str, int] = {}


class Outer(BaseModel):
    x: int = 0
    inner: Inner = Inner()


LEAVES = {
    "x": st.integers(),
    "inner.a": st.integers(),
    "inner.b": st.lists(st.integers()),
    "inner.free.p": st.integers(),
    "inner.free.q": st.integers(),
}


def nested(leaves: Mapping[str, object]) -> dict[str, Any]:
    """Values by their dotted keys, as tables."""
    tables: dict[str, Any] = {}
    for key, value in leaves.items():
        *way, last = key.split(".")
        table = tables
        for name in way:
            table = table.setdefault(name, {})
        table[last] = value
    return tables


@pytest.mark.report("CFG-04")
@given(st.lists(st.fixed_dictionaries({}, optional=LEAVES), min_size=5, max_size=5))
def test_in_tables_of_any_depth_the_strongest_level_that_sets_a_key_wins(
    levels: list[dict[str, object]],
) -> None:
    layers = [Layer(f"level {number}", nested(level)) for number, level in enumerate(levels)]
    values, sources = merge(layers, Outer)
    expected = {key: value for level in levels for key, value in level.items()}
    assert values == nested(expected)
    assert sources == {
        key: f"level {max(number for number, level in enumerate(levels) if key in level)}" for key in expected
    }


@pytest.mark.report("CFG-04")
def test_a_list_is_replaced_as_a_whole_and_nothing_is_no_value(home: Home) -> None:
    merged, _ = merge([Layer("one", {"inner": {"b": [1, 2]}}), Layer("two", {"inner": {"b": []}})], Outer)
    assert merged == {"inner": {"b": []}}
    home.user.write_text('model = "user"\nmode = "plan"', encoding="utf-8")
    settings = home.load({"model": None, "mode": ""}, FIDO_MODEL=" ")
    assert (settings.model, settings.mode) == ("user", "plan")


@pytest.mark.report("CFG-04")
def test_what_holds_for_one_workspace_beats_the_rest_of_the_file_there_alone(home: Home) -> None:
    home.user.write_text(
        f"""[permissions.tools]
patch = "deny"
rm = "deny"
[workspaces."{home.workspace.resolve()}".permissions.tools]
patch = "allow"
[workspaces."/elsewhere".permissions.tools]
rm = "allow"
""",
        encoding="utf-8",
    )
    settings = home.load()
    assert settings.permissions.tools == {"patch": "allow", "rm": "deny"}
    assert f'[workspaces."{home.workspace.resolve()}"]' in settings.source("permissions.tools.patch")
    assert home.load({"deny": ["patch"]}).permissions.tools["patch"] == "deny"


def test_grants_on_the_command_line_join_those_of_the_file(home: Home) -> None:
    home.user.write_text(
        '[permissions]\ntools = {patch = "allow", rm = "allow"}\ncommands = {"git status" = "allow"}\n',
        encoding="utf-8",
    )
    settings = home.load({"allow": ["mkdir", "bash_exec(git diff *)"], "deny": ["rm"]})
    assert settings.permissions.tools == {"patch": "allow", "rm": "deny", "mkdir": "allow"}
    assert settings.permissions.commands == {"git status": "allow", "git diff *": "allow"}


def test_fido_variables_win_over_those_of_openai(home: Home) -> None:
    settings = home.load(
        OPENAI_API_KEY="one", OPENAI_BASE_URL="http://one", FIDO_API_KEY="two", FIDO_BASE_URL="http://two"
    )
    assert settings.base_url == "http://two/v1"
    assert settings.key_for("http://two/v1/chat/completions") == "two"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('modle = "x"', ["modle", "unknown setting; did you mean mode or model?"]),
        ("[timeouts]\nconect_s = 1", ["timeouts.conect_s", "did you mean connect_s?"]),
        ("zzz = 1", ["zzz", "known are"]),
        ("max_tool_rounds = 'many'", ["max_tool_rounds", "valid integer"]),
        ("max_tool_rounds = '30'", ["max_tool_rounds", "valid integer"]),
        ("max_tool_rounds = 0", ["max_tool_rounds", "greater than or equal to 1"]),
        ("timeouts = 3", ["timeouts: has to be a table"]),
        ("[permissions]\ntools = 3", ["permissions.tools: has to be a table"]),
        ("delegation = 'no'", ["delegation: has to be a table"]),
        (
            "[delegation]\nmax_timeout_ms = 60000",
            ["delegation: timeout_ms, 300000, is above max_timeout_ms, 60000"],
        ),
        ('mode = "fast"', ["mode", "'plan', 'agent' or 'yolo'"]),
        ('base_url = "localhost:11434"', ["base_url", "http://"]),
        ("model = 3 4", ["is not TOML", "line 1"]),
        ('provider = "olama"', ["provider", "unknown server; did you mean ollama?"]),
        ('wire_api = "rest"', ["wire_api", "'chat' or 'responses'"]),
        ("model = ''", ["model", "at least 1 character"]),
        ("web = {search_url = 3}", ["web.search_url", "valid string"]),
        ("web = {search_url = 'search'}", ["web.search_url"]),
        ("workspaces = 3", ["workspaces: has to be a table"]),
        ("\ufeffmodel = 'x'", ["byte order mark"]),
        (
            '[permissions.tools]\npach = "allow"',
            ["permissions.tools.pach", "unknown tool; did you mean patch?"],
        ),
        ('[permissions.commands]\n"git; rm" = "allow"', ["permissions.commands", "is not one plain command"]),
        ('[permissions.tools]\npatch = "yes"', ["permissions.tools.patch", "'allow', 'ask' or 'deny'"]),
    ],
)
def test_fault_in_a_file_is_one_line_with_file_key_and_reason(home: Home, text: str, told: list[str]) -> None:
    home.user.write_text(text, encoding="utf-8")
    refusal = home.refusal()
    assert refusal.startswith(f"{home.user}: ")
    for part in told:
        assert part in refusal


@pytest.mark.parametrize("name", ["bash", "teleport"])
def test_unknown_tool_in_a_flag_is_refused(home: Home, name: str) -> None:
    refusal = home.refusal({"allow": [name]})
    assert refusal.startswith(f"flag --allow/--deny: permissions.tools.{name}: unknown tool")


def test_directory_in_place_of_a_file_is_told(home: Home) -> None:
    home.user.mkdir()
    assert home.refusal() == f"{home.user}: cannot be read: it is no regular file"


@pytest.mark.parametrize("which", ["user", "project"])
def test_pipe_in_place_of_a_file_is_told_and_not_waited_for(home: Home, which: str) -> None:
    path: Path = getattr(home, which)
    os.mkfifo(path)
    program = (
        "import os, pathlib, sys\n"
        "from actors.settings.settings import SettingsError, load\n"
        "try: load({}, os.environ, pathlib.Path(sys.argv[1]))\n"
        "except SettingsError as error: print(error)"
    )
    run = subprocess.run(
        [sys.executable, "-I", "-c", program, str(home.workspace)],
        env=home.environ,
        capture_output=True,
        text=True,
        timeout=10,
        check=True,
    )
    assert run.stdout == f"{path}: cannot be read: it is no regular file\n"


def test_bytes_that_are_not_utf8_are_told(home: Home) -> None:
    home.user.write_bytes(b'model = "\xff"')
    assert "is not UTF-8 at byte 9" in home.refusal()


def test_fault_in_a_variable_names_the_variable(home: Home) -> None:
    assert home.refusal(FIDO_MODE="fast").startswith("environment FIDO_MODE: mode: ")


def test_fault_in_a_flag_names_the_flag(home: Home) -> None:
    assert home.refusal({"max_turns": 0}).startswith("flag --max-turns: max_tool_rounds: ")


@pytest.mark.parametrize(
    "text",
    [
        'base_url = "http://evil.test"',
        'api_key = "x"',
        "retry_attempts = 9",
        '[permissions.tools]\nbash_exec = "allow"',
        'mode = "yolo"',
        'mode = "agent"',
    ],
)
def test_workspace_may_not_set_what_a_repository_could_abuse(home: Home, text: str) -> None:
    home.project.write_text(text, encoding="utf-8")
    refusal = home.refusal()
    assert refusal.startswith(f"{home.project}: ")
    assert "a repository could" in refusal


def test_workspace_may_tighten_the_mode(home: Home) -> None:
    home.project.write_text('mode = "plan"', encoding="utf-8")
    assert home.load().mode == "plan"


def test_unknown_key_of_a_workspace_is_named_as_unknown(home: Home) -> None:
    home.project.write_text('modell = "x"', encoding="utf-8")
    assert "did you mean model" in home.refusal()


@pytest.mark.parametrize("text", ['"\\u001b]0;x" = 1', '[timeouts]\n"\\u001b]0;x" = 1'])
def test_unknown_key_is_shown_without_what_a_terminal_acts_on(home: Home, text: str) -> None:
    home.project.write_text(text, encoding="utf-8")
    refusal = home.refusal()
    assert "\\x1b]0;x" in refusal
    assert "\x1b" not in refusal


@pytest.mark.report("SEC-03")
def test_key_is_never_shown(home: Home) -> None:
    settings = home.load(OPENAI_API_KEY="sk-canary")
    assert "sk-canary" not in repr(settings) + str(settings) + str(settings.model_dump())
    home.user.write_text("api_key = ['sk-canary']", encoding="utf-8")
    assert "sk-canary" not in home.refusal()


@pytest.mark.report("SEC-03")
@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.test/openrouter.ai/api/v1",
        "https://openrouter.ai.evil.test/api/v1",
        "http://openrouter.ai/api/v1",
        "https://openrouter.ai:444/api/v1",
        "https://openrouter.ai@evil.test/api/v1",
        "not a url",
    ],
)
def test_key_goes_to_its_own_host_only(home: Home, elsewhere: str) -> None:
    settings = home.load(FIDO_BASE_URL="https://openrouter.ai/api/v1", FIDO_API_KEY="sk-canary")
    assert settings.key_for("https://openrouter.ai:443/api/v1/chat/completions") == "sk-canary"
    assert settings.key_for(elsewhere) is None


def test_key_without_a_url_belongs_to_openai(home: Home) -> None:
    settings = home.load(OPENAI_API_KEY="sk-canary")
    assert settings.endpoint == OPENAI_BASE_URL
    assert settings.key_for(OPENAI_BASE_URL) == "sk-canary"
    assert settings.key_for("https://openai.com.evil.test/v1") is None


def test_key_in_a_file_does_not_follow_another_base_url(home: Home) -> None:
    home.user.write_text(
        'base_url = "https://openrouter.ai/api/v1"\napi_key = "or-canary"\n', encoding="utf-8"
    )
    assert home.load().key_for("https://openrouter.ai/api/v1") == "or-canary"
    moved = home.load(FIDO_BASE_URL="http://localhost:11434")
    assert moved.api_key is None
    assert "is not sent" in moved.notices[-1]
    same = home.load({"base_url": "https://openrouter.ai/api/v1/"})
    assert same.key_for("https://openrouter.ai/api/v1") == "or-canary"


def test_key_for_openai_gives_way_to_the_key_beside_a_base_url(home: Home) -> None:
    home.user.write_text(
        'base_url = "https://openrouter.ai/api/v1"\napi_key = "or-canary"\n', encoding="utf-8"
    )
    settings = home.load(OPENAI_API_KEY="sk-canary")
    assert settings.key_for("https://openrouter.ai/api/v1") == "or-canary"
    assert settings.source("api_key") == str(home.user)


@pytest.mark.parametrize(
    ("given_url", "expected"),
    [
        ("http://host", "http://host/v1"),
        ("http://host/", "http://host/v1"),
        (" http://host/v1 ", "http://host/v1"),
        ("http://host/v1///", "http://host/v1"),
        ("http://host/v1/chat/completions", "http://host/v1"),
        ("http://host/v1/chat/completions/", "http://host/v1"),
        ("https://host:8443/api/paas/v4", "https://host:8443/api/paas/v4"),
        ("http://[::1]:8080", "http://[::1]:8080/v1"),
        ("https://me.openai.azure.com", "https://me.openai.azure.com/openai/v1"),
        ("https://me.openai.azure.com/openai/v1/responses", "https://me.openai.azure.com/openai/v1"),
        (
            "https://me.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21",
            "https://me.openai.azure.com/openai/deployments/d?api-version=2024-10-21",
        ),
    ],
)
def test_base_urls_are_brought_into_one_form(given_url: str, expected: str) -> None:
    assert normalize_base_url(given_url) == expected


@pytest.mark.parametrize(
    "given_url",
    [
        "host/v1",
        "ftp://host",
        "http://",
        "http://host:port",
        "http://u:key@host/v1",
        "http://h/v1?k=1",
        "http://h/v1?api-version=1&key=x",
        "http://a b/v1",
    ],
)
def test_what_is_no_base_url_is_refused(given_url: str) -> None:
    with pytest.raises(ValueError, match=r"http|URL|key|space"):
        normalize_base_url(given_url)


def test_query_of_a_base_url_stays_behind_the_endpoint() -> None:
    assert below("https://h/v1?api-version=1", "/models") == "https://h/v1/models?api-version=1"
    assert below("https://h/v1", "/models") == "https://h/v1/models"


@given(st.sampled_from(["http://host", "https://host:1/a/v9"]), st.from_regex(r"/* *", fullmatch=True))
def test_a_normalized_base_url_stays_as_it_is(start: str, end: str) -> None:
    once = normalize_base_url(start + end)
    assert normalize_base_url(once) == once
    assert "//" not in once.removeprefix("http://").removeprefix("https://")


@pytest.mark.parametrize("config", ["relative/path", ""])
def test_relative_config_home_is_ignored(home: Home, tmp_path: Path, config: str) -> None:
    target = tmp_path / ".config" / "fido" / "config.toml"
    target.parent.mkdir(parents=True)
    target.write_text('model = "own"', encoding="utf-8")
    assert load({}, {"HOME": str(tmp_path), "XDG_CONFIG_HOME": config}, home.workspace).model == "own"


def test_files_are_read_as_utf8_in_any_locale(home: Home) -> None:
    home.user.write_text('model = "größe"', encoding="utf-8")
    code = (
        "import os, sys, pathlib; from actors.settings.settings import load;"
        "sys.stdout.buffer.write(load({}, os.environ, pathlib.Path(sys.argv[1])).model.encode())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(home.workspace)],
        env=home.environ
        | {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=30,
        check=True,
    )
    assert run.stdout.decode() == "größe"
