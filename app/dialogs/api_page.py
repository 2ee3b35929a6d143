"""The part of the settings about the local API that is no setting: address, key, and the requests of other programs."""

from __future__ import annotations

import time
from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.dialogs.dialog import Section
from app.look.sheet import Button, fill, has_words, label
from app.look.theme import SIZES
from app.words import UiText, current_text, mark, tr, worded
from common.units import exact_seconds
from engine.protocol.front import Served

SHOWN_REQUESTS = 8
MASK = "•" * 8
SHOWN_OF_KEY = 6  # first characters, by which a user recognises the key


class ApiPage(Section):
    """Section of the local API, with a button for a new key and one that removes it."""

    new_key_requested = Signal()
    key_removed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._address, self._key, self._problem = "", "", False
        self._state: UiText = ""
        self._requests: Sequence[Served] = ()
        self.address_title, self.key_title, self.requests_title = (label("settingTitle", self) for _ in range(3))
        self.address, self.state, self.key, self.key_help, self.requests = (
            label("settingHelp", self) for _ in range(5)
        )
        for selectable in (self.address, self.requests):
            selectable.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.copy_address = Button(
            self, mark("Copy address"), lambda: QGuiApplication.clipboard().setText(self.address.text())
        )
        self.new_key = Button(self, mark("New key"), self.new_key_requested.emit)
        self.copy_key = Button(self, mark("Copy key"), lambda: QGuiApplication.clipboard().setText(self._key))
        self.remove_key = Button(self, mark("Remove key"), self.key_removed.emit)
        self._layout()
        self.apply_look()

    def show_state(self, address: str, state: UiText, problem: bool) -> None:
        """Show where the API answers, "" if it does not, and a sentence about it, which may be a problem."""
        self._address, self._state, self._problem = address, state, problem
        self.retranslate()

    def show_key(self, key: str) -> None:
        self._key = key
        self.retranslate()

    def show_requests(self, requests: Sequence[Served]) -> None:
        """Show the latest requests, those under way first."""
        self._requests = requests
        self.retranslate()

    def retranslate(self) -> None:
        self.address_title.setText(tr("Address"))
        self.address.setText(f"{self._address}/v1" if self._address else "")
        self.address.setVisible(bool(self._address))
        self.state.setText(current_text(self._state))
        self.state.setObjectName("problem" if self._problem else "settingHelp")
        self.state.style().polish(self.state)
        self.copy_address.setEnabled(bool(self._address))
        self.key_title.setText(tr("Key"))
        self.key.setText(f"{self._key[:SHOWN_OF_KEY]}{MASK}" if self._key else tr("None"))
        self.key_help.setText(
            tr("Programs must send this key.")
            if self._key
            else tr("Without a key, every program on this computer can ask the model.")
        )
        self.copy_key.setEnabled(bool(self._key))
        self.remove_key.setEnabled(bool(self._key))
        self.requests_title.setText(tr("Requests"))
        self.requests.setText("\n".join(map(line_of, self._requests)) or tr("None yet"))

    def search(self, words: str, section: str) -> bool:
        titles = (self.address_title, self.key_title, self.key_help, self.requests_title)
        return has_words(words, " ".join((section, *(each.text() for each in titles))))

    def _layout(self) -> None:
        layout = fill(QVBoxLayout(self), gap=0)
        rows: tuple[tuple[QLabel, tuple[QLabel, ...], tuple[QPushButton, ...]], ...] = (
            (self.address_title, (self.address, self.state), (self.copy_address,)),
            (self.key_title, (self.key, self.key_help), (self.new_key, self.copy_key, self.remove_key)),
            (self.requests_title, (self.requests,), ()),
        )
        for title, lines, buttons in rows:
            frame = QFrame(self)
            frame.setObjectName("settingRow")
            words = fill(QVBoxLayout(), title, *lines, gap=SIZES.gap_s)
            beside = [(each, Qt.AlignmentFlag.AlignTop) for each in buttons]
            fill(QHBoxLayout(frame), (words, 1), *beside, gap=SIZES.gap, margins=(0, SIZES.gap_m, 0, SIZES.gap_m))
            layout.addWidget(frame)


def line_of(served: Served) -> str:
    """Return a request as one line: when, by whom, for what, and how it went; nothing of its contents."""
    clock = time.strftime("%H:%M:%S", time.localtime(served.begun))
    program = served.client.split(" ")[0] or tr("unknown program")
    parts = [clock, program, served.path.removeprefix("/v1")]
    if served.status:
        parts += [str(served.status), worded(exact_seconds(served.seconds))]
        if served.tokens or served.prompt_tokens:
            read, written = f"{served.prompt_tokens:,}", f"{served.tokens:,}"
            parts.append(tr("{read} tokens read, {written} written", read=read, written=written))
    else:
        parts.append(tr("in progress"))
    return " · ".join(parts)
