"""Chats that take turns: tokens read beyond the new ones, and seconds to the first word, with and without kept chats.

    python -m benchmarks.alternating [--model M] [--chats N] [--turns N] [--ctx N] [--backend llama|ik|graph] [--json]

Each chat begins with a text of its own; then all ask short questions in turns, without ids, as most API clients
do. The chats run twice in one engine: with the KV cache alone, and with the memory that the plan has for other chats.
The first turn of each chat is left out, because all of it is new. A computer whose plan has no such memory shows the
same numbers twice.
"""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass, field
from statistics import median

from benchmarks.command import benchmark_parser, print_json
from benchmarks.prompts import TEXTS
from common.byte_sizes import show_bytes
from engine.engine import Engine
from engine.loading.libraries import BACKENDS
from engine.machine import resident_bytes
from engine.protocol.events import WRITTEN, Finished
from engine.protocol.requests import Generate, Load, Message, Sampling
from engine.run_subprocess import set_environment

GREEDY = Sampling(temperature=0, repeat_penalty=1)
ANSWER = 16  # tokens
QUESTIONS = ("What is it about?", "Who is named in it?", "What comes first?", "Say it shorter.", "What is missing?")


@dataclass(slots=True)
class Turn:
    """One answer: tokens of its prompt that ran, those of them that were `new`, and seconds to the first word."""

    read: int
    new: int
    first_word: float
    tokens: tuple[int, ...]


@dataclass(slots=True)
class Chat:
    """A chat with the tokens that an ideal cache would still hold of it."""

    messages: list[Message]
    known: int = 0


@dataclass(slots=True)
class Run:
    """The turns of all chats, without the first ones, and the memory at their end in bytes."""

    name: str
    turns: list[Turn] = field(default_factory=list)
    kept_bytes: int = 0
    resident_bytes: int = 0

    @property
    def most_beyond(self) -> int:
        """Most tokens that a turn read beyond the new ones."""
        return max(turn.read - turn.new for turn in self.turns)

    def summary(self) -> dict[str, object]:
        return {
            "name": self.name,
            "turns": len(self.turns),
            "beyond_new_median": median(turn.read - turn.new for turn in self.turns),
            "beyond_new_most": self.most_beyond,
            "first_word_seconds_median": median(turn.first_word for turn in self.turns),
            "kept_bytes": self.kept_bytes,
            "resident_bytes": self.resident_bytes,
        }


def main() -> None:
    parser = benchmark_parser("alternating", __doc__)
    parser.add_argument("--chats", type=int, default=2, help="how many chats take turns (default: 2)")
    parser.add_argument("--turns", type=int, default=4, help="questions of each chat (default: 4)")
    parser.add_argument("--ctx", type=int, default=8192, help="limit of the context in tokens (default: 8192)")
    parser.add_argument("--backend", choices=BACKENDS, default="llama", help="what computes (default: llama)")
    options = parser.parse_args()
    with closing(Engine()) as engine:
        load = Load(0, str(options.model), n_ctx=options.ctx, backend=options.backend)
        planned = sum(engine.load(load).model.plan.values())
        kept = engine.kept_chats
        budget, runs = kept.budget, list[Run]()
        for name, kept.budget in (("KV cache alone", 0), ("with kept chats", budget)):
            engine.forget()
            run = alternate(engine, name, options.chats, options.turns)
            run.kept_bytes, run.resident_bytes = kept.bytes, resident_bytes()
            runs.append(run)
    same = sum(a.tokens == b.tokens for a, b in zip(runs[0].turns, runs[1].turns, strict=True))
    if options.json:
        print_json({"planned_bytes": planned, "budget_bytes": budget, "same_answers": same,
                    "runs": [run.summary() for run in runs]})  # fmt: skip
        return
    print(f"{options.model.name}, {options.chats} chats; plan {show_bytes(planned)}, {show_bytes(budget)} for others")
    for run in runs:
        first = median(turn.first_word for turn in run.turns)
        print(f"  {run.name:16} tokens beyond the new ones: at most {run.most_beyond:6,}; first word {first:6.2f} s"
              f"; others {show_bytes(run.kept_bytes)}, resident {show_bytes(run.resident_bytes)}")  # fmt: skip
    print(f"  {same} of {len(runs[0].turns)} answers are the same")


def alternate(engine: Engine, name: str, count: int, turns: int) -> Run:
    run, chats = Run(name), [Chat([Message("system", "Answer briefly.")]) for _ in range(count)]
    texts = [path.read_text(encoding="utf-8") for path in sorted(TEXTS.glob("*.txt"))]
    for turn in range(turns + 1):
        for index, chat in enumerate(chats):
            question = QUESTIONS[turn % len(QUESTIONS)]
            text = question if turn else f"{texts[index % len(texts)]}\n\n{question}"
            chat.messages.append(Message("user", text))
            answered = answer(engine, chat)
            if turn:
                run.turns.append(answered)
    return run


def answer(engine: Engine, chat: Chat) -> Turn:
    """Answer the chat's last question and append the answer to the chat."""
    started, first, text = time.perf_counter(), 0.0, ""
    for event in engine.generate(Generate(1, tuple(chat.messages), GREEDY, ANSWER, draft="off", kv_policy="always")):
        if isinstance(event, WRITTEN):
            first, text = first or time.perf_counter() - started, text + event.text
    assert isinstance(event, Finished)
    numbers = event.statistics
    turn = Turn(numbers.prompt_tokens - numbers.reused_tokens, numbers.prompt_tokens - chat.known, first, event.tokens)
    chat.messages.append(Message("assistant", text))
    chat.known = numbers.context_tokens
    return turn


if __name__ == "__main__":
    set_environment()
    main()
