"""What of our environment a child may see: everything but the keys of model providers."""

import re
from collections.abc import Mapping

_KEY = re.compile(r"(^|_)API_?KEYS?($|_)", re.IGNORECASE)


def without_keys(environ: Mapping[str, str]) -> dict[str, str]:
    """Leave out `OPENAI_API_KEY`, `FIDO_API_KEY` and whatever else is named as an API key."""
    return {name: value for name, value in environ.items() if not _KEY.search(name)}
