"""Huge output: its ends for the model, its start on disk, and neither memory nor disk that fills up."""

import asyncio
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.files.workspace import Workspace
from actors.shell.output import FILE_BYTES, Output
from actors.shell.outputs import Bounds, Outputs
from actors.tools.read_file import ReadFile
from actors.tools.ripgrep import Ripgrep
from actors.tools.tool import Invocation, ToolOutput
from ipc.messages import ToolPrinted
from tests.fakes.calling import call
from tests.fakes.launch import script
from tests.fakes.shells import SECRET, Shelled, shelled


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Shelled]:
    root = tmp_path / "work"
    root.mkdir()
    with shelled(root, tmp_path / "state" / "output" / "s") as made:
        yield made


def kept_in(text: str) -> Path:
    (found,) = set(re.findall(r"(/\S+\.txt), which", text))
    return Path(found)


@pytest.mark.report("SH-05")
def test_of_huge_output_the_ends_are_told_with_totals_and_the_rest_can_be_read(here: Shelled) -> None:
    text = here.run("seq 1 5000000")
    assert len(text) < 32_000
    assert text.startswith("1\n2\n3\n")
    assert text.endswith("\n5000000\n[exit status 0]")
    assert re.search(
        r"\[\.\.\. 38,8\d\d,\d{3} of 38,888,896 bytes left out: the first 12,582,912 are in /", text
    )
    kept = kept_in(text)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert kept.stat().st_size == FILE_BYTES
    reader = Workspace(here.root, [here.outputs.folder])
    assert call(ReadFile(reader), path=str(kept), offset=1_000_000, limit=1).content.startswith(
        "1000000\t1000000"
    )
    assert ":1111111: 1111111" in call(Ripgrep(reader), pattern="^1111111$", path=str(kept)).content


@pytest.mark.report("SH-05")
def test_one_huge_line_is_cut_itself_and_kept_whole_in_the_file(here: Shelled) -> None:
    text = here.run("printf 'first '; head -c 10000000 /dev/zero | tr '\\0' x; printf ' last'")
    assert len(text) < 32_000
    assert text.startswith("first xxx")
    assert text.endswith("xxx last\n[exit status 0]")
    assert "of 10,000,011 bytes left out: all are in /" in text
    assert kept_in(text).read_text(encoding="utf-8") == f"first {'x' * 10_000_000} last"


@pytest.mark.report("SH-05")
def test_binary_noise_costs_a_model_nearly_nothing(here: Shelled) -> None:
    text = here.run("echo first; head -c 1000000 /dev/urandom; echo; echo last")
    assert text.startswith("first\n[some ")
    assert "bytes that are no text]" in text
    assert text.endswith("\nlast\n[exit status 0]")
    assert len(text) < 8_000
    assert kept_in(text).stat().st_size == 1_000_012


def test_what_fits_into_a_result_is_in_no_file(here: Shelled) -> None:
    assert here.run("seq 100").endswith("100\n[exit status 0]")
    assert list(here.outputs.folder.glob("*.txt")) == []


