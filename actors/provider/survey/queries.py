"""What the survey looks for: the calls it makes, and what their matches mean."""

import re
from collections.abc import Sequence
from typing import Any, Final

CODE_ONLY: Final = "!*.{md,rst,txt,lock,svg,csv,min.js}"
"""Prose and generated files; what they quote runs nowhere."""

LAYOUT: Final[dict[str, Any]] = {}
FOLDERS: Final[dict[str, Any]] = {"depth": 1}
TESTS: Final[dict[str, Any]] = {
    "glob": "{test_*,*_test.*,*_spec.*,*.test.*,*.spec.*,*Test.*,*Tests.*,**/tests/**,**/__tests__/**}"
}
TODO: Final[dict[str, Any]] = {"pattern": r"\b(TODO|FIXME)\b", "max_results": 60}
RISKY: Final[dict[str, Any]] = {
    "pattern": r"(^|[^.\w])(eval|exec)\(|os\.(system|popen)\(|shell ?= ?True|pickle\.loads?\(|yaml\.load\("
    r"|\.innerHTML\b|dangerouslySetInnerHTML|\bunsafe \{|child_process|verify ?= ?False|InsecureSkipVerify",
    "glob": CODE_ONLY,
    "max_results": 100,
}
ENTRY: Final[dict[str, Any]] = {
    "pattern": r"^if __name__ == .__main__.|^func main\(|^(pub )?(async )?fn main\(|static void main\("
    r"|^(int|void) main\(|\bcreateRoot\(|\.listen\(|^#!/",
    "glob": CODE_ONLY,
    "max_results": 40,
}
SILENCED: Final[dict[str, Any]] = {
    "pattern": r"except:|except (Base)?Exception\b.*: ?(pass)?$|catch ?(\(\w*\))? ?\{ ?\}"
    r"|@ts-(ignore|nocheck)|eslint-disable|# ?type: ?ignore|# ?noqa|#!?\[allow\("
    r"|pytest\.mark\.(skip|xfail)|unittest\.skip"
    r"|\b(it|test|describe)\.skip\(|@(Disabled|Ignore)\b|\bt\.Skip\(|#\[ignore",
    "glob": CODE_ONLY,
    "max_results": 60,
}
_RISKS: Final = (
    ("text that is run as code", r"(eval|exec)\("),
    ("a command through the shell", r"os\.(system|popen)\(|shell ?= ?True|child_process"),
    ("data that can run code when it is read", r"pickle|yaml\.load"),
    ("text that becomes markup", r"innerHTML|InnerHTML"),
    ("certificates that are not checked", r"verify ?=|InsecureSkipVerify"),
    ("memory safety switched off", r"unsafe"),
)
_SILENCES: Final = (
    ("a test is skipped or expected to fail", r"skip|xfail|Skip|Disabled|Ignore\b|\[ignore"),
    ("every exception is caught here, also those that nobody expected", r"except|catch"),
    ("a type check is switched off", r"type: ?ignore|@ts-"),
    ("a lint rule is switched off", r"noqa|eslint|allow\("),
)
_COMMON_WORDS: Final = frozenset(
    {
        *("about", "above", "after", "again", "also", "answer", "any", "because", "been", "before", "being"),
        *("below", "code", "could", "describe", "does", "each", "explain", "fido", "file", "files", "find"),
        *("folder", "from", "give", "have", "here", "into", "know", "like", "list", "look", "main", "make"),
        *("more", "most", "need", "only", "other", "over", "overview", "please", "project", "read", "repo"),
        *("attention", "important", "needs", "start", "starts", "test", "tested", "tests", "work", "works"),
        *("report", "repository", "search", "show", "some", "summary", "survey", "tell", "than", "thank"),
        *("thanks", "that", "their", "them", "then", "there", "these", "they", "this", "those", "through"),
        *("under", "very", "want", "what", "when", "where", "which", "will", "with", "workspace", "would"),
        *("write", "your"),
    }
)
WORDS: Final = 6
"""Most words of a prompt that are searched for."""


def risk(text: str) -> str:
    """What kind of risk a line of code is."""
    return _kind(_RISKS, text) or "worth a look"


def silence(text: str) -> str:
    """What a line of code silences."""
    return _kind(_SILENCES, text) or "a check is silenced"


def focus_words(prompt: str) -> tuple[str, ...]:
    """Words of a prompt that may stand in the files, in order."""
    words = dict.fromkeys(word.lower() for word in re.findall(r"[^\W\d_]\w{3,40}", prompt))
    return tuple(word for word in words if word not in _COMMON_WORDS)[:WORDS]


def focus(prompt: str) -> dict[str, Any] | None:
    """The search for what the prompt asks about; None when it names nothing."""
    words = focus_words(prompt)
    return {"pattern": "|".join(words), "ignore_case": True, "max_results": 30} if words else None


def of_extension(extension: str) -> dict[str, Any]:
    """The listing that tells how many bytes files of one extension have."""
    return {"glob": f"*{extension}"}


def _kind(kinds: Sequence[tuple[str, str]], text: str) -> str:
    return next((name for name, pattern in kinds if re.search(pattern, text)), "")
