"""What works with each architecture that llama.cpp knows: a tiny random model of each goes through the engine.

    python -m benchmarks.architectures [--only NAME …] [--seed N] [--words N] [--jobs N] [--write]
    python -m benchmarks.architectures --model FILE …

Each model is loaded, asked, asked again, edited, stopped at random moments, continued, asked with and without drafts,
saved, restarted, and asked until its context is full (`benchmarks.trials`). `--model` tries other files. `--write` puts
the table into docs/models.md. The headers come from llama.cpp's own test, which is compiled once (`llama_archs`).
"""

from __future__ import annotations

import argparse
import multiprocessing
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from benchmarks.llama_archs import headers
from benchmarks.tiny_models import Header, NoSuchModel, write_tiny_model
from benchmarks.trials import QUESTION, Engines, ModelTrial, Trial
from models.locations import usual_folder

DOCUMENT = Path(__file__).parents[1] / "docs" / "models.md"
BEGIN, END = "<!-- architectures: begin -->\n", "<!-- architectures: end -->\n"
HEAD = """
| architecture | again | stop | edit | restart | drafts | plan | answers |
|---|---|---|---|---|---|---|---|
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.architectures", description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="architectures (default: all)")
    parser.add_argument("--model", nargs="+", type=Path, default=[], metavar="FILE", help="try these files instead")
    parser.add_argument("--seed", type=int, default=1, help="of the weights, the words and the moments of the stops")
    parser.add_argument("--words", type=int, default=QUESTION, help="words of each of the three questions of a chat")
    parser.add_argument("--jobs", type=int, default=1, help="models that are tried at once")
    parser.add_argument("--write", action="store_true", help="put the table into docs/models.md")
    options = parser.parse_args()
    if options.write and (options.only or options.model):
        parser.error("--write is for the table of all architectures")
    trials = []
    for trial in _trials(options):
        trials.append(trial)
        print(row(trial), f" {trial.seconds:.0f} s", file=sys.stderr, flush=True)
    print(table(trials))
    if options.write:
        write(table(trials))
    return int(any(trial.wrong for trial in trials))


def _trials(options: argparse.Namespace) -> Iterator[Trial]:
    with ThreadPoolExecutor(options.jobs) as threads:
        if options.model:
            yield from threads.map(lambda path: try_file(path, options.seed, options.words), options.model)
            return
        known = headers()
        names = options.only or list(known)
        if unknown := set(names) - set(known):
            raise SystemExit(f"llama.cpp knows no {', '.join(sorted(unknown))}; it knows {', '.join(known)}")
        yield from threads.map(lambda name: try_architecture(name, known[name], options.seed, options.words), names)


def try_architecture(name: str, header: Header, seed: int, words: int) -> Trial:
    """Write a tiny model of this architecture and try it."""
    with tempfile.TemporaryDirectory() as folder:
        path = _models_folder(folder) / f"{name}.gguf"
        # In a process of its own, because llama.cpp aborts the process where a header lacks some of the sizes.
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
            try:
                process.submit(write_tiny_model, path, header, seed).result()
            except NoSuchModel as refusal:
                return Trial(name, untried=str(refusal).rpartition("error loading model: ")[2])
            except BrokenProcessPool:
                return Trial(name, untried="llama.cpp aborts on the header of its own test")
        return _tried(name, path, Path(folder), seed, words)


def try_file(path: Path, seed: int, words: int) -> Trial:
    """Try a model file that exists already."""
    with tempfile.TemporaryDirectory() as folder:
        place = _models_folder(folder) / path.name
        shutil.copyfile(path, place)  # the engine may read nothing outside of its folders
        return _tried(path.stem, place, Path(folder), seed, words)


def _models_folder(home: str) -> Path:
    folder = usual_folder(Path(home) / "settings.toml")
    folder.mkdir()
    return folder


def _tried(name: str, path: Path, home: Path, seed: int, words: int) -> Trial:
    engines = Engines(home)
    try:
        return ModelTrial(name, path, engines, seed, words).run()
    finally:
        engines.close()


def table(trials: Iterable[Trial]) -> str:
    """Return the results as a table in Markdown."""
    return HEAD.lstrip() + "".join(f"{row(trial)}\n" for trial in trials)


def row(trial: Trial) -> str:
    """Return one line of the table."""
    if trial.untried or trial.refused:
        words = f"refused: {trial.refused}" if trial.refused else f"not tried: {trial.untried}"
        return _cells(trial.name, *[""] * 6, words)
    answers = "; ".join(trial.wrong) or "equal"
    if trial.near_ties:
        answers += f", {trial.near_ties} near ties"
    numbers = (trial.again, trial.stopped, trial.edited, trial.restarted, trial.accepted or "")
    return _cells(trial.name, *numbers, f"{trial.plan:.0%}" if trial.plan else "", answers)


def _cells(*cells: object) -> str:
    return f"| {' | '.join(str(cell).replace('|', '/').replace(chr(10), ' ') for cell in cells)} |"


def names_in(text: str) -> Sequence[str]:
    """Return the architectures in the document's table."""
    lines = text.partition(BEGIN)[2].partition(END)[0].splitlines()
    return [line.split("|")[1].strip() for line in lines if line.startswith("|")][2:]


def write(new: str) -> None:
    """Replace the document's table."""
    text = DOCUMENT.read_text("utf-8")
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    DOCUMENT.write_text(f"{before}{BEGIN}\n{new}\n{END}{after}", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