FLOODED = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20))
from pathlib import Path
from tests.fakes.shells import shelled
root = Path(sys.argv[1])
with shelled(root) as here:
    here.run("true")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    peak = "grep VmHWM /proc/$PPID/status"
    print(here.run(f"{peak}; yes", timeout_ms=1000)[:100])
    print(here.run("timeout 0.5 yes; " + peak, timeout_ms=5000)[-400:])
    print("grown", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.report("SH-06")
def test_who_prints_without_end_costs_no_memory_and_ends_at_its_limit(tmp_path: Path) -> None:
    ran = script(FLOODED, tmp_path)
    assert ran.returncode == 0, ran.stderr
    before, after = (int(kb) for kb in re.findall(r"VmHWM:\s+(\d+) kB", ran.stdout))
    assert after - before < 10_000
    assert int(ran.stdout.rpartition("grown")[2]) < 10_000, "kilobytes"


@pytest.mark.report("SH-07")
def test_what_a_command_prints_is_told_while_it_runs_a_few_times_a_second(here: Shelled) -> None:
    counts = "for i in $(seq 40); do sleep 0.05; printf '10%%\\r50%% %s\\n' $i; done"
    text = here.run(f"echo ready; {counts}; sleep 1000", timeout_ms=2600)
    told = [fact for fact in here.facts if isinstance(fact, ToolPrinted)]
    assert all(fact.call_id == "call-1" and len(fact.tail.splitlines()) <= 5 for fact in told)
    assert 3 <= len(told) <= 10
    assert told[-1].tail.splitlines() == [f"50% {number}" for number in range(36, 41)]
    assert text.startswith("ready\n50% 1\n")
    assert "[status timed_out: not done after 2,600 ms" in text


def test_a_quick_command_is_told_by_its_result_alone(here: Shelled) -> None:
    here.run("seq 100000")
    assert here.facts == []


def test_last_lines_that_are_endless_are_bounded(here: Shelled) -> None:
    here.run("yes | tr -d '\\n' & sleep 0.8; kill $!")
    told = [fact for fact in here.facts if isinstance(fact, ToolPrinted)]
    assert told
    assert all(len(fact.tail) <= 2000 for fact in told)


# --- what is kept ------------------------------------------------------------------------------------------

PIECES = st.lists(st.binary(max_size=30), max_size=20)


@given(PIECES, st.integers(0, 20), st.integers(0, 20), st.integers(1, 100))
def test_the_file_is_the_start_of_all_output_once_the_ends_do_not_hold_it(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes], head: int, tail: int, limit: int
) -> None:
    path = tmp_path_factory.mktemp("kept") / "1.txt"
    output = Output(head, tail, str(path), limit)
    for piece in pieces:
        output.add(piece)
    whole = b"".join(pieces)
    assert output.total == len(whole)
    assert whole.endswith(output.last(7))
    assert len(output.last(7)) == min(7, len(whole)) or tail < 7
    assert bool(output.file) == path.exists() == (len(whole) > head + tail)
    if output.file:
        assert path.read_bytes() == whole[:limit]
        assert output.in_file == len(whole[:limit])


def test_a_disk_that_takes_nothing_costs_the_file_alone(tmp_path: Path) -> None:
    nowhere = Output(2, 2, str(tmp_path / "missing" / "1.txt"))
    full = Output(2, 2, "")
    for output in (nowhere, full):
        output.add(b"123456789")
        assert (output.file, output.ends(), output.total) == ("", (b"12", b"89"), 9)


