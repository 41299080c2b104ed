"""What can be read of a block when it is unfolded, as its drawing says it: what a search looks through.

Drawing 3 MB of answers takes three seconds. So a piece of an answer with no more than plain text, code,
strong words and a bullet is read without being drawn; a test compares the two.
"""

import re
from dataclasses import replace
from typing import Final, assert_never

from ui.theme import Glyphs
from ui.transcript.blocks import Block, NoteBlock, PromptBlock, TextBlock, ThoughtBlock, ToolBlock
from ui.transcript.texts import source, text_widget
from ui.transcript.thoughts import thought_said
from ui.transcript.tools import tool_head, tool_said
from ui.transcript.transcript import even
from ui.view import View

_WIDE: Final = 1_000
"""Columns in which hardly anything is wrapped."""
_MOST_MARKS: Final = 200
"""Marks of a piece that is read without being drawn: one with many more is drawn as it was written."""

_FENCE: Final = re.compile(
    r"(?:(?P<ticks>`{3,})[^`\n]*|(?P<waves>~{3,})[^\n]*)"
    r"(?:\n(?P<code>.*?))??(?:\n *(?:(?P=ticks)`*|(?P=waves)~*) *)?",
    re.DOTALL,
)
_LANGUAGE: Final = re.compile(r"^([ >]*(?:[-*+] +|[0-9]{1,9}[.)] +)*(?:`{3,}|~{3,}))[^`\n]*$", re.MULTILINE)
_BEGIN: Final = re.compile(r"(?:(?P<heading>#{1,6}) +|(?P<bullet>[-*+]) )?(?=[^\W\d_]|`(?!`)|\*\*[^\s*])")
_WORDS: Final = r"""(?:
    [^*_`\\\[\]<>&|~\n:\#]++
    | `(?!\s)[^`\n]++(?<!\s)`(?!`)
    | (?<=[^\W_])_++(?=[^\W_]) | :(?!//) | &(?![\#\w]) | <(?![a-zA-Z/!?]) | (?<!\n)\#(?=\w)
)"""
_SIMPLE: Final = re.compile(
    rf"""(?:
        {_WORDS}
        | (?<![^\s(,])\*\*(?=[^\s*]) {_WORDS}++ (?<=[^\s*])\*\*(?![^\s.,;:)!?])
        | \n\ {{0,3}}(?=[^\W\d_]|[("'`]|\*\*[^\s*])
    )*+""",
    re.VERBOSE,
)
_TOKENS: Final = re.compile(r"`([^`\n]+)`|\*\*")


def legible(block: Block, view: View) -> str:
    """Return what is read of a block; where it is wrapped does not count."""
    match block:
        case PromptBlock():
            return even(f"{view.glyphs.prompt} {block.text}" if block.first else block.text)
        case TextBlock():
            return _answer(block, view)
        case ThoughtBlock():
            return thought_said(block, view.glyphs)
        case ToolBlock():
            return tool_said(block, view)
        case NoteBlock():
            return f"{view.glyphs.level[block.level]} {block.text}\n{block.next_step}"
        case _:
            assert_never(block)


def head(block: Block, view: View) -> str:
    """Return what of it is seen while it is folded."""
    match block:
        case PromptBlock():
            return legible(block, view) if block.first else ""
        case ToolBlock():
            return tool_head(block, view)
        case ThoughtBlock():
            return thought_said(block, view.glyphs).partition("\n")[0]
        case _:
            return ""


def _answer(block: TextBlock, view: View) -> str:
    written = source(block)
    simple = None if block.lasts else _simple(written, view.glyphs)
    if simple is not None:
        return simple
    if block.opening:
        uncoloured = replace(block, opening=_LANGUAGE.sub(r"\1", block.opening))
    else:
        uncoloured = replace(block, text=_LANGUAGE.sub(r"\1", block.text, count=1))
    canvas = text_widget(uncoloured, view).render((_WIDE,))
    return "\n".join(row.decode("utf-8").strip() for row in canvas.text)


def _simple(text: str, glyphs: Glyphs) -> str | None:
    """Return what is drawn of Markdown; None when only drawing it can tell."""
    if text.startswith(("```", "~~~")):
        fence = _FENCE.fullmatch(text)
        return None if fence is None else fence["code"] or ""
    begin = _BEGIN.match(text)
    if begin is None or text.count("*") + text.count("`") > _MOST_MARKS:
        return None
    said = text[begin.end() :]
    if (begin["heading"] and "\n" in said) or not _SIMPLE.fullmatch(said):
        return None
    plain = _TOKENS.sub(lambda token: token[1] or "", said)
    return f"{glyphs.bullets[0]} {plain}" if begin["bullet"] else plain
