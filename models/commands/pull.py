"""`python -m models pull`: downloads a model of the catalogue or the hub; connects to it. Ctrl-C keeps what came."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from common.byte_sizes import show_bytes
from common.paths import printable
from models.catalogue import entry_called
from models.collection import describe
from models.commands import shown
from models.downloads import wanted
from models.hub import Hub
from models.progress import Progress

BAR = 24


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "pull", help="download a model (connects to the Hugging Face hub); an interrupted download resumes"
    )
    parser.add_argument("model", metavar="MODEL", help="an id of the catalogue, or OWNER/NAME on the hub")
    parser.add_argument("file", nargs="?", default="", metavar="FILE", help="file or quantisation, like Q8_0")
    parser.add_argument("--json", action="store_true", help="print one JSON object when it is finished")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    hub, entry = Hub(), entry_called(options.model)
    repo, file = (entry.repo, options.file or entry.file) if entry else (options.model, options.file)
    model = wanted(hub.model(repo, file), hub)
    show(model.name, model.run(hub.network))
    found = describe(model.files[0][1])
    if options.json:
        return shown.print_json(shown.local(found))
    print(f"{found.name} is ready: {printable(str(found.path))}")
    if found.problem:
        print(found.problem)
    return 0


def show(name: str, steps: Iterator[Progress]) -> None:
    """A line that is written again and again; nothing where there is no terminal."""
    live, shown_line = sys.stderr.isatty(), ""
    try:
        for progress in steps:
            line = progress_line(name, progress)
            if live and line != shown_line:
                print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
                shown_line = line
    finally:
        if live:
            print(file=sys.stderr)


def progress_line(name: str, progress: Progress) -> str:
    filled = int(progress.fraction * BAR)
    bar = "█" * filled + "░" * (BAR - filled)
    sizes = f"{show_bytes(progress.done)} of {show_bytes(progress.total)}"
    left = progress.seconds_left
    how = f"{show_bytes(int(progress.speed))}/s" if progress.speed else progress.phase
    time = f" · {int(left // 60)}:{int(left % 60):02} left" if left is not None and progress.speed else ""
    return f"{name[:32]} {bar} {sizes} · {how}{time}"
