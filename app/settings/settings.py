"""The user's settings: defaults, what settings.toml says, and what is wrong with it. Knows no Qt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from app.events import Event
from app.settings.schema import SECTIONS, SETTINGS
from app.settings.setting import Value
from app.settings.settings_file import Contents, SettingsFile
from app.settings.wrong import Wrong, WrongValue, wrong
from app.words import Saying, mark, tr

NOT_USED = mark("In {file}, {error}. The default is used.")
BY_NAME = {setting.name: setting for setting in SETTINGS}


class Settings:
    """`values` has every setting by its name; `problems` say what of the file is not used.

    `changed` tells when either has."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.values: Mapping[str, Value] = {}
        self.problems: tuple[Wrong, ...] = ()
        self.changed: Event[()] = Event()
        self._file = SettingsFile(path)
        self._invalid: set[str] = set()
        self.refresh()

    def differs(self, name: str) -> bool:
        """Is there anything that a reset of this setting would change?"""
        return name in self._invalid or self.values[name] != BY_NAME[name].default

    def refresh(self) -> None:
        """Take over what was changed in the file by hand."""
        before = self.values, self.problems
        self._take(self._file.read())
        if before != (self.values, self.problems):
            self.changed.emit()

    def change(self, values: Mapping[str, Value]) -> Saying:
        """Store the values, each checked; returns a sentence if there is something to know about the file.

        Raises ValueError for a value that is not allowed and Failure where the file cannot be written."""
        changes: dict[tuple[str, ...], object] = {}
        for name, value in values.items():
            setting = BY_NAME[name]
            changes[setting.section, setting.key] = setting.stored(setting.check(value))
        return self._write(changes)

    def reset(self, names: Iterable[str] = tuple(BY_NAME)) -> Saying:
        """Take the settings out of the file, so that they are what the machine suggests."""
        return self._write({(BY_NAME[name].section, BY_NAME[name].key): None for name in names})

    def make_file(self) -> Saying:
        """Write the file if there is none, so that it can be opened."""
        return "" if self.path.exists() else self._write({})

    def _write(self, changes: Mapping[tuple[str, ...], object]) -> Saying:
        aside = self._file.write(changes)
        self.refresh()
        if not aside:
            return ""
        kept = aside.name
        return lambda: tr("The old {file} was not valid TOML and was kept as {kept}.", file=self.path.name, kept=kept)

    def _take(self, contents: Contents) -> None:
        values = {setting.name: setting.default for setting in SETTINGS}
        problems = [contents.problem] if contents.problem else []
        self._invalid = set()
        tables = {section: contents.tables.get(section, {}) for section in SECTIONS}
        for section, table in tables.items():
            if not isinstance(table, dict):
                said = mark("In {file}, {section} must be a section, [{section}]. Its defaults are used.")
                problems.append(wrong(said, file=self.path.name, section=section))
                tables[section] = {}
        for setting in SETTINGS:
            table = tables[setting.section]
            if setting.key not in table:
                continue
            try:
                values[setting.name] = setting.check(table[setting.key])
            except ValueError:
                self._invalid.add(setting.name)
                error = WrongValue(setting, table[setting.key])
                problems.append(wrong(NOT_USED, file=self.path.name, error=error))
        self.values, self.problems = values, tuple(problems)
