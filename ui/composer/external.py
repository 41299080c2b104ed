"""The person's own editor for a draft: it has the terminal meanwhile, the bus goes on, nothing is lost."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import urwid

from ipc.messages import Level
from ipc.terminal_text import clean_line
from ui.composer import prompt_file
from ui.composer.composer import Composer
from ui.composer.draft import Draft, folded_again
from ui.composer.handover import NOT_STARTED, give_terminal
from ui.desk import Message
from ui.terminal import STOP_AGAIN_S, suspend_group
from ui.view import View

_KNOWN: Final = ("nano", "vim", "vi", "micro", "emacs", "ed")
"""Tried when nobody says which editor is wanted, the easiest first."""
_BY_HAND: Final = (signal.SIGTSTP, signal.SIGSTOP)


def editor_command(environ: Mapping[str, str]) -> list[str]:
    """Return the editor with its arguments; empty when there is none."""
    import shlex
    from shutil import which

    for name in ("VISUAL", "EDITOR"):
        with contextlib.suppress(ValueError):  # an open quote
            if words := shlex.split(environ.get(name, "")):
                return words
    return next(([name] for name in _KNOWN if which(name, path=environ.get("PATH"))), [])


class ExternalEditor:
    """Gives draft and terminal to an editor, and takes both back when it ends."""

    def __init__(
        self,
        view: View,
        composer: Callable[[], Composer],
        main: urwid.MainLoop,
        folder: Path,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """`composer` says which one has the draft; `folder` is private."""
        self._view = view
        self._composer = composer
        self._main = main
        self._loop = loop
        self._file = prompt_file.in_folder(folder)
        self._draft = Draft()
        self._name = ""
        self._pid = 0

    @property
    def active(self) -> bool:
        """Whether the terminal belongs to an editor."""
        return self._pid != 0

    def begin(self) -> None:
        """Start the editor; say why when that is not possible."""
        command = editor_command(os.environ)
        if not command:
            self._say("warning", "There is no editor here. Set VISUAL or EDITOR before Fido starts.")
            return
        self._draft, self._name = self._composer().editor.draft(), Path(command[0]).name
        try:
            prompt_file.write(self._file, self._draft.whole)
        except OSError as error:
            self._say("error", f"The draft can not be given to {self._name}: {error.strerror}.")
            return
        self._main.screen.stop()
        line = [sys.executable, "-I", "-X", "utf8", "-m", "ui.composer.handover", str(os.getpid()), *command]
        self._pid = os.posix_spawn(sys.executable, [*line, str(self._file)], os.environ)
        self._loop.add_signal_handler(signal.SIGCHLD, self._look)
        self._look()

    def abandon(self) -> None:
        """Fido ends: end the editor, too; what it has saved is the draft."""
        if self.active:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._pid, signal.SIGHUP)
                os.killpg(self._pid, signal.SIGCONT)
            self._take_back(ended_well=False)

    def _look(self) -> None:
        with contextlib.suppress(ChildProcessError):
            pid, status = os.waitpid(self._pid, os.WNOHANG | os.WUNTRACED)
            if pid and os.WIFSTOPPED(status):
                self._follow(os.WSTOPSIG(status))
            elif pid:
                self._end(os.waitstatus_to_exitcode(status))

    def _follow(self, stopped_by: int) -> None:
        """Stop with an editor that a person has stopped, so that the shell gets its job back."""
        with contextlib.suppress(OSError):
            if stopped_by in _BY_HAND and not self._stopped_with_it():
                self._loop.call_later(STOP_AGAIN_S, self._follow, stopped_by)
                return
            give_terminal(self._pid)
            os.killpg(self._pid, signal.SIGCONT)

    def _stopped_with_it(self) -> bool:
        """Stop; return whether the terminal is ours afterwards, and not, after `bg`, the shell's."""
        if os.tcgetpgrp(0) == self._pid:
            give_terminal(os.getpgrp())
        return suspend_group()

    def _end(self, status: int) -> None:
        self._loop.remove_signal_handler(signal.SIGCHLD)
        changed = self._take_back(ended_well=status == 0)
        self._main.screen.start()
        self._main.screen.clear()
        self._main.screen_size = None
        if status == NOT_STARTED:
            self._say("error", f"{self._name} could not be started. The draft is as it was.")
        elif status:
            what = "What it had saved is here" if changed else "The draft is as it was"
            self._say("warning", f"{self._name} ended with status {status}. {what}.")
        self._main.draw_screen()

    def _take_back(self, *, ended_well: bool) -> bool:
        """Take the terminal and what was saved; return whether that differs from the draft as it was.

        An empty file is what the person wants of an editor that `ended_well`; else it may have lost it.
        """
        editor, self._pid = self._pid, 0
        with contextlib.suppress(OSError):
            if os.tcgetpgrp(0) == editor:  # else a shell has it, which would end without
                give_terminal(os.getpgrp())
        text = prompt_file.saved(self._file)
        prompt_file.remove(self._file.parent)
        if text is None or text == self._draft.whole or not (text or ended_well):
            return False
        composer = self._composer()
        given_back = composer.editor.edit_text.removesuffix(self._draft.text).removesuffix("\n")
        meanwhile = composer.editor.draft()._replace(text=given_back) if given_back else Draft()
        composer.editor.restore(folded_again(text, self._draft.chips))
        composer.give_back(meanwhile)
        return True

    def _say(self, level: Level, text: str) -> None:
        self._view.desk.message = Message(level, clean_line(text))
