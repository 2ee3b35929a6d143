"""Which messages of a long chat have views, and what stays in place while the user scrolls."""

from __future__ import annotations

from random import Random

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from app.look.theme import SIZES
from app.markdown.prose_view import ProseView
from app.services import frames as slices
from app.store.chat import Chat, ChatMessage
from app.transcript import scrolling_column
from app.transcript import transcript as transcript_module
from app.transcript.answer_view import AnswerView, ThoughtView
from app.transcript.transcript import Transcript
from app.wiring import Chickadee
from tests.app.conftest import SECONDS, Opener
from tests.app.event_loop import turn
from tests.app.test_window import Ask, last_text
from tests.app.transcript.test_message_view import ask_and_wait, editor_of, view_at


def long_chat(chickadee: Chickadee, count: int, texts: dict[int, str] | None = None) -> Chat:
    chat = Chat("long")
    messages: list[ChatMessage] = []
    for number in range(count):
        role = "assistant" if number % 2 else "user"
        text = f"message {number}" + f"\n\nmore of {number}, " * (number % 7) + "words " * (number % 50)
        text = (texts or {}).get(number, text)
        parent = messages[-1].id if messages else None
        messages.append(ChatMessage(chat.id, parent, role, text, stop_reason="end"))  # type: ignore[arg-type]
    chat = Chat("long", chat.id, leaf_id=messages[-1].id)
    chickadee.store.save(chat, messages)
    return chat


def test_a_long_chat_has_widgets_only_where_one_looks(open_window: Opener, qtbot: QtBot, chickadee: Chickadee) -> None:
    chat = long_chat(chickadee, 600)
    chickadee.window.close()
    window = open_window()
    window.chats.chat.open(chat.id)
    transcript = window.window.transcript
    bar = transcript.verticalScrollBar()
    assert bar.value() == bar.maximum()
    assert last_text(window).startswith("message 599")
    assert len(transcript.views) < 40
    transcript.to_start()
    assert bar.value() == 0
    first = transcript.views[0]
    assert first.text.startswith("message 0")
    assert first.visibleRegion().boundingRect().height() > 0
    page = transcript.viewport().height()
    qtbot.waitUntil(lambda: any(page < view.y() < 2 * page for view in transcript.views))  # made before it is seen
    for _ in range(30):
        bar.setValue(bar.value() + 400)
        turn()
    gone = first.message.id
    qtbot.waitUntil(lambda: transcript.view_of(gone) is None)
    assert len(transcript.views) < 60
    assert transcript.views[-1].text.startswith("message 599")
    transcript.to_end()
    assert bar.value() == bar.maximum()


