"""`ask_user`: a question of the model, answered by the person."""

from typing import ClassVar, Protocol

from pydantic import Field

from actors.tools.tool import Effect, Invocation, ToolFailure, ToolInput, ToolOutput


class Asker(Protocol):
    """Whoever can put a question before a person."""

    async def question(self, title: str, options: tuple[str, ...], call_id: str) -> str | None:
        """Wait for the answer; null when there is nobody to give one. `call_id`: of the call that asks."""
        ...


class AskUserInput(ToolInput):
    """A question and answers to choose from."""

    question: str
    options: list[str] = Field([], description="Suggested answers")


class AskUser:
    """Waits until the person answers, or says that nobody can."""

    name: ClassVar[str] = "ask_user"
    effect: ClassVar[Effect] = "ask"
    input: ClassVar[type[AskUserInput]] = AskUserInput

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    def summary(self, given: AskUserInput) -> str:
        return given.question

    async def run(self, given: AskUserInput, invocation: Invocation) -> ToolOutput:
        if not given.question.strip():
            raise ToolFailure("no_question", "The question is empty.", "Ask one question.")
        answer = await self._asker.question(given.question.strip(), tuple(given.options), invocation.call_id)
        if answer is None:
            raise ToolFailure(
                "nobody_to_ask",
                "Nobody is there to answer.",
                "Decide by what the workspace tells, say in the answer what you assumed, and go on.",
            )
        return ToolOutput(answer or "(The user gave an empty answer.)")
