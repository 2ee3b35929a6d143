"""Recorded answers to the prompt set as token ids, so that drafting can be replayed without the model."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.peers import GREEDY
from benchmarks.prompts import Prompt
from engine.engine import Engine
from engine.loading.libraries import backend
from engine.protocol.events import Finished
from engine.protocol.requests import Generate, Load
from engine.tokenization.template import ChatTemplate

ANSWER_TOKENS = 128


@dataclass(frozen=True, slots=True)
class Trace:
    """Token ids of one prompt (with its template) and of its greedy answer, without the token that ended the answer.

    `limit`: tokens after which the answer was cut off.
    """

    category: str
    held_out: bool
    prompt: list[int]
    output: list[int]
    ended: bool
    limit: int = ANSWER_TOKENS

    @property
    def steps(self) -> int:
        """Passes of plain decoding: the prompt's pass gives the first token, and the end token needs its own pass."""
        return len(self.output) - 1 + self.ended


def record(model: Path, threads: int | None, chosen: Iterable[Prompt], limit: int) -> Iterator[Trace]:
    """Answer prompts, one trace after the other; prompts with a common beginning share its prefill."""
    with closing(Engine()) as engine:
        library = backend(engine.load(Load(0, str(model), n_ctx=4096, threads=threads)).model.backend)
        with closing(library.load(model, dry=True)) as dry:
            template = ChatTemplate(dry.template, dry.vocabulary)
            for number, prompt in enumerate(chosen, 1):
                yield answered(engine, template, number, prompt, limit)


def answered(engine: Engine, template: ChatTemplate, number: int, prompt: Prompt, limit: int) -> Trace:
    *_, finished = engine.generate(Generate(number, prompt.messages, GREEDY, limit, draft="off"))
    assert isinstance(finished, Finished)
    ended, tokens = finished.statistics.stop_reason == "end", list(template.tokens(prompt.messages))
    return Trace(prompt.category, prompt.held_out, tokens, list(finished.tokens), ended, limit)


def save(path: Path, model: Path, traces: list[Trace]) -> None:
    data = {"model": model.name, "traces": [asdict(trace) for trace in traces]}
    path.write_bytes(gzip.compress(json.dumps(data, separators=(",", ":")).encode(), mtime=0))


def load(path: Path) -> list[Trace]:
    data = json.loads(gzip.decompress(path.read_bytes()))
    return [Trace(**trace) for trace in data["traces"]]
