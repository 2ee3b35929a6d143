"""All models on this computer: every file in every place with its facts, or why it has none. Loads no weights."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from common.failures import Failure
from common.files import is_file
from common.paths import shown
from common.sentences import Sentence
from models.default import default_model
from models.fact_cache import FactCache, Known
from models.facts import KIND_SENTENCES, Facts, facts_of
from models.ollama import ollama_models
from models.places import Place, gguf_files, places
from models.split import Group, grouped, read_parts
from models.validation import check


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model that is here. `name` tells it from others of its place; `files`: its parts, the first is what is loaded.

    `facts` None: `problem` says why it cannot be used. With facts, `problem` says what it is if it is no chat model."""

    name: str
    files: tuple[Path, ...]
    size: int
    place: Place
    facts: Facts | None
    problem: Sentence | None = None

    @property
    def path(self) -> Path:
        return self.files[0]

    @property
    def usable(self) -> bool:
        return self.facts is not None and self.facts.can_answer


@dataclass(frozen=True, slots=True)
class _Found:
    name: str
    group: Group
    place: Place


def scan(
    added: Iterable[Path] = (),
    cache: FactCache | None = None,
    stop: Callable[[], bool] = lambda: False,
    own: Path | None = None,
) -> Iterator[LocalModel]:
    """Every model once, the built-in one first, then place by place; yields each as soon as it is known.

    A new file costs some 0.1 s, a known one 20 µs. `stop` is asked between files; `own` as in `places`."""
    cache = cache or FactCache()
    seen: set[Path] = set()
    try:
        for found in (*_built_in(), *(found for place in places(added, own) for found in _in_place(place))):
            real = _resolved(found.group.files[0])
            if real in seen:
                continue
            seen.add(real)
            if stop():
                return
            yield _described(found, cache)
    finally:
        cache.save()


def describe(path: Path, cache: FactCache | None = None) -> LocalModel:
    """One file that need not lie in any place; what is wrong with it is its `problem`."""
    cache = cache or FactCache()
    siblings = sorted(path.parent.glob("*.gguf")) if is_file(path) else [path]
    group = next((g for g in grouped(siblings) if path in g.files), Group((path,)))
    model = _described(_Found(shown(path), group, Place("added", path)), cache)
    cache.save()
    return model


def _built_in() -> Iterator[_Found]:
    try:
        path = default_model()
    except Failure:  # an installation without it
        return
    yield _Found(shown(path), Group((path,)), Place("built-in", path.parent))


def _in_place(place: Place) -> Iterator[_Found]:
    if place.kind == "ollama":
        yield from (_Found(name, Group((path,)), place) for name, path in ollama_models(place.path))
        return
    files = [place.path] if is_file(place.path) else gguf_files(place.path)
    for group in grouped(files):
        yield _Found(shown(group.files[0]), group, place)


def _described(found: _Found, cache: FactCache) -> LocalModel:
    files, name = found.group.files, found.name
    try:
        statuses = [path.stat() for path in files]
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        return LocalModel(name, files, 0, found.place, None, _unreadable(name, error))
    size = sum(status.st_size for status in statuses)
    if not all(stat.S_ISREG(status.st_mode) for status in statuses):  # reading a pipe would wait for ever
        return LocalModel(name, files, 0, found.place, None, Sentence.of("unusable.no_file", name=name))
    if found.group.missing:
        return LocalModel(name, files, size, found.place, None, _incomplete(name, found.group))
    newest = max(status.st_mtime_ns for status in statuses)
    known = cache.get(files[0], size, newest)
    if known is None:
        known = _read(files, size, newest)
        if known.lasting:
            cache.put(files[0], known)
    problem = KIND_SENTENCES.get(known.facts.kind) if known.facts else known.problem
    return LocalModel(name, files, size, found.place, known.facts, problem)


def _read(files: tuple[Path, ...], size: int, newest: int) -> Known:
    try:
        headers = read_parts(files)
        facts = facts_of(headers)
        if facts.can_answer:
            check(headers[0])
        return Known(size, newest, facts)
    except Failure as failure:
        return Known(size, newest, None, failure.sentence, lasting=failure.code not in ("unreadable", "no_such_file"))


def _unreadable(name: str, error: OSError | ValueError) -> Sentence:
    if isinstance(error, FileNotFoundError | ValueError):
        return Sentence.of("unusable.gone", name=name)
    return Sentence.of("unreadable.file", name=name, reason=error.strerror)


def _incomplete(name: str, group: Group) -> Sentence:
    numbers: str | Sentence = ", ".join(map(str, group.missing[:5]))
    if len(group.missing) > 5:
        numbers = Sentence.of("unusable.and_more", numbers=numbers)
    n, of = len(group.missing), len(group.files) + len(group.missing)
    return Sentence.of("unusable.incomplete", name=name, n=n, numbers=numbers, of=of)


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a circle of links
        return path.absolute()
