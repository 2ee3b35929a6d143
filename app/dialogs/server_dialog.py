"""The dialog that connects to a server: address, key, a test that says what is there, and which models to list."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QCheckBox, QGridLayout, QLabel, QLineEdit, QWidget

from app.dialogs.dialog import Page, heading
from app.look.sheet import Button, Sheet, discard, has_words, label
from app.look.theme import SIZES, theme
from app.services.key_storage import KeyPlace
from app.settings.servers import SavedServer
from app.words import UiText, mark, tr, tr_n
from common.failures import Failure
from engine.protocol.events import ServedModel
from models.servers import base_url, host_of, is_open
from models.titles import name_on_server

ALL_CHOSEN = 20  # models up to which all are listed unless the user says otherwise
EXAMPLE = "http://gpu.lan:8000/v1"
ABOUT = mark(
    "Any server with OpenAI's API: vLLM, SGLang, llama-server, Ollama, LM Studio, LiteLLM, or a hosted one. In each "
    "chat you are asked before the first message is sent there."
)
OPEN = mark("Not encrypted: others in the network can read your messages. Use https:// if you can.")
PLACES = {
    "keyring": mark("saved in the system's keyring"),
    "file": mark("saved in a file that only you can read"),
    "": mark("if the server requires one"),
}


@dataclass(frozen=True, slots=True)
class Entered:
    """The user's input. `key`: None if the saved one stays, "" if it is to be deleted."""

    url: str
    name: str
    key: str | None
    models: tuple[str, ...]


