"""The local API in the window: starts and ends its process as the settings say, and lets it use the engine."""

from __future__ import annotations

import secrets

from PySide6.QtCore import QObject

from app.control.settings_controller import SettingsController
from app.dialogs.api_page import SHOWN_REQUESTS, ApiPage
from app.dialogs.settings_dialog import SettingsDialog
from app.services.api_front import ApiFront
from app.services.timers import Debounce
from app.state.engine_queue import EngineQueue
from app.words import UiText, tr, worded
from common.failures import Failure
from common.process_end import ProcessEnd
from engine.protocol.front import Configure, Refused, Served, Serving

SECTION = "api"
HOSTS = {"computer": "127.0.0.1", "network": "0.0.0.0"}  # asked for by the user, and with a key only
REPAINT_MS = 100  # many short requests would lay out the page anew for each


class ApiController(QObject):
    """Controller of the local API, and of its part of the settings dialog."""

    def __init__(self, settings: SettingsController, engine: EngineQueue) -> None:
        super().__init__(settings)
        self._controller, self._settings, self._engine = settings, settings.settings, engine
        self._page: ApiPage | None = None
        self._address, self._problem = "", False
        self._state: UiText = ""
        self._listens: Configure | None = None  # the first options of the process
        self._running: dict[int, Served] = {}
        self._ended: list[Served] = []
        self._paint = Debounce(self._show_requests, REPAINT_MS, self)
        self.front = ApiFront(self)
        self.front.requested.connect(engine.submit_guest)
        self.front.told.connect(self._hear)
        self.front.ended.connect(self._front_ended)
        settings.opened.connect(self._add_page)
        settings.settings.changed.connect(self.apply)
        engine.state.phase_changed.connect(lambda _state: self._configure())

    def open(self) -> None:
        """Open the settings dialog at the local API."""
        self._controller.open().show_section(SECTION)

    def apply(self) -> None:
        """Start, change or end the API's process, as the settings say now."""
        options = self._options()
        if self._settings.values["api.enabled"] != "on":
            self._end(lambda: tr("The local API is off."))
        elif self._listens is None or not self._listens_at(options):
            self._end(lambda: tr("The local API is starting…"))
            self._start(options)
        else:
            self._configure()
        self._show()

    def close(self) -> None:
        self._end("")

    # --- the process --------------------------------------------------------------------------------------------------

    def _options(self) -> Configure:
        values, state = self._settings.values, self._engine.state
        default = self._settings.options(state.path).generate
        host, port = HOSTS[str(values["api.reach"])], int(values["api.port"])
        store = values["api.store"] == "on"
        return Configure(host, port, str(values["api.key"]), default, state.model, store)

    def _listens_at(self, options: Configure) -> bool:
        """Return whether the process listens there; a key that is removed may forbid what it listens to."""
        before = self._listens
        return before is not None and (before.host, before.port, bool(before.key)) == (
            options.host, options.port, bool(options.key)
        )  # fmt: skip

    def _start(self, options: Configure) -> None:
        self._listens = options
        self._engine.guests.heard = self.front.send
        self.front.start(options)

    def _configure(self) -> None:
        if self._listens is not None:
            self.front.configure(self._options())

    def _end(self, state: UiText) -> None:
        self._listens, self._address, self._problem, self._state = None, "", False, state
        self._running.clear()
        if self.front.running:
            self._engine.guests.drop_all()
            self.front.close()

    def _hear(self, news: object) -> None:
        match news:
            case Serving():
                self._address, self._problem = news.address, False
                self._state = lambda: tr("Programs that speak OpenAI's or Anthropic's API can ask the loaded model.")
                self._show()
            case Refused():
                self._problem, self._state = True, news.sentence
                self._show()
            case Served():
                self._note(news)

    def _note(self, served: Served) -> None:
        """Note that a request began or ended."""
        if served.status:
            self._running.pop(served.number, None)
            self._ended = [served, *self._ended][:SHOWN_REQUESTS]
        else:
            self._running[served.number] = served
        self._paint.request()

    def _front_ended(self, _end: ProcessEnd) -> None:
        self._engine.guests.drop_all()
        self._address = ""
        self._running.clear()
        if not self._problem:  # the process has not said itself why it ends
            self._problem, self._state = True, lambda: tr("The local API has stopped. Turn it off and on again.")
        self._show()

    # --- the page -----------------------------------------------------------------------------------------------------

    def _add_page(self, dialog: SettingsDialog) -> None:
        self._page = page = ApiPage(dialog)
        page.new_key_requested.connect(lambda: self._set_key(f"sk-{secrets.token_urlsafe(24)}"))
        page.key_removed.connect(lambda: self._set_key(""))
        dialog.add_to_section(SECTION, page)
        dialog.finished.connect(self._page_closed)
        self._show()
        self._show_requests()

    def _page_closed(self) -> None:
        self._page = None

    def _set_key(self, key: str) -> None:
        try:
            self._settings.change({"api.key": key}) if key else self._settings.reset(["api.key"])
        except Failure as failure:
            sentence = failure.sentence
            self._problem, self._state = True, lambda: worded(sentence)
        self._show()

    def _show(self) -> None:
        if self._page is not None:
            self._page.show_state(self._address, self._state, self._problem)
            self._page.show_key(str(self._settings.values["api.key"]))

    def _show_requests(self) -> None:
        if self._page is not None:
            self._page.show_requests([*reversed(self._running.values()), *self._ended][:SHOWN_REQUESTS])
