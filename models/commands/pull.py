"""`python -m models pull`: downloads a model of the catalogue or the hub. Ctrl-C keeps what has arrived."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from common.byte_sizes import show_bytes
from common.paths import printable
from models.catalogue import find_entry
from models.collection import describe_model
from models.commands import output
from models.download_queue import plan_download
from models.hub import Hub
from models.progress import DownloadProgress

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
    hub, entry = Hub(), find_entry(options.model)
    repo, file = (entry.repo, options.file or entry.file) if entry else (options.model, options.file)
    model = plan_download(hub.model(repo, file), hub)
    if entry and entry.licence_note:
        print(f"{entry.title} has its own licence, {entry.licence}. {entry.licence_note}", file=sys.stderr)
    show(model.name, model.run(hub.network))
    found = describe_model(model.files[0][1])
    if options.json:
        return output.print_json(output.local_json(found))
    print(f"{found.name} is ready: {printable(str(found.path))}")
    for note in filter(None, (found.problem, model.check())):
        print(note)
    return 0


def show(name: str, steps: Iterator[DownloadProgress]) -> None:
    """Run the download and keep rewriting one line of progress; print nothing if there is no terminal."""
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


def progress_line(name: str, progress: DownloadProgress) -> str:
    filled = int(progress.fraction * BAR)
    bar = "█" * filled + "░" * (BAR - filled)
    sizes = f"{show_bytes(progress.done)} of {show_bytes(progress.total)}"
    left = progress.seconds_left
    how = f"{show_bytes(int(progress.speed))}/s" if progress.speed else progress.phase
    time = f" · {int(left // 60)}:{int(left % 60):02} left" if left is not None and progress.speed else ""
    return f"{name[:32]} {bar} {sizes} · {how}{time}"
