"""`make bench`: everything that has a goal, as ratios to floors of the same run."""

import sys

from tests.bench import bus, cancel, delegations, plan, resume, screen, shell, starts, tree, turns, undo
from tests.bench.measure import HEADER

PARTS = {
    "bus": bus,
    "turns": turns,
    "starts": starts,
    "delegations": delegations,
    "cancel": cancel,
    "plan": plan,
    "resume": resume,
    "screen": screen,
    "shell": shell,
    "tree": tree,
    "undo": undo,
}


def main(names: list[str]) -> int:
    """Measure the named parts, or all; the status tells whether every goal was met."""
    print(HEADER)
    over = 0
    for name in names or PARTS:
        for row in PARTS[name].rows():
            print(row.line(), flush=True)
            over += not row.met
    print(f"{over} over their goal" if over else "all within their goals")
    return int(over > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
