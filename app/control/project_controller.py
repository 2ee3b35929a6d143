"""Projects: the dialog of what the chats of a folder begin with, new chats in it, and files that have changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog

from app.attachments.fitting import room_for_files
from app.control.chat_list_controller import ChatListController
from app.control.model_controller import ModelController
from app.control.project_files import ProjectFiles, Reading
from app.dialogs.project_dialog import Offered, ProjectDialog
from app.look.sheet import HasDialog, OneDialog
from app.settings.settings import Settings
from app.state.collections import Collections
from app.state.conversation import Conversation
from app.state.engine_queue import EngineQueue
from app.state.open_chats import OpenChats
from app.state.projects import Project
from app.store.project_store import ProjectFile
from app.window import Window
from app.words import UiText, mark, tr, tr_n
from common.failures import Failure
from common.paths import path_of
from engine.protocol.events import Counted
from engine.protocol.settings import Value
from models.titles import title_of

TOPIC = "project"
NO_FOLDER = mark("This chat is in no folder. A project is a folder: move the chat to one first.")
TOO_LARGE = mark(
    "Each chat would begin with {tokens:,} tokens, but the model has a context of {n_ctx:,}, answers included. Remove "
    "files, or have a folder searched instead: then the model reads only what helps with a question."
)


class ProjectController(QObject, HasDialog[ProjectDialog]):
    """Controller of the commands `project` and `new_project_chat`, and of a folder's menu."""

    def __init__(  # noqa: PLR0913
        self,
        window: Window,
        open_chats: OpenChats,
        engine: EngineQueue,
        chat_list: ChatListController,
        collections: Collections,
        models: ModelController,
        settings: Settings,
    ) -> None:
        super().__init__(window)
        self._window, self._open_chats, self._engine, self._list = window, open_chats, engine, chat_list
        self._collections, self._models, self._settings = collections, models, settings
        self._projects = open_chats.projects
        self.files = ProjectFiles(self._projects, self)
        self._dialog = OneDialog[ProjectDialog]()
        self._folder_id = ""  # of the project that the dialog shows
        self._removed: list[ProjectFile] = []
        self._changed: dict[str, list[ProjectFile]] = {}  # files that have changed since they were read, by folder
        self._connect()

    def close(self) -> None:
        self.files.close()

    # --- commands -----------------------------------------------------------------------------------------------------

    def open_current(self) -> None:
        """Open the dialog of the open chat's project."""
        project = self._open_chats.current.project
        if project.id:
            self.open(project.id)
        else:
            self._window.notice.post(lambda: tr(NO_FOLDER))

    def open(self, folder_id: str) -> None:
        self._folder_id, self._removed = folder_id, []
        dialog = self._dialog.show(lambda: ProjectDialog(self._window), self._connect_dialog)
        dialog.show_note("", can_undo=False)
        self._show()
        self._look(self._project)

    def new_chat(self, folder_id: str) -> None:
        """Open an empty chat in the folder; say that there is none if it is ""."""
        if not folder_id:
            self._window.notice.post(lambda: tr(NO_FOLDER))
            return
        self._list.do(lambda: self._open_chats.new_in(folder_id), lambda _chat: self._window.composer.setFocus())

    def read_again(self, folder_id: str) -> None:
        """Read the files of a project again that have changed; its chats begin with the new ones from now on."""
        self.files.add(folder_id, [path_of(file.path) for file in self._changed.pop(folder_id, [])])

    # --- the dialog ---------------------------------------------------------------------------------------------------

    @property
    def _project(self) -> Project:
        return self._projects.of_folder(self._folder_id)

    def _show(self) -> None:
        """Show the project as it is now; close the dialog of one whose folder is gone."""
        dialog = self.dialog
        if dialog is None:
            return
        if not any(folder.id == self._folder_id for folder in self._open_chats.folders()):
            dialog.close()
            return
        collections = tuple((each.id, each.name) for each in self._collections.all())
        models = tuple((str(path), title_of(path)) for path in self._models.on_disk.paths)
        usual = self._settings.inherited(self._engine.state.path)
        dialog.show_project(self._project, usual, Offered(collections, models))
        dialog.show_changed(len(self._changed.get(self._folder_id, ())))
        self._count()

    def _count(self) -> None:
        """Count the tokens of the beginning, and say whether they fit into the context."""
        dialog, project, model = self.dialog, self._project, self._engine.state.model
        if dialog is None or not project.beginning:
            if dialog is not None:
                dialog.show_fit("", fits=True)
            return
        if model is None:
            dialog.show_fit(lambda: tr("Its size is counted when a model is loaded."), fits=True)
            return

        def counted(event: Counted | None) -> None:
            if event is None or self.dialog is None or project is not self._project:
                return
            tokens, n_ctx = event.texts[0], model.n_ctx
            fits = not n_ctx or tokens <= room_for_files(n_ctx, 0)
            words = mark("Each chat begins with {tokens:,} tokens; the model has a context of {n_ctx:,}.")
            self.dialog.show_fit(lambda: tr(words if fits else TOO_LARGE, tokens=tokens, n_ctx=n_ctx), fits)

        self._engine.idle.count((project.beginning,), self._open_chats.current, counted)

    def _change(self, **values: str) -> None:
        self._guarded(lambda: self._open_chats.change_folder(self._folder_id, **values))

    def _change_option(self, name: str, value: Value | None) -> None:
        self._change(options=self._project.options.changed(name, value).to_json())

    def _switch(self, collection_id: str, on: bool) -> None:
        others = [each for each in self._project.collections if each != collection_id]
        self._change(collections="\n".join([*others, collection_id] if on else others))

    def _choose_model(self, path: str) -> None:
        self._change(model=title_of(path_of(path)) if path else "", model_path=path)

    def _ask_for_files(self) -> None:
        mode, folder_id = QFileDialog.FileMode.ExistingFiles, self._folder_id
        dialog = self._window.files.ask("attach", tr("Add files to the project"), mode=mode, parent=self.dialog)
        dialog.filesSelected.connect(lambda names: self.add_files(folder_id, map(Path, names)))

    def add_files(self, folder_id: str, paths: Iterable[Path]) -> None:
        """Read files and add them to a project."""
        self._guarded(lambda: self.files.add(folder_id, list(paths)))

    def _ask_for_folder(self) -> None:
        title, mode = tr("Choose a folder with documents"), QFileDialog.FileMode.Directory
        dialog = self._window.files.ask("collection", title, mode=mode, parent=self.dialog)
        dialog.fileSelected.connect(lambda name: self._guarded(lambda: self._add_folder(Path(name))))

    def _add_folder(self, folder: Path) -> None:
        """Make a collection of a folder, and search it for the project's chats."""
        self._switch(self._collections.add(folder).id, True)

    def _remove(self, ids: list[str]) -> None:
        def remove() -> None:
            self._removed = self._projects.drop_files(self._folder_id, ids)
            n = len(self._removed)
            self._note(lambda: tr_n("{n} file was removed.", "{n} files were removed.", n), can_undo=True)

        self._guarded(remove)

    def _undo(self) -> None:
        def put_back() -> None:
            self._projects.put_files(self._folder_id, self._removed)
            self._removed = []  # only now: what could not be stored can be put back later
            self._note("")

        self._guarded(put_back)

    def _note(self, words: UiText, can_undo: bool = False, problem: UiText = "") -> None:
        if self.dialog is not None:
            self.dialog.show_note(words, can_undo, problem)

    def _guarded(self, work: Callable[[], object]) -> None:
        try:
            work()
        except Failure as failure:
            if self.dialog is not None:
                self._note("", can_undo=bool(self._removed), problem=failure.sentence)
            else:
                self._window.notice.post_failure(failure, TOPIC)

    # --- files --------------------------------------------------------------------------------------------------------

    def _progressed(self, reading: Reading) -> None:
        if reading.folder_id == self._folder_id:
            words = mark("{done} of {all} files have been read…")
            self._note(lambda: tr(words, done=reading.done, all=len(reading.paths)))

    def _ended(self, reading: Reading, failure: Failure | None) -> None:
        problems = [*reading.problems, *([str(failure.sentence)] if failure else [])]
        if self.dialog is not None and reading.folder_id == self._folder_id:
            self._note("", problem="\n".join(problems))
        elif problems:
            self._window.notice.post("\n".join(problems), kind="problem", topic=TOPIC)
        self._look(self._projects.of_folder(reading.folder_id))

    def _look(self, project: Project) -> None:
        """Look whether files of the project have changed."""
        if project.files:
            self.files.find_changed(project.files, partial(self._found, project.id))

    def _found(self, folder_id: str, changed: list[ProjectFile]) -> None:
        self._changed[folder_id] = changed
        current, n = self._open_chats.current, len(changed)

        def words() -> str:
            name = self._projects.of_folder(folder_id).name
            return tr_n(
                "{n} file of “{name}” has changed since it was read.",
                "{n} files of “{name}” have changed since they were read.",
                n,
                name=name,
            )

        if changed and current.project.id == folder_id:
            again = partial(self.read_again, folder_id)
            holds = partial(self._has_changed, folder_id)
            self._window.notice.post(
                words, lambda: tr("Read again"), again, topic=TOPIC, chat=current.chat.id, holds=holds
            )
        self._window.notice.check()
        if self.dialog is not None and folder_id == self._folder_id:
            self.dialog.show_changed(n)
            if changed:
                self._note(words)

    def _has_changed(self, folder_id: str) -> bool:
        return bool(self._changed.get(folder_id))

    # --- inside -------------------------------------------------------------------------------------------------------

    def _connect(self) -> None:
        chats, commands = self._open_chats, self._window.commands
        commands.bind("project", self.open_current)
        commands.bind("new_project_chat", lambda: self.new_chat(chats.current.project.id))
        for name in ("project", "new_project_chat"):
            commands.allow(name, lambda: bool(chats.current.project.id))
        self._window.sidebar.list.action_requested.connect(self._do_action)
        chats.current_changed.connect(self._chat_opened)
        application = QGuiApplication.instance()
        assert isinstance(application, QGuiApplication)
        application.applicationStateChanged.connect(self._state_changed)
        self._projects.changed.connect(lambda _folder_id: self._show())
        self._collections.changed.connect(self._show)
        self._models.on_disk.changed.connect(self._show)
        self._engine.state.phase_changed.connect(lambda _state: self._count())
        self.files.progressed.connect(self._progressed)
        self.files.ended.connect(self._ended)

    def _connect_dialog(self, dialog: ProjectDialog) -> None:
        dialog.option_changed.connect(self._change_option)
        dialog.add_requested.connect(self._ask_for_files)
        dialog.remove_requested.connect(self._remove)
        dialog.read_again_requested.connect(lambda: self.read_again(self._folder_id))
        dialog.undo_requested.connect(self._undo)
        dialog.folder_requested.connect(self._ask_for_folder)
        dialog.collection_switched.connect(self._switch)
        dialog.model_chosen.connect(self._choose_model)
        self._models.on_disk.scan()

    def _chat_opened(self, conversation: Conversation) -> None:
        self._look(conversation.project)

    def _state_changed(self, state: Qt.ApplicationState) -> None:
        """Look for changed files when the user comes back from another program."""
        if state == Qt.ApplicationState.ApplicationActive:
            self._look(self._open_chats.current.project)

    def _do_action(self, what: str, ids: list[str], _value: object) -> None:
        if what == "project":
            self._guarded(lambda: self.open(ids[0]))
        elif what == "new_chat_in":
            self.new_chat(ids[0])
