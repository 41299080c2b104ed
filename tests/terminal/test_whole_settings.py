"""The screen, where the settings cannot be used: a person reads why, and the terminal is theirs again."""

import pytest

from tests.fakes.fido import Home, wait_until
from tests.fakes.scene import Start


@pytest.mark.report("CFG-06")
def test_screen_with_bad_settings_ends_with_one_line_and_status_2(at: Home, start: Start) -> None:
    file = at.folder / "config" / "fido" / "config.toml"
    file.parent.mkdir()
    file.write_text("modell = 1\n", encoding="utf-8")
    program = start()
    program.until(lambda: program.ended, "the program to end")
    wait_until(lambda: not program.take(), "the last words")
    assert program.process.wait() == 2
    assert "'modell': unknown setting; did you mean model" in program.text.replace("\n", "")
    assert program.is_given_back
