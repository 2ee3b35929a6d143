"""All messages of one chat as a tree, and which of its branches is shown. Knows no Qt and no store.

An edit or another answer is a sibling, never a replacement. A deleted message stays in the tree, marked with its time,
so that it can be restored; what is shown is a path of messages without that mark.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import msgspec

from app.store.chat import ChatMessage

ROOT = ""  # the key of what has no parent


class Tree:
    """`leaf` is the last message of the shown branch, None while nothing is shown.

    `chosen` maps a message's id (ROOT for the beginning) to the child that was looked at last below it, where that is
    not the newest one. Parents that are missing and rings of parents, as a damaged file may hold, become beginnings.
    """

    def __init__(
        self, messages: Iterable[ChatMessage] = (), leaf: str | None = None, chosen: Mapping[str, str] | None = None
    ) -> None:
        self._messages = {message.id: message for message in messages}
        self._parents = {id: self._known(message.parent_id) for id, message in self._messages.items()}
        self._cut_rings()
        self._children: dict[str, list[str]] = {}
        for id, parent in self._parents.items():
            self._children.setdefault(parent, []).append(id)
        self.chosen = dict(chosen or {})
        self.leaf: str | None = None
        self._move(leaf if leaf in self._messages and self._can_be_shown(leaf) else self._below(ROOT))

    # --- looking ----------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._messages)

    def __contains__(self, id: object) -> bool:
        return id in self._messages

    def __getitem__(self, id: str) -> ChatMessage:
        return self._messages[id]

    def branch(self) -> list[ChatMessage]:
        """The shown messages, first one first."""
        return [self._messages[id] for id in self.path(self.leaf)]

    def path(self, id: str | None) -> list[str]:
        """The ids from the beginning to `id`."""
        path = []
        while id:
            path.append(id)
            id = self._parents[id]
        return path[::-1]

    def begins(self, id: str) -> bool:
        """Is the message one that the chat begins with?"""
        return self._parents[id] == ROOT

    def siblings(self, id: str) -> list[str]:
        """The ids that stand where `id` stands, itself included, oldest first; deleted ones are left out."""
        return self._visible(self._parents[id])

    def deleted_below(self, id: str | None) -> list[str]:
        """The deleted messages that followed directly on `id`, None for the beginning of the chat."""
        return [child for child in self._children.get(id or ROOT, ()) if not self._is_visible(child)]

    def chosen_text(self) -> str:
        """`chosen` as it is stored, empty where there is nothing to remember; `chosen_from` reads it."""
        return msgspec.json.encode(self.chosen).decode() if self.chosen else ""

    def deleted_with(self, id: str | None) -> list[str]:
        """What was deleted directly behind `id` (None: at the beginning), and together with it further down."""
        times = {child: self._messages[child].deleted_at for child in self.deleted_below(id)}
        return [
            each for child, time in times.items() for each in self._subtree(child)
            if self._messages[each].deleted_at == time
        ]  # fmt: skip

    # --- changing ---------------------------------------------------------------------------------------------------

    def put(self, message: ChatMessage) -> None:
        """Add a message below its parent, or take its new state."""
        if message.id not in self._messages:
            parent = self._parents[message.id] = self._known(message.parent_id)
            self._children.setdefault(parent, []).append(message.id)
        self._messages[message.id] = message

    def show(self, id: str) -> None:
        """Show the branch through `id`, as far as it is not deleted, and below it what was looked at last there."""
        seen = ROOT
        for each in itertools.takewhile(self._is_visible, self.path(id)):
            seen = each
        self._move(self._below(seen))

    def stop_at(self, id: str) -> None:
        """Show the branch to `id` and nothing below it: another message is about to be written there."""
        self._move(id)

    def delete(self, id: str, now: float) -> list[ChatMessage]:
        """Mark `id` and all that hangs below it; gives back what has changed. `now` in Unix seconds."""
        siblings = self.siblings(id)
        gone = [self._messages[each] for each in self._subtree(id) if self._is_visible(each)]
        marked = [replace(message, deleted_at=now) for message in gone]
        self._messages.update((message.id, message) for message in marked)
        if id in self.path(self.leaf):
            self._move(self._instead_of(id, siblings))
        return marked

    def restore(self, ids: Iterable[str]) -> list[ChatMessage]:
        """Take the mark off these messages, and off all above them; gives back what has changed."""
        wanted: set[str] = {ROOT}
        for id in ids:
            while id not in wanted and id in self._messages:
                wanted.add(id)
                id = self._parents[id]
        back = [
            replace(message, deleted_at=None)
            for id, message in self._messages.items()
            if id in wanted and not self._is_visible(id)
        ]
        self._messages.update((message.id, message) for message in back)
        self._move(self.leaf or self._below(ROOT))
        return back

    # --- inside -----------------------------------------------------------------------------------------------------

    def _known(self, parent: str | None) -> str:
        return parent if parent is not None and parent in self._messages else ROOT

    def _cut_rings(self) -> None:
        good: set[str] = {ROOT}
        for start in self._parents:
            walked: dict[str, None] = {}  # a set that keeps its order
            id = start
            while id not in good and id not in walked:
                walked[id] = None
                id = self._parents[id]
            if id not in good:
                self._parents[id] = ROOT
            good.update(walked)

    def _is_visible(self, id: str) -> bool:
        return self._messages[id].deleted_at is None

    def _can_be_shown(self, id: str) -> bool:
        return all(map(self._is_visible, self.path(id)))

    def _visible(self, parent: str) -> list[str]:
        return [id for id in self._children.get(parent, ()) if self._is_visible(id)]

    def _below(self, id: str) -> str | None:
        """The end of the branch that was looked at last below `id`."""
        while children := self._visible(id):
            chosen = self.chosen.get(id, "")
            id = chosen if chosen in children else children[-1]
        return id or None

    def _move(self, leaf: str | None) -> None:
        """Show the branch to `leaf` and remember it at every fork that would lead elsewhere."""
        self.leaf = leaf
        for id in self.path(leaf):
            parent = self._parents[id]
            if self._visible(parent)[-1] == id:
                self.chosen.pop(parent, None)
            else:
                self.chosen[parent] = id

    def _subtree(self, id: str) -> Iterator[str]:
        waiting = [id]
        while waiting:
            each = waiting.pop()
            yield each
            waiting.extend(self._children.get(each, ()))

    def _instead_of(self, id: str, siblings: list[str]) -> str | None:
        """What is shown where `id` was: the sibling before it, else the one behind it, else its parent."""
        at = siblings.index(id)
        others = siblings[:at][::-1] + siblings[at + 1 :]
        return self._below(others[0]) if others else self._parents[id] or None


def chosen_from(text: str) -> dict[str, str]:
    """`Tree.chosen` as it was stored; what cannot be read is not worth a word."""
    try:
        return msgspec.json.decode(text or "{}", type=dict[str, str])
    except (msgspec.DecodeError, msgspec.ValidationError):
        return {}
