"""The tree of messages: no sequence of edits, answers, switches, deletions and undos loses anything."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from app.store.chat import ChatMessage
from app.store.tree import Tree, chosen_from


def message(id: str, parent: str | None = None, content: str = "") -> ChatMessage:
    return ChatMessage("chat", parent, "user", content or id, id, 0.0)


def ids(tree: Tree) -> list[str]:
    return [each.id for each in tree.branch()]


def forked() -> Tree:
    """Build a tree: a – b – c – d, and beside b a second answer e with f below it; e–f is shown."""
    tree = Tree([message("a"), message("b", "a"), message("c", "b"), message("d", "c")], "d")
    for each in (message("e", "a"), message("f", "e")):
        tree.put(each)
        tree.stop_at(each.id)
    return tree


def test_the_newest_branch_is_shown_unless_another_was() -> None:
    tree = forked()
    assert ids(tree) == ["a", "e", "f"]
    assert tree.siblings("e") == ["b", "e"]
    tree.show("b")
    assert ids(tree) == ["a", "b", "c", "d"]
    assert ids(Tree([tree[id] for id in "abcdef"], None, chosen_from(tree.chosen_text()))) == ["a", "b", "c", "d"]


def test_switching_shows_what_was_looked_at_last_below() -> None:
    tree = forked()
    tree.put(message("g", "b"))
    tree.show("g")
    tree.show("c")
    tree.show("e")
    tree.show("b")
    assert ids(tree) == ["a", "b", "c", "d"]


def test_a_deleted_branch_gives_way_to_its_neighbour_or_to_nothing() -> None:
    tree = forked()
    gone = tree.delete("e", 5.0)
    assert sorted(each.id for each in gone) == ["e", "f"]
    assert ids(tree) == ["a", "b", "c", "d"]
    assert tree.deleted_below("a") == ["e"]
    tree.delete("b", 6.0)
    assert ids(tree) == ["a"]
    tree.delete("a", 7.0)
    assert ids(tree) == []
    assert tree.leaf is None
    assert {each.id for each in tree.restore(["d"])} == set("abcd")
    assert ids(tree) == ["a", "b", "c", "d"]


def test_a_damaged_file_still_shows_all_it_has() -> None:
    ring = Tree([message("a", "b"), message("b", "a"), message("c", "gone")], "nowhere")
    for id in "abc":
        ring.show(id)
        assert id in ids(ring)
        assert all(each.parent_id in (None, *"abc") for each in ring.branch())
    ring.put(message("d", "gone too"))
    assert ring["d"].parent_id is None
    assert chosen_from("no JSON") == chosen_from('["a"]') == {}


class Chatting(RuleBasedStateMachine):
    """A state machine of all that a user can do, with restarts, compared with a list of all messages written."""

    made = Bundle("made")
    undone = Bundle("undone")

    def __init__(self) -> None:
        super().__init__()
        self.tree = Tree()
        self.file: dict[str, ChatMessage] = {}
        self.clock = 0.0

    def write(self, parent: str | None) -> str:
        new = message(f"m{len(self.file)}", parent)
        self.file[new.id] = new
        self.tree.put(new)
        self.tree.stop_at(new.id)
        return new.id

    def visible(self, id: str) -> bool:
        return all(self.tree[each].deleted_at is None for each in self.tree.path(id))

    @rule(target=made)
    def send(self) -> str:
        return self.write(self.tree.leaf)

    @rule(target=made, id=made)
    def edit_or_answer_again(self, id: str) -> str:
        parent = self.tree[id].parent_id
        if parent is not None and not self.visible(parent):
            parent = self.tree.leaf
        return self.write(parent)

    @rule(id=made)
    def switch(self, id: str) -> None:
        self.tree.show(id)
        assert (id in ids(self.tree)) == self.visible(id)

    @rule(target=undone, id=made)
    def delete(self, id: str) -> list[str]:
        if not self.visible(id):
            return []
        self.clock += 1
        gone = self.tree.delete(id, self.clock)
        self.file.update((each.id, each) for each in gone)
        assert id not in ids(self.tree)
        return [each.id for each in gone]

    @rule(gone=undone)
    def undo(self, gone: list[str]) -> None:
        back = self.tree.restore(gone)
        self.file.update((each.id, each) for each in back)
        assert all(map(self.visible, gone))

    @rule()
    def restart(self) -> None:
        shown = ids(self.tree)
        self.tree = Tree(self.file.values(), self.tree.leaf, chosen_from(self.tree.chosen_text()))
        assert ids(self.tree) == shown

    @invariant()
    def nothing_is_lost(self) -> None:
        assert all(self.tree[id] == each for id, each in self.file.items())
        assert len(self.tree) == len(self.file)

    @invariant()
    def what_is_shown_is_a_path_of_what_is_there(self) -> None:
        branch = self.tree.branch()
        assert [each.parent_id for each in branch] == [None, *(each.id for each in branch)][: len(branch)]
        assert all(each.deleted_at is None for each in branch)
        assert bool(branch) == any(map(self.visible, self.file))

    def teardown(self) -> None:
        self.tree.restore(self.file)
        for id in self.file:
            self.tree.show(id)
            assert id in ids(self.tree)


Chatting.TestCase.settings = settings(max_examples=60, stateful_step_count=30)
TestChatting = Chatting.TestCase


@given(st.lists(st.integers(-1, 8), max_size=9), st.integers(0, 9))
def test_any_file_can_be_opened(parents: list[int], leaf: int) -> None:
    tree = Tree([message(str(at), None if up < 0 else str(up)) for at, up in enumerate(parents)], str(leaf))
    assert bool(tree.branch()) == bool(parents)
    for at in range(len(parents)):
        tree.show(str(at))
        assert str(at) in ids(tree)
