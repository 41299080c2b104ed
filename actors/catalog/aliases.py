"""What other agents call these tools and their arguments, which models trained on them reach for (pure).

Not advertised. A call by another name is the call of the tool it means, with its effect, its permissions and
its refusals; the conversation keeps what the model sent.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

import msgspec

from actors.calls import argument_object
from ipc.messages import ToolCall

Arguments = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Alias:
    """A family of other names for one tool that take the same arguments."""

    tool: str
    """The tool that is meant."""
    names: tuple[str, ...]
    """Letters and digits alone, lower case: `run_shell` and `RunShell` are `runshell`."""
    arguments: Mapping[str, str]
    """Their name of an argument to ours, written as the names are."""
    dropped: tuple[str, ...] = ()
    """Arguments that have no counterpart and change nothing about what is done."""
    shape: Callable[[Arguments], Arguments] = dict
    """Puts values right, once they are named as ours."""


def canonical_name(name: str) -> str:
    """The tool that a name means; the name itself when it is unknown."""
    found = _BY_NAME.get(_plain(name))
    return found.tool if found and name != found.tool else name


def canonical(call: ToolCall) -> ToolCall:
    """The call as the tool that it means takes it; the call itself when it needs no change."""
    alias = _BY_NAME.get(_plain(call.name))
    if alias is None or call.name == alias.tool:
        return call
    try:
        given = argument_object(call)
        arguments = msgspec.json.encode(alias.shape(_renamed(given, alias))).decode()
    except (ValueError, OverflowError, RecursionError):  # numbers and depths that JSON takes and nobody means
        return msgspec.structs.replace(call, name=alias.tool)
    return msgspec.structs.replace(call, name=alias.tool, arguments=arguments)


def nearest_tools(name: str, tools: Iterable[str]) -> list[str]:
    """Those of the tools that a name may have been meant for, by their own names and by others."""
    known = {_plain(tool): tool for tool in tools}
    others = {each: alias.tool for each, alias in _BY_NAME.items() if alias.tool in known.values()}
    names = others | known
    near = get_close_matches(_plain(name), names, n=4, cutoff=0.6)
    near += [word for word in _words(name) if word in names]
    return list(dict.fromkeys(names[each] for each in near))[:3]


def _renamed(given: Mapping[str, Any], alias: Alias) -> Arguments:
    """The arguments by our names; one that is named as ours already counts more."""
    made: Arguments = {}
    for name, value in given.items():
        plain = _plain(name)
        ours = alias.arguments.get(plain, name)
        if plain not in alias.dropped and (name == ours or ours not in given):
            made[ours] = value
    return made


def _plain(name: str) -> str:
    """A name without what agents write differently: case, separators, a namespace before it."""
    return re.sub(r"[\W_]", "", re.split(r"[.:/]", name)[-1].lower())


def _words(name: str) -> list[str]:
    """The words in a name, in lower case: `search` and `everything` of `searchEverything`."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)]


# --- shapes ----------------------------------------------------------------------------------------------


def _command(given: Arguments) -> Arguments:
    """A list of words is a command line; seconds are milliseconds."""
    command, limit = given.get("command"), given.get("timeout_ms")
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        is_shell = len(command) == 3 and command[1] in ("-c", "-lc")
        given["command"] = command[2] if is_shell else shlex.join(command)
    if isinstance(limit, int | float) and 0 < limit < 1000:
        given["timeout_ms"] = round(limit * 1000)
    return given


def _whole_file(given: Arguments) -> Arguments:
    return {"old_text": "", **given}


def _lines(given: Arguments) -> Arguments:
    """A range, given by its two ends, is where it begins and how much it is."""
    span, last = given.pop("view_range", None), given.pop("end_line", None)
    if isinstance(span, list) and len(span) == 2:
        given["offset"], last = span
    first = given.get("offset")
    if isinstance(last, int) and last > 0:
        given["limit"] = last - (first if isinstance(first, int) else 1) + 1
    return given


def _flat(given: Arguments) -> Arguments:
    """A listing that is not recursive is one level deep."""
    return {"depth": 1, **given} if given.pop("recursive", None) is False else given


def _steps(given: Arguments) -> Arguments:
    """A list of todos is a plan; ids come from the titles, so that the same todo keeps its own."""
    items = given.get("items")
    if isinstance(items, list):
        given["items"] = [_step(item) for item in items if not _is_dropped(item)]
    return {"reason": "The steps were listed anew", **given}


_STATUS: Final = {
    "completed": "done", "complete": "done", "finished": "done", "inprogress": "in_progress",
    "active": "in_progress", "notstarted": "pending", "todo": "pending", "open": "pending",
}  # fmt: skip
_STEP: Final = {"content": "title", "step": "title", "task": "title", "text": "title", "description": "title"}


