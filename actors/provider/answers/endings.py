"""Finish reasons, and what each means for the answer: a table. Pure."""

from typing import Final, Literal

Ending = Literal["whole", "length", "withheld", "broken"]

_REASONS: Final[dict[Ending, tuple[str, ...]]] = {
    "whole": (
        "stop", "tool_calls", "tool_call", "function_call", "tool_use", "eos", "eos_token", "end_turn", "end",
        "stop_sequence", "completed", "complete",
    ),
    "length": (
        "length", "max_tokens", "max_output_tokens", "max_completion_tokens", "model_length", "max_length",
        "token_limit", "context_length", "model_context_window_exceeded",
    ),
    "withheld": (
        "content_filter", "content_filtered", "sensitive", "safety", "recitation", "blocklist", "refusal",
        "prohibited_content", "spii", "image_safety", "guardrail_intervened", "error_toxic", "moderation",
    ),
    "broken": (
        "error", "abort", "aborted", "cancelled", "canceled", "failed", "network_error", "timeout",
        "insufficient_system_resource", "malformed_function_call", "unexpected_tool_call", "incomplete",
    ),
}  # fmt: skip
"""As OpenAI, DeepSeek, Mistral, Moonshot, Zhipu, Gemini, Anthropic, Cohere, Bedrock, TGI, vLLM and SGLang
have them, in small letters."""
_ENDINGS: Final = {reason: ending for ending, reasons in _REASONS.items() for reason in reasons}


def ending_of(finish_reason: str) -> Ending | None:
    """What a finish reason means; None for one that is not known, behind which the answer counts as whole."""
    return _ENDINGS.get(finish_reason.lower().replace("-", "_").removeprefix("finish_reason_"))
