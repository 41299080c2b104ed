"""Has a page read by a process of its own: whatever the page is, it ends in time and takes nothing down."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Final

import msgspec

from actors.files.workspace import os_failures
from actors.tools.tool import ToolFailure
from actors.web.extract import Order, Page

DEADLINE_S: Final = 10.0
OUTPUT_BYTES: Final = 1 << 20
"""More than any page that was asked for; a reader that writes more has been taken over."""
_ROOT: Final = str(Path(__file__).parents[2])
_START: Final = (
    "import sys; _, root, parent = sys.argv; sys.path.append(root); "
    "from actors.web import extract; extract.main(int(parent))"
)
_TRY: Final = "Try another page that says the same, such as a plain text or raw version of it."

_decode = msgspec.json.Decoder(Page).decode


async def read(order: Order, data: bytes, deadline_s: float = DEADLINE_S) -> Page:
    """Make text of a page. Raises `ToolFailure` where its reader crashed, hung or ran out of memory."""
    with os_failures("the process that reads pages"):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-X", "utf8", "-c", _START, _ROOT, str(os.getpid()),
            cwd="/",
            env={},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=OUTPUT_BYTES,
        )  # fmt: skip
    try:
        async with asyncio.timeout(deadline_s):
            output, _ = await process.communicate(json.dumps(order).encode() + b"\n" + data)
    except TimeoutError:
        raise _unreadable(f"it takes longer than {deadline_s:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    try:
        return _decode(output[:OUTPUT_BYTES])
    except msgspec.DecodeError:
        raise _unreadable("it is too large or too deeply nested") from None


def _unreadable(why: str) -> ToolFailure:
    return ToolFailure("unreadable_page", f"The page can not be made into text: {why}.", _TRY)
