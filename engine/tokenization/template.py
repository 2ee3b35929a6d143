"""Messages to prompt tokens by the model's own chat template, or ChatML for a model without one.

A model's own template is rendered in another process (`engine.tokenization.renderer`); ChatML, which is ours, here.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Literal

from common.failures import Failure
from common.sentences import Sentence
from engine.protocol import Message
from engine.stop import Stopped
from engine.tokenization.jinja import compiled
from engine.tokenization.marks import Marks, runs, tags
from engine.tokenization.renderer import Renderer, Trouble
from engine.tokenization.tokens import ModelVocabulary, common_prefix, spelling

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
# What opens a model's reasoning. Some templates write it at the end of the prompt: the answer begins inside it then.
OPENINGS = (
    "<think>", "<thinking>", "<thought>", "<reasoning>", "<seed:think>", "[THINK]", "◁think▷", "<|START_THINKING|>",
    "<|channel|>analysis<|message|>", "<|channel>thought",
)  # fmt: skip
LAST_TOKENS = 16  # of a prompt, among which an opening is looked for
CHATML_STOPS = ("<|im_end|>", "<|im_start|>")
MOST_TAGS = 200  # what a hostile template would have more of


def never() -> bool:
    """Whether to stop, for who never does."""
    return False


class ChatTemplate:
    """`kind` says whose template it is, `stops` what ends an answer besides the vocabulary's end tokens."""

    def __init__(self, source: str, vocabulary: ModelVocabulary, stopped: Callable[[], bool] = never) -> None:
        """Raises Stopped if it was stopped while the template is compiled."""
        self.vocabulary = vocabulary
        self.kind: Literal["model", "chatml"] = "chatml"
        self.notes: tuple[Sentence, ...] = ()
        self.stops: tuple[str, ...] = CHATML_STOPS
        self._source = CHATML
        self._renderer = Renderer()
        weakref.finalize(self, self._renderer.close)
        self._visible: frozenset[str] = frozenset()
        if not source:
            self.notes = (Sentence.of("template.missing"),)
            return
        try:
            self._renderer.check(source, stopped)
            self.kind, self.stops, self._source = "model", (), source
            found = sorted(tags(source))[:MOST_TAGS]
            self._visible = frozenset(
                tag for tag in found if not self._controls(vocabulary.tokenize(tag, special=True))
            )
        except Trouble as trouble:
            self.notes = (Sentence.of("template.damaged", reason=str(trouble) or Sentence.of("template.limits")),)

    def close(self) -> None:
        """What the template's process holds is given back; it starts again when it is needed."""
        self._renderer.close()

    def tokens(
        self,
        messages: Sequence[Message],
        open_end: bool = False,
        most: int | None = None,
        stopped: Callable[[], bool] = never,
    ) -> list[int]:
        """The prompt that asks for the answer to the last message; with `open_end` the last message is the beginning
        of that answer. A prompt of more than `most` tokens may end anywhere beyond them.

        Raises Failure if the template refuses, and Stopped soon after `stopped` says so."""
        odd: set[str] = set()
        while True:
            marks = Marks([self._source, *(m.content for m in messages)], self._visible, odd)
            marked = [Message(m.role, marks.mark(m.content)) for m in messages]
            asked = marked[:-1] if open_end else marked
            prompt = self._render(asked, stopped) + (marked[-1].content if open_end else "")
            tokens, controls = self._tokenized(prompt, marks, most, stopped)
            unmarked = {text for text in controls if any(text in message.content for message in marked)}
            if unmarked <= odd:
                return tokens
            odd |= unmarked

    def _tokenized(
        self, marked: str, marks: Marks, most: int | None, stopped: Callable[[], bool]
    ) -> tuple[list[int], set[str]]:
        """Tokens, and the texts of the control tokens among them, none of which has a character of a message in it."""
        if self.vocabulary.adds_bos and self.vocabulary.bos_text:
            marked = marked.removeprefix(self.vocabulary.bos_text)
        plain, known = marks.unmark(marked), set[str]()
        while True:
            parts = runs(marked, plain, known)
            tokens = self._usable(self._tokens_of(parts, most, stopped))
            known |= self._controls(tokens)
            if runs(marked, plain, known) == parts:
                return tokens, known

    def _tokens_of(self, parts: Iterable[tuple[str, bool]], most: int | None, stopped: Callable[[], bool]) -> list[int]:
        tokens: list[int] = []
        for part, special in parts:
            for some in self.vocabulary.tokenized(part, special, self.vocabulary.adds_bos and not tokens):
                if stopped():
                    raise Stopped
                tokens += some
                if most is not None and len(tokens) > most:
                    return tokens
        return tokens

    def _controls(self, tokens: Iterable[int]) -> set[str]:
        texts = {self.vocabulary.text(token) for token in set(tokens) if self.vocabulary.is_control(token)}
        return texts - {""}

    def _usable(self, tokens: list[int]) -> list[int]:
        """Raises Failure for what no model can read."""
        if len(tokens) <= self.vocabulary.adds_bos:
            raise Failure("template.empty")
        if min(tokens) < 0 or max(tokens) >= self.vocabulary.n_tokens:
            raise Failure("template.unknown_tokens")
        return tokens

    def certain_tokens(
        self, messages: Sequence[Message], most: int | None = None, stopped: Callable[[], bool] = never
    ) -> list[int]:
        """The prompt's beginning that does not depend on what the user will write next; `most` and `stopped` as for
        `tokens`, and so are the exceptions."""
        *before, last = messages or [Message("user", "")]
        kept = before if last.role == "user" else [*before, last]
        begun = last.content if last.role == "user" else ""
        a, b = (self.tokens([*kept, Message("user", begun + end)], False, most, stopped) for end in ("a", "0"))
        certain = a[: common_prefix(a, b)]
        while certain and self.vocabulary.text(certain[-1])[-1:].isspace():
            certain.pop()  # it may merge with blanks of the user's into another token
        return certain

    def _render(self, messages: Sequence[Message], stopped: Callable[[], bool]) -> str:
        try:
            return self._format(messages, stopped)
        except Trouble as first:
            if first.problem == "endless":
                raise Failure("template.endless") from first
            # Some templates know no system role, or want the roles to alternate.
            with suppress(Trouble):
                return self._format(alternating(messages), stopped)
            raise Failure("template.refuses", reason=first) from first

    def _format(self, messages: Sequence[Message], stopped: Callable[[], bool]) -> str:
        values: dict[str, Any] = {
            "messages": [{"role": m.role, "content": m.content} for m in messages],
            "bos_token": self.vocabulary.bos_text,
            "eos_token": self.vocabulary.eos_text,
            "add_generation_prompt": True,
        }
        if self.kind == "chatml":
            return compiled(CHATML).render(values)
        return self._renderer.render(self._source, values, stopped)


