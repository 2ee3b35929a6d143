"""Prompts besides those of whole chats: an answer that is to be continued, and a text without a chat template."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

from common.failures import Failure
from engine.protocol.requests import Message
from engine.tokenization.template import AS_DEFAULT, OPENINGS, ChatTemplate, PromptOptions, never_stopped
from engine.tokenization.tokens import ModelVocabulary, tokens_that_spell

LAST_TOKENS = 16  # end of a prompt that is searched for an opening


def opened_reasoning(prompt: Sequence[int], text: Callable[[int], str]) -> str:
    """Return the marker at the prompt's end that opens the model's reasoning, with the blanks behind it, or ""."""
    end = "".join(map(text, prompt[-LAST_TOKENS:]))
    stripped = end.rstrip()
    opening = next((mark for mark in OPENINGS if stripped.endswith(mark)), "")
    return opening + end[len(stripped) :] if opening else ""


def continued_prompt(
    template: ChatTemplate,
    messages: Sequence[Message],
    known_tokens: Sequence[int],
    max_tokens: int | None = None,
    stopped: Callable[[], bool] = never_stopped,
    options: PromptOptions = AS_DEFAULT,
) -> list[int]:
    """Return the tokens of `messages` with the last one, an answer, left open, so that the model continues it.

    Several token sequences spell the same text, and a model continues each differently. So if the `known_tokens`, those
    of the last prompt and its answer, spell the text to continue, they are used; their keys and values are also still
    cached. Otherwise (another model, after a restart) the text is tokenized again. `max_tokens`, `stopped` and
    `options` are those of `ChatTemplate.tokens`.

    Raises Failure if the last message is no answer, and what `ChatTemplate.tokens` raises.
    """
    if len(messages) < 2 or messages[-1].role != "assistant":
        raise Failure("nothing_to_continue.no_answer")
    prompt = template.tokens(messages[:-1], False, max_tokens, stopped, options)
    opening = opened_reasoning(prompt, template.vocabulary.text)
    text = messages[-1].content.removeprefix(opening)
    if list(known_tokens[: len(prompt)]) == prompt:
        spelled = tokens_that_spell(known_tokens[len(prompt) :], text.encode(), template.vocabulary.piece)
        if spelled:
            return prompt + spelled
    if opening:  # the template would remove the reasoning, or open it twice
        return prompt + template.vocabulary.tokenize(text, special=False)
    return template.tokens(messages, True, max_tokens, stopped, options)


def plain_prompt(vocabulary: ModelVocabulary, prompt: str | Sequence[int], n_ctx: int) -> list[int]:
    """Return the tokens of a prompt without a chat template. Raises Failure for none, too many or unknown ones."""
    if isinstance(prompt, str):
        text = prompt.removeprefix(vocabulary.bos_text) if vocabulary.adds_bos else prompt
        tokens = [*chain.from_iterable(vocabulary.tokenize_pieces(text, special=True, add_bos=vocabulary.adds_bos))]
    else:
        tokens = list(prompt)
    if not tokens:
        raise Failure("empty_prompt.message")
    if min(tokens) < 0 or max(tokens) >= vocabulary.n_tokens:
        raise Failure("bad_prompt.tokens", n_tokens=vocabulary.n_tokens)
    if len(tokens) >= n_ctx:
        raise Failure("prompt_too_long.plain", tokens=len(tokens), n_ctx=n_ctx)
    return tokens
