"""Messages to prompt tokens by the model's own chat template (sandboxed Jinja), or ChatML for a model without one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import jinja2

from engine.capi.vocabulary import CVocabulary
from engine.protocol import Message
from engine.tokens import common_prefix
from engine.words.jinja import compiled
from models.failures import Failure

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CHATML_STOPS = ("<|im_end|>", "<|im_start|>")

# Private-use characters around the number of a guarded text; see `_guard`.
OPEN, CLOSE = "\ue0f0", "\ue0f1"


class ChatTemplate:
    """`kind` says whose template it is, `stops` what ends an answer besides the vocabulary's end tokens."""

    def __init__(self, source: str, vocabulary: CVocabulary) -> None:
        self.vocabulary = vocabulary
        self.kind: Literal["model", "chatml"] = "chatml"
        self.notes: tuple[str, ...] = ()
        self.stops: tuple[str, ...] = CHATML_STOPS
        self._template = compiled(CHATML)
        if not source:
            self.notes = ("The model has no chat template of its own; ChatML is used.",)
            return
        try:
            self._template = compiled(source)
            self.kind, self.stops = "model", ()
        except jinja2.TemplateError as error:
            self.notes = (f"The model's chat template is damaged ({error}); ChatML is used.",)

    def tokens(self, messages: Sequence[Message], open_end: bool = False) -> list[int]:
        """The prompt that asks for the answer to the last message; with `open_end` the last message is the beginning
        of that answer. Raises Failure if the template refuses."""
        guarded, texts = self._guard(messages)
        prompt = self._render(guarded[:-1]) + guarded[-1].content if open_end else self._render(guarded)
        add_bos = self.vocabulary.adds_bos
        if add_bos and self.vocabulary.bos_text:
            prompt = prompt.removeprefix(self.vocabulary.bos_text)
        tokens: list[int] = []
        for number, part in enumerate(prompt.split(OPEN)):
            if number:
                index, part = part.split(CLOSE, 1)
                tokens += self.vocabulary.tokenize(texts[int(index)], special=False)
            if part or not tokens:
                tokens += self.vocabulary.tokenize(part, special=True, add_bos=add_bos and not tokens)
        return tokens

    def certain_tokens(self, messages: Sequence[Message]) -> list[int]:
        """The prompt's beginning that does not depend on what the user will write next."""
        *before, last = messages or [Message("user", "")]
        kept = before if last.role == "user" else [*before, last]
        begun = last.content if last.role == "user" else ""
        a, b = (self.tokens([*kept, Message("user", begun + ending)]) for ending in ("a", "0"))
        certain = a[: common_prefix(a, b)]
        while certain and self.vocabulary.text(certain[-1])[-1:].isspace():
            certain.pop()  # it may merge with blanks of the user's into another token
        return certain

    def _render(self, messages: Sequence[Message]) -> str:
        try:
            return self._format(messages)
        except (jinja2.TemplateError, ValueError, TypeError) as first:
            # Some templates know no system role, or want the roles to alternate.
            try:
                return self._format(alternating(messages))
            except (jinja2.TemplateError, ValueError, TypeError):
                raise Failure("template", f"The model's chat template refuses this chat: {first}.") from first

    def _format(self, messages: Sequence[Message]) -> str:
        return self._template.render(
            messages=[{"role": m.role, "content": m.content} for m in messages],
            bos_token=self.vocabulary.bos_text,
            eos_token=self.vocabulary.eos_text,
            add_generation_prompt=True,
        )

    def _guard(self, messages: Sequence[Message]) -> tuple[list[Message], list[str]]:
        """Texts of control tokens that stand in a message are put aside, so that they are read as plain text: what a
        user pastes must not be able to end his turn and begin another one."""
        texts: list[str] = []
        guarded = []
        for message in messages:
            content = message.content.replace(OPEN, "").replace(CLOSE, "")
            for text in self._control_texts(content):
                content = content.replace(text, f"{OPEN}{len(texts)}{CLOSE}")
                texts.append(text)
            guarded.append(Message(message.role, content))
        return guarded, texts

    def _control_texts(self, content: str) -> list[str]:
        """Longest first, so that no text is cut by one that it contains."""
        tokens = set(self.vocabulary.tokenize(content, special=True))
        texts = {self.vocabulary.text(token) for token in tokens if self.vocabulary.is_control(token)}
        return sorted((text for text in texts if text and text in content), key=len, reverse=True)


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
