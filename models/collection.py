"""Collects the models on this computer: each file with facts, or the reason why it is unusable. Loads no weights."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from common.failures import Failure
from common.files import is_file
from common.paths import display_name
from common.sentences import Sentence
from models.default import built_in_model
from models.fact_cache import CachedFacts, FactCache
from models.facts import KIND_SENTENCES, Facts, facts_of
from models.locations import ModelLocation, gguf_files, model_locations
from models.names import model_name
from models.ollama import ollama_models
from models.split import FileGroup, check_split, group_files, read_parts
from models.validation import check_chat_header


@dataclass(frozen=True, slots=True)
class LocalModel:
    """Model on this computer. `name` is unique in its location; `files` are its parts, of which the first is loaded.

    If `facts` is None, `problem` says why the model cannot be used. With facts, `problem` is set for models that are no
    chat models and says what they are.
    """

    name: str
    files: tuple[Path, ...]
    size: int
    location: ModelLocation
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
    group: FileGroup
    location: ModelLocation
    has_ollama_template: bool = False


def scan_models(
    added: Iterable[Path] = (),
    cache: FactCache | None = None,
    stop: Callable[[], bool] = lambda: False,
    own: Path | None = None,
) -> Iterator[LocalModel]:
    """Yield every model once, as soon as it is known: the built-in one first, then location by location.

    A new file takes some 0.1 s, a known one 20 µs. `stop` is called between files and ends the scan by returning True;
    `own` as in `model_locations`.
    """
    cache = cache or FactCache()
    seen: set[Path] = set()
    try:
        for model_file in (
            *_built_in(),
            *(model_file for location in model_locations(added, own) for model_file in _in_location(location)),
        ):
            real = _resolved(model_file.group.files[0])
            if real in seen:
                continue
            seen.add(real)
            if stop():
                return
            yield _described(model_file, cache)
    finally:
        cache.save()


def describe_model(path: Path, cache: FactCache | None = None) -> LocalModel:
    """Return the model in one file, which may lie anywhere; its `problem` says what is wrong with it."""
    cache = cache or FactCache()
    siblings = sorted(path.parent.glob("*.gguf")) if is_file(path) else [path]
    group = next((g for g in group_files(siblings) if path in g.files), FileGroup((path,)))
    model = _described(_Found(model_name(path), group, ModelLocation("added", path)), cache)
    cache.save()
    return model


def _built_in() -> Iterator[_Found]:
    if path := built_in_model():
        yield _Found(display_name(path), FileGroup((path,)), ModelLocation("built-in", path.parent))


def _in_location(location: ModelLocation) -> Iterator[_Found]:
    if location.kind == "ollama":
        for model in ollama_models(location.path):
            yield _Found(model.name, FileGroup((model.path,)), location, model.has_template)
        return
    files = [location.path] if is_file(location.path) else gguf_files(location.path)
    for group in group_files(files):
        yield _Found(display_name(group.files[0]), group, location)


def _described(model_file: _Found, cache: FactCache) -> LocalModel:
    files, name = model_file.group.files, model_file.name
    try:
        statuses = [path.stat() for path in files]
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        return LocalModel(name, files, 0, model_file.location, None, _unreadable(name, error))
    size = sum(status.st_size for status in statuses)
    if not all(stat.S_ISREG(status.st_mode) for status in statuses):  # reading a pipe would wait for ever
        return LocalModel(name, files, 0, model_file.location, None, Sentence.of("unusable.no_file", name=name))
    if model_file.group.missing:
        return LocalModel(name, files, size, model_file.location, None, _incomplete(name, model_file.group))
    newest = max(status.st_mtime_ns for status in statuses)
    known = cache.get(files[0], size, newest)
    if known is None:
        known = _read(files, size, newest)
        if known.lasting:
            cache.put(files[0], known)
    problem = KIND_SENTENCES.get(known.facts.kind) if known.facts else known.problem
    if known.facts and known.facts.kind == "base" and model_file.has_ollama_template:
        problem = Sentence.of("kind.base_ollama")
    return LocalModel(name, files, size, model_file.location, known.facts, problem)


def _read(files: tuple[Path, ...], size: int, newest: int) -> CachedFacts:
    try:
        headers = read_parts(files)
        check_split(headers[0])
        facts = facts_of(headers)
        if facts.can_answer:
            check_chat_header(headers[0])
        return CachedFacts(size, newest, facts)
    except Failure as failure:
        return CachedFacts(
            size, newest, None, failure.sentence, lasting=failure.code not in ("unreadable", "no_such_file")
        )


def _unreadable(name: str, error: OSError | ValueError) -> Sentence:
    if isinstance(error, FileNotFoundError | ValueError):
        return Sentence.of("unusable.gone", name=name)
    return Sentence.of("unreadable.file", name=name, reason=error.strerror)


def _incomplete(name: str, group: FileGroup) -> Sentence:
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
