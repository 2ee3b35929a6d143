"""Tables: split into cells, and shown in a box of their own, however long and wide they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QFontMetricsF, QTextTable
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.look import theme
from app.look.live import send_look_change
from app.look.theme import SIZES
from app.markdown.block_stack import BlockStack
from app.markdown.blocks import Block, split
from app.markdown.document import plain_text
from app.markdown.grammar import is_table_head, split_cells
from app.markdown.table_view import PIECE_LETTERS, PLACED, SEAM, TableView
from app.transcript.answer_view import AnswerView
from tests.app.conftest import SECONDS
from tests.app.event_loop import turn


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ("| a | b |", ["a", "b"]),
        ("a|b", ["a", "b"]),
        (r"| a \| b | c", ["a | b", "c"]),
        ("| `a | b` | c |", ["`a | b`", "c"]),
        ("| a | | c |", ["a", "", "c"]),
        ("| ` | b |", ["`", "b"]),
        ("", []),
    ],
)
def test_cells(row: str, found: list[str]) -> None:
    assert list(split_cells(row)) == found


@pytest.mark.parametrize(
    ("head", "rule", "is_one"),
    [
        ("| a | b |", "|---|:-:|", True),
        ("a | b", "--- | ---", True),
        ("| a |", "|---|", True),
        ("| a | b |", "|---|", False),
        ("a", "---", False),
        ("> | a |", "|---|", False),
        ("| a |", "| b |", False),
    ],
)
def test_what_is_a_table(head: str, rule: str, is_one: bool) -> None:
    assert is_table_head([head, rule]) == is_one


@given(st.text(alphabet="|`\\ ab-", max_size=40))
def test_any_row_has_cells(row: str) -> None:
    assert all(cell == cell.strip() for cell in split_cells(row))


def table(rows: int, columns: int = 3, words: str = "some words") -> str:
    lines = ["|" + "|".join(f" head {c} " for c in range(columns)) + "|", "|" + "---|" * columns]
    return "\n".join(lines + ["|" + "|".join(f" {words} {r} " for _ in range(columns)) + "|" for r in range(rows)])


def block(markdown: str) -> Block:
    """Return the table that is the whole text."""
    (found,) = split(markdown)
    return found


@pytest.fixture
def view(qtbot: QtBot) -> TableView:
    view = TableView()
    qtbot.addWidget(view)
    view.resize(600, 400)
    view.show()
    return view


def rows_shown(view: TableView) -> int:
    tables = [piece._table() for piece in view.pieces]
    return sum(each.rows() for each in tables if isinstance(each, QTextTable)) - 1


def wait_for_rows(qtbot: QtBot, view: TableView, rows: int) -> None:
    qtbot.waitUntil(lambda: rows_shown(view) == rows, timeout=SECONDS)


def test_every_row_is_shown_once(view: TableView, qtbot: QtBot, qapp: QApplication) -> None:
    for rows in (1, 5, 6, 40, 41):
        view.set_block(block(table(rows)))
        wait_for_rows(qtbot, view, rows)
    view.heightForWidth(600)
    theme.apply(qapp, theme.theme())
    send_look_change()
    assert rows_shown(view) == 41


@pytest.mark.parametrize("ahead", [False, True])
def test_what_follows_a_table_comes_when_all_its_rows_are_there(qtbot: QtBot, ahead: bool) -> None:
    stack = BlockStack()
    qtbot.addWidget(stack)
    stack.resize(600, 400)
    stack.set_text(f"before\n\n{table(40)}\n\nafter", ahead)
    places: dict[object, int] = {}
    while not stack.filled:
        stack.lay_out()
        assert all(places.setdefault(part, part.y()) == part.y() for part in stack.block_views)
    before, rows, after = stack.block_views
    assert isinstance(rows, TableView)
    assert rows_shown(rows) == 40
    assert before.geometry().bottom() < rows.y()
    assert rows.geometry().bottom() < after.y()


def test_an_address_named_below_a_table_is_known_in_all_its_rows(view: TableView, qtbot: QtBot) -> None:
    rows = table(39)
    for links in ("", "\n\n[x]: </a>"):
        view.set_block(block(f"{rows}\n| [x] | b | c |{links}"))
        wait_for_rows(qtbot, view, 40)
    cursor = view.pieces[-1].document().find("x")
    assert cursor.charFormat().anchorHref() == "/a"


def test_all_pieces_have_the_same_columns(view: TableView, qtbot: QtBot) -> None:
    view.set_block(block(table(50)))
    qtbot.waitUntil(lambda: rows_shown(view) == 50, timeout=SECONDS)
    view.heightForWidth(600)
    assert len(view.pieces) > 2
    qtbot.waitUntil(lambda: len({piece.column_widths() for piece in view.pieces}) == 1, timeout=SECONDS)


@pytest.mark.parametrize("words", ["cell", "many words " * 40])
def test_another_width_lays_out_a_few_pieces_at_once_and_the_others_in_turns(
    view: TableView, qtbot: QtBot, words: str
) -> None:
    """A table of 40 columns and 300 rows held the window's thread for 670 ms, one of long cells for 149."""
    view.set_block(block(table(80, columns=5, words=words)))
    qtbot.waitUntil(lambda: rows_shown(view) == 80, timeout=SECONDS)
    widths = [piece.document().textWidth() for piece in view.pieces]
    view.heightForWidth(500)
    changed = [piece.document().textWidth() != width for piece, width in zip(view.pieces, widths, strict=True)]
    assert 0 < sum(changed) <= PLACED
    qtbot.waitUntil(lambda: len({piece.document().textWidth() for piece in view.pieces}) == 1, timeout=SECONDS)
    bottoms = [piece.geometry().bottom() + 1 - SEAM for piece in view.pieces]
    assert bottoms[:-1] == [piece.y() for piece in view.pieces[1:]]
    pieces = [piece.block.rows for piece in view.pieces]
    letters = [sum(len(cell) for row in rows for cell in row) for rows in pieces]
    assert all(len(rows) == 1 or count <= PIECE_LETTERS for rows, count in zip(pieces, letters, strict=True))


