"""Ending whole trees: every case runs in a process of its own that adopts orphans."""

import pytest

from tests.fakes.launch import script

ADOPT = """
import os, signal, subprocess, time
from actors import process_tree
from ipc import kernel
kernel.adopt_orphans()

def shell(command, ready):
    process = subprocess.Popen(["sh", "-c", command], start_new_session=True)
    deadline = time.monotonic() + 10
    while len(process_tree.descendants(os.getpid())) < ready and time.monotonic() < deadline:
        pass
    return process
"""
DAEMONS = r"""
trap "" TERM HUP INT
setsid sh -c 'trap "" TERM HUP; sleep 1000 & exec sleep 1001' &
(setsid setsid sh -c 'sleep 1002 & exit 0' &)
nohup sleep 1003 >/dev/null 2>&1 &
sh -c 'sh -c "sleep 1004 & exit 0" & exit 0'
sleep 1005 & kill -STOP $!
sleep 1006
"""
BOMB = "for i in $(seq 60); do setsid sh -c 'while :; do setsid sleep 0.01 & sleep 0.01; done' & done; wait"


@pytest.mark.parametrize(("command", "ready"), [(DAEMONS, 8), (BOMB, 60)])
def test_nothing_below_gets_away(command: str, ready: int) -> None:
    ran = script(
        ADOPT
        + f"""
shell({command!r}, {ready})
print(process_tree.end_all().left, process_tree.children(os.getpid()))
"""
    )
    assert ran.stdout.strip() == "False []", ran.stderr


def test_who_follows_sigterm_may_end_in_good_order() -> None:
    ran = script(
        ADOPT
        + """
command = "trap 'echo ended well; exit 0' TERM; echo ready; while :; do sleep 0.01; done"
process = subprocess.Popen(["sh", "-c", command], start_new_session=True, stdout=subprocess.PIPE)
process.stdout.readline()
ended = process_tree.end_all(grace_s=5)
print(ended.left, ended.statuses[process.pid], process.stdout.read())
"""
    )
    assert ran.stdout == "False 0 b'ended well\\n'\n", ran.stderr


def test_who_ignores_sigterm_is_killed_after_the_grace() -> None:
    ran = script(
        ADOPT
        + """
process = shell("trap '' TERM; echo ready; while :; do sleep 1000; done", 2)
print(process_tree.end_all(grace_s=0.1).statuses[process.pid])
"""
    )
    assert ran.stdout == f"ready\n{-9}\n", ran.stderr


def test_our_own_group_and_those_that_are_spared_are_not_signalled_as_groups() -> None:
    ran = script(
        ADOPT
        + """
leader = subprocess.Popen(["sleep", "1000"], process_group=0)
member = subprocess.Popen(["sleep", "1001"], process_group=leader.pid)
ours = subprocess.Popen(["sleep", "1002"])
process_tree.kill([member.pid, ours.pid], spare_groups=[leader.pid])
print(member.wait(), ours.wait(), leader.poll())
process_tree.kill([leader.pid])
print(leader.wait())
"""
    )
    assert ran.stdout == "-9 -9 None\n-9\n", ran.stderr


def test_descendants_come_parents_first() -> None:
    ran = script(
        ADOPT
        + """
top = shell("sh -c 'sleep 1000 & wait' & wait", 3)
found = process_tree.descendants(os.getpid())
print(found[0] == top.pid, len(found), process_tree.children(found[1]) == [found[2]])
process_tree.end_all()
"""
    )
    assert ran.stdout == "True 3 True\n", ran.stderr


def test_a_process_that_has_ended_has_no_children() -> None:
    ran = script(
        ADOPT + "gone = subprocess.Popen(['true']); gone.wait(); print(process_tree.children(gone.pid))"
    )
    assert ran.stdout == "[]\n", ran.stderr