def _step(item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    known = {name: value for name, value in item.items() if name not in ("activeForm", "priority")}
    made = {(_STEP.get(name, name) if "title" not in known else name): value for name, value in known.items()}
    title, status = str(made.get("title", "")), str(made.get("status", "pending"))
    made["id"] = str(made.get("id") or re.sub(r"\W+", "-", title.lower()).strip("-")[:40])
    made["status"] = _STATUS.get(_plain(status), status)
    if made["status"] != "done":
        made.setdefault("next_action", str(item.get("activeForm") or title))
    return made


def _is_dropped(item: Any) -> bool:
    return isinstance(item, dict) and item.get("status") in ("cancelled", "canceled")


# --- the table -------------------------------------------------------------------------------------------

_PATH: Final = dict.fromkeys(
    ("absolutepath", "directory", "directorypath", "dirpath", "file", "filename", "filepath", "folder",
     "folderpath", "relativepath", "relativeworkspacepath", "targetdirectory", "targetfile"),
    "path",
)  # fmt: skip
_WHY: Final = ("description", "explanation", "instruction", "instructions", "justification", "toolsummary")

ALIASES: Final = (
    Alias(
        "ask_user",
        ("askfollowupquestion", "askquestion", "askhuman", "askuserquestion"),
        {"text": "question", "prompt": "question", "choices": "options", "suggestions": "options"},
    ),
    Alias(
        "bash_exec",
        ("bash", "command", "containerexec", "exec", "execcommand", "executebash", "executecommand",
         "localshell", "runbash", "runcommand", "runinterminal", "runshell", "runshellcommand",
         "runterminalcmd", "runterminalcommand", "sh", "shell", "shellcommand", "terminal"),
        {"cmd": "command", "script": "command", "shellcommand": "command", "timeout": "timeout_ms",
         "timeoutsec": "timeout_ms", "timeoutseconds": "timeout_ms", "workdir": "cwd", "workingdir": "cwd",
         "workingdirectory": "cwd", "directory": "cwd", "dirpath": "cwd"},
        (*_WHY, "login", "requiresapproval", "sandboxpermissions", "securityrisk",
         "withescalatedpermissions"),
        _command,
    ),
    Alias(
        "browse_url",
        ("browse", "fetch", "fetchpage", "fetchurl", "fetchwebpage", "openurl", "readurl", "urlfetch",
         "webfetch"),
        {"uri": "url", "link": "url"},
        (*_WHY, "format", "maxlength", "prompt", "raw", "timeout"),
    ),
    Alias(
        "delegate",
        ("agent", "delegatetask", "dispatchagent", "newtask", "runagent", "runsubagent", "spawnagent",
         "subagent", "task"),
        {"prompt": "task", "message": "task", "objective": "task", "description": "context"},
        ("agent", "agenttype", "mode", "model", "name", "subagenttype", "todos"),
    ),
    Alias(
        "list_files",
        ("fileglobsearch", "findfiles", "glob", "globfiles", "globsearch", "list", "listdir",
         "listdirectory", "listfilesrecursive", "listfolder", "ls", "tree"),
        {**_PATH, "pattern": "glob", "globpattern": "glob"},
        (*_WHY, "filefilteringoptions", "ignore", "respectgitignore", "showhidden"),
        _flat,
    ),
    Alias("mkdir", ("createdirectory", "createfolder", "makedir", "makedirectory"), _PATH, _WHY),
    Alias(
        "patch",
        ("edit", "editfile", "replace", "replaceinfile", "searchreplace", "stringreplace", "strreplace"),
        {**_PATH, "oldstring": "old_text", "oldstr": "old_text", "oldtext": "old_text", "search": "old_text",
         "newstring": "new_text", "newstr": "new_text", "newtext": "new_text", "replacement": "new_text",
         "replaceall": "replace_all"},
        (*_WHY, "expectedreplacements"),
    ),
    Alias(
        "patch",
        ("create", "createfile", "newfile", "savefile", "write", "writefile", "writetofile"),
        {**_PATH, "content": "new_text", "contents": "new_text", "filetext": "new_text", "text": "new_text"},
        (*_WHY, "linecount"),
        _whole_file,
    ),
    Alias(
        "read_file",
        ("cat", "fileread", "getfilecontents", "openfile", "read", "readtextfile", "view", "viewfile"),
        {**_PATH, "startline": "offset", "linestart": "offset", "startlineoneindexed": "offset",
         "endline": "end_line", "endlineoneindexedinclusive": "end_line", "lineend": "end_line",
         "viewrange": "view_range"},
        (*_WHY, "shouldreadentirefile"),
        _lines,
    ),
    Alias(
        "ripgrep",
        ("codesearch", "findinfiles", "grep", "grepsearch", "rg", "search", "searchcode",
         "searchfilecontent", "searchfiles", "searchtext"),
        {**_PATH, "query": "pattern", "regex": "pattern", "searchpath": "path", "include": "glob",
         "filepattern": "glob", "globpattern": "glob", "includepattern": "glob", "i": "ignore_case",
         "caseinsensitive": "ignore_case", "ignorecase": "ignore_case", "c": "context",
         "contextlines": "context", "headlimit": "max_results", "limit": "max_results",
         "maxcount": "max_results"},
        (*_WHY, "n", "outputmode"),
    ),
    Alias("rm", ("delete", "deletefile", "remove", "removefile", "unlink"), _PATH, _WHY),
    Alias("rmdir", ("deletedirectory", "deletefolder", "removedirectory"), _PATH, _WHY),
    Alias(
        "update_plan",
        ("managetodolist", "plan", "settodolist", "todo", "todowrite", "updatetodo", "updatetodolist",
         "updatetodos", "writetodos"),
        {"todos": "items", "todolist": "items", "plan": "items", "tasks": "items", "steps": "items",
         "explanation": "reason"},
        ("merge", "operation"),
        _steps,
    ),
    Alias(
        "websearch",
        ("google", "googlewebsearch", "internetsearch", "searchweb"),
        {"q": "query", "searchquery": "query", "searchterm": "query"},
        (*_WHY, "count", "numresults"),
    ),
)  # fmt: skip

_BY_NAME: Final = {name: alias for alias in reversed(ALIASES) for name in (_plain(alias.tool), *alias.names)}
