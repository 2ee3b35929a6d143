"""Window of the guide."""

from __future__ import annotations

import re
from dataclasses import asdict
from string import Template

from PySide6.QtWidgets import QTextBrowser, QWidget

from app.look.sheet import Button, Sheet
from app.look.theme import SIZES, body_font, theme
from app.markdown.html import BREAK, render_html
from app.words import mark, tr
from models.assets import document

STYLE = Template("""pre, code { background-color: $code; white-space: pre-wrap; }
table { border: 1px solid $line; border-collapse: collapse; }
td, th { padding: ${gap}px; text-align: left; }""")


class Guide(Sheet):
    """Window of the guide, which comes with the program."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("sheet")
        self.text = QTextBrowser(self)
        self.text.setOpenExternalLinks(True)
        self.close_button = Button(self, mark("Close"), self.accept)
        self.lay_out(self.text, (None, self.close_button))
        self.apply_look()
        self.text.setFocus()

    def retranslate(self) -> None:
        self.setWindowTitle(tr("Using Chickadee"))
        self.text.setAccessibleName(tr("Using Chickadee"))

    def restyle(self) -> None:
        super().restyle()
        self.text.document().setDefaultFont(body_font())
        self.text.document().setDefaultStyleSheet(STYLE.substitute(asdict(theme()), gap=SIZES.gap))
        self.text.setHtml(guide_page())


def guide_page() -> str:
    """Return the guide as HTML, without its pictures and without links to other pages, which are not installed."""
    text = re.sub(r"^!\[.*\n", "", document("guide.md").read_text(encoding="utf-8"), flags=re.M)
    return render_html(text).replace(BREAK, "\n")  # the lines of the file break where an editor's do
