"""What an answer may look like, and what a hostile answer cannot do."""

from __future__ import annotations

import ctypes
import os
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import (
    QDesktopServices,
    QFontMetricsF,
    QGuiApplication,
    QImage,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextListFormat,
)  # fmt: skip
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from shiboken6 import delete

from app.look import theme
from app.look.live import send_look_change
from app.look.theme import DARK, LIGHT, SIZES
from app.markdown.block_stack import BlockStack
from app.markdown.blocks import STEP, Block
from app.markdown.code_view import CodeView
from app.markdown.document import MarkdownDocument, is_task, render
from app.markdown.guard import ask_about_link
from app.markdown.joined import BOXED, JOIN_LIMIT
from app.markdown.math_object import format_spans
from app.markdown.prose_view import ProseView
from app.markdown.selection import cursor_over
from app.notice import NoticeArea
from app.state.engine_state import EngineState
from app.store.chat import ChatMessage
from app.transcript.answer_view import AnswerView
from app.transcript.message_view import MessageView
from app.wiring import Chickadee
from tests.app.markdown.prose import prose_of

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src='file:///etc/passwd'>",
    "![x](file:///etc/passwd)",
    "![x](http://127.0.0.1:9/a.png)",
    "![x](data:image/png;base64,AAAA)",
    "[![x](http://127.0.0.1:9/a.png)](http://127.0.0.1:9/)",
    "<iframe src=http://127.0.0.1:9/></iframe>",
    "a ![](qrc:/x.png) b",
]


def shown(markdown: str) -> MarkdownDocument:
    document = MarkdownDocument()
    render(document, prose_of(markdown), LIGHT)
    return document


@pytest.mark.parametrize("markdown", HOSTILE)
def test_nothing_is_loaded(qtbot: QtBot, markdown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    view = ProseView()
    qtbot.addWidget(view)
    view.set_block(prose_of(markdown))
    view.resize(400, 200)
    with qtbot.waitExposed(view):
        view.show()
    view.grab()
    block = view.document().begin()
    while block.isValid():
        at = block.begin()
        while not at.atEnd():
            assert not at.fragment().charFormat().isImageFormat()
            at += 1
        block = block.next()


def test_html_is_shown_as_text(qapp: object) -> None:
    assert "<script>alert(1)</script>" in shown("a <script>alert(1)</script> b").toPlainText()
    assert "<think>" in shown("<think>hm</think> yes").toPlainText()


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("![a photo](x.png)", "[picture: a photo]\nx.png"),
        ("![](x.png) b", "[picture: picture] x.png b"),
        ("![*one* `two`](x.png)!", "[picture: one two] x.png!"),
        ("![a][ref] b\n\n[ref]: /etc/passwd", "[picture: a] /etc/passwd b"),
        (r"\![a](https://example.org)", "!a"),
        ("`![a](b)` wow![1]", "![a](b) wow![1]"),
        ("[![a](x.png)](https://example.org)", "[picture: a]"),
    ],
)
def test_an_image_is_named_not_shown(qapp: object, markdown: str, text: str) -> None:
    assert shown(markdown).toPlainText() == text


@pytest.mark.skipif(sys.platform != "linux", reason="who opens a file is asked of Linux")
@pytest.mark.parametrize(
    "image", ["![x]({})", "![x](file://{})", "![x]( <{}> 't')", "![x][a]\n\n[a]: {}", "\\\\![x]({})"]
)
def test_no_local_image_is_opened(qtbot: QtBot, tmp_path: Path, image: str) -> None:
    path = tmp_path / "a.png"
    picture = QImage(20, 20, QImage.Format.Format_RGB32)
    picture.fill(0)
    assert picture.save(str(path))
    opened = OpenedFiles(tmp_path)
    view = ProseView()
    qtbot.addWidget(view)
    view.set_block(prose_of(image.format(path)))
    view.grab()
    assert not opened.any()
    path.read_bytes()
    assert opened.any()  # the watch does notice an opened file


class OpenedFiles:
    """A watch on a folder, by inotify: `any` says whether one of its files was opened."""

    def __init__(self, folder: Path) -> None:
        libc = ctypes.CDLL(None)
        self._file = libc.inotify_init1(os.O_NONBLOCK)
        assert libc.inotify_add_watch(self._file, bytes(folder), 0x20) >= 0

    def any(self) -> bool:
        try:
            return bool(os.read(self._file, 4096))
        except BlockingIOError:
            return False


