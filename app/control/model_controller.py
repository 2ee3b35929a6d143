"""The models: opens their dialogs, finds them, asks whether they fit, and loads, downloads, adds and removes them."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Hashable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.control.first_model_notice import FirstModelNotice
from app.control.model_files import LocalModels, ModelDownloads
from app.control.model_switch import ModelSwitch
from app.control.models_on_disk import ModelsOnDisk
from app.control.server_controller import ServerController
from app.control.server_keys import ServerKeys
from app.dialogs.model_list import ModelList
from app.dialogs.model_options import ModelOptions
from app.dialogs.models_dialog import ModelsDialog
from app.file_dialogs import Mode
from app.look.sheet import HasDialog, OneDialog
from app.model_fit import PlanEffects, writing_speed
from app.services.planner import Planner, question
from app.services.timers import Throttle
from app.settings.servers import SavedServer
from app.settings.settings import Settings
from app.state.engine_queue import EngineQueue
from app.state.engine_state import EngineState
from app.state.first_model import FirstModel
from app.state.open_chats import OpenChats
from app.window import Window
from app.words import UiText, tr, tr_n
from common.byte_sizes import show_bytes
from common.failures import Failure
from common.files import is_file, is_folder
from common.paths import path_of, path_text
from common.planning import Ask, Verdict
from models.added_paths import AddedPaths
from models.catalogue import CatalogueEntry, catalogue
from models.catalogue_update import CatalogueUpdate
from models.collection import LocalModel
from models.licences import licence_name
from models.locations import own_folder, usual_folder
from models.network import offline_reason
from models.servers import remote_model
from models.titles import title_of

log = logging.getLogger(__name__)
SHOWN_EVERY_MS = 100
ASKED_FROM = 10**9  # bytes; smaller downloads begin at once
FREED_PARTS = ("weights_repacked", "weights_read", "vocabulary")  # plan's parts that unloading surely frees


class ModelController(QObject, HasDialog[ModelsDialog]):
    """Controller of the models; downloaded models are kept in a folder beside the file of `settings`.

    `listed` is emitted when `list` has changed; `failed` carries a Failure that no open dialog shows.
    """

    listed = Signal()
    failed = Signal(object)

    def __init__(
        self,
        window: Window,
        settings: Settings,
        engine: EngineQueue,
        open_chats: OpenChats,
        keys: ServerKeys,
        first: FirstModel,
    ) -> None:
        super().__init__(window)
        self.list = ModelList()
        self.planner = Planner(self)
        self._window, self._settings, self._engine, self._store = window, settings, engine, open_chats.store
        self.switch = ModelSwitch(window.notice, open_chats, engine, self)
        self._dialog = OneDialog[ModelsDialog](self._dialog_closed)
        self._options: OneDialog[ModelOptions] = OneDialog(lambda: self._effects.forget())
        self._effects = PlanEffects(self.planner, self)
        self._options_question: Ask | None = None  # the question about the model whose options are open
        self.first = first
        FirstModelNotice(first, window.notice, self.open, self.use)
        self._freed_bytes = 0
        self._remembered: Path | None = None  # the model that was stored last as a recent one
        self._own_folder = partial(own_folder, settings.path)
        self._folder_before = self._own_folder()
        self._added = AddedPaths(settings.path.with_name(AddedPaths().path.name))
        self.local = LocalModels(self, self._added, self._own_folder)
        self.on_disk = ModelsOnDisk(self, self._added, self._own_folder)
        self.servers = ServerController(settings, keys, self)
        self.downloads = ModelDownloads(self, self.list, settings.path, self._own_folder)
        self._show = Throttle(self._show_list, SHOWN_EVERY_MS, self)
        self._connect()

    def _connect(self) -> None:
        self.planner.answered.connect(self._verdict_arrived)
        self._effects.changed.connect(self._show_plan)
        self.downloads.changed.connect(self._list_changed)
        self.downloads.updated.connect(self._catalogue_updated)
        for part in (self.downloads, self.local):
            part.failed.connect(self._show_failure)
        self.local.changed.connect(self.scan)
        self.local.undo_offered.connect(self._offer_undo)
        self._settings.changed.connect(self._settings_changed)
        self.servers.changed.connect(self._server_changed)
        self.servers.noted.connect(self._show_note)
        self._window.status.chosen.connect(self.use)
        self._engine.active_changed.connect(self._remember_answering)

    # --- the model in use ---------------------------------------------------------------------------------------------

    def choose_model(self) -> None:
        """Let the user choose a model file, and load it."""
        path = self._engine.state.path
        start = str(path.parent) if path and remote_model(path) is None else ""
        dialog = self._window.files.ask("model", tr("Open model"), tr("Models (*.gguf);;All files (*)"), start=start)
        dialog.fileSelected.connect(self.use_model)

    def use_model(self, path: str) -> None:
        """Load the model at `path`, as `path_text` writes it."""
        self.use(path_of(path))

    def use(self, path: Path) -> None:
        """Load the model at `path`, once other chats are not being answered any more."""
        model = path if remote_model(path) else path.absolute()
        words = partial(tr, "{model} will be loaded after that.", model=title_of(model))
        self.switch.do(lambda: self._engine.model.use(model), words)

    def _unload(self) -> None:
        words = partial(tr, "The model will be unloaded after that.")
        self.switch.do(self._engine.model.unload, words)

    def _remember_answering(self) -> None:
        """Store a substitute as the most recent model once it answers; until then the next start tries the other."""
        path = self._engine.state.path
        if self._engine.active is not None and path is not None and path != self._remembered:
            self._remember(path)

    def _remember(self, path: Path) -> None:
        """Store the loaded model as the most recent one, and list the recent models in the status line."""
        self._remembered = path
        try:
            self._store.remember_model(path)
            self.list_recent()
        except Failure as failure:
            log.warning("%s", failure.log_text)

    def list_recent(self) -> None:
        """List the recent models in the status line. Raises Failure."""
        self.on_disk.recent = list(filter(self._is_known, self._store.recent_models()))
        self._window.status.show_models(self.on_disk.recent, self._words_about)

    def _words_about(self, path: Path) -> str:
        """Return a model's size and speed as far as they are known without waiting; of a server's model its host."""
        if remote := remote_model(path):
            return remote.host
        model = self.list.local_model(path)
        size = model.size if model else path.stat().st_size if is_file(path) else 0
        speed = writing_speed(self.list.verdicts.get(("here", path)))
        return " · ".join(filter(None, (show_bytes(size) if size else "", speed)))

    def _is_known(self, path: Path) -> bool:
        """Return whether a recent model may still be there: of servers, only those that were not removed are."""
        return remote_model(path) is None or self._settings.has_model(path)

    # --- opening and closing ----------------------------------------------------------------------------------------

    def open(self) -> None:
        """Show the models' dialog and scan for models."""
        self._dialog.show(self._create_dialog)
        self.scan()

    def connect_to_server(self) -> None:
        """Show the dialog of a new server over the models' dialog, which lists its models afterwards."""
        self.open()
        assert self.dialog is not None
        self.servers.open(self.dialog)

    def _create_dialog(self) -> ModelsDialog:
        self._load_catalogue()
        self.list.words, self.list.shown = "", {}
        self._list_servers()
        dialog = ModelsDialog(self.list, self._window)
        dialog.action_requested.connect(self.do_action)
        dialog.search_requested.connect(self.search)
        dialog.update_button.clicked.connect(self._check_catalogue)
        dialog.folder_button.clicked.connect(lambda: self._choose_to_add(dialog, tr("Add folder…"), Mode.Directory))
        dialog.file_button.clicked.connect(lambda: self._choose_to_add(dialog, tr("Add file…"), Mode.ExistingFile))
        dialog.server_button.clicked.connect(lambda: self.servers.open(dialog))
        return dialog

    def _choose_to_add(self, dialog: ModelsDialog, title: str, mode: Mode) -> None:
        """Let the user choose a folder to scan for models, or a model file, to be listed."""
        kinds = "" if mode == Mode.Directory else tr("Models (*.gguf)")
        self._window.files.ask("models", title, kinds, mode, parent=dialog).fileSelected.connect(self.local.add)

    def close(self) -> None:
        """Stop everything before the window closes; unfinished downloads are listed again at the next start."""
        self.first.close()
        self.servers.close()
        self.local.close()
        self._options.close()
        self.planner.close()
        self.downloads.close()
        self._dialog.close()

    def engine_changed(self, state: EngineState) -> None:
        """Note which model is loaded and how many bytes unloading it frees, and show that in the dialogs."""
        loaded = state.path if state.phase == "ready" else None
        if loaded and loaded != self._remembered and not self.first.is_substitute(loaded):
            self._remember(loaded)
        plan = state.model.plan if state.model else {}
        self._freed_bytes = sum(plan.get(name, 0) for name in FREED_PARTS)
        loading = state.path if state.phase in ("starting", "loading") else None
        if (loaded, loading) != (self.list.loaded, self.list.loading):
            self.list.loaded, self.list.loading = loaded, loading
            self._show.request()
        if self.options is not None:
            self.options.show_loaded(self.options.model.path == loaded)

    def _settings_changed(self) -> None:
        self.downloads.settings_changed()
        self._follow_folder()
        self._list_servers()
        if self._engine.state.host and offline_reason(self._settings.path):
            self._engine.model.unload()
        if self.options is not None:
            self._plan_options(self.options.model.path)

    def _follow_folder(self) -> None:
        """Look for models in the folder that the user has chosen, and still in the one that was chosen before."""
        before, self._folder_before = self._folder_before, self._own_folder()
        if before == self._folder_before:
            return
        if before.is_dir() and before != usual_folder(self._settings.path):
            self.local.add(path_text(before))
        self.scan()

    def _list_servers(self) -> None:
        """List the models of the servers in the settings, which the user may have changed by hand."""
        servers = tuple(self._settings.servers.values())
        if servers != self.list.servers:
            self.list.servers = servers
            self.list_recent()
            self._show.request()
        self.on_disk.remote = [path for server in servers for path in server.paths]

    def _server_changed(self, server: SavedServer) -> None:
        """Show a server that was stored or removed; connect again if its model is in use."""
        path = self._engine.state.path
        remote = remote_model(path)
        if path is not None and remote is not None and remote.url == server.url:
            if path in server.paths:
                self.use(path)
            else:
                self._engine.model.unload()
        self._list_servers()
        self.on_disk.changed.emit()

    def _show_note(self, text: UiText, step: UiText = "", work: Callable[[], object] | None = None) -> None:
        """Show a sentence, with a button labelled `step` that does `work`: in the dialog if it is open."""
        if self.dialog is not None:
            self.dialog.show_note(text, step, work)
        else:
            self._window.notice.post(text, step, work)

    def _dialog_closed(self) -> None:
        self.servers.close_dialog()
        self._options.close()  # its parent is the models' dialog
        self.local.finish_removal()

    def _load_catalogue(self) -> None:
        """Read the catalogue, and list the downloads that an earlier run left unfinished."""
        try:
            self.list.entries = catalogue()
        except Failure as failure:
            log.warning("%s", failure.log_text)
        self.downloads.list_unfinished()

    def judge(self) -> None:
        """Find the models on this computer and those of the catalogue, and ask of each whether it fits; see `list`."""
        self._load_catalogue()
        self.scan()

    # --- what is here -----------------------------------------------------------------------------------------------

    def scan(self) -> None:
        """Scan the known places for models in the background.

        The rows change when the scan is complete; it takes 0.1 s for each new file.
        """
        self.on_disk.scan(self._scanned)

    def _scanned(self, models: list[LocalModel]) -> None:
        removed = {("here", model.path) for model in self.list.local_models} - {
            ("here", model.path) for model in models
        }
        for key in removed:
            self.list.verdicts.pop(key, None)
        self.list.local_models = models
        self._show_list()
        self._ask_for_verdicts()

    def _ask_for_verdicts(self) -> None:
        for key, ask in self.list.questions().items():
            if ask.path:
                self.planner.ask(key, self.question(path_of(ask.path)))
            else:
                self.planner.ask(key, Ask(estimate=ask.estimate, freed_bytes=self._freed_bytes))

    def _verdict_arrived(self, key: Hashable, verdict: Verdict) -> None:
        if isinstance(key, tuple) and key[0] in ("here", "entry", "file"):
            self.list.verdicts[key] = verdict
            self._show.request()

    def plan_again(self) -> None:
        """Ask again whether the models fit, because llama.cpp can load some that could not be loaded before."""
        self.list.verdicts.clear()
        if self.dialog is not None:
            self._ask_for_verdicts()
        self._show.request()

    # --- what the user does -----------------------------------------------------------------------------------------

    def do_action(self, key: tuple[object, ...], action: str) -> None:
        """Do the action of the pressed button in the row `key`, and show a Failure in the dialog.

        Raises KeyError for an action that such rows do not have.
        """
        kinds: dict[object, Callable[[], None]] = {
            "here": lambda: self._act_on_local_model(self.list.local_model(Path(str(key[1]))), action),
            "remote": lambda: self._act_on_remote_model(Path(str(key[1])), action),
            "job": lambda: self._act_on_job(int(str(key[1])), action),
            "entry": lambda: self._download_entry(str(key[1])),
            "repo": lambda: self.downloads.show_files(str(key[1])),
            "file": lambda: self._download_file(str(key[2])),
        }
        work = kinds[key[0]]
        try:
            work()
        except Failure as failure:
            self._show_failure(failure)

    def download(self, id: str) -> None:
        """Download a model of the catalogue, also before the models' dialog was opened."""
        if not self.list.entries:
            self._load_catalogue()
        self.do_action(("entry", id), "download")

    def _download_entry(self, id: str) -> None:
        entry = next(entry for entry in self.list.entries if entry.id == id)
        self._ask_to_download(entry.title, entry.size, partial(self.downloads.download_entry, entry), entry)

    def _download_file(self, path: str) -> None:
        model = next(model for model in self.list.files if model.files[0].path == path)
        self._ask_to_download(model.name, model.size, partial(self.downloads.download_file, model))

    def _ask_to_download(
        self, title: str, size: int, download: Callable[[], object], entry: CatalogueEntry | None = None
    ) -> None:
        """Ask before gigabytes are downloaded, with size and free disk; and about a licence that has conditions."""
        note = entry.licence_note if entry is not None and self.dialog is not None else ""
        if (size < ASKED_FROM and not note) or offline_reason(self._settings.path):  # which the download says itself
            download()
            return
        folder = self._own_folder()  # which the first download makes
        free = shutil.disk_usage(next(filter(is_folder, (folder, *folder.parents)))).free

        def sentence() -> str:
            sizes = tr("{size} to download, {free} free on this disk.", size=show_bytes(size), free=show_bytes(free))
            licence = f"{licence_name(entry.licence)}. {tr(note)}" if entry is not None and note else ""
            return f"{title}: {' '.join(filter(None, (sizes, licence)))}"

        self._show_note(sentence, lambda: tr("Accept and download") if note else tr("Download"), download)

    def _act_on_local_model(self, model: LocalModel | None, action: str) -> None:
        if model is None:
            return
        actions: dict[str, Callable[[], None]] = {
            "load": lambda: self.use(model.path),
            "unload": self._unload,
            "options": lambda: self.open_options(model),
            "forget": lambda: self.local.forget_folder(model.location.path),
            "remove": lambda: self._remove(model),
        }
        actions[action]()

    def _remove(self, model: LocalModel) -> None:
        self.local.remove(model)
        if model.location.is_ours:  # its file was deleted
            self._store.forget_model(model.path)
            self.list_recent()

    def _act_on_remote_model(self, path: Path, action: str) -> None:
        remote = remote_model(path)
        actions: dict[str, Callable[[], None]] = {
            "use": lambda: self.use(path),
            "server": lambda: self.servers.open(self.dialog or self._window, remote.url if remote else ""),
        }
        actions[action]()

    def _act_on_job(self, id: int, action: str) -> None:
        job = next((job for job in self.list.jobs if job.id == id), None)
        if job is None:  # the job ended while its button was being pressed
            return
        if action == "load" and job.path:
            self.use(job.path)
        elif action == "hide":
            self.list.hidden.add(job.id)
            self._show_list()
        else:
            self.downloads.do_action(job, action)

    def search(self, words: str) -> None:
        """Search huggingface.co for `words`; the user agreed to connect by pressing the button."""
        if self.dialog is not None:
            self.dialog.show_note("")
            self.dialog.show_searching(True)
        self.downloads.search(words)

    def _list_changed(self, what: str) -> None:
        """Show what the downloads have changed in the list: `results`, `files`, `jobs` or `arrived`."""
        if what == "results" and self.dialog is not None:
            self.dialog.show_searching(False)
            if not self.list.results:
                self.dialog.show_note(lambda: tr("No results on huggingface.co"))
        elif what == "arrived":
            self.scan()
        self._show.request()
        if what == "files":  # the new rows have no verdicts yet
            self._ask_for_verdicts()

    def _check_catalogue(self) -> None:
        if self.dialog is not None:
            self.dialog.show_note(lambda: tr("Checking for new models…"))
        self.downloads.check_catalogue()

    def _catalogue_updated(self, update: CatalogueUpdate) -> None:
        """Show what a newer catalogue has brought."""
        added, changed = len(update.added), len(update.changed)
        if self.dialog is not None:
            if added or changed:
                self.dialog.show_note(lambda: tr_n("{n} model is new or has changed.", "{n} models are new or have "
                                                   "changed.", added + changed))  # fmt: skip
            else:
                self.dialog.show_note(lambda: tr("No new models since {date}.", date=update.date))
        self._show.request()
        self._ask_for_verdicts()

    def add(self, path: str) -> None:
        """Add a model file, or a folder to scan for models."""
        self.local.add(path)

    # --- one model's options ----------------------------------------------------------------------------------------

    @property
    def options(self) -> ModelOptions | None:
        """The dialog of one model's options while it is open, else None."""
        return self._options.open

    def open_options(self, model: LocalModel) -> None:
        """Open the model's options, and close those of another model."""
        self._options.close()
        drafters = self.list.drafters_for(model)
        dialog = self._options.show(lambda: ModelOptions(model, drafters, self._settings, self.dialog or self._window))
        dialog.load_button.clicked.connect(lambda: self.use(model.path))
        dialog.show_loaded(model.path == self.list.loaded)
        self._options_question = self.question(model.path)
        self._effects.ask(self._options_question)

    def question(self, path: Path) -> Ask:
        """Return the planner's question for the model at `path`, loaded as the settings and its own options say."""
        return question(path, self._settings.options(path).load, self._freed_bytes)

    def _plan_options(self, path: Path) -> None:
        """Plan the model again if its options or the settings of all models have changed."""
        ask = self.question(path)
        self._effects.ask(ask)
        if ask != self._options_question:
            self._options_question = ask
            self.list.verdicts.pop(("here", path), None)
            self.planner.ask(("here", path), ask)
            self._show.request()

    def _show_plan(self) -> None:
        if self.options is not None:
            self.options.show_plan(self._effects.verdict, self._effects.words)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _offer_undo(self, sentence: UiText, undo: Callable[[], None]) -> None:
        if self.dialog is not None:
            self.dialog.show_note(sentence, lambda: tr("Undo"), undo)

    def _show_failure(self, failure: Failure) -> None:
        log.warning("%s", failure.log_text)
        if self.dialog is not None:
            self.dialog.show_searching(False)
            self.dialog.show_note(failure.sentence)
        else:
            self.failed.emit(failure)

    def _show_list(self) -> None:
        if self.dialog is not None:
            self.dialog.show_models()
        self.listed.emit()
