"""What one model has other than the settings, under [models."its file's name"] in settings.toml. Knows no Qt."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from app.events import Event
from app.model_library.model_rows import local_title
from app.settings.options import OWN_AUTO, Options, or_none
from app.settings.schema import ENGINE
from app.settings.setting import AUTO, Setting, Value
from app.settings.settings_file import SettingsFile
from app.words import mark
from common.files import is_file
from common.paths import path_of, path_text
from models.collection import LocalModel

log = logging.getLogger(__name__)
SECTION = "models"
SAME = "settings"  # the value that stands for: as in the settings
SAME_SHOWN = mark("Global setting")
NONE = "none"
NUMBERS = {"context": "n_ctx", "threads": "threads", "kv_share": "kv_share"}
CHOICES = ("kv_type", "flash_attention", "kv_mode", "backend")
ANSWERS = ("draft", "kv_policy")
ORDER = (  # as they stand in the dialog
    "context", "kv_type", "draft_model",
    "threads", "backend", "flash_attention", "kv_mode", "kv_share", "kv_policy", "draft",  # advanced
)  # fmt: skip
TITLES = {
    "context": mark("How many tokens of a chat this model can see at once. Automatic: the global setting."),
    "threads": mark("Processor threads used for this model. Automatic: the global setting."),
    "kv_share": mark(
        "The share of this model's attention heads to compress, from 0.01 to 1. Automatic: the global setting."
    ),
}


def settings_for(drafters: Iterable[LocalModel] = ()) -> tuple[Setting, ...]:
    """Those of one model; `drafters` are the models that can draft for it."""
    found = {setting.key: setting for setting in ENGINE}
    numbers = [replace(found[key], section=SECTION, help=help) for key, help in TITLES.items()]
    choices = [
        replace(found[key], section=SECTION, default=SAME, choices=((SAME, SAME_SHOWN), *found[key].choices))
        for key in ("kv_type", "flash_attention", "kv_mode", "kv_policy", "backend", "draft")
    ]
    files = tuple((path_text(model.path), local_title(model)) for model in drafters)
    drafter = Setting(
        SECTION, "draft_model", "choice", NONE, mark("Draft model"),
        mark("A small model of the same family that drafts tokens for this model to check."),
        choices=((NONE, mark("None")), *files),
    )  # fmt: skip
    made = {setting.key: setting for setting in (*numbers, *choices, drafter)}
    return tuple(made[key] for key in ORDER)


class ModelSettings:
    """Reads and writes; `changed` tells when a value was changed here."""

    def __init__(self, path: Path) -> None:
        self.changed: Event[()] = Event()
        self._file = SettingsFile(path)

    def values(self, model: Path, settings: Iterable[Setting] = ()) -> dict[str, Value]:
        """Every setting's value by its key: the file's, or the default where it says nothing usable."""
        known = tuple(settings) or settings_for()
        table = self._table(model)
        values = {setting.key: setting.default for setting in known}
        for setting in known:
            if setting.key == "draft_model" and isinstance(table.get("draft_model"), str):
                values["draft_model"] = str(table["draft_model"])
            elif setting.key in table:
                try:
                    values[setting.key] = setting.check(table[setting.key])
                except ValueError as error:
                    log.warning("%s, for %s", error, _key(model))
        return values

    def change(self, model: Path, setting: Setting, value: Value) -> None:
        """Store it; the default is taken out of the file. Raises Failure when it cannot be written."""
        stored = None if value == setting.default else setting.stored(value)
        self._write({(SECTION, _key(model), setting.key): stored})

    def reset(self, model: Path) -> None:
        """Everything as in the settings. Raises Failure."""
        self._write({(SECTION, _key(model), key): None for key in self._table(model)})

    def tailored(self, model: Path | None, options: Options) -> Options:
        """The options to load this model and to answer with it."""
        if model is not None and self._table(model):
            options = _with(self.values(model), options)
        return _drafting_by_itself(_without_missing_drafter(options))

    def _table(self, model: Path) -> Mapping[str, object]:
        models = self._file.read().tables.get(SECTION)
        table = models.get(_key(model)) if isinstance(models, dict) else None
        return table if isinstance(table, dict) else {}

    def _write(self, changes: Mapping[tuple[str, ...], object]) -> None:
        self._file.write(changes)
        self.changed.emit()


def _key(model: Path) -> str:
    """Its file's name, as TOML can say it."""
    return model.name.encode("utf-8", "backslashreplace").decode()


def _with(values: Mapping[str, Value], options: Options) -> Options:
    """The model's own values above those of the options."""
    load: dict[str, object] = {wish: values[key] for key, wish in NUMBERS.items() if values[key] != AUTO}
    for key in CHOICES:
        if values[key] != SAME:
            load[key] = values[key] if key in OWN_AUTO else or_none(values[key])
    drafter = path_of(str(values["draft_model"]))
    if is_file(drafter):  # one that was deleted since must not be in the way
        load["draft_model"] = path_text(drafter)
    answers = {key: values[key] for key in ANSWERS if values[key] != SAME}
    return replace(
        options,
        load=replace(options.load, **load),  # type: ignore[arg-type]
        generate=replace(options.generate, **answers),  # type: ignore[arg-type]
    )


def _without_missing_drafter(options: Options) -> Options:
    """Drafting by a model is a setting of all models, and not every model has one that drafts for it."""
    if options.load.draft_model or not options.generate.draft.startswith("model"):
        return options
    return replace(options, generate=replace(options.generate, draft="auto"))


def _drafting_by_itself(options: Options) -> Options:
    """A layer of the model can draft only where the own graph computes, which is taken unless a library is named."""
    if not options.generate.draft.startswith("midlayer"):
        return options
    if options.load.backend in (None, "auto", "graph"):
        return replace(options, load=replace(options.load, backend="graph"))
    return replace(options, generate=replace(options.generate, draft="auto"))
