"""The command line: every command, every flag, each with its help line."""

import argparse
import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, NoReturn

from ipc.endpoints import SESSION_ID

MODES = ("plan", "agent", "yolo")
LOG_LEVELS = ("debug", "info", "warning", "error")
OUTPUT_FORMATS = ("text", "json", "stream-json")
SHELLS = ("bash", "zsh", "fish")
ACTORS = ("plan_store", "parent", "worker")


class UsageError(Exception):
    """The command line says something that Fido does not understand; the text is one line."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line, and raised."""

    def error(self, message: str) -> NoReturn:
        text = re.sub(r"^argument ([^:]+): ", r"\1: ", message)
        raise UsageError(f"{self.prog}: {text} (see {self.prog} --help)")

    def understand(self, words: Sequence[str]) -> argparse.Namespace:
        """Parse flags and bare words in any order. Raises `UsageError`."""
        options, unknown = self.parse_known_intermixed_args(list(words))
        if unknown:
            from difflib import get_close_matches

            flag = unknown[0].partition("=")[0]
            close = get_close_matches(flag, self.flags(), n=2, cutoff=0.7)
            hint = f"; did you mean {' or '.join(close)}?" if close else ""
            self.error(f"{flag}: unknown flag{hint}" if flag.startswith("-") else f"{flag}: too many words")
        return options

    def actions(self) -> list[argparse.Action]:
        """All that this command takes, in the order of its help."""
        return list(self._actions)

    def flags(self) -> list[str]:
        """All flags of this command, long forms."""
        return [name for action in self._actions for name in action.option_strings if name.startswith("--")]


class Command(NamedTuple):
    """One command: its help line, its form after `fido NAME`, and what it takes beside the common flags."""

    help: str
    form: str
    add: Callable[[Parser], None]


def parser_for(name: str) -> Parser:
    """The parser of a command; the empty name is the screen."""
    command = COMMANDS[name]
    parser = Parser(
        prog=f"fido {name}".strip(),
        usage=f"fido {name} {command.form} [FLAGS]".replace("  ", " "),
        description=command.help,
        epilog=None if name else _listing(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.add(parser)
    if name != "completion":
        _add_common(parser)
    return parser


def split(argv: Sequence[str]) -> tuple[str, list[str]]:
    """Find the command: the first bare word if it names one, else the screen, and the words beside it."""
    valued = {flag for action in _common_actions() for flag in action.option_strings}
    place = 0
    while place < len(argv) and argv[place].startswith("-") and argv[place] not in {"-", "--"}:
        place += 2 if argv[place] in valued else 1
    if place < len(argv) and argv[place] in COMMANDS and argv[place]:
        return argv[place], [*argv[:place], *argv[place + 1 :]]
    return "", list(argv)


def prompt_of(words: Iterable[str]) -> str:
    """Join the bare words; bytes that are no UTF-8 become replacement characters."""
    return os.fsencode(" ".join(words)).decode("utf-8", "replace").strip()


def _listing() -> str:
    rows = [(f"fido {name} {command.form}", command.help) for name, command in COMMANDS.items() if name]
    return "commands:\n" + "\n".join(f"  {form:<33} {text}" for form, text in rows)


def _common_actions() -> list[argparse.Action]:
    parser = Parser(add_help=False)
    _add_common(parser)
    return [action for action in parser.actions() if action.nargs != 0]


def _add_common(parser: Parser) -> None:
    group = parser.add_argument_group("common flags")
    group.add_argument("--workspace", metavar="DIR", help="the folder to work in (default: the current one)")
    group.add_argument("--model", metavar="NAME", help="model to ask, as the server calls it")
    group.add_argument(
        "--base-url", metavar="URL", help="OpenAI-compatible server, as in http://localhost:11434/v1"
    )
    group.add_argument("--mode", choices=MODES, help="plan refuses every change, agent asks, yolo allows all")
    group.add_argument("--session", metavar="ID", type=_session_id, help="name of the session")
    group.add_argument(
        "--log-level", choices=LOG_LEVELS, help="how much goes into the logs (default: warning)"
    )


def _add_screen(parser: Parser) -> None:
    parser.add_argument(
        "prompt", nargs="*", metavar="PROMPT", help="what to do first; nothing opens the screen only"
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")


def _add_run(parser: Parser) -> None:
    parser.add_argument("prompt", nargs="*", metavar="PROMPT", help="what to do; - reads it from stdin")
    parser.add_argument(
        "--output-format", choices=OUTPUT_FORMATS, default="text", help="what goes to stdout (default: text)"
    )
    parser.add_argument("--max-turns", metavar="N", type=_count, help="most rounds of tool calls")
    parser.add_argument(
        "--timeout", metavar="SECONDS", type=_seconds, help="end the run after so many seconds"
    )
    parser.add_argument(
        "--allow",
        metavar="TOOL",
        action="append",
        help="allow a tool, or 'bash_exec(git diff *)', 'patch(docs/**)', 'browse_url(HOST)'; repeatable",
    )
    parser.add_argument("--deny", metavar="TOOL", action="append", help="deny the same; repeatable")


def _add_attach(parser: Parser) -> None:
    parser.add_argument(
        "session_id", nargs="?", metavar="SESSION", type=_session_id, help="which, if several run"
    )


def _add_resume(parser: Parser) -> None:
    parser.add_argument(
        "session_id",
        nargs="?",
        metavar="SESSION",
        type=_session_id,
        help="which; without one, choose from a list",
    )


def _add_plan(parser: Parser) -> None:
    parser.add_argument("action", nargs="?", choices=("show", "clear"), default="show", help="default: show")
    _add_json(parser)


def _add_nothing(parser: Parser) -> None:
    """The common flags are all it takes."""


def _add_json(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def _add_tools(parser: Parser) -> None:
    _add_json(parser)
    parser.add_argument(
        "--advertised", action="store_true", help="print the exact bytes every request carries"
    )


def _add_actor(parser: Parser) -> None:
    parser.add_argument("name", choices=ACTORS, metavar="NAME", help=", ".join(ACTORS))


def _add_completion(parser: Parser) -> None:
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))


COMMANDS = {
    "": Command("Fido, a coding agent in the terminal.", "[PROMPT]", _add_screen),
    "run": Command("one prompt without the screen, then exit", "PROMPT", _add_run),
    "resume": Command("the screen, on an earlier session", "[SESSION]", _add_resume),
    "attach": Command("draw a session that is running", "[SESSION]", _add_attach),
    "plan": Command("show or clear the workspace plan", "[show|clear]", _add_plan),
    "sessions": Command("list the sessions of this workspace", "", _add_json),
    "tools": Command("list the tools a model is offered", "", _add_tools),
    "doctor": Command("tell what works here, and what to do where it does not", "", _add_nothing),
    "actor": Command("run one actor in the foreground", "NAME", _add_actor),
    "completion": Command("print shell completion for bash, zsh or fish", "SHELL", _add_completion),
}


def _session_id(text: str) -> str:
    if not SESSION_ID.fullmatch(text):
        raise argparse.ArgumentTypeError(
            "a session id has letters, digits, dots, dashes and underscores, 64 at most"
        )
    return text


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number from 1, got {text!r}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e9:
        raise argparse.ArgumentTypeError(f"expected seconds above 0, got {text!r}")
    return seconds