@pytest.mark.parametrize("sign", "\u202a\u202e\u2066\u2069")
def test_no_sign_turns_the_direction_of_the_text(qapp: object, sign: str) -> None:
    assert shown(f"a{sign}b").toPlainText() == f"a⟨U+{ord(sign):04X}⟩b"


@given(st.text(alphabet="ab|-#>*_`[]()!<&\n 1.~\\é🐦", max_size=80))
def test_any_text_can_be_shown(qapp: object, markdown: str) -> None:
    document = shown(markdown)
    document.setTextWidth(200)
    assert document.size().height() >= 0


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("javascript:alert(1)", "it is a program"),
        ("JavaScript:alert(1)", "it is a program"),
        ("file:///etc/passwd", "leads to a file on a computer"),
        ("data:text/html,<b>x</b>", "a disguised file"),
        ("smb://x/y", "does not lead to a web page"),
        ("vscode://x/y", "does not lead to a web page"),
        ("http:///nohost", "does not lead to a web page"),
        ("//x", "does not lead to a web page"),
        ("#there", "does not lead to a web page"),
        ("", "does not lead to a web page"),
    ],
)
def test_other_links_stay_closed(chickadee: Chickadee, address: str, sentence: str) -> None:
    chickadee.window.transcript.column.link_clicked.emit(address)
    assert sentence in chickadee.window.notice.text.text()
    assert "was not opened" in chickadee.window.notice.text.text()
    assert chickadee.window.notice.button.isHidden()


@given(st.text(alphabet="htps:/.@\\\u202eаa%0[]#? <>&\n", max_size=30))
def test_what_is_shown_is_what_would_be_opened(qapp: object, rest: str) -> None:
    notice = NoticeArea()
    ask_about_link(notice, "https:" + rest)
    said = notice.text.text()
    assert "\u202e" not in said
    assert "а" not in said or notice.button.isHidden()  # a Cyrillic letter that looks like a Latin one
    if not notice.button.isHidden():
        host = said.split("<b>")[1].split("</b>")[0]
        assert host.isascii()
        assert said.count(host) >= 2
    delete(notice)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "192.168.1.1", "[::1]", "printer.local", "router"])
def test_a_link_into_the_own_network_says_so(qtbot: QtBot, host: str) -> None:
    notice = NoticeArea()
    qtbot.addWidget(notice)
    ask_about_link(notice, f"http://{host}/admin")
    assert "your local network" in notice.text.text()
    ask_about_link(notice, "http://example.org/")
    assert "your local network" not in notice.text.text()


