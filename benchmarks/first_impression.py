"""Right answers of the built-in model to simple questions, by the settings of sampling.

    python -m benchmarks.first_impression [--model M] [--seeds N] [--threads N] [--only NAME ...] [--json]

Each question is a chat of its own, asked once with each seed. An answer is right if its first TOKENS tokens contain an
accepted word. `endless`: answers to OPEN questions of which the end repeats itself; there is no right answer to these.
The seeds of all settings are the same, so the settings differ by themselves alone.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from engine.engine import Engine
from engine.machine import cpu_model
from engine.protocol.events import Text
from engine.protocol.requests import Generate, Load, Message, Sampling
from models.default import default_model

QUESTIONS = {
    "What is the capital of France?": ("paris",),
    "How many days are in a week?": ("seven", "7"),
    "What is 2 + 2?": ("4", "four"),
    "Who wrote Romeo and Juliet?": ("shakespeare",),
    "What color is the sky on a clear day?": ("blue",),
    "What is the largest planet in the solar system?": ("jupiter",),
    "What do bees make?": ("honey",),
    "What is the opposite of hot?": ("cold", "cool"),
    "Which animal says meow?": ("cat", "cats", "kitten"),
    "At what temperature does water freeze?": ("0", "32", "zero"),
}
OPEN = ("Tell me a short story about a fox.", "Why should people learn to swim?", "How do I make pancakes?")
TOKENS, OPEN_TOKENS = 48, 192
LOOP = re.compile(r"(.{8,}?)\1\1\s*\Z", re.DOTALL)  # three times the same at the end of a text
MAKERS = Sampling(temperature=0.2, top_p=0.9)
SETTINGS = {
    "defaults": Sampling(),
    "makers": MAKERS,
    "makers-0.1": replace(MAKERS, temperature=0.1),
    "makers-0.4": replace(MAKERS, temperature=0.4),
    "makers-repeat-1.0": replace(MAKERS, repeat_penalty=1.0),
    "makers-repeat-1.2": replace(MAKERS, repeat_penalty=1.2),
    "greedy": replace(MAKERS, temperature=0.0),
}


@dataclass(frozen=True, slots=True)
class Result:
    """Answers with one setting: how many were right and how many endless, of how many."""

    setting: str
    right: int
    asked: int
    endless: int
    open: int
    by_question: dict[str, int]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_impression", description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, default=default_model())
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--only", nargs="+", choices=SETTINGS, default=list(SETTINGS), metavar="NAME")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with closing(Engine()) as engine:
        info = engine.load(Load(0, str(options.model), n_ctx=2048, threads=options.threads)).model
        results = []
        if not options.json:
            print(f"{options.model.name} on {cpu_model()}, {info.threads} threads, {info.backend}", flush=True)
        for name in options.only:
            results.append(result_of(engine, name, range(options.seeds)))
            if not options.json:
                print(line_of(results[-1]), flush=True)
    if options.json:
        print(json.dumps([{key: getattr(each, key) for key in Result.__slots__} for each in results]))


def result_of(engine: Engine, name: str, seeds: range) -> Result:
    """Ask everything with one setting."""
    by_question = {
        question: sum(is_right(text, accepted) for text in answers(engine, question, name, seeds, TOKENS))
        for question, accepted in QUESTIONS.items()
    }
    endless = [bool(LOOP.search(text)) for question in OPEN
               for text in answers(engine, question, name, seeds, OPEN_TOKENS)]  # fmt: skip
    asked = len(QUESTIONS) * len(seeds)
    return Result(name, sum(by_question.values()), asked, sum(endless), len(endless), by_question)


def answers(engine: Engine, question: str, name: str, seeds: range, tokens: int) -> Iterator[str]:
    """Yield the answers to a question, one with each seed."""
    for seed in seeds:
        sampling = replace(SETTINGS[name], seed=seed)
        request = Generate(1, (Message("user", question),), sampling, tokens, draft="off")
        yield "".join(event.text for event in engine.generate(request) if isinstance(event, Text))


def is_right(answer: str, accepted: tuple[str, ...]) -> bool:
    """Return whether the answer contains one of the accepted words, as a word of its own."""
    return not set(accepted).isdisjoint(re.findall(r"[a-z]+|\d+", answer.lower()))


def line_of(result: Result) -> str:
    return (
        f"{result.setting:17} right {result.right:3} of {result.asked}, endless {result.endless:2} of {result.open}; "
        f"right by question: {' '.join(map(str, result.by_question.values()))}"
    )


if __name__ == "__main__":
    main()
