"""The last words of a process: one line that nothing in it can turn into more, wherever stderr leads."""

import subprocess
import sys
from pathlib import Path
from typing import IO

SAY = [sys.executable, "-I", "-c", "import sys\nfrom actors.last_words import say\nsay(sys.argv[1])"]


def said(words: str, stderr: int | IO[bytes] = subprocess.PIPE) -> bytes:
    return subprocess.run([*SAY, words], stderr=stderr, timeout=10, check=True).stderr


def test_hostile_words_are_one_visible_line() -> None:
    assert said("\x1b]0;x\x07 a\nfido: b").decode() == "fido: ␛]0;x␇ a ⏎ fido: b\n"


def test_line_behind_the_last_words_in_a_file_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with path.open("wb", buffering=0) as file:
        said("first", file)
        file.write(b"second\n")
    assert path.read_text(encoding="utf-8") == "fido: first\nsecond\n"


def test_closed_stderr_is_no_error() -> None:
    subprocess.run(["sh", "-c", 'exec "$@" 2>&-', "sh", *SAY, "lost"], timeout=10, check=True)
