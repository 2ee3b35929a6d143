"""Formulas in an answer: which texts are formulas, and how they are drawn, copied and read aloud."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QAccessible, QGuiApplication
from pytestqt.qtbot import QtBot

from app.look.theme import SIZES
from app.markdown.blocks import split
from app.markdown.inline import parse_inline
from app.markdown.math_object import OBJECT, format_spans
from app.markdown.prose_view import ProseView
from app.transcript.answer_view import AnswerView
from tests.app.conftest import SECONDS
from tests.app.event_loop import turn
from tests.app.markdown.prose import prose_of


def found(markdown: str) -> list[tuple[str, bool]]:
    paragraphs = [paragraph for block in split(markdown) for paragraph in block.paragraphs]
    cells = [cell for block in split(markdown) for row in block.rows for cell in row]
    texts = [*(paragraph.text for paragraph in paragraphs), *cells]
    formulas = [token.meta["formula"] for text in texts for token in parse_inline(text) if token.type == "formula"]
    return [(formula.tex, formula.display) for formula in formulas]


@pytest.mark.parametrize(
    ("markdown", "formulas"),
    [
        ("$x$, \\(y\\) and $$z$$", [("x", False), ("y", False), ("z", True)]),
        ("\\[\na+b\n\\]", [("a+b", True)]),
        ("> so\n> $$a\n> b$$", [("a\nb", True)]),
        ("$a\\$b$", [("a\\$b", False)]),
        ("$2 + 3$", [("2 + 3", False)]),
        ("| $|x|$ |", [("|x|", False)]),
        ("$5 and $10", []),
        ("it costs $20K or 30$ more", []),
        ("US$5 and CA$6$", []),
        ("$ x$ and $x $", []),
        ("\\$x\\$", []),
        ("`$x$` ``$`y`$`` `$z", []),
        ("see \\[1\\] and \\[a link\\]", []),
        ("$a\n\nb$", []),
        ("$$ $$ $$", []),
    ],
)
def test_what_is_a_formula(markdown: str, formulas: list[tuple[str, bool]]) -> None:
    assert found(markdown) == formulas


@given(st.text(alphabet="$x1()[]` \\", max_size=60))
def test_no_formula_takes_anything_with_it(text: str) -> None:
    pieces = [token.meta["formula"].source if token.meta else token.content for token in parse_inline(text)]
    assert "".join(pieces).count("x") == text.count("x")


def drawn(view: ProseView) -> list[tuple[int, int]]:
    return [(at, length) for at, length, format in format_spans(view.document()) if format.objectType() == OBJECT]


def test_formulas_are_drawn_and_copied_as_latex(qtbot: QtBot) -> None:
    view = ProseView()
    qtbot.addWidget(view)
    source = "One $a^2$ and\n\n$$\n\\frac{1}{2}\n$$\n\nbad $\\unknown$, `$c$` and [link](https://example.org/$d$)."
    view.set_block(prose_of(source))
    qtbot.waitUntil(lambda: len(drawn(view)) == 2, timeout=SECONDS)
    view.resize(400, view.heightForWidth(400))
    view.grab()
    view.selectAll()
    view.copy()
    copied = QGuiApplication.clipboard().text()
    assert copied == "One $a^2$ and\n$$\n\\frac{1}{2}\n$$\nbad $\\unknown$, $c$ and link."
    links = {format.anchorHref() for _, _, format in format_spans(view.document()) if format.isAnchor()}
    assert links == {"https://example.org/$d$"}


def test_a_screen_reader_gets_the_source(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QAccessible, "isActive", lambda: True)
    view = ProseView()
    qtbot.addWidget(view)
    view.set_block(prose_of("So $a^2$ it is."))
    qtbot.waitUntil(lambda: view.accessibleDescription() == "So $a^2$ it is.", timeout=SECONDS)


def test_a_formula_stands_on_the_line(qtbot: QtBot) -> None:
    view = ProseView()
    qtbot.addWidget(view)
    view.set_block(prose_of("$y$ $\\frac{a}{b}$"))
    qtbot.waitUntil(lambda: len(drawn(view)) == 2, timeout=SECONDS)
    view.heightForWidth(400)
    line = view.document().begin().layout().lineAt(0)
    assert 0 < line.descent() < SIZES.body
    assert line.ascent() > line.descent()


def test_a_wide_formula_fits_the_column(qtbot: QtBot) -> None:
    view = ProseView()
    qtbot.addWidget(view)
    view.set_block(prose_of("$$" + "+".join("x" * 80) + "$$"))
    qtbot.waitUntil(lambda: len(drawn(view)) == 1, timeout=SECONDS)
    view.heightForWidth(300)
    assert view.document().idealWidth() <= 300


def test_an_answer_with_formulas_streams(qtbot: QtBot) -> None:
    view = AnswerView()
    qtbot.addWidget(view)
    view.resize(500, 300)
    text = "Let $x$ be\n\n$$\nx^2\n$$\n\n1. a $\\alpha$\n2. b\n"
    view.start("")
    for at in range(0, len(text), 3):
        view.grow(text[at : at + 3])
        turn()
    view.finish()

    def all_drawn() -> bool:
        prose = [part for part in view.stacks[0].block_views if isinstance(part, ProseView)]
        return sum(len(drawn(part)) for part in prose) == 3

    qtbot.waitUntil(all_drawn, timeout=SECONDS)
