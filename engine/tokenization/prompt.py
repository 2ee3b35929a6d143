"""Prompts besides those of whole chats: an answer that is to be continued, and texts without a chat template."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

from common.failures import Failure
from engine.protocol.requests import Infill, Message
from engine.tokenization.template import AS_DEFAULT, OPENINGS, ChatTemplate, PromptOptions
from engine.tokenization.tokens import InfillTokens, ModelVocabulary, tokens_that_spell

INFILL_MARKS = 5  # tokens around the parts of a prompt for the middle of a text, with the first token of the answer
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
    options: PromptOptions = AS_DEFAULT,
) -> list[int]:
    """Return the tokens of `messages` with the last one, an answer, left open, so that the model continues it.

    Several token sequences spell the same text, and a model continues each differently. So if the `known_tokens`, those
    of the last prompt and its answer, spell the text to continue, they are used; their keys and values are also still
    cached. Otherwise (another model, after a restart) the text is tokenized again.

    Raises Failure if the last message is no answer, and what `ChatTemplate.tokens` raises.
    """
    if len(messages) < 2 or messages[-1].role != "assistant":
        raise Failure("nothing_to_continue.no_answer")
    prompt = template.tokens(messages[:-1], options)
    opening = opened_reasoning(prompt, template.vocabulary.text)
    text = messages[-1].content.removeprefix(opening)
    if list(known_tokens[: len(prompt)]) == prompt:
        spelled = tokens_that_spell(known_tokens[len(prompt) :], text.encode(), template.vocabulary.piece)
        if spelled:
            return prompt + spelled
    if opening:  # the template would remove the reasoning, or open it twice
        return prompt + template.vocabulary.tokenize(text, special=False)
    return template.tokens(messages, options, continue_last=True)


def infill_prompt(vocabulary: ModelVocabulary, infill: Infill, answer: int, n_ctx: int) -> list[int]:
    """Return the tokens of a prompt for the middle of a text, which leave room for `answer` tokens.

    The form is that of https://arxiv.org/abs/2409.12186: other files first, then the text before and behind the middle.
    What does not fit is left out: first the beginning of the files, then what is far from the middle.

    Raises Failure if the model was not trained for such prompts.
    """
    marks = vocabulary.infill_tokens
    if marks is None:
        raise Failure("no_infill.model")
    prefix, suffix = vocabulary.tokenize(infill.prefix, False), vocabulary.tokenize(infill.suffix, False)
    room = max(2, n_ctx - answer - INFILL_MARKS)
    behind = min(len(suffix), max(room // 4, room - len(prefix)))
    before = min(len(prefix), room - behind)
    files = file_tokens(vocabulary, infill.files, marks)
    files = files[max(0, len(files) - (room - behind - before)) :]
    bos = vocabulary.tokenize(vocabulary.bos_text, True)[:1] if vocabulary.adds_bos else []
    return [
        *bos, *files, marks.prefix, *prefix[len(prefix) - before :], marks.suffix, *suffix[:behind], marks.middle
    ]  # fmt: skip


def file_tokens(vocabulary: ModelVocabulary, files: Sequence[tuple[str, str]], marks: InfillTokens) -> list[int]:
    """Return the tokens of a repository's files, and of the name of the one that follows them."""
    tokens: list[int] = []
    if files and marks.repository is not None:
        tokens += [marks.repository, *vocabulary.tokenize("project\n", False)]
    for name, text in files:
        title = "\n\n" if marks.file is None else f"{name}\n"
        tokens += [*([] if marks.file is None else [marks.file]), *vocabulary.tokenize(title + text, False)]
    if files and marks.file is not None:
        tokens += [marks.file, *vocabulary.tokenize("current\n", False)]
    return tokens


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
