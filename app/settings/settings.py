"""The user's settings in use: defaults, the values in settings.toml for all models and single ones, and mistakes."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from app.events import Event
from app.settings.resolve import NOTHING, Options, Values, resolve
from app.settings.schema import SECTIONS, SETTINGS, for_all, for_model
from app.settings.servers import SECTION, SavedServer, servers_from
from app.settings.settings_file import Contents, SettingsFile
from app.settings.values import Wrong, WrongValue, check, stored, wrong
from app.words import UiText, mark, tr
from common.files import is_file
from engine.protocol.requests import Sampling
from engine.protocol.settings import Setting, Value
from engine.recommended import with_recommended
from models.servers import remote_model

log = logging.getLogger(__name__)
NOT_USED = mark("In {file}, {error}. The default is used.")
MODELS = "models"  # the section that holds a section for each model with own values, named after the file


class Settings:
    """The settings in use: `values` has the global value of every setting by name.

    `problems` say which values of the file are not used. `changed` is emitted when values, problems or a model's values
    have changed. `servers` are those that the user has connected to, by address.
    """

    def __init__(self, path: Path, fixed: Values = NOTHING) -> None:
        """Read the file at `path`; `fixed` values override its global values and are never shown or stored."""
        self.path = path
        self.values: Values = {}
        self.problems: tuple[Wrong, ...] = ()
        self.servers: dict[str, SavedServer] = {}
        self.changed: Event[()] = Event()
        self._file, self._fixed = SettingsFile(path), fixed
        self._models: dict[str, dict[str, Any]] = {}  # the models' sections as they are in the file
        self._own: dict[str, dict[str, Value]] = {}  # checked values of the models that were asked for
        self._written: set[str] = set()  # settings with a valid global value in the file
        self._invalid: set[str] = set()
        self.refresh()

    def options(self, model: Path | None = None, chat: Values = NOTHING) -> Options:
        """Return the options for loading `model` and answering a chat that has the values `chat` of its own.

        What the model's makers recommend replaces the defaults, but no value that the user has set.
        """
        own = self.of_model(model) if model else NOTHING
        options = resolve({**self.values, **self._fixed}, own, chat)
        given = {SETTINGS[name].fills.rpartition(".")[2] for name in (*self._written, *self._fixed, *own, *chat)}
        return replace(options, generate=with_recommended(options.generate, model, given))

    def inherited(self, model: Path | None, chat: Values = NOTHING, thinks: bool = False) -> dict[str, Value]:
        """Return the values of an answer by `model` unless its chat, which has the values `chat`, says otherwise.

        `thinks`: whether the model thinks before it answers unless it is told otherwise.
        """
        options = self.options(model, {name: value for name, value in chat.items() if name == "answer.thinking"})
        sampling = options.generate.sampling_for(thinks)
        own = self.of_model(model) if model else NOTHING
        return {**self.values, **_values_of(sampling), **own}

    def differs(self, name: str) -> bool:
        """Return whether a reset of this setting would change anything."""
        setting = SETTINGS[name]
        written = name in self._written and setting.fills.startswith("generate.sampling.")  # else the makers' holds
        return name in self._invalid or self.values[name] != setting.default or written

    def refresh(self) -> None:
        """Read the file again, because the user may have changed it by hand."""
        before = self.values, self.problems, self._models, self.servers
        self._use(self._file.read())
        if before != (self.values, self.problems, self._models, self.servers):
            self.changed.emit()

    def change(self, values: Values) -> UiText:
        """Check and store the values; return a sentence if the user should know something about the file, else "".

        Raises ValueError for a value that is not allowed and Failure if the file cannot be written.
        """
        changes: dict[tuple[str, ...], object] = {}
        for name, value in values.items():
            setting = SETTINGS[name]
            changes[setting.section, setting.key] = stored(setting, check(setting, value))
        return self._write(changes)

    def reset(self, names: Iterable[str] | None = None) -> UiText:
        """Remove these settings, or all of them, from the file, so that their defaults apply."""
        settings = for_all() if names is None else [SETTINGS[name] for name in names]
        return self._write({(setting.section, setting.key): None for setting in settings})

    def make_file(self) -> UiText:
        """Write the file if there is none, so that the user can open it."""
        return "" if self.path.exists() else self._write({})

    # --- values of one model, under [models."its file's name"] --------------------------------------------------------

    def of_model(self, model: Path) -> Values:
        """Return the model's own values by the settings' names."""
        name = _name(model)
        if name not in self._own:
            self._own[name] = self._checked(name)
        return self._own[name]

    def change_model(self, model: Path, setting: Setting, value: Value) -> None:
        """Store one model's value; the default of `setting`, as `for_model` has it, removes the entry.

        Raises Failure if the file cannot be written.
        """
        self._write({(MODELS, _name(model), setting.key): None if value == setting.default else stored(setting, value)})

    def reset_model(self, model: Path) -> None:
        """Remove all values of one model's own, so that the global ones apply. Raises Failure."""
        self._write({(MODELS, _name(model), key): None for key in self._models.get(_name(model), {})})

    # --- servers, under [servers."their address"] --------------------------------------------------------------------

    def save_server(self, server: SavedServer, before: str = "") -> None:
        """Store a server; `before`: the address under which it was stored until now. Raises Failure."""
        changes: dict[tuple[str, ...], object] = {(SECTION, url): None for url in (before, server.url) if url}
        values = {(SECTION, server.url, name): value for name, value in server.to_table().items()}
        self._write(changes | values)

    def remove_server(self, url: str) -> None:
        """Remove a server; its key is not here. Raises Failure."""
        self._write({(SECTION, url): None})

    def has_model(self, path: Path) -> bool:
        """Return whether there is such a model: a file, or one of a server that the user has connected to."""
        remote = remote_model(path)
        return is_file(path) if remote is None else remote.url in self.servers

    # --- inside -----------------------------------------------------------------------------------------------------

    def _write(self, changes: Mapping[tuple[str, ...], object]) -> UiText:
        aside = self._file.write(changes)
        self.refresh()
        if not aside:
            return ""
        kept = aside.name
        return lambda: tr("The old {file} was not valid TOML and was kept as {kept}.", file=self.path.name, kept=kept)

    def _use(self, contents: Contents) -> None:
        settings = for_all()
        values = {setting.name: setting.default for setting in settings}
        problems = [contents.problem] if contents.problem else []
        self._written, self._invalid = set(), set()
        tables = {section: contents.tables.get(section, {}) for section in SECTIONS}
        for section, table in tables.items():
            if not isinstance(table, dict):
                text = mark("In {file}, {section} must be a section, [{section}]. Its defaults are used.")
                problems.append(wrong(text, file=self.path.name, section=section))
                tables[section] = {}
        for setting in settings:
            table = tables[setting.section]
            if setting.key not in table:
                continue
            try:
                values[setting.name] = check(setting, table[setting.key])
                self._written.add(setting.name)
            except ValueError:
                self._invalid.add(setting.name)
                error = WrongValue(setting, table[setting.key])
                problems.append(wrong(NOT_USED, file=self.path.name, error=error))
        self.values, self.problems = values, tuple(problems)
        self._models = {name: table for name, table in tables[MODELS].items() if isinstance(table, dict)}
        self._own = {}
        self.servers = servers_from(contents.tables)

    def _checked(self, model: str) -> dict[str, Value]:
        """Return the allowed values in the model's section that differ from the default of their setting.

        In the form that `for_model` gives a setting, the default stands for the global value.
        """
        values, table = {}, self._models.get(model, {})
        for setting in for_model():
            try:
                value = check(setting, table.get(setting.key, setting.default))
            except ValueError:
                log.warning("a wrong value of %s for one model", setting.name)
                continue
            if value != setting.default:
                values[setting.name] = value
        return values


def _values_of(sampling: Sampling) -> dict[str, Value]:
    """Return the values of the settings that say how tokens are chosen, except for a seed that is chosen anew."""
    fields = {setting.name: setting.fills.rpartition("generate.sampling.")[2] for setting in SETTINGS.values()}
    values = {name: getattr(sampling, field, None) for name, field in fields.items()}
    return {name: value for name, value in values.items() if value is not None}


def _name(model: Path) -> str:
    """Return the name of the model's file in a form that TOML can store."""
    return model.name.encode("utf-8", "backslashreplace").decode()
