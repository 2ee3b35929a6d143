"""Code blocks: coloured, folded, wrapped, copied, and as high as their lines."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QPushButton, QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from app.look import theme
from app.look.theme import DARK, LIGHT
from app.markdown.code_view import CodeText, CodeView
from app.services.colour_worker import COLUMNS
from app.transcript.answer_view import AnswerView


def test_code_is_coloured_in_both_themes(qtbot: QtBot) -> None:
    view = CodeView()
    qtbot.addWidget(view)
    view.set_code("def f():\n    return 1  # one\n", "python")

    def colours() -> set[str]:
        layout = view.text.document().begin().layout()
        return {form.format.foreground().color().name() for form in layout.formats()}

    qtbot.waitUntil(lambda: LIGHT.keyword in colours() or DARK.keyword in colours())


def test_code_grows_by_appending(qtbot: QtBot) -> None:
    view = CodeView()
    qtbot.addWidget(view)
    for length in range(0, 30, 3):
        view.set_code("line one\nline two\nline three"[:length], "no such language")
    assert view.text.toPlainText() == "line one\nline two\nline three"[:27]


SAMPLES = {
    "python": "def f(): return 'x'  # 1",
    "javascript": "const f = () => 'x'; // 1",
    "typescript": "interface A { b: string }",
    "html": "<p class='a'>x</p><!-- c -->",
    "css": "p { color: red; } /* c */",
    "sql": "SELECT 'x' FROM t WHERE a = 1",
    "bash": 'for f in *; do echo "$f"; done',
    "json": '{"a": [1, true]}',
    "rust": "fn main() { let x = 1; }",
    "c++": "int main() { return 0; } // c",
    "java": "class A { int b = 1; }",
    "yaml": "a: 1 # c",
}


@pytest.mark.parametrize("chosen", [LIGHT, DARK], ids=lambda chosen: chosen.name)
@pytest.mark.parametrize("language", SAMPLES)
def test_code_of_many_languages_is_coloured(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, language: str, chosen: theme.Theme
) -> None:
    monkeypatch.setattr(theme, "_current", chosen)
    view = CodeView()
    qtbot.addWidget(view)
    view.set_code(SAMPLES[language], language)
    known = {chosen.keyword, chosen.string, chosen.comment, chosen.number, chosen.name_}

    def coloured() -> bool:
        formats = view.text.document().begin().layout().formats()
        return bool(formats) and {form.format.foreground().color().name() for form in formats} <= known

    qtbot.waitUntil(coloured)


LONG = "\n".join(f"line {number}" for number in range(200))


def test_long_code_is_folded_and_copied_whole(qtbot: QtBot) -> None:
    answer = AnswerView()
    qtbot.addWidget(answer)
    answer.set_text(f"```text\n{LONG}\n```")
    (view,) = [part for part in answer.stacks[0].block_views if isinstance(part, CodeView)]
    folded = view.heightForWidth(500)
    assert view.text.document().blockCount() == 40
    button = next(each for each in view.findChildren(QPushButton) if each.text() == "Show all 200 lines")
    button.click()
    assert view.text.toPlainText() == LONG
    assert view.heightForWidth(500) > 4 * folded
    assert button.text() == "Show less"
    button.click()
    assert view.heightForWidth(500) == folded
    view.copy_code()
    assert QGuiApplication.clipboard().text() == LONG


def test_code_that_was_seen_being_written_is_not_folded_under_the_reader(qtbot: QtBot) -> None:
    answer = AnswerView()
    qtbot.addWidget(answer)
    answer.start(f"```text\n{LONG[:-9]}")
    answer.grow(LONG[-9:] + "\n```\n")
    answer.finish()
    (view,) = [part for part in answer.stacks[0].block_views if isinstance(part, CodeView)]
    assert not view.folded
    assert view.text.toPlainText() == LONG


def test_long_lines_of_code_can_be_wrapped(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CodeText, "wraps", False)
    view = CodeView()
    qtbot.addWidget(view)
    view.set_code("word " * 70, "text")
    view.resize(400, view.heightForWidth(400))
    view.show()
    before = view.heightForWidth(400)
    button = next(each for each in view.findChildren(QPushButton) if each.isCheckable())
    assert button.isVisible()
    button.click()
    assert view.heightForWidth(400) > 2 * before
    button.click()
    assert view.heightForWidth(400) == before


def test_one_line_of_code_that_never_ends_is_broken(qtbot: QtBot) -> None:
    view = CodeView()
    qtbot.addWidget(view)
    code = "x = 1; " * 2_000
    for length in range(0, len(code), 700):
        view.set_code(code[:length], "python")
    view.set_code(code, "python")
    assert view.text.document().blockCount() == 175
    assert view.text.toPlainText().replace("\n", "") == code == view.code


def test_no_sign_turns_the_direction_of_code(qtbot: QtBot) -> None:
    view = CodeView()
    qtbot.addWidget(view)
    view.set_code("if a: \u202e # b", "python")
    assert view.text.toPlainText() == "if a: ⟨U+202E⟩ # b"


def test_a_code_block_is_as_high_as_its_lines(qtbot: QtBot) -> None:
    view = CodeView()
    qtbot.addWidget(view)
    view.set_code("\n".join(f"line {number}" for number in range(200)), "text")
    view.resize(500, view.heightForWidth(500))
    with qtbot.waitExposed(view):
        view.show()
    view.resize(500, view.heightForWidth(500))
    assert view.text.verticalScrollBar().maximum() == 0


def test_the_colours_of_a_long_line_end_where_few_look(qtbot: QtBot) -> None:
    view = CodeView()
    qtbot.addWidget(view)
    view.set_code("[" + "1234567, " * 40 + "0]", "json")

    def last() -> int:
        return max((form.start for form in view.text.document().begin().layout().formats()), default=0)

    qtbot.waitUntil(lambda: last() > 0)
    assert COLUMNS - 10 < last() < COLUMNS


def test_a_label_is_never_html(qtbot: QtBot) -> None:
    view = CodeView()
    qtbot.addWidget(view)
    view.set_code("x", "<h1>hi")
    (label,) = view.findChildren(QLabel)
    assert label.text() == "<h1>hi"
    assert label.textFormat() == Qt.TextFormat.PlainText


def test_the_word_copied_has_room(qtbot: QtBot) -> None:
    view = CodeView()
    qtbot.addWidget(view)
    view.set_code("x", "text")
    view.resize(400, view.heightForWidth(400))
    view.show()
    button = next(each for each in view.findChildren(QPushButton) if each.text() == "Copy")
    button.click()
    assert button.text() == "Copied"
    qtbot.waitUntil(lambda: button.width() >= button.sizeHint().width())
    assert button.mapTo(view, QPoint(button.width(), 0)).x() < view.width()


def test_the_header_stays_in_view_while_its_code_scrolls(qtbot: QtBot) -> None:
    page = QWidget()
    view = CodeView(page)
    view.set_code(LONG, "text")
    view.setGeometry(0, 100, 400, view.heightForWidth(400))
    page.resize(400, view.height() + 1_000)
    area = QScrollArea()
    qtbot.addWidget(area)
    area.setWidget(page)
    area.resize(420, 300)
    area.show()
    (label,) = view.findChildren(QLabel)

    def top() -> int:
        return label.mapTo(area.viewport(), QPoint()).y()

    assert top() >= 100
    area.verticalScrollBar().setValue(1_000)
    assert 0 <= top() < view.fontMetrics().height()
    area.verticalScrollBar().setValue(100 + view.height())
    assert top() < 0


def test_the_choice_to_wrap_lines_is_remembered(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CodeText, "wraps", False)
    for expected in (True, False):
        view = CodeView()
        qtbot.addWidget(view)
        view.set_code("word " * 70, "text")
        view.resize(400, view.heightForWidth(400))
        next(each for each in view.findChildren(QPushButton) if each.isCheckable()).click()
        later = CodeView()
        qtbot.addWidget(later)
        assert later.text.wrapped is expected
