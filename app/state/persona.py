"""Personas: chat options under a name. Some come with the program; users save their own in the store.

They are in the store rather than in the settings file because they belong to the chats that use them: both are kept,
recovered and moved to another computer together.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from app.settings.resolve import PROMPT, ChatOptions, chat_options_from_json
from app.store.chat_store import ChatStore
from app.words import mark, tr

MOST_NAME = 60  # characters


@dataclass(frozen=True, slots=True)
class Persona:
    """Chat options under a name; `own` ones were saved by the user, who may rename and delete them."""

    name: str
    options: ChatOptions
    own: bool = False


@dataclass(frozen=True, slots=True)
class _Shipped:
    name: str
    prompt: str
    temperature: float


# Short texts: a small model follows only one instruction well, and reads it before every chat.
SHIPPED = (
    _Shipped(
        mark("Translator"),
        mark("Translate what the user writes into English. Answer with the translation only."),
        0.2,
    ),
    _Shipped(
        mark("Editor"),
        mark("Correct spelling, grammar and style. Keep the language and the meaning. Answer with the new text only."),
        0.3,
    ),
    _Shipped(
        mark("Summarizer"),
        mark("Summarize what the user writes in at most five short points, in its own language. Add nothing to it."),
        0.3,
    ),
    _Shipped(
        mark("Code helper"),
        mark("You are a careful programmer. Answer with working code first, then explain it in a few sentences."),
        0.2,
    ),
    _Shipped(
        mark("Brainstormer"),
        mark("Answer with a list of ten different, surprising ideas, one line each."),
        1.0,
    ),
)


def _options(persona: _Shipped) -> ChatOptions:
    return ChatOptions("", {PROMPT: tr(persona.prompt), "answer.temperature": persona.temperature})


class Personas:
    """All personas; methods raise Failure as the store does, and ValueError with a sentence for a bad name."""

    def __init__(self, store: ChatStore) -> None:
        self._store = store

    def all(self) -> list[Persona]:
        """Return the built-in personas in the user's language, then the user's own by name."""
        return [*self.shipped(), *self.own()]

    def shipped(self) -> list[Persona]:
        return [Persona(tr(persona.name), _options(persona)) for persona in SHIPPED]

    def own(self) -> list[Persona]:
        rows = self._store.using(lambda db: db.execute("SELECT name, options FROM personas").fetchall())
        found = [Persona(name, chat_options_from_json(packed), own=True) for name, packed in rows]
        return sorted(found, key=lambda persona: persona.name.casefold())

    def find(self, name: str) -> Persona | None:
        return next((persona for persona in self.all() if persona.name == name), None)

    def save(self, name: str, options: ChatOptions) -> str:
        """Store the options under a name and return the name as stored; an own persona of that name is replaced."""
        name = self._checked(name)
        packed = ChatOptions("", options.values).to_json()
        self._store.using(lambda db: db.execute("INSERT OR REPLACE INTO personas VALUES (?, ?)", (name, packed)))
        return name

    def rename(self, old: str, new: str) -> str:
        """Rename an own persona and return the new name as stored."""
        new = self._checked(new)
        if new != old and any(persona.name == new for persona in self.own()):
            raise ValueError(tr("There is already a persona “{name}”.", name=new))
        self._store.using(lambda db: db.execute("UPDATE personas SET name = ? WHERE name = ?", (new, old)))
        return new

    def delete(self, name: str) -> None:
        def work(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM personas WHERE name = ?", (name,))

        self._store.using(work)

    def _checked(self, name: str) -> str:
        name = " ".join(name.encode("utf-8", "replace").decode().split())[:MOST_NAME]
        if not name:
            raise ValueError(tr("A persona needs a name."))
        if any(persona.name == name for persona in self.shipped()):
            raise ValueError(tr("“{name}” is built in. Choose another name.", name=name))
        return name
