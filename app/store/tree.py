"""All messages of one chat as a tree, and which of its branches is shown. Knows no Qt and no store.

An edit or another answer is a sibling, never a replacement. A deleted message stays in the tree, marked with the time,
so that it can be restored; the shown branch is a path of messages without that mark.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import msgspec

from app.store.chat import ChatMessage, new_id

ROOT = ""  # the parent of messages without a parent


@dataclass(frozen=True, slots=True)
class Deleted:
    """Deleted messages: their ids, and the last message shown before."""

    ids: tuple[str, ...]
    leaf: str


class Tree:
    """The messages of one chat and the shown branch, whose last message is `leaf`; None while nothing is shown.

    `chosen` maps a message's id (ROOT for the beginning) to the child below it that was shown last, if that is not the
    newest child. A message whose parent is missing, or in a ring of parents, as a damaged file may have, becomes a
    beginning: its `parent_id` is None here.
    """

    def __init__(
        self, messages: Iterable[ChatMessage] = (), leaf: str | None = None, chosen: Mapping[str, str] | None = None
    ) -> None:
        self._messages = {message.id: message for message in messages}
        self._parents = {id: self._known(message.parent_id) for id, message in self._messages.items()}
        self._cut_rings()
        for id, parent in self._parents.items():
            self._messages[id] = _below_parent(self._messages[id], parent)
        self._children: dict[str, list[str]] = {}
        for id, parent in self._parents.items():
            self._children.setdefault(parent, []).append(id)
        self.chosen = dict(chosen or {})
        self.leaf: str | None = None
        self.stop_at(leaf if leaf in self._messages and self._can_be_shown(leaf) else self._below(ROOT))

    # --- looking ----------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._messages)

    def __contains__(self, id: object) -> bool:
        return id in self._messages

    def __getitem__(self, id: str) -> ChatMessage:
        return self._messages[id]

    def branch(self) -> list[ChatMessage]:
        """Return the shown messages, the first one first."""
        return [self._messages[id] for id in self.path(self.leaf)]

    def path(self, id: str | None) -> list[str]:
        """Return the ids from the beginning to `id`."""
        path = []
        while id:
            path.append(id)
            id = self._parents[id]
        return path[::-1]

    def begins(self, id: str) -> bool:
        """Return whether the message has no parent."""
        return self._parents[id] == ROOT

    def siblings(self, id: str) -> list[str]:
        """Return the ids of `id` and its siblings, oldest first, without deleted ones."""
        return self._visible(self._parents[id])

    def sibling(self, id: str, by: int) -> str | None:
        """Return the id of the sibling `by` places after `id`; None if there is none."""
        siblings = self.siblings(id)
        at = siblings.index(id) + by
        return siblings[at] if 0 <= at < len(siblings) else None

    def copies(self, id: str, chat_id: str) -> list[ChatMessage]:
        """Return copies, for another chat, of the messages from the beginning to `id`."""
        ids = {old: new_id() for old in self.path(id)}
        return [
            replace(self._messages[old], id=new, chat_id=chat_id, parent_id=ids.get(self._parents[old]))
            for old, new in ids.items()
        ]

    def deleted_below(self, id: str | None) -> list[str]:
        """Return the deleted children of `id`; None is the beginning of the chat."""
        return [child for child in self._children.get(id or ROOT, ()) if not self._is_visible(child)]

    def chosen_text(self) -> str:
        """Return `chosen` as JSON for the store, "" if there is nothing to remember; `chosen_from` reads it."""
        return msgspec.json.encode(self.chosen).decode() if self.chosen else ""

    def deleted_with(self, id: str | None) -> list[str]:
        """Return the deleted children of `id` (None: the beginning) and the messages below, deleted with them."""
        times = {child: self._messages[child].deleted_at for child in self.deleted_below(id)}
        return [
            each for child, time in times.items() for each in self._subtree(child)
            if self._messages[each].deleted_at == time
        ]  # fmt: skip

    # --- changing ---------------------------------------------------------------------------------------------------

    def put(self, message: ChatMessage) -> None:
        """Add a message below its parent, or replace its state."""
        if message.id not in self._messages:
            parent = self._parents[message.id] = self._known(message.parent_id)
            self._children.setdefault(parent, []).append(message.id)
        self._messages[message.id] = _below_parent(message, self._parents[message.id])

    def show(self, id: str) -> None:
        """Show the branch through `id`, as far as it is not deleted, and below that the branch that was shown last."""
        seen = ROOT
        for each in itertools.takewhile(self._is_visible, self.path(id)):
            seen = each
        self.stop_at(self._below(seen))

    def stop_at(self, leaf: str | None) -> None:
        """Show the branch to `leaf` and remember it at every fork where the newest child is another one."""
        self.leaf = leaf
        for id in self.path(leaf):
            parent = self._parents[id]
            if self._visible(parent)[-1] == id:
                self.chosen.pop(parent, None)
            else:
                self.chosen[parent] = id

    def delete(self, id: str, now: float) -> list[ChatMessage]:
        """Mark `id` and all messages below it as deleted; return those that changed. `now` is in Unix seconds."""
        siblings = self.siblings(id)
        gone = [self._messages[each] for each in self._subtree(id) if self._is_visible(each)]
        marked = [replace(message, deleted_at=now) for message in gone]
        self._messages.update((message.id, message) for message in marked)
        if id in self.path(self.leaf):
            self.stop_at(self._instead_of(id, siblings))
        return marked

    def remove(self, id: str) -> None:
        """Remove a message without children, as if it had never been; the shown branch may end at its parent then."""
        parent = self._parents.pop(id)
        del self._messages[id]
        self._children[parent].remove(id)
        if self.leaf == id:
            self.leaf = parent or None

    def restore(self, ids: Iterable[str]) -> list[ChatMessage]:
        """Remove the deletion mark from these messages and all above them; return those that changed."""
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
        self.stop_at(self.leaf or self._below(ROOT))
        return back

    # --- inside -----------------------------------------------------------------------------------------------------

    def _known(self, parent: str | None) -> str:
        return parent if parent is not None and parent in self._messages else ROOT

    def _cut_rings(self) -> None:
        good: set[str] = {ROOT}
        for start in self._parents:
            walked: dict[str, None] = {}  # an ordered set
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
        """Return the leaf of the branch below `id` that was shown last; `id` itself if it has no children."""
        while children := self._visible(id):
            chosen = self.chosen.get(id, "")
            id = chosen if chosen in children else children[-1]
        return id or None

    def _subtree(self, id: str) -> Iterator[str]:
        waiting = [id]
        while waiting:
            each = waiting.pop()
            yield each
            waiting.extend(self._children.get(each, ()))

    def _instead_of(self, id: str, siblings: list[str]) -> str | None:
        """Return the leaf to show in place of `id`: that of the sibling before it, else after it, else the parent."""
        at = siblings.index(id)
        others = siblings[:at][::-1] + siblings[at + 1 :]
        return self._below(others[0]) if others else self._parents[id] or None


def chosen_from(text: str) -> dict[str, str]:
    """Read `Tree.chosen` from the store; text that cannot be read gives an empty mapping."""
    try:
        return msgspec.json.decode(text or "{}", type=dict[str, str])
    except (msgspec.DecodeError, msgspec.ValidationError):
        return {}


def _below_parent(message: ChatMessage, parent: str) -> ChatMessage:
    """Return the message with the parent that it has in the tree."""
    return message if (message.parent_id or ROOT) == parent else replace(message, parent_id=parent or None)
