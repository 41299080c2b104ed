"""ask_user: the question reaches a person, or the model is told that nobody is there."""

from actors.tools.ask_user import AskUser
from tests.fakes.calling import call, refusal


class Person:
    """Answers every question alike."""

    def __init__(self, answer: str | None) -> None:
        self.answer = answer
        self.asked: list[tuple[str, tuple[str, ...], str]] = []

    async def question(self, title: str, options: tuple[str, ...], call_id: str) -> str | None:
        self.asked.append((title, options, call_id))
        return self.answer


def test_the_answer_is_the_result() -> None:
    person = Person("blue")
    assert call(AskUser(person), question=" Which colour? ", options=["red", "blue"]).content == "blue"
    assert person.asked == [("Which colour?", ("red", "blue"), "call-1")]


def test_without_a_person_the_model_is_told_to_decide() -> None:
    assert refusal(AskUser(Person(None)), question="Which?").code == "nobody_to_ask"
    assert refusal(AskUser(Person("x")), question=" ").code == "no_question"
    assert call(AskUser(Person("")), question="Which?").content
