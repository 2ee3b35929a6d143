"""Two lines below settings: what the model comes to as it is loaded with them. Thin over `plan_words`."""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.look.theme import SIZES
from app.plan_words import parts_words, tone_of, verdict_words
from app.settings_view.page import label
from common.planning import Verdict


class PlanLine(QWidget):
    """`show_verdict` with None: it is being worked out. `name`: the model's, where it is not clear."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.verdict, self.parts = label("verdict", self), label("settingHelp", self)
        self._shown: tuple[Verdict | None, str] = None, ""
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(SIZES.gap_s)
        layout.addWidget(self.verdict)
        layout.addWidget(self.parts)

    def show_verdict(self, verdict: Verdict | None, name: str = "") -> None:
        self._shown = verdict, name
        words = verdict_words(verdict)
        self.verdict.setText(f"{name}: {words}" if name else words)
        self.verdict.setProperty("tone", tone_of(verdict))
        self.verdict.style().unpolish(self.verdict)
        self.verdict.style().polish(self.verdict)
        self.parts.setText(parts_words(verdict) if verdict else "")
        self.parts.setVisible(bool(self.parts.text()))

    def retranslate(self) -> None:
        self.show_verdict(*self._shown)
