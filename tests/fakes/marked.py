"""What the markers of the tests name, read from their sources: no test has to be collected for it."""

import ast
from functools import cache
from pathlib import Path
from typing import Final, TypeVar

TESTS: Final = Path(__file__).parents[1]
_Name = TypeVar("_Name", int, str)


@cache
def named_by(marker: str, kind: type[_Name]) -> dict[_Name, list[str]]:
    """Every constant of the `kind` that `@pytest.mark.MARKER(...)` names, with the files of these tests."""
    named: dict[_Name, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == f"pytest.mark.{marker}":
                for name in (each.value for each in node.args if isinstance(each, ast.Constant)):
                    if isinstance(name, kind):
                        named.setdefault(name, []).append(path.name)
    return named
