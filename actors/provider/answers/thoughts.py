"""Reasoning that a server leaves in the answer, between tags at its very beginning. Pure."""

from typing import Final

TAGS: Final = {
    "<think>": "</think>", "<thinking>": "</thinking>", "[THINK]": "[/THINK]", "<seed:think>": "</seed:think>"
}  # fmt: skip


class Thoughts:
    """Parts the beginning of an answer, as it comes, into reasoning and text."""

    def __init__(self) -> None:
        self._held = ""
        """What may be a part of a tag."""
        self._end = ""
        self._is_over = False

    @property
    def is_open(self) -> bool:
        """Whether the answer is still in its reasoning."""
        return bool(self._end) and not self._is_over

    def feed(self, text: str) -> tuple[str, str]:
        """Take a piece; return the reasoning and the text that are certain now."""
        if self._is_over:
            kept = text.lstrip() if self._end else text
            if kept:
                self._end = ""  # only what directly follows the reasoning loses its blanks
            return "", kept
        text, self._held = self._held + text, ""
        if self._end:
            return self._inside(text)
        begun = text.lstrip()
        if tag := next((tag for tag in TAGS if begun.startswith(tag)), ""):
            self._end = TAGS[tag]
            return self._inside(begun[len(tag) :])
        if any(tag.startswith(begun) for tag in TAGS):
            self._held = text
            return "", ""
        self._is_over = True
        return "", text

    def rest(self) -> str:
        """Return what was held back at the end of the answer."""
        held, self._held = self._held, ""
        return held

    def _inside(self, text: str) -> tuple[str, str]:
        thought, tag, behind = text.partition(self._end)
        if tag:
            self._is_over = True
            return thought, self.feed(behind)[1]
        length = next((n for n in range(len(self._end) - 1, 0, -1) if text.endswith(self._end[:n])), 0)
        cut = len(text) - length
        self._held = text[cut:]
        return text[:cut], ""
