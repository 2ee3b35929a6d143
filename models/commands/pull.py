"""`python -m models pull`: downloads a model of the catalogue or the hub. Ctrl-C keeps what has arrived."""

from __future__ import annotations

import argparse
import sys

from common.byte_sizes import show_bytes
from common.failures import Failure
from common.paths import printable
from models.catalogue import find_entry
from models.collection import describe_model
from models.commands import output
from models.download_queue import DownloadJob, DownloadQueue
from models.hub import Hub
from models.licences import licence_name
from models.model_download import ModelDownload, plan_download
from models.network import Network
from models.progress import DownloadProgress

BAR = 24
SECONDS = 0.2  # between two looks at the progress; a longer wait would not end at Ctrl-C on Windows


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
        print(
            f"{entry.title} has its own licence, {licence_name(entry.licence)}. {entry.licence_note}", file=sys.stderr
        )
    job = download(model, hub.network)
    if job.state == "failed" and job.problem:
        raise Failure(job.problem, job.detail)
    pulled = describe_model(model.path)
    if options.json:
        return output.print_json(output.local_json(pulled))
    print(f"{pulled.name} is ready: {printable(str(pulled.path))}")
    for note in filter(None, (pulled.problem, job.problem)):
        print(note)
    return 0


def download(model: ModelDownload, network: Network) -> DownloadJob:
    """Download the model and keep rewriting one line of progress; print nothing if there is no terminal."""
    live, queue = sys.stderr.isatty(), DownloadQueue(network)
    try:
        queue.add(model)
        ended = False
        while not ended:
            ended = queue.wait(SECONDS)
            if live:
                line = progress_line(model.name, queue.jobs[0].progress)
                print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)
        return queue.jobs[0]
    finally:
        queue.close()
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
