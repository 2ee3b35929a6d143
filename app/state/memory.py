"""Facts about the user: what the model is asked after a chat, and its proposals, which only the user approves.

Proposals are in memory alone: nothing that the user has not approved is stored.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from app.events import Event
from app.state.projects import Projects
from app.state.prompt import prompt_of
from app.state.titles import MARKS, questions_script, roots
from app.store.chat import ChatMessage, new_id
from app.store.project_store import Fact
from common.reasoning import without_thoughts
from engine.protocol.requests import Message

MOST_TOKENS = 200  # of an answer with proposals
MOST_PROPOSED = 5  # at once
MOST_LENGTH = 200  # characters of a fact
NOTHING = re.compile(r"(?:none|nothing|无|没有)\W*", re.IGNORECASE)
CHINESE = (
    "在这段对话中，我（用户）告诉了你哪些关于我的、值得记住的长期事实：姓名、工作、地点、喜好、计划、希望得到怎样的回答？"
    "最多五条，每条一行，用以“用户”开头的短句。只写我自己说过的。如果没有，就写：无。"
)
OTHER = (
    "What have I, the user, told you about myself here that is worth being remembered: name, work, places, tastes, "
    "plans, what answers should be like? At most five short sentences, each on a line of its own, which begin with "
    '"The user". Write only what I said myself, in the language of the conversation. If there is nothing, write: none.'
)


def facts_question(messages: Sequence[ChatMessage]) -> tuple[Message, ...]:
    """Return the prompt that asks for facts: the chat, and the request behind it in the chat's language."""
    words = CHINESE if questions_script(messages) == "CJK" else OTHER
    return prompt_of([*messages, ChatMessage("", None, "user", words)])


def clean_fact(text: str) -> str:
    """Return a fact as one line of plain text; "" if it is too long to be one."""
    line = " ".join("".join(c for c in text if c.isspace() or unicodedata.category(c)[0] != "C").split())
    return line if len(line) <= MOST_LENGTH else ""


def proposed_facts(answer: str, messages: Sequence[ChatMessage]) -> list[str]:
    """Return the facts in a model's answer, at most MOST_PROPOSED.

    A line that shares no word with what the user wrote is none: the model has made it up.
    """
    said = roots("\n".join(message.content for message in messages if message.role == "user"))
    lines = (clean_fact(MARKS.sub("", line.strip())) for line in without_thoughts(answer).split("\n"))
    facts = [line for line in lines if any(map(str.isalpha, line)) and not NOTHING.fullmatch(line)]
    return list(dict.fromkeys(fact for fact in facts if roots(fact) & said))[:MOST_PROPOSED]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A fact that the model proposes; `folder_id` is that of the chat's project."""

    text: str
    folder_id: str | None = None
    id: str = field(default_factory=new_id)


class Memory:
    """The proposals, and the way from a proposal to a fact. `changed` is emitted when there are other proposals.

    What the user has refused is not proposed again while the program runs. Methods raise Failure as the store does.
    """

    def __init__(self, projects: Projects) -> None:
        self.changed: Event[()] = Event()
        self.proposals: list[Proposal] = []
        self._projects, self._refused = projects, set[str]()

    def propose(self, texts: Iterable[str], folder_id: str | None) -> int:
        """Take over the facts that are new; return their number."""
        known = {text.casefold() for text in self._texts()} | self._refused
        new = [Proposal(text, folder_id) for text in texts if text.casefold() not in known]
        self.proposals += new
        if new:
            self.changed.emit()
        return len(new)

    def _texts(self) -> list[str]:
        return [*(fact.text for fact in self._projects.facts()), *(each.text for each in self.proposals)]

    def approve(self, id: str, text: str, folder_id: str | None) -> None:
        """Store a proposal as the user wants it; "" leaves it a proposal."""
        if text := clean_fact(text):
            self._projects.remember(Fact(text, folder_id))
            self.refuse(id)

    def refuse(self, id: str) -> None:
        """Drop a proposal."""
        self._refused |= {each.text.casefold() for each in self.proposals if each.id == id}
        self.proposals = [each for each in self.proposals if each.id != id]
        self.changed.emit()

    def change(self, id: str, text: str, folder_id: str | None) -> None:
        """Store another text or folder of a fact; a text that is empty or too long changes nothing."""
        if text := clean_fact(text):
            self._projects.remember(Fact(text, folder_id, id))

    def forget(self, id: str) -> Fact | None:
        """Delete a fact from the store and return it, for an undo."""
        fact = next((each for each in self._projects.facts() if each.id == id), None)
        if fact is not None:
            self._projects.forget(fact)
        return fact
