"""Which signs the screen is drawn with."""

from collections.abc import Mapping
from dataclasses import fields

import pytest
import urwid

from ui import theme

COERCED = {"LC_CTYPE": "C.UTF-8"}
"""What Python adds to an environment whose locale is C, or is not installed."""


@pytest.mark.report("TERM-09")
@pytest.mark.parametrize(
    ("environ", "unicode"),
    [
        ({}, True),
        (COERCED, True),
        ({"LANG": "C.UTF-8"}, True),
        ({"LANG": "en_US.utf8", "LC_CTYPE": "de_DE.UTF-8"}, True),
        ({"LANG": "en_US.UTF-8", **COERCED}, True),
        ({"LANG": "C", "LC_CTYPE": "de_DE.UTF-8"}, True),
        ({"LANG": "C", "LC_ALL": "C.UTF-8"}, True),
        ({"LANG": ""}, True),
        ({"LANG": "C"}, False),
        ({"LANG": "C", **COERCED}, False),
        ({"LANG": "POSIX", **COERCED}, False),
        ({"LANG": "de_DE.ISO-8859-1", **COERCED}, False),
        ({"LC_ALL": "C", "LANG": "en_US.UTF-8", **COERCED}, False),
        ({"LC_CTYPE": "C", "LANG": "en_US.UTF-8"}, False),
    ],
)
def test_the_locale_is_taken_as_the_person_had_it(environ: Mapping[str, str], unicode: bool) -> None:
    assert (theme.glyphs("auto", environ) is theme.UNICODE) == unicode
    assert theme.glyphs("unicode", environ) is theme.UNICODE
    assert theme.glyphs("ascii", environ) is theme.ASCII


@pytest.mark.parametrize("glyphs", [theme.UNICODE, theme.ASCII])
def test_each_sign_is_one_column_wide_but_for_the_ellipsis(glyphs: theme.Glyphs) -> None:
    for field in fields(glyphs):
        value = getattr(glyphs, field.name)
        signs = (
            value.values() if isinstance(value, Mapping) else value if isinstance(value, tuple) else [*value]
        )
        if field.name != "ellipsis":
            assert {urwid.calc_width(sign, 0, len(sign)) for sign in signs} == {1}


def test_ascii_is_ascii_and_a_cut_name_reads_as_no_other_name() -> None:
    assert repr(theme.ASCII).isascii()
    assert theme.ASCII.ellipsis == "..."
