"""How many tokens the model takes, as far as that is known by now."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

ASSUMED_WINDOW: Final = 128_000
"""Tokens a model is taken to have when neither the settings nor a server say so."""
LEAST_WINDOW: Final = 2_048
"""Tokens below which no window is guessed from a refusal."""


class Window:
    """A person's word counts most until a server refuses; a guess gives way to any number that is told."""

    def __init__(self, setting: int = 0, on_change: Callable[[], None] = lambda: None) -> None:
        """`setting` in tokens, 0 when nobody set it."""
        self.tokens = setting or ASSUMED_WINDOW
        self.is_known = bool(setting)
        """Whether somebody said so."""
        self._is_guessed = False
        self._on_change = on_change

    @property
    def is_assumed(self) -> bool:
        """Whether nothing at all is known of it."""
        return not (self.is_known or self._is_guessed)

    @property
    def known(self) -> int:
        """The tokens if somebody told them, else 0."""
        return self.tokens if self.is_known else 0

    def told(self, tokens: int) -> None:
        """Take what a server's list says; a setting, and what a refusal said, count more."""
        if tokens and not self.is_known:
            self.tokens = min(tokens, self.tokens) if self._is_guessed else tokens
            self.is_known = True
            self._on_change()

    def refused(self, tokens: int, size: int) -> None:
        """Take what a refusal of a conversation of `size` tokens says; 0 `tokens`: it named no number."""
        if tokens:
            self.tokens, self.is_known = tokens, True
        else:
            self.tokens, self._is_guessed = max(LEAST_WINDOW, min(self.tokens, size)), True
        self._on_change()


@dataclass(frozen=True, slots=True)
class Gauge:
    """How full the window is, for a person."""

    window: Window
    estimate: Callable[[], int]
    """The size of the last request in tokens, where its server does not count it."""
