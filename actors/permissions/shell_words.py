"""A plain shell command as its words; anything that is more than one plain command has none (pure)."""

_LIVE = frozenset(";&|<>(){}$`\\*?[]!")
"""Outside of quotes each of these could mean more than itself: then nothing is matched."""
_LIVE_AT_START = frozenset("~#")
"""These mean more at the start of a word, a tilde also behind a colon and an equals sign."""
_LIVE_IN_DOUBLE_QUOTES = frozenset("$`\\!")


def plain_words(command: str) -> tuple[str, ...] | None:
    """Words of a command that has no operator, substitution, redirection, expansion or assignment in it.

    Null for everything else, also for what is only unusual: a command that is not understood is no match.
    """
    if "\0" in command:
        return None
    words: list[str] = []
    word: str | None = None
    at = 0
    while at < len(command):
        character = command[at]
        if character in " \t":
            if word is not None:
                words.append(word)
            word = None
        elif character in "'\"":
            end = command.find(character, at + 1)
            quoted = command[at + 1 : end]
            if end < 0 or (character == '"' and _LIVE_IN_DOUBLE_QUOTES & set(quoted)):
                return None
            word = (word or "") + quoted
            at = end
        elif _is_live(character, word):
            return None
        else:
            word = (word or "") + character
        at += 1
    if word is not None:
        words.append(word)
    return None if not words or "=" in words[0] else tuple(words)


def _is_live(character: str, word: str | None) -> bool:
    if character in _LIVE or not character.isprintable():
        return True
    return character in _LIVE_AT_START and (not word or word[-1] in ":=")
