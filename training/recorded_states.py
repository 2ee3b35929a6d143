"""Records a model's own answers with the states before its output head, many answers in one pass.

The states come from ik_llama.cpp's embeddings. The likeliest token is found here, among the tokens that the tokenizer
merged first: the library gives no logits beside embeddings, and the whole head would take as long as a pass.
"""

from __future__ import annotations

import io
import random
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

from common.failures import CommandFailure
from common.files import write_atomically
from engine.protocol.requests import Message
from engine.runtime.capi.context import Batch, CContext
from engine.runtime.capi.sequences import TO_END
from engine.runtime.contexts import ContextOptions
from engine.runtime.ik.library import open_library
from engine.runtime.ik.runtime import IkModel, embedding_context
from engine.stop import StopFlag
from engine.tokenization.template import ChatTemplate

AT_ONCE = 24
PROMPT = 96  # tokens; longer questions are left out
PASS = 128  # most tokens of one pass
FIRST_TOKENS = 40_000  # of the vocabulary, among which the likeliest one is found; ends of a turn come on top
IN_A_FILE = 20  # answers
EMBEDDING, HEAD = "token_embd.weight", "output.weight"

Array = NDArray[np.float32]


@dataclass(slots=True)
class Recorded:
    """A chat as `tokens`, its answer from index `first` on, and the state that each token but the last one led to."""

    question: str
    first: int
    tokens: list[int]
    states: list[NDArray[np.float16]] = field(default_factory=list)


def read_rows(model: Path, name: str, rows: Sequence[int] | NDArray[np.intp] | slice = slice(None)) -> Array:
    """Return rows of the output head ("output.weight") or of the embedding, which may be the head as well."""
    tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(model).tensors}
    tensor = tensors.get(name) or tensors[EMBEDDING]
    return np.ascontiguousarray(gguf.quants.dequantize(tensor.data[rows], tensor.tensor_type), dtype=np.float32)


def record(
    folder: Path, model: Path, questions: Sequence[str], most: int, threads: int, seconds: float
) -> Iterator[int]:
    """Answer questions that `folder` lacks and write them there; yield the answers' tokens so far after each file.

    An answer has at most `most` tokens. After `seconds` no answer is begun. Raises Failure.
    """
    folder.mkdir(parents=True, exist_ok=True)
    known = {answer.question for answer in read_recorded(folder)}
    wanted = [question for question in questions if question not in known]
    random.Random(0).shuffle(wanted)
    done: list[Recorded] = []
    total, until = 0, time.monotonic() + seconds
    for answer in _answers(model, deque(wanted), most, threads, until):
        done.append(answer)
        total += len(answer.tokens) - answer.first
        if len(done) == IN_A_FILE:
            _write(folder, done)
            done = []
            yield total
    if done:
        _write(folder, done)
        yield total


def read_recorded(folder: Path) -> list[Recorded]:
    """Return all answers in a folder, in the order in which they were written."""
    found = []
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as file:
            at = 0
            tokens, states = file["tokens"], file["states"]
            for question, length, first in zip(file["questions"], file["lengths"], file["first"], strict=True):
                part = slice(at, at + int(length))
                found.append(Recorded(str(question), int(first), tokens[part].tolist(), list(states[part][:-1])))
                at += int(length)
    return found


def _write(folder: Path, answers: Sequence[Recorded]) -> None:
    file = io.BytesIO()
    nothing = np.zeros_like(answers[0].states[0])  # behind the last token, which was never computed
    np.savez(
        file,
        questions=[answer.question for answer in answers],
        lengths=[len(answer.tokens) for answer in answers],
        first=[answer.first for answer in answers],
        tokens=np.concatenate([np.array(answer.tokens, np.int32) for answer in answers]),
        states=np.concatenate([np.array([*answer.states, nothing]) for answer in answers]),
    )
    write_atomically(folder / f"{len(list(folder.glob('*.npz'))):05d}.npz", file.getvalue())


def _answers(model: Path, wanted: deque[str], most: int, threads: int, until: float) -> Iterator[Recorded]:
    with ExitStack() as stack:
        own_code = open_library().native
        if own_code is None or own_code.products is None:  # without our attention the library ends the process
            raise CommandFailure("not_supported", "Several answers in one pass need our native code: docs/products.md.")
        loaded = stack.enter_context(closing(IkModel(model)))
        vocabulary = loaded.vocabulary
        template = ChatTemplate(loaded.template, vocabulary)
        ends = [token for token in range(vocabulary.n_tokens) if vocabulary.is_end(token)]
        ids = np.unique([*range(min(FIRST_TOKENS, vocabulary.n_tokens)), *ends])
        head = read_rows(model, HEAD, ids)
        options = ContextOptions(AT_ONCE * (PROMPT + most), threads, PASS, AT_ONCE, sequences=AT_ONCE, gives_way=True)
        context = stack.enter_context(closing(embedding_context(loaded, options, StopFlag())))
        batch = stack.enter_context(closing(Batch(context.lib, PASS)))
        writing: dict[int, Recorded] = {}
        while True:
            for sequence in [i for i in range(AT_ONCE) if i not in writing]:
                if wanted and time.monotonic() < until:
                    question = wanted.popleft()
                    prompt = template.tokens((Message("user", question),))
                    if len(prompt) <= PROMPT:
                        writing[sequence] = Recorded(question, len(prompt), list(prompt))
            if not writing:
                return
            _advance(context, batch, writing, ids, head)
            for sequence, answer in [*writing.items()]:
                if len(answer.tokens) < answer.first + most and not vocabulary.is_end(answer.tokens[-1]):
                    continue
                del writing[sequence]
                context.lib.llama_memory_seq_rm(context.memory, sequence, 0, TO_END)
                yield answer


def _advance(context: CContext, batch: Batch, writing: dict[int, Recorded], ids: NDArray[np.int_], head: Array) -> None:
    """Run one pass over the answers' new tokens; keep their states and append each answer's likeliest token.

    A pass has so many tokens at most; what does not fit waits for the next one.
    """
    parts: list[tuple[int, Recorded, int]] = []
    room = context.n_batch
    for sequence, answer in writing.items():
        new = min(len(answer.tokens) - len(answer.states), room)
        if new:
            parts.append((sequence, answer, new))
            room -= new
    batch.start(context.n_batch - room)
    at = 0
    for sequence, answer, new in parts:
        begin = len(answer.states)
        for i in range(begin, begin + new):
            batch.set_token(at, answer.tokens[i], i, (sequence,), True)
            at += 1
    context.decode(batch)
    at = 0
    complete: list[Recorded] = []
    lasts: list[Array] = []
    for _sequence, answer, new in parts:
        states = np.stack([_state(context, i, head.shape[1]) for i in range(at, at + new)])
        answer.states += list(states.astype(np.float16))
        at += new
        if len(answer.states) == len(answer.tokens):
            complete.append(answer)
            lasts.append(states[-1])
    if complete:
        likeliest = ids[(head @ np.stack(lasts).T).argmax(axis=0)]
        for answer, token in zip(complete, likeliest, strict=True):
            answer.tokens.append(int(token))


def _state(context: CContext, i: int, width: int) -> Array:
    return np.ctypeslib.as_array(context.lib.llama_get_embeddings_ith(context.pointer, i), (width,)).copy()
