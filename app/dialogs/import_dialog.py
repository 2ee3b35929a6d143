"""The dialog that shows which chats other programs have on this computer, and imports those that are checked."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTreeView, QWidget

from app.dialogs.import_tree import DATE, MESSAGES, TITLE, ImportTree
from app.look.sheet import Button, Sheet, label
from app.look.theme import theme
from app.store.importing import Choice, Preview
from app.store.readers.neutral import PROGRAMS
from app.words import OR, current_text, listed, mark, tr, tr_n
from common.failures import Failure

MOST_PROBLEMS = 3  # sentences shown; more would push the list away


def hint_words() -> str:
    """Return the sentence about the programs whose chats are found, and those whose exports can be chosen."""
    return tr(
        "Chickadee looks for chats of {programs}. For an export of {exporting}, choose the file. The originals stay "
        "unchanged.",
        programs=listed([program.name for program in PROGRAMS.values() if program.kept]),
        exporting=listed([program.name for program in PROGRAMS.values() if program.exports], OR),
    )


class ImportDialog(Sheet):
    """Dialog of the chats that can be imported.

    Signals: `file_requested` nothing; `import_requested` the list of Choices.
    """

    file_requested = Signal()
    import_requested = Signal(list)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.hint, self.state, self.problem = (label(name, self) for name in ("settingHelp", "verdict", "problem"))
        self.model = ImportTree()
        self.tree = QTreeView(self)
        self.tree.setObjectName("importTree")
        self.tree.setModel(self.model)
        self.tree.setUniformRowHeights(True)
        self.tree.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.tree.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.file_button = Button(self, mark("Choose a file…"), self.file_requested.emit)
        self.cancel_button = Button(self, mark("Cancel"), self.reject)
        self.import_button = Button(self, work=self._import)
        self.import_button.setProperty("kind", "begin")
        self._looking, self._so_far = True, 0
        self._problems: list[Failure] = []
        self.model.checked_changed.connect(self._update)
        self._layout()
        self.apply_look()

    def show_preview(self, preview: Preview, chosen: bool) -> None:
        """Add what a place or file contains; the chats of a file that was `chosen` are checked."""
        self.model.remove(preview.source.path)
        self._problems += [problem for problem in preview.problems if problem not in self._problems]
        if chosen:
            self._problems = list(preview.problems)
        if preview.chats:
            index = self.model.add(preview, checked=chosen)
            if chosen or len(self.model.previews) == 1:
                self.tree.setCurrentIndex(index)
                self.tree.scrollTo(index)
            if chosen:
                self.tree.expand(index)
        self._update()

    def show_looking(self, looking: bool, so_far: int = 0) -> None:
        """Show that places or a file are being read, with the number of chats found in the present one."""
        self._looking, self._so_far = looking, so_far
        self._update()

    def retranslate(self) -> None:
        self.setWindowTitle(tr("Import chats"))
        self.hint.setText(hint_words())
        self.tree.setAccessibleName(tr("Chats to import"))
        self.model.retranslate()
        self._update()

    def restyle(self) -> None:
        super().restyle()
        palette = self.tree.palette()
        palette.setColor(QPalette.ColorRole.Window, QColor(theme().soft))  # Fusion makes the boxes' frames from it
        self.tree.setPalette(palette)
        header = self.tree.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(TITLE, QHeaderView.ResizeMode.Stretch)
        for column in (DATE, MESSAGES):  # no wider than their texts, so that large text leaves room for the titles
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)

    def _update(self) -> None:
        """Show the state, the problems, and what the button would import."""
        count = self.model.checked_count
        self.import_button.setText(tr_n("Import {n} chat", "Import {n} chats", count) if count else tr("Import"))
        self.import_button.setEnabled(count > 0)
        if self._looking:
            words = tr("Looking for chats… {n:,} so far", n=self._so_far) if self._so_far else tr("Looking for chats…")
        elif not self.model.previews:
            words = tr("No chats of other programs were found. Choose a file that you have exported.")
        else:
            words = tr("Select the programs or chats to import. Importing again makes no duplicates.")
        self.state.setText(words)
        sentences = [current_text(problem.sentence) for problem in self._problems[:MOST_PROBLEMS]]
        more = len(self._problems) - len(sentences)
        sentences += [tr_n("{n} more file cannot be read.", "{n} more files cannot be read.", more)] if more else []
        self.problem.say("\n".join(sentences))

    def _import(self) -> None:
        choices: Sequence[Choice] = self.model.choices()
        self.accept()
        self.import_requested.emit(list(choices))

    def _layout(self) -> None:
        buttons = (self.file_button, None, self.cancel_button, self.import_button)
        self.lay_out(self.hint, self.tree, self.problem, self.state, buttons)
