"""What every test may rely on."""

import signal
import time
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.fakes.fault_table import LONG, Fault, FaultTable

# A shell starts background jobs with SIGINT ignored, nohup ignores SIGHUP, and what is ignored stays so in
# every child: the tests that send it would wait in vain.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# The same examples in every run: what is red is so for everybody; the long form looks for new ones. No
# example has a deadline: machines are busy.
settings.register_profile("fido", deadline=None, derandomize=not LONG)
settings.load_profile("fido")

TABLE = pytest.StashKey[FaultTable]()
NOTED = pytest.StashKey[Fault]()
BEGAN = time.monotonic()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fault-table", type=Path, help="write the table of this run's faults into this page")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "fault(*rows, says): which rows of the fault matrix a test shows")
    config.addinivalue_line("markers", "interop: needs a real model server; `make interop` has one")
    config.addinivalue_line("markers", "report(*ids): which users' reports a test answers")
    config.stash[TABLE] = FaultTable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test below tests/faults that names no row is told of by its own name."""
    for item in items:
        if item.path.parent.name == "faults" and not item.get_closest_marker("fault"):
            sentence = item.name.partition("[")[0].removeprefix("test_").replace("_", " ")
            item.add_marker(pytest.mark.fault(says=sentence))


@pytest.fixture
def fault(request: pytest.FixtureRequest) -> Fault:
    """What a fault test notes; how, tells tests/fakes/fault_table.py."""
    return _fault_of(request.node)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if item.get_closest_marker("fault") and (report.when == "call" or not report.passed):
        _count(_fault_of(item), report)
    return report


def _fault_of(item: pytest.Item) -> Fault:
    if NOTED not in item.stash:
        marker = item.get_closest_marker("fault")
        assert marker, "say which rows of the matrix the test shows: @pytest.mark.fault(18, says=...)"
        item.stash[NOTED] = Fault(item.config.stash[TABLE], marker.args, marker.kwargs["says"])
    return item.stash[NOTED]


def _count(fault: Fault, report: pytest.TestReport) -> None:
    """A test that counts nothing is one try itself; one that failed has not survived, whatever it counted."""
    line = fault.line
    if not fault.noted and not report.skipped:
        line.tried += 1
        line.survived += report.passed
    elif report.failed and line.survived == line.tried:
        line.survived -= 1


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    table = config.stash[TABLE]
    if table and (LONG or any("faults" in argument for argument in config.args)):
        terminalreporter.section("faults")
        terminalreporter.write_line(table.text())
    page = config.getoption("--fault-table")
    if page:
        table.write(page, time.monotonic() - BEGAN)