def test_a_web_link_opens_only_after_it_was_shown(
    chickadee: Chickadee, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[QUrl] = []

    def record(url: QUrl) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr(QDesktopServices, "openUrl", record)
    chickadee.window.transcript.column.link_clicked.emit("https://bank.org@exämple.org/a?b=<c>")
    assert opened == []
    assert (
        "opens <b>xn--exmple-cua.org</b> in your browser: https://bank.org@xn--exmple-cua.org/a?b=%3Cc%3E"
        in chickadee.window.notice.text.text()
    )
    chickadee.window.notice.button.click()
    assert len(opened) == 1


def test_the_pieces_of_a_long_question_stand_close_together(qtbot: QtBot) -> None:
    text = "\n".join(f"line {number}" for number in range(1_000))
    stack = BlockStack()
    qtbot.addWidget(stack)
    stack.resize(500, 500)
    stack.set_plain(text)
    qtbot.waitUntil(lambda: stack.filled)
    stack.resize(500, stack.heightForWidth(500))
    assert len(stack.block_views) > 3
    for above, below in pairwise(stack.block_views):
        assert below.y() == above.y() + above.height()


def test_letters_of_another_size_are_taken_everywhere(qtbot: QtBot, qapp: QApplication) -> None:
    user = ProseView()
    qtbot.addWidget(user)
    user.set_block(Block("plain", text="what I asked"))
    answer = AnswerView()
    qtbot.addWidget(answer)
    answer.set_text("<think>hm</think>\n\nprose\n\n```text\ncode\n```\n\n| a |\n|---|\n| b |\n")
    before = user.heightForWidth(500), answer.heightForWidth(500)
    try:
        theme.SIZES.scale(200)
        theme.apply(qapp, theme.theme())
        send_look_change()
        after = user.heightForWidth(500), answer.heightForWidth(500)
    finally:
        theme.SIZES.scale(100)
        theme.apply(qapp, theme.theme())
        send_look_change()
    assert (user.heightForWidth(500), answer.heightForWidth(500)) == before
    assert after[0] > 1.5 * before[0]
    assert after[1] > 1.5 * before[1]


def test_a_standing_without_a_model_has_a_name() -> None:
    from app.composer.status_line import detail_lines, model_name

    assert model_name(EngineState()) == "No model"
    assert detail_lines(EngineState()) == ["No model is loaded"]


def test_the_theme_follows_the_system(chickadee: Chickadee, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    chickadee.chats.drafts.send("look\n```python\nx = 1\n```\nend `code`")
    qtbot.waitUntil(lambda: not chickadee.open_chats.current.busy)
    other = DARK if theme.theme() is LIGHT else LIGHT
    before = theme.theme()
    for chosen in (other, before):
        monkeypatch.setattr(theme, "system_theme", lambda chosen=chosen: chosen)
        QGuiApplication.styleHints().colorSchemeChanged.emit(Qt.ColorScheme.Unknown)
        assert chickadee.window.palette().window().color().name() == chosen.paper
        assert chickadee.window.grab().toImage().pixelColor(500, 90).name() == chosen.paper


def blocks_of(document: QTextDocument) -> list[QTextBlock]:
    return [document.findBlockByNumber(number) for number in range(document.blockCount())]


def formats(document: QTextDocument) -> dict[str, QTextCharFormat]:
    """Return the format of each run of letters in one format."""
    runs = {}
    for position, length, format in format_spans(document):
        cursor = QTextCursor(document)
        cursor.setPosition(position)
        cursor.setPosition(position + length, QTextCursor.MoveMode.KeepAnchor)
        runs[cursor.selectedText()] = format
    return runs


def test_bullets_are_of_one_kind_and_numbers_have_room(qapp: object) -> None:
    document = shown("* a\n  * b\n- c\n+ d\n\n99. e\n100) f")
    lists = [block.textList().format() for block in blocks_of(document)]
    disc, decimal = QTextListFormat.Style.ListDisc, QTextListFormat.Style.ListDecimal
    assert [each.style() for each in lists] == [disc, disc, disc, disc, decimal, decimal]
    assert [(each.start(), each.numberSuffix()) for each in lists[4:]] == [(99, "."), (100, ")")]
    assert document.indentWidth() >= QFontMetricsF(document.defaultFont()).horizontalAdvance("100. ")


def test_single_line_breaks_are_kept(qapp: object) -> None:
    assert shown("Roses are red,\nViolets are blue,  \nsugar\\\nis<br>sweet").toPlainText() == (
        "Roses are red,\nViolets are blue,\nsugar\nis\nsweet"
    )


def test_headings_have_four_sizes(qapp: object) -> None:
    document = shown("".join(f"{'#' * level} h\n\n" for level in range(1, 5)) + "text")
    sizes = [format.intProperty(QTextFormat.Property.FontPixelSize.value) for _, _, format in format_spans(document)]
    assert sizes[:4] == sorted(set(sizes[:4]), reverse=True)
    assert sizes[3] > SIZES.body


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("H~2~O, x^2^, ==so==", "H2O, x2, so"),
        ("a<sub>1</sub> <SUP>2</SUP> <kbd>Ctrl</kbd> <b>bold</b>", "a1 2 Ctrl bold"),
        ("a <b>open, </sub> <kbd class='x'>k</kbd> <u>", "a <b>open, </sub> <kbd class='x'>k</kbd> <u>"),
        ("~5 and ~6, a^b, ^ ^, 3 == 3 == 3, ~/x~", "~5 and ~6, a^b, ^ ^, 3 == 3 == 3, ~/x~"),
        ("~~gone~~ and `<br>` `==`", "gone and <br> =="),
        ("<details>\n<summary>S **b**</summary>\nin\n</details>", "S b\nin"),
        ("note[^1]\n\n[^1]: Its *text*", "note¹\n\nIts text"),
        ("term\n: what it is", "term\nwhat it is"),
        ("see www.example.org.", "see www.example.org."),
    ],
)
def test_marks_within_a_line(qapp: object, markdown: str, text: str) -> None:
    assert shown(markdown).toPlainText() == text


def test_each_mark_has_its_format(qapp: object) -> None:
    document = shown("H~2~ x^3^ ==m== <kbd>k</kbd> `c` ~~s~~ <u>u</u> **b** *i* https://example.org/ z")
    runs = formats(document)
    alignments = QTextCharFormat.VerticalAlignment
    assert runs["2"].verticalAlignment() == alignments.AlignSubScript
    assert runs["3"].verticalAlignment() == alignments.AlignSuperScript
    assert runs["m"].background().color().name() == LIGHT.mark
    assert runs["k"].fontFixedPitch()
    assert runs["c"].fontFixedPitch()
    assert runs["s"].fontStrikeOut()
    assert runs["u"].fontUnderline()
    assert runs["b"].fontWeight() > 400
    assert runs["i"].fontItalic()
    assert runs["https://example.org/"].anchorHref() == "https://example.org/"


