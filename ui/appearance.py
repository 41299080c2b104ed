"""How the screen looks on its terminal, as the person wants it, and what the terminal itself says of Fido."""

import os
from collections.abc import Iterator

from ui import palettes, theme
from ui.attention import Attention, notification
from ui.terminal import Terminal
from ui.view import View


class Appearance:
    """Follows what is known of the terminal and of the person's wishes."""

    def __init__(self, view: View, terminal: Terminal) -> None:
        self._view = view
        self._terminal = terminal
        self._look = view.state.look
        self._background = palettes.told_by_environment(os.environ)
        self._title: str | None = None
        self.attention = Attention(view, view.clock())
        terminal.ascii_only = view.glyphs is theme.ASCII

    def palette(self) -> Iterator[tuple[palettes.Role, str, str, str, str, str]]:
        """Return the colours, as urwid takes them."""
        return palettes.palette(
            palettes.tones(self._look.theme, self._background),
            bright_is_bold=self._terminal.fg_bright_is_bold,
        )

    def see_background(self, background: palettes.Background) -> None:
        """Take the colours that are read on what the terminal has told of itself."""
        self._background = background
        self._terminal.register_palette(self.palette())

    def follow(self) -> bool:
        """Look as the person wants it; tell whether there are other signs, and all must be made anew."""
        if self._view.state.look is self._look:
            return False
        look = self._look = self._view.state.look
        self._terminal.register_palette(self.palette())
        before, self._view.glyphs = self._view.glyphs, theme.glyphs(look.glyphs, os.environ)
        self._terminal.ascii_only = self._view.glyphs is theme.ASCII
        return self._view.glyphs is not before

    def tell(self) -> None:
        """Have the mouse or leave it, title the window, and tell who looks elsewhere of what waits."""
        if not self._terminal.started:
            return
        self._terminal.set_mouse_tracking(self._look.mouse and not self._view.desk.reading.selecting)
        news, notify = self.attention.news(), self._look.notify
        title = self.attention.title() if notify != "off" else None
        if title != self._title:
            self._title = title
            self._terminal.set_title(title)
        if news and (told := notification(news, notify, os.environ)):
            self._terminal.tell(told)
