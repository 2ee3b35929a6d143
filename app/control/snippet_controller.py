"""Prompt snippets: finds them while the user types, fills in their variables, and manages them in a dialog."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path

from PySide6.QtCore import QDate, QLocale, QObject
from PySide6.QtGui import QClipboard, QGuiApplication, QTextCursor
from PySide6.QtWidgets import QFileDialog, QWidget
from shiboken6 import isValid

from app.commands.palette import PaletteEntry, matching_entries
from app.composer.composer import LONG_TEXT, ComposerText
from app.composer.snippet_popup import SnippetPopup
from app.control.server_contents import ServerContents, ServerPrompt
from app.dialogs.snippet_dialog import SnippetDialog
from app.dialogs.snippet_form import SnippetForm
from app.file_dialogs import Mode
from app.look.sheet import HasDialog, OneDialog
from app.state.placeholders import Variable, fill, variables_of
from app.state.snippets import SHIPPED, Snippet, Snippets
from app.store.snippet_json import SnippetEntry
from app.window import Window
from app.words import UiText, mark, tr, tr_n
from common.failures import Failure

MANAGE = "manage"  # id of the entry that opens the dialog
EXPORT_NAME = "chickadee-snippets.json"
JSON = mark("Prompt snippets (*.json)")
DATE_FORMAT = mark("d MMMM yyyy")
NEW_NAME, NEW_TEXT = mark("New snippet"), "{{clipboard}}"


class SnippetController(QObject, HasDialog[SnippetDialog]):
    """Controller of the snippets in the file `path`, and of the prompts of MCP servers, which stand below them."""

    def __init__(self, window: Window, path: Path, contents: ServerContents) -> None:
        super().__init__(window)
        self._window, self._contents = window, contents
        self.snippets = Snippets(path)
        self._dialog = OneDialog[SnippetDialog]()
        self._form: OneDialog[SnippetForm] = OneDialog()
        self._before: tuple[SnippetEntry, ...] | None = None  # what "Undo" in the dialog returns to
        self._told = False  # that the file cannot be used
        self.popup = self.serve(window.composer.text, window.composer, window.ground)
        self.snippets.changed.connect(self._refill)
        window.commands.bind("snippets", self.open)

    @property
    def form(self) -> SnippetForm | None:
        """The form of a snippet's variables while it is open."""
        return self._form.open

    def serve(self, editor: ComposerText, anchor: QWidget, host: QWidget) -> SnippetPopup:
        """Offer snippets in this editor, in a list over `host` and above `anchor`."""
        popup = SnippetPopup(editor, anchor, host, self._find)
        popup.chosen.connect(lambda entry: self._choose(entry, editor))
        return popup

    # --- inserting --------------------------------------------------------------------------------------------------

    def _find(self, query: str) -> list[PaletteEntry]:
        """Return the snippets that match the query, and for an empty one an entry that opens the dialog."""
        self._tell_problem()
        entries = [
            PaletteEntry("snippet", str(place), snippet.name, " ".join(snippet.text.split())[:200])
            for place, snippet in enumerate(self.snippets.all())
        ]
        for asked in self._contents.prompts():
            note = " · ".join(filter(None, (asked.server.name, asked.prompt.description)))
            entries.append(PaletteEntry("snippet", asked.id, asked.prompt.title, note))
        if query.strip():
            return matching_entries(query, entries)
        return [*entries, PaletteEntry("snippet", MANAGE, tr("Manage prompt snippets…"))]

    def _choose(self, entry: PaletteEntry, editor: ComposerText) -> None:
        if entry.id == MANAGE:
            editor.clear()
            self.open()
        elif entry.id.isdecimal():
            self._insert(self.snippets.all()[int(entry.id)], editor)
        elif asked := next((each for each in self._contents.prompts() if each.id == entry.id), None):
            self._ask_server(asked, editor)

    def _insert(self, snippet: Snippet, editor: ComposerText) -> None:
        """Put the snippet into the editor; ask first for what is not known."""
        variables = variables_of(snippet.text)
        values = {each.name: value for each in variables if each.known and (value := self._value(each))}
        asked = [each for each in variables if each.name not in values]
        if not asked:
            self._put(snippet, values, editor)
            return
        self._show_form(snippet.name, asked, editor, lambda typed: self._put(snippet, values | typed, editor))

    def _show_form(
        self, name: str, asked: list[Variable], editor: ComposerText, use: Callable[[dict[str, str]], object]
    ) -> None:
        self._form.close()
        form = self._form.show(lambda: SnippetForm(name, asked, editor.window()))
        form.filled.connect(use)
        form.finished.connect(lambda _result: _focus(editor))

    def _ask_server(self, asked: ServerPrompt, editor: ComposerText) -> None:
        """Have the server fill in its prompt, after the user gave its arguments; what comes is a stranger's text."""
        editor.clear()
        document, title = editor.document(), asked.prompt.title

        def put(text: str) -> None:
            if not isValid(editor) or editor.document() is not document:
                words = mark("“{name}” was not inserted, because another chat is open.")
                self._window.notice.post(lambda: tr(words, name=title))
            elif len(text) > LONG_TEXT:
                editor.attached.emit(text)
            else:
                editor.textCursor().insertText(text)

        variables = [Variable(name) for name in asked.prompt.arguments]
        if variables:
            self._show_form(title, variables, editor, lambda values: self._contents.fill(asked, values, put))
        else:
            self._contents.fill(asked, {}, put)

    def _value(self, variable: Variable) -> str:
        match variable.name:
            case "date":
                return QLocale.c().toString(QDate.currentDate(), tr(DATE_FORMAT))
            case "time":
                return datetime.now().strftime("%H:%M")
            case "clipboard":
                return QGuiApplication.clipboard().text().strip()
            case _:
                return self._selected_text()

    def _selected_text(self) -> str:
        """Return the text selected in the chat, or in another program where the desktop hands that on."""
        clipboard = QGuiApplication.clipboard()
        selected = self._window.transcript.column.selected_text()
        if not selected and clipboard.supportsSelection() and not clipboard.ownsSelection():
            selected = clipboard.text(QClipboard.Mode.Selection)
        return selected.strip()

    def _put(self, snippet: Snippet, values: dict[str, str], editor: ComposerText) -> None:
        """Replace the editor's text in one step that Ctrl+Z takes back; long values become attached texts."""
        for name, value in values.items():
            if len(value) > LONG_TEXT:
                editor.attached.emit(value)
                values = values | {name: tr("(see the attached text)")}
        cursor = editor.textCursor()
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.insertText(fill(snippet.text, values))
        editor.setTextCursor(cursor)
        _focus(editor)

    # --- the dialog -------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Show the dialog of all snippets."""
        self._dialog.show(lambda: SnippetDialog(self._window), self._connect)

    def _connect(self, dialog: SnippetDialog) -> None:
        self._before = None
        dialog.edited.connect(lambda *edit: self._do(partial(self.snippets.change, *edit)))
        dialog.add_requested.connect(self._add)
        dialog.remove_requested.connect(self._remove)
        dialog.import_requested.connect(self._ask_import)
        dialog.export_requested.connect(self._ask_export)
        dialog.restore_requested.connect(lambda: self._do(self.snippets.restore_built_in))
        dialog.undo_requested.connect(self._undo)
        self._refill(0)
        problem = self.snippets.problem
        dialog.show_outcome("", problem=problem.sentence if problem else "")

    def import_file(self, path: str) -> None:
        """Add the snippets of a file, and say how many are new."""
        before = self.snippets.entries

        def work() -> None:
            count = self.snippets.import_file(Path(path))
            self._tell(
                lambda: (
                    tr_n("{n} snippet was imported.", "{n} snippets were imported.", count)
                    if count
                    else tr("All snippets of this file are here already.")
                ),
                before if count else None,
            )

        self._do(work)

    def export_file(self, path: str) -> None:
        """Write all snippets to a file."""
        target = Path(path if path.lower().endswith(".json") else f"{path}.json")

        def work() -> None:
            count = self.snippets.export_file(target)
            self._tell(lambda: tr_n("{n} snippet was exported.", "{n} snippets were exported.", count))

        self._do(work)

    def _add(self) -> None:
        def work() -> None:
            place = self.snippets.add(tr(NEW_NAME), NEW_TEXT)
            self._refill(place)
            if self.dialog:
                self.dialog.focus_name()

        self._do(work)

    def _remove(self, place: int) -> None:
        before = self.snippets.entries

        def work() -> None:
            gone = self.snippets.remove(place)
            self._tell(lambda: tr("“{name}” was deleted.", name=gone.name), before)

        self._do(work)

    def _undo(self) -> None:
        before = self._before
        if before is not None:
            self._do(lambda: self.snippets.put_back(before))

    def _ask_import(self) -> None:
        self._file_dialog(tr("Import prompt snippets")).fileSelected.connect(self.import_file)

    def _ask_export(self) -> None:
        dialog = self._file_dialog(tr("Export prompt snippets"), Mode.AnyFile, EXPORT_NAME)
        dialog.setDefaultSuffix("json")  # so that the dialog asks about the file that is replaced
        dialog.fileSelected.connect(self.export_file)

    def _file_dialog(self, title: str, mode: Mode = Mode.ExistingFile, name: str = "") -> QFileDialog:
        kinds = tr(JSON) + ";;" + tr("All files (*)")
        return self._window.files.ask("snippets", title, kinds, mode, name, self.dialog)

    def _refill(self, place: int | None = None) -> None:
        if self.dialog is not None:
            here = {entry.built_in for entry in self.snippets.entries}
            shown = self.dialog.list.currentRow() if place is None else place
            self.dialog.show_snippets(self.snippets.all, max(0, shown), not here.issuperset(SHIPPED))

    def _do(self, work: Callable[[], object]) -> None:
        """Do `work`; show in the dialog why it failed."""
        self._tell("")
        try:
            work()
        except ValueError as error:
            self._show_problem(str(error))
        except Failure as failure:
            self._show_problem(failure.sentence)

    def _tell(self, outcome: UiText, before: tuple[SnippetEntry, ...] | None = None) -> None:
        """Show an outcome; `before` are the entries that “Undo” brings back."""
        self._before = before
        if self.dialog is not None:
            self.dialog.show_outcome(outcome, can_undo=before is not None)

    def _show_problem(self, problem: UiText) -> None:
        if self.dialog is not None:
            self.dialog.show_outcome("", problem=problem)

    def _tell_problem(self) -> None:
        """Say once above the composer why the user's snippets are missing."""
        problem = self.snippets.problem
        if problem is not None and not self._told:
            self._told = True
            self._window.notice.post(
                problem.sentence, kind="problem", detail=problem.detail, holds=lambda: self.snippets.problem is not None
            )


def _focus(editor: ComposerText) -> None:
    """Let the user go on typing in the editor after a dialog was closed."""
    editor.activateWindow()
    editor.setFocus()
