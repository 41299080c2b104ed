"""Call a tool as the invocation guard does: validated arguments, one run."""

import asyncio
from typing import Any

import pytest

from actors.tools.tool import Invocation, Tool, ToolFailure, ToolOutput


def call(tool: Tool[Any], **arguments: object) -> ToolOutput:
    return asyncio.run(tool.run(tool.input.model_validate(arguments), Invocation("call-1")))


def refusal(tool: Tool[Any], **arguments: object) -> ToolFailure:
    with pytest.raises(ToolFailure) as caught:
        call(tool, **arguments)
    assert caught.value.message
    assert caught.value.next_step
    return caught.value
