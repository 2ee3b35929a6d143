"""The user's settings: defaults, what settings.toml says for all models and for single ones, and what is wrong."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from app.events import Event
from app.settings.resolve import NOTHING, Options, Values, resolve
from app.settings.schema import SECTIONS, SETTINGS, for_all, for_model
from app.settings.settings_file import Contents, SettingsFile
from app.settings.values import Wrong, WrongValue, check, stored, wrong
from app.words import Saying, mark, tr
from engine.protocol.settings import Setting, Value

log = logging.getLogger(__name__)
NOT_USED = mark("In {file}, {error}. The default is used.")
MODELS = "models"  # the section that single models have a section in, by the names of their files


class Settings:
    """`values` has every setting by its name; `problems` say what of the file is not used.

    `changed` tells when either has, or a value of a model."""

    def __init__(self, path: Path, fixed: Values = NOTHING) -> None:
        """`fixed` go above what the file says, and are shown and stored nowhere."""
        self.path = path
        self.values: Values = {}
        self.problems: tuple[Wrong, ...] = ()
        self.changed: Event[()] = Event()
        self._file, self._fixed = SettingsFile(path), fixed
        self._models: dict[str, dict[str, Any]] = {}  # as the file has them
        self._own: dict[str, dict[str, Value]] = {}  # those that were asked for, checked
        self._invalid: set[str] = set()
        self.refresh()

    def options(self, model: Path | None = None, chat: Values = NOTHING) -> Options:
        """What to load a model with and to answer a chat with that has these values of its own."""
        return resolve({**self.values, **self._fixed}, self.of_model(model) if model else NOTHING, chat)

    def differs(self, name: str) -> bool:
        """Is there anything that a reset of this setting would change?"""
        return name in self._invalid or self.values[name] != SETTINGS[name].default

    def refresh(self) -> None:
        """Take over what was changed in the file by hand."""
        before = self.values, self.problems, self._models
        self._take(self._file.read())
        if before != (self.values, self.problems, self._models):
            self.changed.emit()

    def change(self, values: Values) -> Saying:
        """Store the values, each checked; returns a sentence if there is something to know about the file.

        Raises ValueError for a value that is not allowed and Failure where the file cannot be written."""
        changes: dict[tuple[str, ...], object] = {}
        for name, value in values.items():
            setting = SETTINGS[name]
            changes[setting.section, setting.key] = stored(setting, check(setting, value))
        return self._write(changes)

    def reset(self, names: Iterable[str] | None = None) -> Saying:
        """Take the settings out of the file, all of them or these, so that they are what the machine suggests."""
        settings = for_all() if names is None else [SETTINGS[name] for name in names]
        return self._write({(setting.section, setting.key): None for setting in settings})

    def make_file(self) -> Saying:
        """Write the file if there is none, so that it can be opened."""
        return "" if self.path.exists() else self._write({})

    # --- of one model, under [models."its file's name"] -------------------------------------------------------------

    def of_model(self, model: Path) -> Values:
        """The values that the model has of its own, by the settings' names."""
        name = _name(model)
        if name not in self._own:
            self._own[name] = self._checked(name)
        return self._own[name]

    def change_model(self, model: Path, setting: Setting, value: Value) -> None:
        """Store it; the setting's default, as it is for a model, is taken out of the file. Raises Failure."""
        self._write({(MODELS, _name(model), setting.key): None if value == setting.default else stored(setting, value)})

    def reset_model(self, model: Path) -> None:
        """Everything as for all models. Raises Failure."""
        self._write({(MODELS, _name(model), key): None for key in self._models.get(_name(model), {})})

    # --- inside -----------------------------------------------------------------------------------------------------

    def _write(self, changes: Mapping[tuple[str, ...], object]) -> Saying:
        aside = self._file.write(changes)
        self.refresh()
        if not aside:
            return ""
        kept = aside.name
        return lambda: tr("The old {file} was not valid TOML and was kept as {kept}.", file=self.path.name, kept=kept)

    def _take(self, contents: Contents) -> None:
        settings = for_all()
        values = {setting.name: setting.default for setting in settings}
        problems = [contents.problem] if contents.problem else []
        self._invalid = set()
        tables = {section: contents.tables.get(section, {}) for section in SECTIONS}
        for section, table in tables.items():
            if not isinstance(table, dict):
                said = mark("In {file}, {section} must be a section, [{section}]. Its defaults are used.")
                problems.append(wrong(said, file=self.path.name, section=section))
                tables[section] = {}
        for setting in settings:
            table = tables[setting.section]
            if setting.key not in table:
                continue
            try:
                values[setting.name] = check(setting, table[setting.key])
            except ValueError:
                self._invalid.add(setting.name)
                error = WrongValue(setting, table[setting.key])
                problems.append(wrong(NOT_USED, file=self.path.name, error=error))
        self.values, self.problems = values, tuple(problems)
        self._models = {name: table for name, table in tables[MODELS].items() if isinstance(table, dict)}
        self._own = {}

    def _checked(self, model: str) -> dict[str, Value]:
        """What the model's section says that is allowed, and not as for all models."""
        found, table = {}, self._models.get(model, {})
        for setting in for_model():
            try:
                value = check(setting, table.get(setting.key, setting.default))
            except ValueError as error:
                log.warning("%s, for %s", error, model)
                continue
            if value != setting.default:
                found[setting.name] = value
        return found


def _name(model: Path) -> str:
    """Its file's name, as TOML can say it."""
    return model.name.encode("utf-8", "backslashreplace").decode()
