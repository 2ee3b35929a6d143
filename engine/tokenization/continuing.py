"""The prompt that lets an answer go on where it stopped, as near as possible to what the model had before it then.

A text has many spellings in tokens, and a model answers differently to another spelling of its own words. So the tokens
of the last answer are remembered: where they spell the text to continue, they are what it is continued from, and all of
their keys and values are still cached. Elsewhere (another model, after a restart) the text is tokenized anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.protocol import Message
from engine.tokenization.reasoning import opened_thought
from engine.tokenization.template import ChatTemplate, never
from engine.tokenization.tokens import spelling
from models.failures import Failure


def continued_prompt(
    template: ChatTemplate,
    messages: Sequence[Message],
    known: Sequence[int],
    most: int | None = None,
    stopped: Callable[[], bool] = never,
) -> list[int]:
    """Tokens of `messages` with the last one, an answer, left open. `known`: tokens of the last prompt and its answer;
    `most` and `stopped` as for `ChatTemplate.tokens`.

    Raises Failure if the last message is no answer, and what `tokens` raises."""
    if len(messages) < 2 or messages[-1].role != "assistant":
        raise Failure("nothing_to_continue", "There is no answer to continue: send a message first.")
    asked = template.tokens(messages[:-1], False, most, stopped)
    opening = opened_thought(asked, template.vocabulary.text)
    text = messages[-1].content.removeprefix(opening)
    if list(known[: len(asked)]) == asked:
        spelled = spelling(known[len(asked) :], text.encode(), template.vocabulary.piece)
        if spelled:
            return asked + spelled
    if opening:  # the template would take the thought out again, or open it twice
        return asked + template.vocabulary.tokenize(text, special=False)
    return template.tokens(messages, True, most, stopped)
