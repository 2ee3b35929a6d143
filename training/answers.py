"""The model's own answers as chats to learn from, many at once, which is faster than one after the other."""

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
from engine.protocol import Message, Sampling
from engine.runtime.capi.context import Batch
from engine.runtime.capi.runtime import CLogits
from engine.runtime.capi.state import TO_END
from engine.runtime.capi.vocabulary import CVocabulary
from engine.runtime.contexts import ContextOptions
from engine.runtime.llama.runtime import Context, Model
from engine.stop import StopFlag
from engine.tokenization.chat_lines import Chat, read_chats
from engine.tokenization.template import ChatTemplate

AT_ONCE = 32
ANSWER = 192  # tokens at most
AGAIN = 16  # an answer ends before so many tokens that it had already said: small models go round in circles
PASS = 512  # tokens


@dataclass(slots=True)
class Answer:
    """One being written. `pending`: tokens that are not computed yet, behind `size` that are."""

    question: str
    sampler: Sampler
    size: int = 0
    tokens: list[int] = field(default_factory=list)
    pending: Sequence[int] = ()
    ended: bool = False

    @property
    def goes_on(self) -> bool:
        return not self.ended and len(self.tokens) < ANSWER and not circles(self.tokens)

    @property
    def told(self) -> Sequence[int]:
        return self.tokens[:-AGAIN] if circles(self.tokens) else self.tokens


def circles(tokens: Sequence[int]) -> bool:
    """Were the last tokens said before?"""
    last = tokens[-AGAIN:]
    return any(tokens[i : i + AGAIN] == last for i in range(len(tokens) - 2 * AGAIN + 1))


def write_answers(
    path: Path, model: Path, questions: Sequence[str], count: int, temperature: float, seed: int, threads: int
) -> None:
    """Append answers, each question's first before any second, until the file has `count`: what is there stays."""
    done = Counter(chat.messages[0].content for chat in _written(path))
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
                said = [{"role": "user", "content": answer.question}, {"role": "assistant", "content": text}]
                line = {"messages": said, "whole": answer.ended}
                file.write(f"{json.dumps(line, ensure_ascii=False)}\n")
                file.flush()
            number += 1
            print(f"\rwriting answers {number}/{count}", end="", file=sys.stderr)
    print(file=sys.stderr)


def _written(path: Path) -> list[Chat]:
    """So far; a line that was not written to its end is cut off."""
    if not path.exists():
        return []
    raw = path.read_bytes()
    if not raw.endswith(b"\n"):
        os.truncate(path, raw.rfind(b"\n") + 1)
    return read_chats(path) if path.stat().st_size else []


def _answers(
    model: Path, wanted: deque[tuple[str, int]], temperature: float, threads: int
) -> Iterator[tuple[Answer, str]]:
    """Each with its text, as they end."""
    with ExitStack() as stack:
        loaded = stack.enter_context(closing(Model(model)))
        template, words = ChatTemplate(loaded.template, loaded.vocabulary), loaded.vocabulary
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
            _go_on(context, batch, writing, words)
            for sequence in [i for i, answer in writing.items() if not answer.goes_on]:
                answer = writing.pop(sequence)
                context.lib.llama_memory_seq_rm(context.memory, sequence, 0, TO_END)
                yield answer, b"".join(map(words.piece, answer.told)).decode(errors="replace")


def _go_on(context: Context, batch: Batch, writing: dict[int, Answer], words: CVocabulary) -> None:
    """One pass; who finds no room in it waits for the next."""
    parts: list[tuple[int, Answer]] = []
    for part in writing.items():
        if sum(len(answer.pending) for _sequence, answer in (*parts, part)) <= PASS:
            parts.append(part)
    batch.begin(sum(len(answer.pending) for _sequence, answer in parts))
    at = 0
    for sequence, answer in parts:
        for i, token in enumerate(answer.pending):
            batch.put(at + i, token, answer.size + i, (sequence,), i == len(answer.pending) - 1)
        at += len(answer.pending)
    context.decode(batch)
    logits, row = CLogits(context, words.n_tokens, batch.raw.n_tokens, batch.raw.n_tokens), -1
    for _sequence, answer in parts:
        row += len(answer.pending)
        token = answer.sampler.sample(logits, row)
        answer.size += len(answer.pending)
        answer.pending = [token]
        answer.ended = words.is_end(token)
        if not answer.ended:
            answer.tokens.append(token)
