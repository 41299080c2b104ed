"""How a benchmark is taken and told: interleaved rounds, medians, a ratio to a floor of the same run."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the report."""

    name: str
    ours: float
    floor: float
    unit: str
    goal: float
    """Most that ours may be, as a multiple of the floor."""
    note: str = ""

    @property
    def ratio(self) -> float:
        return self.ours / self.floor

    @property
    def met(self) -> bool:
        return self.ratio <= self.goal

    def line(self) -> str:
        verdict = "ok  " if self.met else "OVER"
        figures = (
            f"{self.ours:>12,.3f} {self.floor:>12,.3f} {self.unit:<8} {self.ratio:>7.2f} {self.goal:>6.2f}"
        )
        return f"{verdict} {self.name:<44} {figures}  {self.note}".rstrip()


HEADER = f"     {'measured':<44} {'Fido':>12} {'floor':>12} {'unit':<8} {'ratio':>7} {'goal':>6}"


def interleaved(rounds: int, *measures: Callable[[], float]) -> tuple[float, ...]:
    """Take each measure in turn, `rounds` times after one warm-up; return the medians."""
    taken: list[list[float]] = [[] for _ in measures]
    for number in range(rounds + 1):
        for samples, measure in zip(taken, measures, strict=True):
            value = measure()
            if number:
                samples.append(value)
    return tuple(statistics.median(samples) for samples in taken)


def percentile(samples: Sequence[float], share: float) -> float:
    """The value that `share` of the samples do not exceed."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