def test_a_wide_table_scrolls_and_leaves_the_column_as_it_is(view: TableView) -> None:
    view.set_block(block(table(3, columns=14)))
    view.resize(600, view.heightForWidth(600))
    assert view.horizontalScrollBar().maximum() > 0
    view.set_block(block(table(3, columns=2)))
    view.resize(600, view.heightForWidth(600))
    assert view.horizontalScrollBar().maximum() == 0


def test_long_cells_are_wrapped_before_anything_scrolls(view: TableView) -> None:
    view.set_block(block(table(3, columns=3, words="many words " * 20)))
    view.resize(600, view.heightForWidth(600))
    assert view.horizontalScrollBar().maximum() == 0


def test_words_that_widen_a_column_take_their_room_from_a_wide_one(view: TableView) -> None:
    """Else a table that fits got a scroll bar, for two pixels."""
    rows = ("Chickadee | 12 g | here | seeds", "Wren | 9 g | south | loud", "Kinglet | 6 g | here | " + "a note " * 14)
    head = "| Bird | Mass | Winters | Notes |\n|:--|--:|:-:|---|\n"
    view.set_block(block(head + "\n".join(map("| {} |".format, rows))))
    for width in range(540, 780, 20):
        view.resize(width, view.heightForWidth(width))
        assert view.horizontalScrollBar().maximum() == 0, width


def test_a_table_streams_within_an_answer(qtbot: QtBot) -> None:
    answer = AnswerView()
    qtbot.addWidget(answer)
    answer.resize(600, 400)
    answer.show()
    answer.start("")
    text = f"Before:\n\n{table(40)}\n\nBehind."
    for at in range(0, len(text), 50):
        answer.grow(text[at : at + 50])
        turn()
    answer.finish()
    (view,) = [part for part in answer.stacks[0].block_views if isinstance(part, TableView)]
    qtbot.waitUntil(lambda: answer.filled, timeout=SECONDS)
    assert rows_shown(view) == 40
    assert [type(part).__name__ for part in answer.stacks[0].block_views] == ["ProseView", "TableView", "ProseView"]
    assert answer.heightForWidth(600) > 40 * SIZES.body


def test_a_break_in_a_cell_breaks_the_line_there(view: TableView) -> None:
    view.set_block(block("| a |\n|---|\n| `<br>` one<br>two <BR /> three, `<br>`, **four<br/>five** |"))
    text = view.pieces[0].document().toRawText()
    assert "<br> one\u2028two\u2028three, <br>, four\u2028five" in text
    view.resize(600, view.heightForWidth(600))
    broken = view.heightForWidth(600)
    view.set_block(block("| a |\n|---|\n| one |"))
    assert broken > view.heightForWidth(600) + 2 * SIZES.body


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("one **seven** two", ["one", "seven", "two"]),
        ("[site](https://a.example/long)", ["site"]),
        ("$x + y$", ["$x", "+", "y$"]),
        ("one<br>two", ["one", "two"]),
        ("", []),
    ],
)
def test_the_words_of_what_a_cell_shows(cell: str, words: list[str]) -> None:
    assert plain_text(cell).split() == words


def test_a_word_with_fewer_letters_may_be_wider(qtbot: QtBot) -> None:
    view = TableView()
    qtbot.addWidget(view)
    rows = ["|" + "|".join([name, *["six words that need much room"] * 6]) + "|" for name in ("a", "illilli", "WWWWW")]
    view.set_block(block("\n".join([table(0, columns=7, words=""), *rows])))
    view.resize(500, view.heightForWidth(500))
    wide = QFontMetricsF(view.pieces[0].document().defaultFont()).horizontalAdvance("WWWWW")
    assert view.pieces[0].column_widths()[0] > wide


def test_no_word_of_a_later_row_is_broken(qtbot: QtBot) -> None:
    view = TableView()
    qtbot.addWidget(view)
    head = table(0, columns=7, words="")
    rows = ["|" + "|".join([name, *["six words that need much room"] * 6]) + "|" for name in ("a", "b", "Copenhagen")]
    view.set_block(block("\n".join([head, *rows])))
    view.resize(400, view.heightForWidth(400))
    qtbot.waitUntil(lambda: len(view.pieces) == 2, timeout=SECONDS)
    view.heightForWidth(400)
    for piece in view.pieces:
        assert piece.column_widths()[0] > view.fontMetrics().horizontalAdvance("Copenhagen")
    name = view.pieces[-1].document().find("Copenhagen").block()
    assert name.layout().lineCount() == 1
