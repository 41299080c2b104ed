"""Where a key comes from when it is not in the settings: a variable, a file, a command; and extra headers."""

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest

from actors.secrets.sources import KeyUnavailable, ask_command, read_key_file
from actors.settings.layers import SettingsError
from actors.settings.settings import Settings, load

KEY = "sk-canary-0123456789"
OTHERS_UID = 12345
ENVIRON = {"PATH": os.environ["PATH"]}


class Home:
    """A person's surroundings on disk, and the settings that come of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / ".config" / "fido" / "config.toml"
        self.file.parent.mkdir(parents=True)

    def write(self, text: str) -> None:
        self.file.write_text(text, encoding="utf-8")
        self.file.chmod(0o600)

    def load(self, flags: Mapping[str, object] | None = None, **environ: str) -> Settings:
        return load(flags or {}, ENVIRON | {"HOME": str(self.folder)} | environ, self.folder)

    def refusal(self, **environ: str) -> str:
        with pytest.raises(SettingsError) as caught:
            self.load(None, **environ)
        text = str(caught.value)
        assert len(text.splitlines()) == 1
        assert KEY not in text
        return text

    def key_file(self, text: str = f"{KEY}\n", mode: int = 0o600) -> Path:
        path = self.folder / "key"
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)
        return path


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


# --- one of four -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ('api_key = "{key}"', ""),
        ('api_key_variable = "MINE"', " api_key_variable"),
        ('api_key_file = "~/key"', " api_key_file"),
        ('api_key_file = "../../key"', " api_key_file"),
        ("api_key_command = ['cat', '{folder}/key']", " api_key_command"),
        ("api_key_command = 'cat {folder}/key | tr -d x'", " api_key_command"),
    ],
)
def test_key_comes_from_where_the_settings_say(home: Home, setting: str, named: str) -> None:
    home.key_file()
    home.write(setting.format(key=KEY, folder=home.folder))
    settings = home.load(MINE=KEY)
    assert settings.key_for("https://api.openai.com/v1/models") == KEY
    assert settings.source("api_key") == f"{home.file}{named}"
    assert settings.secrets == (KEY,)
    assert not settings.offline
    assert KEY not in repr(settings) + str(settings.model_dump())
    assert home.load(FIDO_API_KEY="other", MINE=KEY).key_for("https://api.openai.com/v1") == "other"


def test_two_sources_of_a_key_are_refused(home: Home) -> None:
    home.write(f'api_key = "{KEY}"\napi_key_command = "echo x"\n')
    assert (
        home.refusal()
        == f"{home.file}: api_key and api_key_command: only one of them may say what the key is"
    )


@pytest.mark.parametrize(
    "setting", ["api_key_file = 'x'", "api_key_command = 'x'", "api_key_variable = 'HOME'"]
)
def test_workspace_names_no_source_of_a_key(home: Home, setting: str) -> None:
    (home.folder / ".fido-config.toml").write_text(setting, encoding="utf-8")
    assert "a repository could abuse it" in home.refusal()


def test_workspace_sets_no_header(home: Home) -> None:
    (home.folder / ".fido-config.toml").write_text("[headers]\nA = 'b'", encoding="utf-8")
    assert "headers: may not be set by a workspace" in home.refusal()


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ('api_key_variable = "MINE"', "api_key_variable: the variable MINE is not set"),
        ('api_key_file = "/nowhere"', "api_key_file: the file cannot be read: no such file or directory"),
        (
            "api_key_command = ['no-such-program']",
            "api_key_command: the command cannot be run: no such file",
        ),
        (f'api_key_variable = "{KEY}"', "api_key_variable: the variable is not set"),
        (f'api_key_file = "{KEY}"', "api_key_file: the file cannot be read: no such file"),
        (f'api_key_command = "{KEY}"', "api_key_command: the command was not found"),
        (f'api_key_command = ["{KEY}"]', "api_key_command: the command cannot be run: no such file"),
        ("api_key_command = []", "api_key_command"),
        ("api_key_command = ''", "api_key_command"),
        ("api_key_command = 3", "api_key_command"),
        (f"api_key = ['{KEY}']", "api_key: input should be a valid string"),
        ("headers = 3", "headers: has to be a table"),
        (f"[headers]\n'a b' = '{KEY}'", "headers.a b: is no name of an HTTP header"),
        (f'[headers]\nX-A = "{KEY}\\n"', "headers.X-A: holds characters that no HTTP header can carry"),
    ],
)
def test_source_that_has_no_key_is_one_line_with_the_reason(home: Home, setting: str, told: str) -> None:
    home.write(setting)
    assert home.refusal().startswith(f"{home.file}: {told}")


# --- whose they are ----------------------------------------------------------------------------------------

SERVER = 'base_url = "https://one.test/v1"\n'


@pytest.mark.parametrize(
    "source", ['api_key = "{key}"', 'api_key_command = "echo {key}"', 'api_key_variable = "MINE"']
)
def test_key_of_any_source_stays_with_the_server_beside_it(home: Home, source: str) -> None:
    home.write(SERVER + source.format(key=KEY))
    assert home.load(MINE=KEY).key_for("https://one.test/v1/chat/completions") == KEY
    moved = home.load(MINE=KEY, FIDO_BASE_URL="https://two.test/v1")
    assert moved.key_for("https://two.test/v1") is None
    assert "belongs to another server than the base URL in use, so it is not sent" in moved.notices[-1]


def test_headers_go_to_their_own_server_alone(home: Home) -> None:
    home.write(f'{SERVER}[headers]\nX-Portkey-Key = "{KEY}"\n')
    settings = home.load(OPENAI_API_KEY="k")
    assert settings.headers_for("https://one.test/v1/models") == {"X-Portkey-Key": KEY}
    for elsewhere in ("http://one.test/v1", "https://one.test:444/v1", "https://one.test.evil.test/v1"):
        assert settings.headers_for(elsewhere) == {}
    moved = home.load(FIDO_BASE_URL="https://two.test/v1", FIDO_API_KEY="k")
    assert moved.headers == {}
    assert moved.notices[-1].startswith(f"headers of {home.file}: ")
    assert KEY in moved.secrets


def test_key_command_of_a_server_that_is_not_in_use_is_not_run(home: Home) -> None:
    mark = home.folder / "ran"
    home.write(f'{SERVER}api_key_command = "touch {mark}; echo {KEY}"')
    home.load({"base_url": "https://two.test/v1"})
    home.load(FIDO_API_KEY="k")
    assert not mark.exists()


def test_every_secret_that_was_configured_is_known(home: Home) -> None:
    home.write(
        'api_key = "file-key"\n[headers]\nX-Auth = "Bearer header-secret"\nX-Id = "0a1b2c3d4e5f6a7b8c9d"\n'
        'X-Title = "My application of 2026"\nHTTP-Referer = "https://app.test/2026/01"\n'
        '[web]\nsearch_url = "https://me:pass%2Fword@s.test/search?token=query-secret&format=x"\n'
    )
    settings = home.load(
        OPENAI_API_KEY="openai-key", FIDO_API_KEY="fido-key", https_proxy="http://u:proxy-secret@p.test:3128"
    )
    assert set(settings.secrets) == {
        "file-key", "Bearer header-secret", "header-secret", "0a1b2c3d4e5f6a7b8c9d", "pass%2Fword",
        "pass/word", "query-secret", "openai-key", "fido-key", "proxy-secret",
    }  # fmt: skip


# --- a file ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o606, 0o620])
def test_key_file_that_others_can_open_is_refused(home: Home, mode: int) -> None:
    path = home.key_file(mode=mode)
    with pytest.raises(KeyUnavailable) as caught:
        read_key_file(path)
    assert (
        str(caught.value)
        == f"{path} is open to other users; close it with: chmod 600 {shlex.quote(str(path))}"
    )


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_private_key_file_is_read_through_a_link_too(home: Home, mode: int) -> None:
    (home.folder / "link").symlink_to(home.key_file(mode=mode))
    assert read_key_file(home.folder / "link") == KEY


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_key_file_of_somebody_else_is_refused(home: Home) -> None:
    path = home.key_file()
    os.chown(path, OTHERS_UID, -1)
    with pytest.raises(KeyUnavailable, match="belongs to another user"):
        read_key_file(path)


@pytest.mark.parametrize("text", ["", "\n\n", "two words\n", f"{KEY}\n{KEY}\n", "x" * 20_000])
def test_file_that_holds_no_key_is_refused_without_its_words(home: Home, text: str) -> None:
    with pytest.raises(KeyUnavailable) as caught:
        read_key_file(home.key_file(text))
    assert KEY not in str(caught.value)
    assert "words" not in str(caught.value).removeprefix(str(home.folder))


def test_pipe_and_folder_in_place_of_a_key_file_are_told(home: Home) -> None:
    os.mkfifo(home.folder / "pipe", 0o600)
    for path in (home.folder / "pipe", home.folder):
        with pytest.raises(KeyUnavailable, match="no regular file"):
            read_key_file(path)


@pytest.mark.parametrize("line", ['api_key = "{key}"', '[headers]\nX-A = "{key}"'])
def test_settings_file_that_holds_a_secret_and_is_open_to_others_is_told(home: Home, line: str) -> None:
    home.write(line.format(key=KEY))
    assert home.load().notices == ()
    home.file.chmod(0o644)
    assert f"chmod 600 {home.file}" in home.load().notices[0]
    home.write("model = 'm'")
    home.file.chmod(0o644)
    assert home.load().notices == ()


# --- a command ---------------------------------------------------------------------------------------------


@pytest.fixture
def marked(tmp_path: Path) -> Path:
    return tmp_path / "mark"


def refused(command: str | list[str], limit_s: float = 20.0) -> str:
    with pytest.raises(KeyUnavailable) as caught:
        ask_command(command, ENVIRON, limit_s)
    assert KEY not in str(caught.value)
    return str(caught.value)


def test_words_of_a_list_reach_no_shell(marked: Path) -> None:
    assert ask_command(["echo", f"$(touch${{IFS}}{marked})"], ENVIRON) == f"$(touch${{IFS}}{marked})"
    assert not marked.exists()


def test_command_has_nothing_to_read_and_no_terminal() -> None:
    assert (
        ask_command("read x; test -t 0 || echo got=$x; (: < /dev/tty) 2>/dev/null && echo tty; true", ENVIRON)
        == "got="
    )


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("", ""),
        ("echo 'locked with pass phrase hush' >&2", "; it printed 1 line on stderr: run it yourself to see"),
        ("printf 'hush\\n\\nhush\\n' >&2", "; it printed 3 lines on stderr: run it yourself to see"),
    ],
)
def test_command_that_fails_is_told_without_a_word_of_its_own(said: str, told: str) -> None:
    assert refused(f"echo {KEY}; {said}\nexit 3") == f"echo ended with status 3{told}"


def test_command_that_stays_is_ended_with_all_it_started(marked: Path) -> None:
    os.mkfifo(marked)
    reader = os.open(marked, os.O_RDONLY | os.O_NONBLOCK)
    told = refused(f"(trap '' TERM; echo up; sleep 60) > {marked} & sleep 60", 0.5)
    os.set_blocking(reader, True)
    assert told == "the command did not end within 0.5 s"
    assert b"".join(iter(lambda: os.read(reader, 100), b"")) == b"up\n"  # it ends when nobody holds the pipe
    os.close(reader)


def test_command_that_prints_for_ever_is_ended() -> None:
    assert refused("yes", 0.3) == "yes did not end within 0.3 s"


def test_what_a_command_leaves_running_holds_nobody_up() -> None:
    assert ask_command(f"sleep 60 & echo {KEY}", ENVIRON) == KEY
