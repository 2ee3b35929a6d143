"""Writes the model's own answers as chats to learn from, many in one batch, which is faster than one by one."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

from engine.generation.sampling import Sampler
from engine.protocol.requests import Message, Sampling
from engine.runtime.capi.context import Batch
from engine.runtime.capi.runtime import CLogits
from engine.runtime.capi.sequences import TO_END
from engine.runtime.capi.vocabulary import CVocabulary
from engine.runtime.contexts import ContextOptions
from engine.runtime.llama.runtime import Context, Model
from engine.stop import StopFlag
from engine.tokenization.template import ChatTemplate
from training.chat_lines import ChatLine, read_chats

AT_ONCE = 32
ANSWER = 192  # most tokens of an answer
REPEATED = 16  # tokens; an answer ends before so many that it has said already, because small models repeat themselves
PASS = 512  # most tokens of one pass


@dataclass(slots=True)
class Answer:
    """Answer that is being generated: `size` tokens are in the KV cache, the `pending` ones behind them are not yet."""

    question: str
    sampler: Sampler
    size: int = 0
    tokens: list[int] = field(default_factory=list)
    pending: Sequence[int] = ()
    ended: bool = False

    @property
    def is_unfinished(self) -> bool:
        return not self.ended and len(self.tokens) < ANSWER and not is_repeating(self.tokens)

    @property
    def kept_tokens(self) -> Sequence[int]:
        return self.tokens[:-REPEATED] if is_repeating(self.tokens) else self.tokens


def is_repeating(tokens: Sequence[int]) -> bool:
    """Return whether the last REPEATED tokens occurred earlier in the answer."""
    last = tokens[-REPEATED:]
    return any(tokens[i : i + REPEATED] == last for i in range(len(tokens) - 2 * REPEATED + 1))


def write_answers(
    path: Path, model: Path, questions: Sequence[str], count: int, temperature: float, seed: int, threads: int
) -> None:
    """Append answers until the file has `count` of them; lines that exist stay.

    Every question is answered once before any is answered twice. An answer is seeded with `seed` plus its number.
    """
    done = Counter(chat.messages[0].content for chat in _existing_chats(path))
    wanted = deque[tuple[str, int]]()
    for i in range(count):
        question = questions[i % len(questions)]
        if done[question] <= i // len(questions):
            wanted.append((question, seed + i))
    if not wanted:
        return
    number = count - len(wanted)
    with path.open("a", encoding="utf-8") as file:
        for answer, text in _answers(model, wanted, temperature, threads):
            if text.strip():
                messages = [{"role": "user", "content": answer.question}, {"role": "assistant", "content": text}]
                line = {"messages": messages, "whole": answer.ended}
                file.write(f"{json.dumps(line, ensure_ascii=False)}\n")
                file.flush()
            number += 1
            print(f"\rwriting answers {number}/{count}", end="", file=sys.stderr)
    print(file=sys.stderr)


def _existing_chats(path: Path) -> list[ChatLine]:
    """Return the chats in the file, after cutting off an incomplete last line."""
    if not path.exists():
        return []
    raw = path.read_bytes()
    if not raw.endswith(b"\n"):
        os.truncate(path, raw.rfind(b"\n") + 1)
    return read_chats(path) if path.stat().st_size else []


def _answers(
    model: Path, wanted: deque[tuple[str, int]], temperature: float, threads: int
) -> Iterator[tuple[Answer, str]]:
    """Yield each answer with its text when it is complete."""
    with ExitStack() as stack:
        loaded = stack.enter_context(closing(Model(model)))
        template, vocabulary = ChatTemplate(loaded.template, loaded.vocabulary), loaded.vocabulary
        prompts = deque((question, template.tokens((Message("user", question),)), seed) for question, seed in wanted)
        room = max(len(prompt) for _question, prompt, _seed in prompts) + ANSWER
        options = ContextOptions(AT_ONCE * room, threads, PASS, AT_ONCE, sequences=AT_ONCE)
        context = stack.enter_context(closing(Context(loaded, options, StopFlag(), unified=False)))
        batch = stack.enter_context(closing(Batch(context.lib, PASS)))
        writing: dict[int, Answer] = {}
        while writing or prompts:
            for sequence in [i for i in range(AT_ONCE) if i not in writing][: len(prompts)]:
                question, prompt, chosen = prompts.popleft()
                sampling = Sampling(temperature, repeat_penalty=1, seed=chosen)
                writing[sequence] = Answer(question, Sampler(sampling, prompt), pending=prompt)
            _advance(context, batch, writing, vocabulary)
            for sequence in [i for i, answer in writing.items() if not answer.is_unfinished]:
                answer = writing.pop(sequence)
                context.lib.llama_memory_seq_rm(context.memory, sequence, 0, TO_END)
                yield answer, b"".join(map(vocabulary.piece, answer.kept_tokens)).decode(errors="replace")


def _advance(context: Context, batch: Batch, writing: dict[int, Answer], vocabulary: CVocabulary) -> None:
    """Run one pass that computes each answer's pending tokens and samples its next one.

    Answers whose pending tokens do not fit into the pass wait for the next pass.
    """
    parts: list[tuple[int, Answer]] = []
    for part in writing.items():
        if sum(len(answer.pending) for _sequence, answer in (*parts, part)) <= PASS:
            parts.append(part)
    batch.start(sum(len(answer.pending) for _sequence, answer in parts))
    at = 0
    for sequence, answer in parts:
        for i, token in enumerate(answer.pending):
            batch.set_token(at + i, token, answer.size + i, (sequence,), i == len(answer.pending) - 1)
        at += len(answer.pending)
    context.decode(batch)
    logits, row = CLogits(context, vocabulary.n_tokens, batch.raw.n_tokens, batch.raw.n_tokens), -1
    for _sequence, answer in parts:
        row += len(answer.pending)
        token = answer.sampler.sample(logits, row)
        answer.size += len(answer.pending)
        answer.pending = [token]
        answer.ended = vocabulary.is_end(token)
        if not answer.ended:
            answer.tokens.append(token)
