"""Parents that are there at once: forked from a process that has imported everything, one after the other."""

import os
import subprocess
import sys
from pathlib import Path

from tests.fakes.fido import Home
from tests.fakes.launch import ROOT

_WARM = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
import openai
from actors import parent
from ipc import kernel
openai.AsyncOpenAI(api_key="k", base_url="http://127.0.0.1:9/v1")
kernel.die_with_parent(int(sys.argv[1]))
kernel.adopt_orphans()
for line in sys.stdin:
    warm = os.getpid()
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        os.dup2(0, 1)
        kernel.leave(parent.main([line.strip(), str(warm)]))
    print(pid, flush=True)
    ended = 0
    while ended != pid:
        ended, status = os.wait()
        if ended == pid:
            print(os.waitstatus_to_exitcode(status), flush=True)
"""


class WarmParent:
    """Starts one parent at a time."""

    def __init__(self, at: Home, **environ: str) -> None:
        self._errors = at.folder / "parent.err"
        with open(self._errors, "wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", _WARM, str(os.getpid())],
                env=at.environment(**environ),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def start(self, run_directory: Path) -> int:
        """Fork a parent for a run; return its pid."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{run_directory}\n")
        self._process.stdin.flush()
        return self._number()

    def ended(self) -> int:
        """Wait for the end of the last one; return its exit status, or minus the signal."""
        return self._number()

    def errors(self) -> str:
        """What parents wrote to stderr."""
        return self._errors.read_text(encoding="utf-8")

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _number(self) -> int:
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())