class ServerDialog(Sheet):
    """Dialog of one server: a new one if `server` is None.

    Signals: `test_requested` carries an address and a key (None: the saved one); `saved` an Entered; `remove_requested`
    nothing.
    """

    test_requested = Signal(str, object)
    saved = Signal(object)
    remove_requested = Signal()

    def __init__(self, server: SavedServer | None, parent: QWidget) -> None:
        super().__init__(parent)
        self.server = server
        self.about, self.warning, self.outcome, self.problem = (
            label(name, self) for name in ("settingHelp", "verdict", "verdict", "problem")
        )
        self.address, self.name, self.key = (QLineEdit(self) for _ in range(3))
        self.key.setEchoMode(QLineEdit.EchoMode.Password)
        self.titles = [QLabel(self) for _ in range(3)]
        for title, line in zip(self.titles, (self.address, self.key, self.name), strict=True):
            title.setObjectName("settingTitle")
            title.setBuddy(line)
        self.test_button = Button(self, work=self._test)
        self.delete_key_button = Button(self, mark("Delete key"), self._delete_key)
        self.models_title = heading(self)
        self.filter = QLineEdit(self)
        self.filter.setClearButtonEnabled(True)
        self.models = Page(self)
        self.boxes: dict[str, QCheckBox] = {}
        self.remove_button = Button(self, mark("Remove server"), self.remove_requested.emit)
        self.cancel_button = Button(self, mark("Cancel"), self.reject)
        self.save_button = Button(self, mark("Save"), self._save)
        self._key_deleted = False
        self._testing = False
        self._tested: str | None = server.url if server else None  # the address whose models are shown
        self._layout()
        self._fill()
        self._connect()
        self.apply_look()
        self.address.setFocus()

    # --- what is shown ----------------------------------------------------------------------------------------------

    def show_testing(self) -> None:
        self._testing = True
        self._show_result("", "")
        self._update()

    def show_models(self, url: str, software: str, models: Iterable[ServedModel]) -> None:
        """Show what the test has found: the address that worked, the server's program, and its models."""
        listed = list(models)
        chosen = set(self.chosen) if self._tested == url else set()
        self._testing, self._tested = False, url
        self.address.setText(url)
        names = [model.name for model in listed]
        if not chosen & set(names):
            chosen = set(names if len(names) <= ALL_CHOSEN else ())
        self._show_boxes({model.name: model.n_ctx for model in listed}, chosen)

        def sentence() -> str:
            count = tr_n("It has {n} model.", "It has {n} models.", len(names))
            what = tr("This is {software}.", software=software) if software else tr("The server answers.")
            return tr("{first} {second}", first=what, second=count)

        self._show_result(sentence, "")
        self._update()

    def show_problem(self, sentence: UiText) -> None:
        """Show why the test or saving failed."""
        self._testing = False
        self._show_result("", sentence)
        self._update()

    @property
    def chosen(self) -> tuple[str, ...]:
        """Names of the models that are to be listed."""
        return tuple(name for name, box in self.boxes.items() if box.isChecked())

    def retranslate(self) -> None:
        self.setWindowTitle(tr("Edit server") if self.server else tr("Connect to a server"))
        self.about.setText(tr(ABOUT))
        for title, words in zip(self.titles, (tr("Address"), tr("Key"), tr("Name")), strict=True):
            title.setText(words)
        self.address.setPlaceholderText(EXAMPLE)
        self.name.setPlaceholderText(tr("for example: Office"))
        for line, title in zip((self.address, self.key, self.name), self.titles, strict=True):
            line.setAccessibleName(title.text())
        self.models_title.setText(tr("Models to list"))
        self.filter.setPlaceholderText(tr("Find a model"))
        self.filter.setAccessibleName(tr("Find a model"))
        self._update()

    def restyle(self) -> None:
        self._frame_boxes()
        super().restyle()

    # --- inside -----------------------------------------------------------------------------------------------------

    def _show_result(self, result: UiText, problem: UiText) -> None:
        self.outcome.say(result)
        self.problem.say(problem)

    def _update(self) -> None:
        """Show what follows from the address that is typed, and which buttons can be pressed."""
        url = self._url()
        saved_key = self._saved_key(url)
        self.key.setPlaceholderText(tr(PLACES[saved_key]))
        self.delete_key_button.setVisible(bool(saved_key))
        self.warning.setText(tr(OPEN))
        self.warning.setVisible(bool(url) and is_open(url))
        self.test_button.setText(tr("Testing…") if self._testing else tr("Test"))
        self.test_button.setEnabled(bool(url) and not self._testing)
        self.save_button.setEnabled(bool(self.chosen) and url == self._tested and not self._testing)
        self.remove_button.setVisible(self.server is not None)
        shown = bool(self.boxes) and url == self._tested
        for part in (self.models_title, self.models):
            part.setVisible(shown)
        self.filter.setVisible(shown and len(self.boxes) > ALL_CHOSEN)

    def _show_boxes(self, models: dict[str, int], chosen: set[str]) -> None:
        for box in self.boxes.values():
            self.models.column.removeWidget(box)
            discard(box)
        self.boxes = {}
        for name, n_ctx in models.items():
            box = self.boxes[name] = QCheckBox(self.models.rows)
            context = f" · {tr('{n:,} tokens of context', n=n_ctx)}" if n_ctx else ""
            box.setText(f"{name_on_server(name)}{context}".replace("&", "&&"))
            box.setChecked(name in chosen)
            box.toggled.connect(self._update)
            self.models.add(box)
        self._frame_boxes()
        self._filter(self.filter.text())

    def _frame_boxes(self) -> None:
        """Give the boxes a frame that can be seen on a dark ground: Fusion makes it from the window's colour."""
        for box in self.boxes.values():
            palette = box.palette()
            palette.setColor(QPalette.ColorRole.Window, QColor(theme().soft))
            box.setPalette(palette)

    def _filter(self, words: str) -> None:
        for name, box in self.boxes.items():
            box.setVisible(has_words(words, name))

    def _url(self) -> str:
        """Return the typed address in its full form; "" while it is none."""
        try:
            return base_url(self.address.text())
        except Failure:
            return ""

    def _entered_key(self) -> str | None:
        return self.key.text().strip() or (None if self._saved_key(self._url()) else "")

    def _saved_key(self, url: str) -> KeyPlace:
        """Return where the key is that stays; a saved key never goes to another host than that it was entered for."""
        server = self.server
        kept = server is not None and not self._key_deleted and bool(url) and host_of(url) == server.host
        return server.key if server and kept else ""

    def _test(self) -> None:
        if self.test_button.isEnabled():
            self.test_requested.emit(self._url(), self._entered_key())

    def _save(self) -> None:
        self.saved.emit(Entered(self._url(), " ".join(self.name.text().split()), self._entered_key(), self.chosen))

    def _delete_key(self) -> None:
        self._key_deleted = True
        self.key.clear()
        self._update()
        self.key.setFocus()

    def _fill(self) -> None:
        server = self.server
        if server is not None:
            self.address.setText(server.url)
            self.name.setText(server.name)
            self._show_boxes(dict.fromkeys(server.models, 0), set(server.models))

    def _connect(self) -> None:
        for line in (self.address, self.key):
            line.textEdited.connect(self._typed)
            line.returnPressed.connect(self._test)
        self.filter.textChanged.connect(self._filter)

    def _typed(self, _text: str) -> None:
        self._show_result("", "")
        self._update()

    def _layout(self) -> None:
        grid = QGridLayout()
        grid.setContentsMargins(SIZES.gap_xl, 0, SIZES.gap_xl, 0)
        grid.setHorizontalSpacing(SIZES.gap_m)
        grid.setVerticalSpacing(SIZES.gap)
        rows = ((self.address, self.test_button), (self.key, self.delete_key_button), (self.name, None))
        for row, ((line, beside), title) in enumerate(zip(rows, self.titles, strict=True)):
            grid.addWidget(title, row, 0, Qt.AlignmentFlag.AlignVCenter)
            grid.addWidget(line, row, 1, 1, 1 if beside else 2)
            if beside:
                grid.addWidget(beside, row, 2)
        grid.setColumnStretch(1, 1)
        self.warning.setProperty("tone", "tight")
        results = (self.warning, self.outcome, self.problem)
        below = (self.remove_button, None, self.cancel_button, self.save_button)
        self.lay_out(self.about, grid, *results, (self.models_title, self.filter), self.models, below)
