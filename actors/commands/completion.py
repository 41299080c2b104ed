"""Shell completion, generated from the parsers of the command line."""

import argparse
import shlex
from collections.abc import Iterator

from actors.commands.arguments import COMMANDS, parser_for

NAMES = tuple(name for name in COMMANDS if name)

_BASH = """\
_fido() {
  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" cmd="" word words=""
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in @PATTERN@) cmd="$word"; break;; esac
  done
  case "$prev" in
    --workspace) COMPREPLY=($(compgen -d -- "$cur")); return;;
@VALUES@
  esac
  case "$cmd" in
@WORDS@
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -F _fido fido
"""

_ZSH = """\
#compdef fido
_fido() {
  local cmd="" word
  local -a entries
  for word in ${words[2,CURRENT-1]}; do
    case "$word" in @PATTERN@) cmd="$word"; break;; esac
  done
  case "${words[CURRENT-1]}" in
    --workspace) _files -/; return;;
@VALUES@
  esac
  case "$cmd" in
@WORDS@
  esac
  _describe fido entries
}
compdef _fido fido
"""


def completion(shell: str) -> str:
    """Write the completion script of `bash`, `zsh` or `fish`."""
    if shell == "fish":
        return "\n".join(_fish()) + "\n"
    if shell == "bash":
        cases = [f"    {_case(name)}) words={shlex.quote(' '.join(_words(name)))};;" for name in COMMANDS]
    else:
        cases = [f"    {_case(name)}) entries=({' '.join(_described(name))});;" for name in COMMANDS]
    script = {"bash": _BASH, "zsh": _ZSH}[shell]
    filled = {
        "@PATTERN@": "|".join(NAMES),
        "@VALUES@": "\n".join(_values(shell)),
        "@WORDS@": "\n".join(cases),
    }
    for mark, text in filled.items():
        script = script.replace(mark, text)
    return script


def _case(name: str) -> str:
    return name or '""'


def _words(name: str) -> list[str]:
    """Everything that may follow a command: its fixed words and its flags."""
    fixed = [
        str(choice)
        for action in parser_for(name).actions()
        if not action.option_strings
        for choice in action.choices or ()
    ]
    return [*(() if name else NAMES), *fixed, *parser_for(name).flags()]


def _described(name: str) -> Iterator[str]:
    helps = {
        flag: action.help or "" for action in parser_for(name).actions() for flag in action.option_strings
    }
    helps |= {other: COMMANDS[other].help for other in NAMES}
    for word in _words(name):
        yield shlex.quote(f"{word}:{helps[word]}" if word in helps else word)


def _values(shell: str) -> Iterator[str]:
    """One case for each flag that takes one of a few words."""
    for flag, choices in _choices().items():
        reply = (
            f'COMPREPLY=($(compgen -W "{choices}" -- "$cur"))' if shell == "bash" else f"compadd {choices}"
        )
        yield f"    {flag}) {reply}; return;;"


def _choices() -> dict[str, str]:
    found: dict[str, str] = {}
    for name in COMMANDS:
        for action in parser_for(name).actions():
            if action.choices and action.option_strings:
                found[action.option_strings[-1]] = " ".join(map(str, action.choices))
    return found


def _fish() -> Iterator[str]:
    seen = "__fish_seen_subcommand_from"
    yield "complete -c fido -f"
    for name in NAMES:
        unseen = f"not {seen} {' '.join(NAMES)}"
        yield f"complete -c fido -n {shlex.quote(unseen)} -a {name} -d {shlex.quote(COMMANDS[name].help)}"
    for name in COMMANDS:
        condition = f"{seen} {name}" if name else f"not {seen} {' '.join(NAMES)}"
        for action in parser_for(name).actions():
            yield from _fish_action(shlex.quote(condition), action)


def _fish_action(condition: str, action: argparse.Action) -> Iterator[str]:
    choices = " ".join(map(str, action.choices or ()))
    if not action.option_strings:
        if choices:
            yield f"complete -c fido -n {condition} -a {shlex.quote(choices)}"
        return
    flag = action.option_strings[-1].removeprefix("--")
    value = f"-xa {shlex.quote(choices)}" if choices else "" if action.nargs == 0 else "-r"
    value = "-xa '(__fish_complete_directories)'" if flag == "workspace" else value
    yield f"complete -c fido -n {condition} -l {flag} {value} -d {shlex.quote(action.help or '')}"
