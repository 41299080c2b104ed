"""Texts without what looks like a secret, whoever it belongs to (pure).

For logs, errors and what a person is told; never for the content of files, which has to stay exact.
"""

import functools
import re
from typing import Final

MARK: Final = "[redacted key]"
"""Stands where a secret was. It needs no escape in JSON, and no rule below matches it again."""

_VALUE: Final = r"(?!\[redacted key\])"
_FORMATS: Final = (
    r"sk-[A-Za-z0-9_-]{16,}",  # OpenAI, Anthropic, OpenRouter, DeepSeek, Moonshot, LiteLLM
    r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}",  # Stripe
    r"(?:gsk|hf|r8|fw|csk|npm|tgp_v1|dop_v1|shpat|whsec)_[A-Za-z0-9_-]{16,}",
    r"(?:xai|nvapi|pplx|glpat|dapi|lin_api|pat)-[A-Za-z0-9_-]{16,}",
    r"gh[pousr]_[A-Za-z0-9]{16,}",
    r"github_pat_[A-Za-z0-9_]{16,}",
    r"xox[a-z]-[A-Za-z0-9-]{10,}",  # Slack
    r"(?:AKIA|ASIA)[A-Z0-9]{16}",  # AWS
    r"AIza[A-Za-z0-9_-]{30,}",  # Google
    r"ya29\.[A-Za-z0-9_-]{16,}",
    r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",  # SendGrid
    r"pypi-[A-Za-z0-9_-]{32,}",
    r"AGE-SECRET-KEY-1[A-Z0-9]{40,}",
    r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",  # JSON Web Token
)
"""Keys that their issuers gave a form of its own."""
_NAMES: Final = (
    r"authorization|proxy-authorization|x-api-key|api-key|x-auth-token|x-goog-api-key|x-[a-z-]{1,40}-(?:key|token)"
    r"|api_?key|access_token|refresh_token|client_secret|secret_key|password|passwd"
)
_START: Final = r"(?i)(?<![a-z0-9_-])"
_GAP: Final = r"\s{0,4}+"
_QUOTED: Final = rf"""\\?["']{_GAP}[:=,]{_GAP}b?\\?["']){_VALUE}[^"'\\\r\n]{{1,8192}}"""
"""What follows a name in JSON, in JSON within JSON, and as Python shows it: `(b'x-api-key', b'v')`."""
_RULES: Final = tuple(
    (rule, rf"\1{MARK}\2")
    for rule in (
        r"()-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|\Z)()",
        rf"{_START}((?:{_NAMES}|(?:set-)?cookie){_QUOTED}()",
        rf"""{_START}((?:{_NAMES}){_GAP}[:=]{_GAP}["']){_VALUE}[^"'\r\n]{{1,8192}}()""",
        rf"{_START}((?:proxy-)?authorization{_GAP}[:=]{_GAP}(?:bearer|basic|token|digest)\s{{1,4}}+)"
        rf"""{_VALUE}[^\s"'\\,;&]{{1,8192}}()""",
        rf"""{_START}((?:{_NAMES}){_GAP}[:=]{_GAP}){_VALUE}[^\s"'\\,;&]{{8,8192}}()""",
        rf"""{_START}((?:set-)?cookie{_GAP}:{_GAP}){_VALUE}[^\r\n"']{{1,8192}}()""",
        rf"{_START}((?:bearer|basic)\s{{1,4}}+){_VALUE}[a-z0-9._~+/=-]{{12,8192}}()",
        rf"(?i)(?<![a-z0-9+.-])([a-z][a-z0-9+.-]{{0,20}}://){_VALUE}[^/\s:@]{{0,256}}:[^/\s@]{{1,512}}(@)",
        r"(?i)([?&](?:[a-z0-9_.-]{0,24}(?:key|token|secret|signature|password|credential)|sig|auth|code)=)"
        rf"{_VALUE}[^&\s\"'#<>]{{1,2048}}()",
        rf"()(?<![A-Za-z0-9])(?:{'|'.join(_FORMATS)})()",
    )
)
"""Each with what stays before the secret and behind it."""


def without_secrets(text: str) -> str:
    """Put a mark in the place of keys, tokens, private keys, passwords in URLs, values of secret headers."""
    for rule, mark in _compiled():
        text = rule.sub(mark, text)
    return text


@functools.cache
def _compiled() -> tuple[tuple[re.Pattern[str], str], ...]:
    """On the first use: most processes never have a line to log."""
    return tuple((re.compile(rule, re.DOTALL), mark) for rule, mark in _RULES)