def alternating(messages: Sequence[Message]) -> list[Message]:
    """The same chat for a strict template: system text opens the first question, neighbours of one role are joined."""
    joined: list[Message] = []
    for message in messages:
        role = "user" if message.role == "system" else message.role
        if joined and joined[-1].role == role:
            joined[-1] = Message(role, f"{joined[-1].content}\n\n{message.content}")
        else:
            joined.append(Message(role, message.content))
    return joined


def opened_reasoning(prompt: Sequence[int], text: Callable[[int], str]) -> str:
    """The mark at the prompt's end that opens the model's reasoning, with the blanks behind it; "" if there is none."""
    end = "".join(map(text, prompt[-LAST_TOKENS:]))
    stripped = end.rstrip()
    opening = next((mark for mark in OPENINGS if stripped.endswith(mark)), "")
    return opening + end[len(stripped) :] if opening else ""


def continued_prompt(
    template: ChatTemplate,
    messages: Sequence[Message],
    known: Sequence[int],
    most: int | None = None,
    stopped: Callable[[], bool] = never,
) -> list[int]:
    """Tokens of `messages` with the last one, an answer, left open, so that it goes on as if it had not stopped.

    A text has many spellings in tokens, and a model answers differently to another spelling of its own words. So where
    the tokens that are `known`, of the last prompt and its answer, spell the text to continue, they are what it is
    continued from, and all of their keys and values are still cached. Elsewhere (another model, after a restart) the
    text is tokenized anew. `most` and `stopped` as for `ChatTemplate.tokens`.

    Raises Failure if the last message is no answer, and what `tokens` raises."""
    if len(messages) < 2 or messages[-1].role != "assistant":
        raise Failure("nothing_to_continue.no_answer")
    asked = template.tokens(messages[:-1], False, most, stopped)
    opening = opened_reasoning(asked, template.vocabulary.text)
    text = messages[-1].content.removeprefix(opening)
    if list(known[: len(asked)]) == asked:
        spelled = spelling(known[len(asked) :], text.encode(), template.vocabulary.piece)
        if spelled:
            return asked + spelled
    if opening:  # the template would take the reasoning out again, or open it twice
        return asked + template.vocabulary.tokenize(text, special=False)
    return template.tokens(messages, True, most, stopped)
