"""The collections' dialog, and the switch beside the message that chooses which of them the open chat uses."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog, QMenu

from app.attachments.attachment import sentence
from app.collections.messages import Surveyed
from app.control.indexing_controller import IndexingController
from app.control.retriever import TOPIC, Retriever
from app.dialogs.collections_dialog import CollectionRow, CollectionsDialog
from app.look.menus import open_above
from app.look.sheet import HasDialog, OneDialog
from app.state.collections import Collections
from app.state.conversation import Conversation
from app.state.open_chats import OpenChats
from app.window import Window
from app.words import mark, tr, tr_n
from common.failures import Failure

MADE_ANEW = mark(
    "The index of your collections was damaged and is being rebuilt. Until then, answers may miss some of your "
    "documents."
)
UNSAVED_COLLECTIONS = "unsaved collections"  # topic of problems with storing them
MOST_NAMED = 20  # files that cannot be read, in the dialog's note


class CollectionsController(QObject, HasDialog[CollectionsDialog]):
    """Controller of the commands `collections` and `use_collections`."""

    def __init__(
        self,
        window: Window,
        open_chats: OpenChats,
        collections: Collections,
        indexing: IndexingController,
        retriever: Retriever,
    ) -> None:
        super().__init__(window)
        self._window, self._open_chats, self._collections = window, open_chats, collections
        self._indexing, self._retriever = indexing, retriever
        self._dialog = OneDialog[CollectionsDialog](collections.forget_removed)
        self._removed = ""  # id of the collection that was removed last
        window.commands.bind("collections", self.open)
        window.commands.bind("use_collections", self.choose)
        open_chats.follow_current(self._show_used, open_chats.entry_changed)
        collections.changed.connect(self._changed)
        collections.progress_changed.connect(self._show_rows)
        indexing.damaged.connect(self._index_damaged)
        retriever.damaged.connect(self._index_anew)
        self._show_used()

    def close(self) -> None:
        self._indexing.close()
        self._retriever.close()

    def stop_processes(self) -> None:
        """End the two processes because the index's files are about to be deleted; it is made again soon."""
        self._retriever.search.stop()
        self._indexing.restart()

    def _index_anew(self) -> None:
        self._indexing.index_anew()
        self._index_damaged()

    def _index_damaged(self) -> None:
        self._retriever.search.stop()
        self._collections.forget_progress()
        self._window.notice.post(
            lambda: tr(MADE_ANEW), kind="problem", topic=TOPIC, holds=lambda: not self._collections.indexed
        )

    # --- the switch beside the message --------------------------------------------------------------------------------

    def choose(self) -> None:
        """Open the menu of collections at the button; without any, the dialog that makes them."""
        collections = self._collections.all()
        if not collections:
            self.open()
            return
        open_above(self.menu(), self._window.composer.collections_button)

    def menu(self) -> QMenu:
        """Return the menu: a switch for each collection, and the dialog."""
        conversation = self._open_chats.current
        used = self._collections.used_by(conversation)
        menu = QMenu(self._window)
        menu.aboutToHide.connect(menu.deleteLater)
        for each in self._collections.all():
            action = menu.addAction(each.name.replace("&", "&&"))
            action.setCheckable(True)
            action.setChecked(each in used)
            action.setEnabled(each.id not in conversation.project.collections)  # the project's dialog switches it
            action.toggled.connect(partial(self._switch, conversation, each.id))
        menu.addSeparator()
        menu.addAction(self._window.commands.actions["collections"])
        return menu

    def _switch(self, conversation: Conversation, collection_id: str, on: bool) -> None:
        self._collections.switch(conversation, collection_id, on)
        self._window.composer.setFocus()

    def _show_used(self) -> None:
        names = [each.name for each in self._collections.used_by(self._open_chats.current)]
        self._window.composer.collections_button.show_used(names)

    # --- the dialog ---------------------------------------------------------------------------------------------------

    def open(self) -> None:
        self._dialog.show(lambda: CollectionsDialog(self._window), self._connect)

    def _connect(self, dialog: CollectionsDialog) -> None:
        dialog.folder_requested.connect(lambda: self._ask_for_folder(""))
        dialog.action_requested.connect(self._do)
        dialog.undo_requested.connect(self._undo)
        self._show_rows()

    def offer(self, folder: Path) -> None:
        """Offer to make a collection of a folder that the user dropped on the window."""
        self._window.notice.post(
            lambda: tr("“{name}” is a folder. Its documents can be searched for each question.", name=folder.name),
            lambda: tr("Make a collection"),
            lambda: self.add(folder),
            topic=TOPIC,
            holds=lambda: not any(str(folder) in each.folders for each in self._collections.all()),
        )

    def add(self, folder: Path) -> None:
        """Make a collection of a folder, index it, and use it in the open chat."""
        self._guarded(lambda: self._add(folder))

    def _add(self, folder: Path) -> None:
        collection = self._collections.add(folder)
        self._collections.switch(self._open_chats.current, collection.id, True)

        def words() -> str:
            return tr(
                "“{name}” is switched on in this chat. In other chats, switch it on beside the message box.",
                name=collection.name,
            )

        if self._dialog.open:
            self._dialog.open.show_note(words, undo=False)
        else:
            self._window.notice.post(words)

    def _ask_for_folder(self, collection_id: str) -> None:
        title, mode = tr("Choose a folder with documents"), QFileDialog.FileMode.Directory
        dialog = self._window.files.ask("collection", title, mode=mode, parent=self._dialog.open)
        dialog.fileSelected.connect(lambda name: self._folder_chosen(collection_id, Path(name)))

    def _folder_chosen(self, collection_id: str, folder: Path) -> None:
        if collection_id:
            self._guarded(lambda: self._collections.add_folder(collection_id, folder))
        else:
            self.add(folder)

    def _do(self, collection_id: str, action: str, value: str) -> None:
        collections = self._collections
        collection = next((each for each in collections.all() if each.id == collection_id), None)
        if collection is None:
            return
        work: dict[str, Callable[[], object]] = {
            "now": self._indexing.start_now,
            "add_folder": partial(self._ask_for_folder, collection_id),
            "unreadable": partial(self._retriever.search.survey, collection.folders, self._show_unreadable),
            "again": partial(self._indexing.index_again, collection.folders),
            "remove": partial(self._remove, collection_id),
            "remove_folder": partial(collections.remove_folder, collection_id, value),
            "rename": partial(collections.rename, collection_id, value),
            "pause": partial(collections.pause, collection_id, True),
            "resume": partial(collections.pause, collection_id, False),
        }
        self._guarded(work[action])

    def _remove(self, collection_id: str) -> None:
        removed = self._collections.remove(collection_id)
        self._removed = collection_id
        if self._dialog.open:
            self._dialog.open.show_note(
                lambda: tr("“{name}” was removed; its files are untouched.", name=removed.name), undo=True
            )
            self._dialog.open.undo_button.setFocus()

    def _undo(self) -> None:
        self._guarded(lambda: self._collections.restore(self._removed))
        if self._dialog.open:
            self._dialog.open.show_note("", undo=False)

    def _show_unreadable(self, surveyed: Surveyed | None) -> None:
        if surveyed is None or self._dialog.open is None:
            return
        unreadable = surveyed.unreadable

        def words() -> str:
            lines = [sentence(each.reason, Path(each.path).name, each.details) for each in unreadable[:MOST_NAMED]]
            more = len(unreadable) - len(lines)
            return "\n".join([*lines, tr_n("{n} more file", "{n} more files", more)] if more else lines)

        self._dialog.open.show_note(words, undo=False)

    def _changed(self) -> None:
        self._show_used()
        self._show_rows()

    def _show_rows(self) -> None:
        if self._dialog.open:
            state_of = self._collections.state_of
            self._dialog.open.show_rows([CollectionRow(each, state_of(each)) for each in self._collections.all()])

    def _guarded(self, work: Callable[[], object]) -> None:
        try:
            work()
        except Failure as failure:
            if self._dialog.open:
                self._dialog.open.show_note(failure.sentence, undo=False)
            else:
                self._window.notice.post_failure(failure, UNSAVED_COLLECTIONS)
        else:
            self._window.notice.solve(UNSAVED_COLLECTIONS)