def test_a_paragraph_that_runs_from_right_to_left(qapp: object) -> None:
    document = shown("left\n\nمرحبا\n\n- عنصر")
    assert [block.textDirection() for block in blocks_of(document)] == [
        Qt.LayoutDirection.LeftToRight,
        Qt.LayoutDirection.RightToLeft,
        Qt.LayoutDirection.RightToLeft,
    ]


def test_a_quotation_has_a_bar(qtbot: QtBot) -> None:
    stack = BlockStack()
    qtbot.addWidget(stack)
    stack.resize(400, 400)
    stack.set_text("text\n\n> quoted\n>\n> ```\n> code\n> ```\n\nend")
    qtbot.waitUntil(lambda: stack.filled)
    quoted, code = stack.block_views[1:3]
    assert quoted.x() == code.x() == SIZES.gap_l
    picture = stack.grab().toImage()
    between = (quoted.geometry().bottom() + code.y()) // 2
    line = theme.theme().line
    assert [picture.pixelColor(1, y).name() == line for y in (quoted.y() + 2, between, code.y() + 9)] == [True] * 3
    assert picture.pixelColor(1, stack.block_views[3].y() + 5).name() != line


def test_code_in_a_question_is_code(qtbot: QtBot) -> None:
    question = ChatMessage("c", None, "user", "Why `x`, not *y*?\n\n```python\nx = 1\n```\n- so", stop_reason="end")
    view = MessageView(question)
    qtbot.addWidget(view)
    (stack,) = view.stacks
    first, code, last = stack.block_views
    assert isinstance(first, ProseView)
    assert isinstance(last, ProseView)
    assert isinstance(code, CodeView)
    assert first.toPlainText() == "Why x, not *y*?"
    assert formats(first.document())["x"].fontFixedPitch()
    assert (code.code, code.language) == ("x = 1", "python")
    assert last.toPlainText() == "- so"
    short = MessageView(ChatMessage("c", None, "user", "Is it `x`?", stop_reason="end"))
    qtbot.addWidget(short)
    assert isinstance(short.body, ProseView)
    assert formats(short.body.document())["x"].fontFixedPitch()


def test_tasks_have_boxes_apart_from_their_text(qtbot: QtBot) -> None:
    view = ProseView()
    qtbot.addWidget(view)
    view.set_block(prose_of("- [x] done\n- [ ] open\n  - [ ] below\n- plain\n\n1. [x] counted\n\nend"))
    view.resize(400, view.heightForWidth(400))
    blocks = [view.document().findBlockByNumber(number) for number in range(6)]
    assert [block.text() for block in blocks] == ["done", "open", "below", "plain", "☑ counted", "end"]
    assert [is_task(block) for block in blocks] == [True, True, True, False, False, False]
    assert [block.blockFormat().indent() for block in blocks[:3]] == [1, 1, 2]
    view.show()
    line = blocks[0].layout().lineAt(0)
    left, middle = line.naturalTextRect().left(), round(line.y() + line.ascent() / 2)
    colours = [view.grab().toImage().pixelColor(round(left) - at, middle).name() for at in range(1, SIZES.gap + 3)]
    assert theme.theme().accent in colours  # a box
    assert theme.theme().accent not in colours[: SIZES.gap - 2]  # the box does not touch the text


def test_boxes_of_tasks_stand_wherever_a_task_does(qapp: object) -> None:
    document = shown(
        "- plain\n  - [ ] open\n    - [x] done\n    - no task\n  - no task\n1. one\n   - [ ] below a number"
    )
    tasks = []
    block = document.begin()
    while block.isValid():
        if is_task(block):
            tasks.append(block.text())
        block = block.next()
    assert tasks == ["open", "done", "below a number"]


def test_what_belongs_to_a_list_item_stands_below_its_text(qtbot: QtBot) -> None:
    stack = BlockStack()
    qtbot.addWidget(stack)
    stack.resize(500, 500)
    stack.set_text("1. a\n   ```\n   x\n   ```\n   more\n   - b\n     ~~~\n     y\n     ~~~\n2. c")
    qtbot.waitUntil(lambda: stack.filled)
    assert [part.x() for part in stack.block_views] == [0, SIZES.indent, 0, 2 * SIZES.indent, 0]
    more = stack.block_views[2]
    assert isinstance(more, ProseView)
    assert [block.blockFormat().indent() for block in blocks_of(more.document())] == [1, 0]
    assert all(part.geometry().right() == 499 for part in stack.block_views)


