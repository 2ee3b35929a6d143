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
    """Chat options under a name; `own` ones were saved by the user, who may rename and delete them.

    Chats store the `id`: a fixed one of a built-in persona, the name of an own one.
    """

    id: str
    name: str
    options: ChatOptions
    own: bool = False


@dataclass(frozen=True, slots=True)
class _Shipped:
    """A built-in persona; `former` are the names that earlier versions stored in chats instead of the id."""

    id: str
    name: str
    prompt: str
    temperature: float
    former: tuple[str, ...]


# Short texts: a small model follows only one instruction well, and reads it before every chat.
SHIPPED = (
    _Shipped("built-in:translator", mark("Translator"),
             mark("Translate what the user writes into English. Answer with the translation only."),
             0.2, ("Translator", "翻译")),
    _Shipped("built-in:editor", mark("Editor"),
             mark("Correct spelling, grammar and style. Keep the language and the meaning. Answer with the new text "
                  "only."),
             0.3, ("Editor", "编辑")),
    _Shipped("built-in:summarizer", mark("Summarizer"),
             mark("Summarize what the user writes in at most five short points, in its own language. Add nothing to "
                  "it."),
             0.3, ("Summarizer", "摘要")),
    _Shipped("built-in:code-helper", mark("Code helper"),
             mark("You are a careful programmer. Answer with working code first, then explain it in a few sentences."),
             0.2, ("Code helper", "编程助手")),
    _Shipped("built-in:brainstormer", mark("Brainstormer"),
             mark("Answer with a list of ten different, surprising ideas, one line each."),
             1.0, ("Brainstormer", "头脑风暴")),
)  # fmt: skip
FORMER = {name: persona for persona in SHIPPED for name in persona.former}


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
        return [Persona(persona.id, tr(persona.name), _options(persona)) for persona in SHIPPED]

    def own(self) -> list[Persona]:
        rows = self._store.with_connection(lambda db: db.execute("SELECT name, options FROM personas").fetchall())
        personas = [Persona(name, name, chat_options_from_json(packed), own=True) for name, packed in rows]
        return sorted(personas, key=lambda persona: persona.name.casefold())

    def find(self, stored: str) -> Persona | None:
        """Return the persona that a chat has stored.

        Earlier versions stored a built-in persona's name in the language of the moment. An own persona of that name
        comes first.
        """
        shipped = {persona.id: persona for persona in self.shipped()}
        if stored in shipped:
            return shipped[stored]
        own = next((persona for persona in self.own() if persona.id == stored), None)
        former = FORMER.get(stored)
        return own or (shipped[former.id] if former else None)

    def name_of(self, stored: str) -> str:
        """Return the name of the persona that a chat has stored, in the user's language; a deleted one keeps its name.

        The store is read only for a name that may be one of FORMER.
        """
        built_in = stored in FORMER or any(persona.id == stored for persona in SHIPPED)
        persona = self.find(stored) if built_in else None
        return persona.name if persona else stored

    def save(self, name: str, options: ChatOptions) -> str:
        """Store the options under a name and return the id, which is the name; replace an own persona of that name."""
        name = self._checked(name)
        packed = ChatOptions("", options.values).to_json()
        self._store.with_connection(
            lambda db: db.execute("INSERT OR REPLACE INTO personas VALUES (?, ?)", (name, packed))
        )
        return name

    def rename(self, old: str, new: str) -> str:
        """Rename an own persona and return its new id."""
        new = self._checked(new)
        if new != old and any(persona.name == new for persona in self.own()):
            raise ValueError(tr("There is already a persona “{name}”.", name=new))
        self._store.with_connection(lambda db: db.execute("UPDATE personas SET name = ? WHERE name = ?", (new, old)))
        return new

    def delete(self, id: str) -> None:
        def work(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM personas WHERE name = ?", (id,))

        self._store.with_connection(work)

    def _checked(self, name: str) -> str:
        name = " ".join(name.encode("utf-8", "replace").decode().split())[:MOST_NAME]
        if not name:
            raise ValueError(tr("A persona needs a name."))
        if any(name in (persona.id, persona.name) for persona in self.shipped()):
            raise ValueError(tr("“{name}” is built in. Choose another name.", name=name))
        return name
