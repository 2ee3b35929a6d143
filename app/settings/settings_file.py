"""settings.toml as people edit it by hand: read leniently, changed key by key, never lost. Knows no schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.settings.values import Wrong, wrong
from app.words import mark
from common.failures import Failure
from common.files import set_aside, write_atomically

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

HEADER = (
    "Chickadee's settings: Ctrl+, in the window shows them all.",
    "Settings that are not named here have their default values. Comments and order are kept.",
)
UNREADABLE = mark("{file} cannot be read: {why}. The defaults are used.")
NO_TOML = mark("{file} is not valid TOML: {why}. The defaults are used.")


class NotToml(Exception):
    """The file's text is not TOML; `why` gives the reason and the line."""

    def __init__(self, why: Wrong | str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class Contents:
    """The file's `tables` by name, as plain values; `problem` says why the file cannot be used."""

    tables: dict[str, Any] = field(default_factory=dict)
    problem: Wrong | None = None


class SettingsFile:
    """The settings file at `path`, which need not exist."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Contents:
        """Read the file and never raise: the contents of a file that cannot be used are a problem and no tables."""
        try:
            raw = self._raw()
            return Contents(_parse(raw).unwrap()) if raw else Contents()
        except OSError as error:
            return Contents(problem=wrong(UNREADABLE, file=self.path.name, why=error.strerror))
        except NotToml as error:
            return Contents(problem=wrong(NO_TOML, file=self.path.name, why=error.why))

    def write(self, changes: Mapping[tuple[str, ...], object]) -> Path | None:
        """Set keys of (nested) sections, or remove those whose value is None; leave the rest of the file as it is.

        A file that is not TOML is first renamed: returns its new path, else None. Raises Failure; then nothing is lost.
        """
        try:
            raw, aside = self._raw(), None
            try:
                document = _parse(raw) if raw else _blank()
            except NotToml:
                document, aside = _blank(), set_aside(self._real)
            before = document.as_string()
            for (*sections, key), value in changes.items():
                _put(document, sections, key, value)
            if not changes or document.as_string() != before:
                write_atomically(self._real, document.as_string().encode())
        except OSError as error:
            raise Failure("settings.unwritable", str(error), file=self.path, reason=error.strerror) from error
        return aside

    @property
    def _real(self) -> Path:
        """Path behind symbolic links, so that a link that the user made stays a link."""
        return self.path.resolve()

    def _raw(self) -> bytes:
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return b""


def _parse(raw: bytes) -> TOMLDocument:
    import tomlkit  # imported late: takes 25 ms, which a start without a settings file saves
    from tomlkit.exceptions import TOMLKitError

    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise NotToml(wrong(mark("line {line} is not UTF-8 text"), line=line)) from error
    try:
        # Without a final newline, tomlkit would append an added key to the last line.
        return tomlkit.parse(text if text.endswith("\n") else text + "\n")
    except (TOMLKitError, RecursionError) as error:
        raise NotToml(_reason(text) or str(error)) from error


def _reason(text: str) -> str:
    """Return why the text is not TOML; the standard library names the line in all cases, tomlkit does not."""
    import tomllib

    try:
        tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return str(error)
    return ""


def _blank() -> TOMLDocument:
    import tomlkit

    document = tomlkit.document()
    for line in HEADER:
        document.add(tomlkit.comment(line))
    document.add(tomlkit.nl())
    return document


def _put(document: TOMLDocument, sections: Sequence[str], key: str, value: object) -> None:
    import tomlkit

    table: Any = document
    for section in sections:
        inner = table.get(section)
        if not isinstance(inner, dict):
            if value is None:
                return
            table[section] = tomlkit.table()
            inner = table[section]
        table = inner
    if value is None:
        _take_out(table, key)
    elif isinstance(value, str):
        table[key] = tomlkit.string(value, multiline="\n" in value)
    else:
        table[key] = value


def _take_out(table: Any, key: str) -> None:
    """Remove a key; a comment behind the value stays, on a line of its own."""
    import tomlkit

    if key not in table:
        return
    comment = getattr(getattr(table[key], "trivia", None), "comment", "")
    del table[key]
    if comment and isinstance(table, tomlkit.items.Table):
        table.add(tomlkit.comment(comment.lstrip("#").strip()))
