"""The protocols that the scripted server speaks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.fakes import chat_rules, chat_script, responses_rules, responses_script
from tests.fakes.chat_script import Drop, Raw, Stall, Step, Wait


@dataclass(frozen=True)
class Api:
    """How one protocol is asked, checked and answered."""

    path: str
    check: Callable[[Mapping[str, Any]], None]
    """Raises `chat_rules.RuleError`."""
    messages: Callable[[Mapping[str, Any]], Any]
    """The history of a request, as a chat has it."""
    render: Callable[[Step, int, Mapping[str, Any]], list[Raw | Wait | Stall | Drop]]


def _render_chat(step: Step, number: int, request: Mapping[str, Any]) -> list[Raw | Wait | Stall | Drop]:
    include_usage = bool((request.get("stream_options") or {}).get("include_usage"))
    return chat_script.render(step, number, request.get("model", ""), include_usage)


CHAT = Api("/chat/completions", chat_rules.check, lambda request: request.get("messages", []), _render_chat)
RESPONSES = Api("/responses", responses_rules.check, responses_rules.messages, responses_script.render)