def test_nothing_jumps_while_one_scrolls_up(open_window: Opener, qtbot: QtBot, chickadee: Chickadee) -> None:
    """Heights above are estimated first; when they are measured, messages in view stay in place."""
    chat = long_chat(chickadee, 300)
    chickadee.window.close()
    window = open_window()
    window.chats.chat.open(chat.id)
    transcript = window.window.transcript
    bar = transcript.verticalScrollBar()
    top = QPoint(0, 0)
    for _ in range(60):
        page = transcript.viewport().height()
        places = {view.message.id: view.mapTo(transcript.viewport(), top).y() for view in transcript.views}
        seen = {id: y for id, y in places.items() if 0 <= y < page // 2}
        bar.setValue(bar.value() - 150)
        for id, y in seen.items():
            view = transcript.view_of(id)
            assert view
            assert view.mapTo(transcript.viewport(), top).y() == y + 150
        whole = [view for view in transcript.views if view.filled]
        before = {view.message.id: view.mapTo(transcript.viewport(), top).y() for view in whole}
        turn()  # more views are made above
        visible = {id: y for id, y in before.items() if 0 <= y < page}
        for id, y in visible.items():
            view = transcript.view_of(id)
            assert view
            assert view.mapTo(transcript.viewport(), top).y() == y


def whole_in_view(transcript: Transcript) -> dict[str, int]:
    """Return the positions of the completely laid out messages in view, in pixels below the view's upper edge."""
    page = transcript.viewport().rect()
    views = [view for view in transcript.views if view.filled and not view.isHidden()]
    places = {view.message.id: view.rect().translated(view.mapTo(transcript.viewport(), QPoint())) for view in views}
    return {id: place.top() for id, place in places.items() if place.intersects(page)}


def run_one_slice(chance: Random) -> None:
    """Run one waiting slice of work, chosen by `chance` and not by the clock."""
    waiting = slices.slices()._steps
    if waiting:
        step = chance.choice(list(waiting))
        owner = waiting.pop(step)
        if isValid(owner) and step():
            waiting[step] = owner


@pytest.fixture
def slices_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behave as on a busy computer: the test alone runs the slices.

    Nothing is laid out in the turn of the event loop that opens a chat or scrolls.
    """
    monkeypatch.setattr(slices, "BUDGET_SECONDS", -1.0)
    monkeypatch.setattr(scrolling_column, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(transcript_module, "OPENING_SECONDS", 0.0)


def open_long_chat(chickadee: Chickadee, open_window: Opener, count: int, texts: dict[int, str]) -> Transcript:
    chat = long_chat(chickadee, count, texts)
    chickadee.window.close()
    window = open_window()
    window.chats.chat.open(chat.id)
    return window.window.transcript


def displaced(before: dict[str, int], after: dict[str, int], by: int = 0) -> dict[str, tuple[int, int | None]]:
    """Return the expected and the real position of messages that are not where they should be.

    The real position is None for a message that is out of view, which is allowed only after scrolling `by` some pixels.
    """
    places = {id: (y - by, after.get(id)) for id, y in before.items() if id in after or not by}
    return {id: (expected, y) for id, (expected, y) in places.items() if y != expected}


@pytest.mark.usefixtures("slices_by_hand")
def test_what_comes_into_view_below_a_message_that_shrinks_stays_there(
    open_window: Opener, chickadee: Chickadee
) -> None:
    """Message 42, which was laid out earlier, stays in place when it comes into view because message 40 shrinks.

    Narrow letters make the estimated heights of 40 and 41 too great. When 40 is measured, 42 comes into view, while 41
    between them still has its estimated height.
    """
    texts = {39: "an answer", 40: "i " * 450, 41: "i " * 150, 42: "a question"}
    transcript, chance = open_long_chat(chickadee, open_window, 80, texts), Random(0)
    column = transcript.column
    transcript.scroll_to(43)
    transcript.verticalScrollBar().setValue(column.top(40) - SIZES.gap)
    view = column.view(42)
    assert view is not None
    assert view.filled
    assert view.message.id not in whole_in_view(transcript)
    while not column.is_whole(41):
        before = whole_in_view(transcript)
        run_one_slice(chance)
        after = whole_in_view(transcript)
        assert not displaced(before, after)
    assert view.message.id in after


@pytest.mark.usefixtures("slices_by_hand")
@pytest.mark.parametrize("rows", [7, 40])
def test_what_follows_a_table_does_not_jump_when_its_other_rows_come(
    open_window: Opener, chickadee: Chickadee, rows: int
) -> None:
    texts = {41: "|a|b|c|d|\n|-|-|-|-|\n" + "|some|words|of|it|\n" * rows, 42: "a question"}
    transcript, chance = open_long_chat(chickadee, open_window, 80, texts), Random(0)
    transcript.scroll_to(41)
    for _ in range(40):
        before = whole_in_view(transcript)
        run_one_slice(chance)
        QApplication.processEvents()  # rows below a grown one are moved
        assert not displaced(before, whole_in_view(transcript))
    assert transcript.column.is_whole(41)
    assert (transcript.column.height_of(41) > transcript.viewport().height()) == (rows == 40)


@pytest.mark.usefixtures("slices_by_hand")
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_nothing_jumps_whenever_slices_come(open_window: Opener, chickadee: Chickadee, seed: int) -> None:
    pieces = ["Some words of it. " * 20, "```python\nx = 1\ny = 2\n```", "|a|b|\n|-|-|\n|1|2|", "- one\n- two\n- three"]
    texts = {number: "\n\n".join(pieces[: number % 5]) + " end" for number in range(1, 160, 2)}
    texts |= {number: "\n\n".join(pieces * 12) for number in (41, 79, 81, 119)}
    transcript, chance, checks = open_long_chat(chickadee, open_window, 160, texts), Random(seed), 0
    bar = transcript.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    for step in range(800):
        before, by, kind = whole_in_view(transcript), 0, chance.randrange(8)
        if kind == 0 and 2_000 < bar.value() < bar.maximum() - 2_000:
            by = chance.choice((-400, -150, -150, -40, 40, 150))
            bar.setValue(bar.value() + by)
        elif kind == 1:
            transcript.column.height_changed.emit(chance.choice(transcript.views).message.id)
        elif kind == 2:
            QApplication.processEvents()
        elif step % 160 == 159:  # the scroll bar is dragged far, perhaps to rows that were in view before
            bar.setValue(chance.randrange(2_500, bar.maximum() - 2_500))
            continue
        else:
            run_one_slice(chance)
        assert not displaced(before, whole_in_view(transcript), by), (step, kind)
        checks += bool(before)
    assert checks > 20, "in most turns no message was whole: the loop proves nothing"


def test_an_opened_thought_stays_open_out_of_sight_and_in_another_chat(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot
) -> None:
    ask_and_wait(chickadee, ask, qtbot, "elsewhere")
    other = chickadee.open_chats.current.chat.id
    chat = long_chat(chickadee, 200, {3: "<think>first</think>\n\nThe answer."})
    chickadee.open_chats.reload()
    chickadee.chats.chat.open(chat.id)
    transcript = chickadee.window.transcript
    transcript.to_start()

    def thought() -> ThoughtView:
        body = view_at(chickadee, 3).body
        assert isinstance(body, AnswerView)
        return body.thoughts[0]

    qtbot.waitUntil(lambda: transcript.column.view(3) is not None)
    thought().line.click()
    id = view_at(chickadee, 3).message.id
    transcript.to_end()
    qtbot.waitUntil(lambda: transcript.view_of(id) is None, timeout=SECONDS)
    transcript.to_start()
    assert thought().open
    chickadee.chats.chat.open(other)
    chickadee.chats.chat.open(chat.id)
    transcript.to_start()
    assert thought().open
    thought().line.click()
    chickadee.chats.chat.open(other)
    chickadee.chats.chat.open(chat.id)
    transcript.to_start()
    assert not thought().open


def test_views_with_something_of_the_users_stay(open_window: Opener, qtbot: QtBot, chickadee: Chickadee) -> None:
    chat = long_chat(chickadee, 300)
    chickadee.window.close()
    window = open_window()
    window.chats.chat.open(chat.id)
    transcript = window.window.transcript
    qtbot.waitUntil(lambda: len(transcript.views) > 3)  # some are made before they are seen
    other, question = transcript.views[0].message.id, transcript.views[-2]
    window.chats.messages.edit(question.message.id)
    qtbot.keyClicks(editor_of(question), "typed ")
    transcript.to_start()
    qtbot.waitUntil(lambda: transcript.view_of(other) is None)
    assert transcript.view_of(question.message.id) is question
    assert "typed" in editor_of(question).toPlainText()


def test_a_long_message_that_is_let_go_is_deleted_to_its_end(chickadee: Chickadee, qtbot: QtBot, ask: Ask) -> None:
    ask(chickadee, "many")
    qtbot.waitUntil(lambda: chickadee.open_chats.current.messages[-1].stop_reason == "end")
    view = chickadee.window.transcript.views[-1]
    parts = view.findChildren(ProseView)
    assert parts
    chickadee.window.commands.run("new_chat")
    assert view.isHidden()
    view.restyle()  # events during the deletion find the view intact
    view.retranslate()
    qtbot.waitUntil(lambda: not isValid(view))
    assert not any(map(isValid, parts))
