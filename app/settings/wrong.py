"""What is wrong with the settings' file, said in the language of the moment. Knows no Qt."""

from __future__ import annotations

from dataclasses import dataclass

from app.settings.setting import Setting
from app.words import tr


@dataclass(frozen=True, slots=True)
class Wrong:
    """`str()` is the sentence now; two are equal if they say the same, in whatever language.

    `text` is English, marked; its `values` may be such sentences themselves."""

    text: str
    values: tuple[tuple[str, object], ...] = ()

    def __str__(self) -> str:
        return tr(self.text, **dict(self.values))


@dataclass(frozen=True, slots=True)
class WrongValue:
    """A value that the setting does not take. `str()` says now what it is and what is allowed."""

    setting: Setting
    raw: object

    def __str__(self) -> str:
        try:
            self.setting.check(self.raw)
        except ValueError as error:
            return str(error)
        return ""


def wrong(text: str, **values: object) -> Wrong:
    """`text`, marked, with what stands for its {names}."""
    return Wrong(text, tuple(values.items()))
