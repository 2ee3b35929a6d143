"""Web pages: offers to read those whose links stand in the message, and reads one when the user presses."""

from __future__ import annotations

from PySide6.QtCore import QObject

from app.control.draft_controller import DraftController
from app.services.timers import Debounce
from app.settings.settings import Settings
from app.state.conversation import Conversation
from app.state.draft import MessageDraft
from app.state.open_chats import OpenChats
from app.state.web_links import offered_links
from app.window import Window
from app.words import tr
from models.network import offline_reason

SETTING = "window.read_pages"


class PageController(QObject):
    """Controller of the offers above the message. Nothing connects before the user presses one.

    No page is offered while connections are turned off.
    """

    def __init__(
        self, window: Window, open_chats: OpenChats, drafts: DraftController, settings: Settings, pause_ms: int
    ) -> None:
        super().__init__(window)
        self._composer, self._open_chats, self._drafts, self._settings = window.composer, open_chats, drafts, settings
        self._notice = window.notice
        self._declined: dict[str, set[str]] = {}  # addresses by the chats' ids
        self._pause = Debounce(self._offer, pause_ms, self)
        self._composer.text.textChanged.connect(self._pause.request)
        drafts.files.changed.connect(lambda _conversation, _message: self._offer())
        self._composer.offers.wanted.connect(self.read)
        self._composer.offers.declined.connect(self._decline)
        open_chats.current_changed.connect(lambda _conversation: self._offer())
        settings.changed.connect(self._offer)
        window.commands.bind("read_page", self.read_first)
        self._offer()

    def read_first(self) -> None:
        """Read the first page whose link stands in the message; say why if there is none."""
        draft = self._current.draft
        links = offered_links(draft.text, _read_links(draft), ()) if draft else ()
        if links:
            self.read(links[0])
        else:
            self._notice.post(lambda: tr("The message has no link to a web page that is not attached yet."))

    def read(self, address: str) -> None:
        """Fetch the page and attach its text to the message, unless connections are turned off."""
        if (reason := offline_reason(self._settings.path)) is not None:
            self._notice.post(reason, holds=lambda: offline_reason(self._settings.path) is not None)
            return
        self._drafts.files.attach_page(self._current, address)
        self._composer.setFocus()

    def _decline(self, address: str) -> None:
        self._declined.setdefault(self._current.chat.id, set()).add(address)
        self._offer()
        self._composer.setFocus()

    def _offer(self) -> None:
        """Offer the pages whose links stand in the message and are neither read nor declined."""
        self._pause.cancel()
        draft = self._current.draft
        links: tuple[str, ...] = ()
        if draft is not None and self._settings.values[SETTING] == "on":
            links = offered_links(draft.text, _read_links(draft), self._declined.get(self._current.chat.id, ()))
        if links and offline_reason(self._settings.path) is not None:
            links = ()
        self._composer.offers.offer(links)

    @property
    def _current(self) -> Conversation:
        return self._open_chats.current


def _read_links(draft: MessageDraft) -> list[str]:
    """Return the addresses of the web pages that are attached, or being read."""
    return [item.address for item in draft.items if item.address]
