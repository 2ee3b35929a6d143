"""Predicted against measured speed of every model at hand, on a computer where none of them ever ran.

    python -m benchmarks.prediction [--models FOLDER] [--runs N] [--json]

The prediction is the planner's, with an empty cache folder that holds this computer's profile and, as after the first
minutes of use, the built-in model's timings. Then the same model answers without drafts after a prompt of some 1,000
tokens, several times, of which the median counts. FOLDER holds GGUF files; the built-in model is always measured. The
last line is JSON:
{"models": [{"name": …, "decode": {"predicted": tokens/s, "measured": …}, "prompt": {…}}]}.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.decode import prompt
from benchmarks.peers import OurEngine
from common.engine_program import engine_command
from common.paths import path_text
from common.planning import Ask, Verdict
from engine.costs.profile import machine_profile
from models.default import default_model
from models.planner import verdicts

PROMPT_WORDS = 700  # about 1,000 tokens
TOKENS = 48


@dataclass(frozen=True, slots=True)
class Row:
    """Tokens/s of one model: predicted and measured."""

    name: str
    predicted: Verdict
    decode: float
    prompt: float

    def as_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "decode": {"predicted": round(self.predicted.predicted_speed, 1), "measured": round(self.decode, 1)},
            "prompt": {"predicted": round(self.predicted.predicted_prompt_speed), "measured": round(self.prompt)},
        }


def main() -> None:
    options = parse()
    models = [default_model(), *(sorted(options.models.expanduser().glob("*.gguf")) if options.models else [])]
    with TemporaryDirectory() as folder:
        os.environ["CHICKADEE_CACHE_DIR"] = folder
        profile = machine_profile(fresh=True)
        bandwidth = profile.read_bandwidth_bytes_per_s / 1e9
        print(f"{profile.cpu}, {profile.threads} threads, memory read at {bandwidth:.1f} GB/s")
        for backend in ("ik", "llama"):
            command = [*engine_command("calibrate"), "--backend", backend, "--json"]
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        rows = list(measure(models, options.runs))
    for row in rows if not options.json else ():
        decode, prompts = (
            f"{measured:8,.1f} measured, {predicted:8,.1f} predicted ({predicted / measured - 1:+.0%})"
            for measured, predicted in (
                (row.decode, row.predicted.predicted_speed),
                (row.prompt, row.predicted.predicted_prompt_speed),
            )
        )
        print(f"{row.name:44} decode {decode}; prompt {prompts}")
    print(json.dumps({"models": [row.as_json() for row in rows]}))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prediction", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--models", type=Path, metavar="FOLDER", help="GGUF files to measure besides the built-in model"
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print the JSON line alone behind the machine's")
    return parser.parse_args()


def measure(models: list[Path], runs: int) -> Iterator[Row]:
    predictions = dict(verdicts({model: Ask(path=path_text(model)) for model in models}))
    for model in models:
        with OurEngine(model, None, None, backend="auto") as engine:
            engine.run(prompt(0, PROMPT_WORDS), 8)  # warm-up, not counted
            done = [engine.run(prompt(number, PROMPT_WORDS), TOKENS) for number in range(1, runs + 1)]
        decode = median(run.decode_tokens / run.decode_seconds for run in done)
        prompts = median(run.prompt_tokens / run.prompt_seconds for run in done)
        yield Row(model.name, predictions[model], decode, prompts)


if __name__ == "__main__":
    main()
