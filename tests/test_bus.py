"""The pure half of the bus: what is remembered, what may be applied."""

from hypothesis import given
from hypothesis import strategies as st

from ipc.bus import History, Replica
from ipc.messages import (
    AnyFact,
    AskRaised,
    AskSettled,
    Beat,
    CompactionFinished,
    CompactionStarted,
    Job,
    JobsChanged,
    MessageDelta,
    NoticeRaised,
    Plan,
    PlanChanged,
    ProcessExited,
    ProcessStarted,
    Snapshot,
    ToolFinished,
    ToolPrinted,
    ToolStarted,
)
from tests.fakes.facts import session


def remembered(*facts: AnyFact, limit: int = 1000, byte_limit: int = 1_000_000) -> tuple[AnyFact, ...]:
    history = History(limit, byte_limit)
    for fact in facts:
        history.add(fact, 100)
    return history.facts()


def delta(text: str, turn: int = 1) -> MessageDelta:
    return MessageDelta(turn=turn, kind="text", text=text)


def test_deltas_of_one_message_melt_into_one() -> None:
    tool = ToolStarted(call_id="c", name="read_file", summary="")
    assert remembered(delta("a"), delta("b"), tool, delta("c")) == (delta("ab"), tool, delta("c"))


def test_reading_the_history_does_not_end_a_message() -> None:
    history = History()
    history.add(delta("a"), 100)
    assert history.facts() == (delta("a"),)
    history.add(delta("b"), 100)
    assert "".join(fact.text for fact in history.facts() if isinstance(fact, MessageDelta)) == "ab"


def test_states_keep_their_last_value_at_its_place() -> None:
    first, last = PlanChanged(plan=Plan(revision=1)), PlanChanged(plan=Plan(revision=2))
    assert remembered(first, delta("a"), last) == (delta("a"), last)
    started = ProcessStarted(actor="ui", pid=1)
    gone = ProcessExited(actor="ui", pid=1, status=0, restarting=False)
    assert remembered(started, gone) == (gone,)


def test_a_settled_ask_is_forgotten_and_an_open_one_kept() -> None:
    def ask(name: str) -> AskRaised:
        return AskRaised(ask_id=name, kind="approval", tool="rm", title="", body="")

    assert remembered(ask("1"), ask("2"), AskSettled(ask_id="1", outcome="deny")) == (ask("2"),)


def test_a_compaction_is_remembered_as_open_or_by_its_end() -> None:
    started = CompactionStarted(automatic=True, context_tokens=9)
    ended = CompactionFinished(method="summary", before_tokens=9, after_tokens=1)
    assert remembered(started, delta("a")) == (started, delta("a"))
    assert remembered(started, delta("a"), ended, started, ended, started) == (
        delta("a"), ended, ended, started
    )  # fmt: skip


def test_of_a_running_call_the_latest_output_is_remembered_and_of_an_ended_one_none() -> None:
    first, last = ToolPrinted(call_id="c", tail="1\n"), ToolPrinted(call_id="c", tail="1\n2\n")
    other = ToolPrinted(call_id="d", tail="x")
    ended = ToolFinished(call_id="c", name="bash_exec", status="ok", duration_ms=0, display="")
    assert remembered(first, other, last) == (other, last)
    assert remembered(first, other, last, ended, ended) == (other, ended, ended)


def test_of_the_jobs_the_last_list_is_remembered() -> None:
    job = Job(pid=7, command="serve", started_at="2026-01-01T00:00:00.000Z")
    assert remembered(JobsChanged(jobs=(job,)), JobsChanged(jobs=())) == (JobsChanged(jobs=()),)


def test_the_oldest_facts_go_first_and_states_stay() -> None:
    plan = PlanChanged(plan=Plan())
    ended = [
        ToolFinished(call_id=str(n), name="rm", status="ok", duration_ms=0, display="") for n in range(50)
    ]
    kept = remembered(plan, *ended, limit=10)
    assert plan in kept
    assert kept[1:] == tuple(ended[-9:])


def test_the_oldest_facts_go_first_when_they_take_too_many_bytes_and_the_session_stays() -> None:
    ended = [
        ToolFinished(call_id=str(n), name="rm", status="ok", duration_ms=0, display="") for n in range(50)
    ]
    opened = session()
    assert remembered(opened, *ended, byte_limit=1000) == (opened, *ended[-9:])


def test_a_message_too_long_to_be_remembered_takes_nothing_along() -> None:
    tool = ToolStarted(call_id="c", name="rm", summary="")
    assert remembered(tool, delta("x" * 2000), tool, byte_limit=1000) == (tool, tool)


def test_a_session_that_is_opened_again_replaces_what_it_was() -> None:
    assert remembered(session(model="old"), session(model="new")) == (session(model="new"),)


class Wire:
    """A publisher and a follower with a wire that loses what it is told to lose."""

    def __init__(self) -> None:
        self.history, self.seq = History(), 0
        self.replica, self.state = Replica(), []  # type: ignore[var-annotated]

    def publish(self, fact: AnyFact, lost: bool) -> None:
        self.seq += 1
        self.history.add(fact, 100)
        if not lost:
            self.arrive(fact)

    def arrive(self, fact: AnyFact) -> None:
        applied = self.replica.offer("epoch", self.seq, fact)
        if applied is not None:
            self.state.append(applied)

    def heal(self) -> None:
        if self.replica.healing:
            snapshot = Snapshot(epoch="epoch", seq=self.seq, facts=self.history.facts())
            self.state = list(self.replica.heal(snapshot))


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60))
def test_whatever_is_lost_a_beat_and_a_snapshot_make_the_picture_whole(
    steps: list[tuple[bool, bool]],
) -> None:
    wire = Wire()
    for number, (lost, healed) in enumerate(steps):
        wire.publish(NoticeRaised(level="info", message=str(number)), lost)
        if healed:
            wire.heal()
    wire.arrive(Beat())
    wire.heal()
    wire.heal()
    assert [fact.message for fact in wire.state] == [str(number) for number in range(len(steps))]


def test_facts_of_another_life_of_the_publisher_are_never_mixed_in() -> None:
    replica = Replica()
    replica.heal(Snapshot(epoch="first", seq=5, facts=()))
    assert replica.offer("second", 6, NoticeRaised(level="info", message="x")) is None
    assert replica.healing
    facts = replica.heal(Snapshot(epoch="second", seq=6, facts=(NoticeRaised(level="info", message="y"),)))
    assert [fact.message for fact in facts if isinstance(fact, NoticeRaised)] == ["y"]


def test_a_repeated_fact_is_applied_once() -> None:
    replica = Replica()
    replica.heal(Snapshot(epoch="e", seq=0, facts=()))
    fact = NoticeRaised(level="info", message="x")
    assert replica.offer("e", 1, fact) == fact
    assert replica.offer("e", 1, fact) is None
    assert not replica.healing