def kept(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_numbers_go_on_where_an_earlier_life_of_the_session_stopped(tmp_path: Path) -> None:
    outputs = Outputs(tmp_path / "output" / "s")
    Path(outputs.place()).write_text("x", encoding="utf-8")
    outputs.close()
    again = Outputs(tmp_path / "output" / "s")
    assert Path(again.place()).name == "0002.txt"
    again.close()


def test_of_a_session_and_of_all_sessions_so_much_is_kept_and_the_oldest_goes(tmp_path: Path) -> None:
    bounds = Bounds(session_bytes=250, sessions=3, sessions_bytes=10_000)
    held = Outputs(tmp_path / "0", bounds=bounds)
    for name in ("0", "1", "2", "3"):
        outputs = held if name == "0" else Outputs(tmp_path / name, bounds=bounds)
        for _ in range(3):
            Path(outputs.place()).write_bytes(b"x" * 100)
        outputs.place()
        assert kept(tmp_path / name) == ["0002.txt", "0003.txt"]
        if outputs is not held:
            outputs.close()
    newest = Outputs(tmp_path / "4", bounds=bounds)
    newest.place()
    assert kept(tmp_path) == ["0", "2", "3", "4"], "one that is held is never swept"
    assert stat.S_IMODE((tmp_path / "4").stat().st_mode) == 0o700
    newest.close()
    held.close()
    assert kept(tmp_path) == ["0", "2", "3"], "an empty one is not kept"


def test_temporary_files_of_commands_go_with_the_session(tmp_path: Path) -> None:
    outputs = Outputs(tmp_path / "output" / "s")
    (outputs.temporary() / "x").touch()
    left = outputs.temporary()
    outputs.close()
    assert not left.exists()


def test_a_folder_that_can_not_be_had_costs_no_command(tmp_path: Path) -> None:
    (tmp_path / "output").write_text("", encoding="utf-8")
    with shelled(tmp_path, tmp_path / "output" / "s") as here:
        text = here.run("seq 1 100000")
    assert "bytes left out: filter the output, or send it to a file" in text


def test_no_secret_is_kept_in_a_file_of_a_command_or_of_a_job(here: Shelled) -> None:
    lines = f"seq 10000; printf 'a{SECRET}{SECRET}b\\n'; seq 10000"
    kept = kept_in(here.run(lines)).read_text(encoding="utf-8")
    assert f"\na{'*' * 2 * len(SECRET)}b\n" in kept
    job = kept_in(here.run(f"({lines}; sleep 0.3; {lines}) &"))
    here.until(lambda: here.listed == [])
    assert SECRET not in job.read_text(encoding="utf-8")
    assert job.stat().st_size == 2 * len(kept)


TELLING: Final = f"seq 10000; echo {SECRET}; seq 10000"


def outputs_of(here: Shelled) -> str:
    """All that is in files, of which there has to be something."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(here.outputs.folder.glob("*.txt"))]
    assert sum(map(len, texts)) > len(texts) * 40_000 > 0
    return "".join(texts)


@pytest.mark.report("SEC-01")
def test_no_secret_is_kept_of_a_command_that_ends_in_another_way(here: Shelled) -> None:
    async def begun() -> "asyncio.Task[ToolOutput]":
        given = here.tool.input.model_validate({"command": f"{TELLING}; sleep 1000"})
        return asyncio.ensure_future(here.tool.run(given, Invocation("call-1")))

    async def cancelled(running: "asyncio.Task[ToolOutput]") -> None:
        running.cancel()
        await asyncio.wait({running})

    running = here.runner.run(begun())
    here.until(lambda: any(isinstance(fact, ToolPrinted) for fact in here.facts))
    here.runner.run(cancelled(running))
    assert SECRET not in outputs_of(here)
    here.run(f"{TELLING}; sleep 1000", timeout_ms=500)
    assert here.refusal(f"{TELLING}; kill -9 $PPID; sleep 1000").code == "runner_lost"
    here.run(f"({TELLING}; sleep 1000) &")
    assert SECRET not in outputs_of(here)
    assert len(list(here.outputs.folder.glob("*.txt"))) == 4


@pytest.mark.report("SEC-01")
def test_no_secret_is_kept_of_a_job_that_ends_with_the_session(here: Shelled, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    here.run(f"(seq 10000; sleep 0.3; {TELLING}; echo x > {ready}; sleep 1000) &")
    ready.read_text(encoding="utf-8")
    assert SECRET in outputs_of(here), "it is cleaned when it ends"
    here.jobs.close()
    here.shell.close()
    here.outputs.close()
    assert SECRET not in outputs_of(here)
    assert kept(here.outputs.folder) == ["0001.txt"]


@pytest.mark.report("SEC-01")
def test_the_next_session_cleans_what_one_that_was_killed_has_left(tmp_path: Path) -> None:
    killed, living = (Outputs(tmp_path / name, [SECRET]) for name in ("killed", "living"))
    for outputs in (killed, living):
        Path(outputs.place()).write_text(f"a {SECRET} b", encoding="utf-8")
    os.close(killed._held)
    next_one = Outputs(tmp_path / "next", [SECRET])
    next_one.mend()
    assert (tmp_path / "killed" / "0001.txt").read_text(encoding="utf-8") == f"a {'*' * len(SECRET)} b"
    assert kept(tmp_path / "killed") == ["0001.txt"]
    assert SECRET in (tmp_path / "living" / "0001.txt").read_text(encoding="utf-8"), "its own session does"
    living.close()
    assert SECRET not in (tmp_path / "living" / "0001.txt").read_text(encoding="utf-8")
    assert kept(tmp_path / "living") == ["0001.txt"]


@given(st.integers(-20, 20), st.sampled_from([0, 1 << 20, 2 << 20]))
def test_a_secret_is_found_wherever_it_stands(
    tmp_path_factory: pytest.TempPathFactory, near: int, edge: int
) -> None:
    file = tmp_path_factory.mktemp("kept") / "1.txt"
    at = max(0, edge + near)
    file.write_bytes(b"x" * at + SECRET.encode() + b"x" * (3 << 20))
    Outputs(file.parent, [SECRET, "other"]).clean(str(file))
    assert file.read_bytes()[at - 1 if at else 0 : at + len(SECRET) + 1].strip(b"x") == b"*" * len(SECRET)
