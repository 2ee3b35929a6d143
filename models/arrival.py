"""Check of a model that has just been downloaded: whether its header says what the catalogue had said of it."""

from __future__ import annotations

from pathlib import Path

from common.failures import Failure
from common.sentences import Sentence
from models.catalogue import catalogue
from models.header import read_header


def check_arrival(path: Path, repo: str, file: str) -> Sentence | None:
    """Return a sentence if the file at `path`, downloaded as `file` of `repo`, has another architecture than stated.

    None for a file that the catalogue does not list.
    """
    try:
        stated = [entry for entry in catalogue() if (entry.repo, entry.file.casefold()) == (repo, file.casefold())]
        architecture = read_header(path).architecture if stated else ""
    except Failure as failure:
        return failure.sentence
    if not stated or architecture == stated[0].architecture:
        return None
    return Sentence.of("other_kind.arrived", title=stated[0].title, found=architecture, stated=stated[0].architecture)
