"""Recorded answers to the prompt set as token ids, so that drafting can be replayed without the model."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.peers import GREEDY
from benchmarks.prompts import Prompt, prompts
from engine.engine import Engine
from engine.protocol.events import Finished
from engine.protocol.requests import Generate, Load
from engine.runtime.llama.runtime import Model
from engine.tokenization.template import ChatTemplate

ANSWER_TOKENS = 128


@dataclass(frozen=True, slots=True)
class Trace:
    """Token ids of one prompt (with its template) and of its greedy answer, without the token that ended the answer."""

    category: str
    held_out: bool
    prompt: list[int]
    output: list[int]
    ended: bool

    @property
    def steps(self) -> int:
        """Passes of plain decoding: the prompt's pass gives the first token, and the end token needs its own pass."""
        return len(self.output) - 1 + self.ended


def record(model: Path, threads: int | None) -> Iterator[Trace]:
    """Answer the prompt set, one trace after the other; prompts with a common beginning share its prefill."""
    with closing(Model(model, dry=True)) as dry, closing(Engine()) as engine:
        template = ChatTemplate(dry.template, dry.vocabulary)
        engine.load(Load(0, str(model), n_ctx=4096, threads=threads))
        for number, prompt in enumerate(prompts(), 1):
            yield answered(engine, template, number, prompt)


def answered(engine: Engine, template: ChatTemplate, number: int, prompt: Prompt) -> Trace:
    *_, finished = engine.generate(Generate(number, prompt.messages, GREEDY, ANSWER_TOKENS, draft="off"))
    assert isinstance(finished, Finished)
    ended = finished.statistics.stop_reason == "end"
    return Trace(prompt.category, prompt.held_out, list(template.tokens(prompt.messages)), list(finished.tokens), ended)


def save(path: Path, model: Path, traces: list[Trace]) -> None:
    data = {"model": model.name, "traces": [asdict(trace) for trace in traces]}
    path.write_bytes(gzip.compress(json.dumps(data, separators=(",", ":")).encode(), mtime=0))


def load(path: Path) -> list[Trace]:
    data = json.loads(gzip.decompress(path.read_bytes()))
    return [Trace(**trace) for trace in data["traces"]]
