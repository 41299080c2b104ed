"""What of our environment a child may see: everything but the keys of model providers."""

import re
from collections.abc import Collection, Mapping

_KEY = re.compile(r"(^|_)API_?KEYS?($|_)", re.IGNORECASE)
_SHORTEST = 8
"""Characters of a secret that is looked for: `x` and `ollama`, given to keyless servers, stand anywhere."""


def without_keys(environ: Mapping[str, str], secrets: Collection[str] = ()) -> dict[str, str]:
    """Leave out `OPENAI_API_KEY`, `FIDO_API_KEY`, whatever else is named as an API key or holds a secret.

    `secrets` are the values that were set as keys, whatever the variables are called that have them.
    """
    keys = keys_of(environ, secrets)
    return {name: value for name, value in environ.items() if name not in keys}


def keys_of(environ: Mapping[str, str], secrets: Collection[str] = ()) -> set[str]:
    """The names of the variables that `without_keys` leaves out."""
    hidden = tuple(secret for secret in secrets if len(secret) >= _SHORTEST)
    return {
        name
        for name, value in environ.items()
        if _KEY.search(name) or any(secret in value for secret in hidden)
    }