def test_an_address_that_is_named_at_the_end_reaches_what_stands_above(qtbot: QtBot) -> None:
    stack = BlockStack()
    qtbot.addWidget(stack)
    stack.start("")
    for piece in ("See [it][x].\n\n", "words " * 200, "\n\nmore\n\n", "[x]: https://example.org/"):
        stack.grow(piece)
    stack.finish()
    qtbot.waitUntil(lambda: stack.filled)
    first = stack.block_views[0]
    assert isinstance(first, ProseView)
    assert first.document().find("it").charFormat().anchorHref() == "https://example.org/"


def test_finished_blocks_are_laid_out_again_only_until_enough_are_joined(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid_out: list[str] = []
    real = ProseView.set_block

    def noted(view: ProseView, block: Block) -> None:
        laid_out.append(block.source)
        real(view, block)

    monkeypatch.setattr(ProseView, "set_block", noted)
    stack = BlockStack()
    qtbot.addWidget(stack)
    stack.start("")
    text = "".join(f"Paragraph {number}.\n\n- item\n- other\n\n" for number in range(200))
    for at in range(0, len(text), 4):
        stack.grow(text[at : at + 4])
        stack._throttle.flush()
    joined = JOIN_LIMIT // STEP  # changes of a joined text
    assert all(sum(f"Paragraph {number}." in source for source in laid_out) <= joined + 2 for number in range(200))
    before, views = len(laid_out), stack.block_views[:5]
    stack.finish()
    assert stack.filled
    assert len(laid_out) <= before + 2
    assert stack.block_views[:5] == views


def test_a_selection_stays_while_its_text_grows(qtbot: QtBot) -> None:
    stack = BlockStack()
    qtbot.addWidget(stack)
    stack.start("One *two* three")
    (view,) = stack.block_views
    assert isinstance(view, ProseView)
    view.setTextCursor(cursor_over(view.document(), 4, 7))
    stack.grow(" four. " + "Five. " * 60 + "\n\n")
    stack.grow("six")
    stack.finish()
    assert view.textCursor().selectedText() == "two"
    assert view.toPlainText().endswith("six")


def test_a_text_is_in_the_same_place_before_and_after_it_is_joined(qtbot: QtBot) -> None:
    """Headings and lists must not move when their block is finished."""
    stack = BlockStack()
    qtbot.addWidget(stack)
    stack.resize(500, 100)
    stack.start("")
    text = "".join(f"Paragraph {number}.\n\n## Heading {number}.\n\n1. a\n2. b\n\n" for number in range(30))
    places: dict[str, set[int]] = {}
    for at in range(0, len(text), 10):
        stack.grow(text[at : at + 10])
        stack._throttle.flush()
        while not stack.filled:
            stack.lay_out()
        for view in stack.block_views:
            assert isinstance(view, ProseView)
            for block in blocks_of(view.document()):
                rect = view.document().documentLayout().blockBoundingRect(block)
                places.setdefault(block.text(), set()).add(round(view.y() + rect.top()))
    headings = [tops for text, tops in places.items() if text.startswith("Heading") and text.endswith(".")]
    assert len(headings) == 30
    assert all(max(tops) - min(tops) <= 1 for tops in headings)


def test_many_short_blocks_that_may_still_change_are_shown_to_their_end(qtbot: QtBot) -> None:
    """They are read anew in each step, and those that are shown already cost nothing again."""
    stack = BlockStack()
    qtbot.addWidget(stack)
    stack.start("a\n\n" * 80)
    qtbot.waitUntil(lambda: stack.filled)
    assert sum(isinstance(view, ProseView) and view.toPlainText().count("a") for view in stack.block_views) == 80


def test_many_blocks_at_once_are_shown_in_slices(qtbot: QtBot) -> None:
    """No turn of the event loop shows more than a few blocks, and small boxes are few."""
    stack = BlockStack()
    qtbot.addWidget(stack)
    stack.start("")
    stack.grow("```\na\n```\n" * 1_000 + "end")
    assert 0 < len(stack.block_views) < 10
    assert not stack.filled
    stack.finish()
    qtbot.waitUntil(lambda: stack.filled)
    assert [type(view).__name__ for view in stack.block_views].count("CodeView") == BOXED
    assert isinstance(last := stack.block_views[-1], ProseView)
    assert last.toPlainText().endswith("a\nend")
