"""The files of unsent messages: reads files, pictures, pasted texts and web pages, and says which were refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtGui import QImage

from app.attachments.attachment import Attachment, Refused, ScannedPages, sentence
from app.attachments.extraction import extracted
from app.attachments.pages import PageReader
from app.attachments.pictures import picture_of
from app.attachments.reader import FileReader, Outcome
from app.events import Event
from app.look.speech import announce
from app.notice import NoticeArea
from app.services.background import Background
from app.state.conversation import Conversation
from app.state.draft import DraftFile, Unsent
from app.state.draft_keeper import DraftKeeper
from app.state.engine_state import EngineState
from app.state.sight import USUAL_PIXELS, wanted_pixels, was_scaled
from app.words import UiText, current_text, mark, tr
from common.byte_sizes import show_bytes
from engine.protocol.events import Statistics
from models.added_paths import AddedPaths
from models.catalogue import CatalogueEntry
from models.collection import LocalModel
from models.seeing import smallest_in_catalogue, smallest_on_disk
from models.servers import host_of
from models.titles import title_of

MAX_FILES = 20  # files in one message
FILES = "files"  # topic of problems with the files of a message


class DraftFiles(QObject):
    """Reader of what is attached to the chats' drafts.

    `changed` is emitted when a message has other files, `refused` when one of its files could not be read. A notice
    about pictures offers a model that sees: `model_wanted` carries its path, `download_wanted` its id in the catalogue.

    A file belongs to its draft at once, so that it is not lost if the program ends before the file was read.
    """

    def __init__(self, drafts: DraftKeeper, state: EngineState, notice: NoticeArea, parent: QObject) -> None:
        super().__init__(parent)
        self.changed: Event[Conversation, Unsent] = Event()
        self.refused: Event[Unsent] = Event()
        self.model_wanted: Event[Path] = Event()
        self.download_wanted: Event[str] = Event()
        self._drafts, self._state, self._notice = drafts, state, notice
        self._reader, self._pages = FileReader(self), PageReader(self)
        self._background = Background(self)
        self._here: dict[DraftFile, Callable[[], None]] = {}  # being read by this process; what reads them at once
        self._encoded: Statistics | None = None  # of the last answer for which pictures were encoded
        # What was refused since the user attached something, and whether its cause still exists.
        self._refused: list[tuple[UiText, Callable[[], bool]]] = []
        drafts.loaded.connect(self._resume)
        state.numbers_changed.connect(self._remember_encoded)

    def close(self) -> None:
        """Read the rest of what is no file, because the next start could not read it again; end the other reading."""
        self._reader.close()
        self._pages.close()
        self._background.wait()
        for read in tuple(self._here.values()):
            read()

    # --- what is attached -------------------------------------------------------------------------------------------

    def attach(self, conversation: Conversation, paths: Iterable[Path]) -> None:
        """Read the files in the background, as many as the message can have."""
        self._refused = []
        paths = list(paths)
        room = MAX_FILES - len(self._drafts.draft_of(conversation).items)
        if len(paths) > room:
            words = mark("A message can have {most} files; the others were not attached.")
            self._refuse(conversation, lambda: tr(words, most=MAX_FILES), holds=lambda: self._is_full(conversation))
        for path in paths[: max(0, room)]:
            self._add(conversation, DraftFile(path.name, source=path))

    def attach_image(self, conversation: Conversation, image: QImage, name: str) -> None:
        """Attach a picture that is no file, such as one of the clipboard."""
        self._add(conversation, DraftFile(name, source=image))

    def attach_text(self, conversation: Conversation, text: str) -> DraftFile:
        """Attach a pasted text as a file, and return the file."""
        item = DraftFile(tr("Pasted text"), source=text)
        self._add(conversation, item)
        return item

    def attach_page(self, conversation: Conversation, address: str) -> None:
        """Attach the web page at `address`, which is connected to at once."""
        self._refused = []
        if self._has_room(conversation):
            host = host_of(address)
            self._add(conversation, DraftFile(host, link=address))
            announce(self._notice, tr("Reading the page at {host}…", host=host))

    def can_attach_picture(self, conversation: Conversation) -> bool:
        """Return whether the model sees and the message has room for a picture; if not, say why."""
        self._refused = []
        if not self._pixels():
            self._refuse_picture(conversation, lambda: tr("This model cannot see pictures."))
            return False
        return self._has_room(conversation)

    def toggle_detail(self, conversation: Conversation, item: DraftFile) -> None:
        """Read a picture again with all its detail, or as small as usual."""
        if message := self._drafts.draft_of(conversation).message_with(item):
            item.in_detail = not item.in_detail
            item.attachment = item.tokens = None
            self._read(conversation, item)
            self._note_change(conversation, message)

    def _resume(self, conversation: Conversation) -> None:
        """Read the files that were still being read when the program ended."""
        draft = self._drafts.draft_of(conversation)
        for message in (draft, draft.queued):
            for item in message.items:
                if item.attachment is None and isinstance(item.source, Path):
                    self._read(conversation, item, self._pixels() or USUAL_PIXELS)  # no model is loaded at the start

    def remove(self, conversation: Conversation, item: DraftFile) -> bool:
        """Remove the file from its message; return False if it is gone already."""
        message = self._drafts.draft_of(conversation).message_with(item)
        if message is None:
            return False
        message.drop(item)
        self._note_change(conversation, message)
        return True

    # --- reading ----------------------------------------------------------------------------------------------------

    def _add(self, conversation: Conversation, item: DraftFile) -> None:
        draft = self._drafts.draft_of(conversation)
        draft.items.append(item)
        self._read(conversation, item)
        self._note_change(conversation, draft)

    def _read(self, conversation: Conversation, item: DraftFile, pixels: int | None = None) -> None:
        """Begin to read the file or page."""
        pixels = self._pixels(item) if pixels is None else pixels
        ended = partial(self._end_reading, conversation, item)
        if item.link:
            item.stop = self._pages.read(item.link, ended)
        elif isinstance(item.source, Path):
            self._reader.read(item.source, ended, pixels)
        elif isinstance(item.source, str | QImage):
            self._read_here(conversation, item, item.source, pixels)

    def _read_here(self, conversation: Conversation, item: DraftFile, source: str | QImage, pixels: int) -> None:
        def operation() -> Attachment | str:
            try:
                if isinstance(source, QImage):
                    picture = picture_of(source, pixels)
                    return Attachment(item.name, "picture", len(picture.data), "", picture=picture)
                pasted = extracted("pasted", len(source.encode("utf-8", "replace")), source)
                return Attachment(item.name, pasted.kind, pasted.size, pasted.text, pasted.parts)
            except Refused as refused:
                return sentence(refused.code, item.name, refused.values)

        def ended(result: Attachment | str) -> None:
            self._here.pop(item, None)
            self._end_reading(conversation, item, result)

        self._here[item] = lambda: ended(operation())
        self._background.run(operation, ended)

    def _end_reading(self, conversation: Conversation, item: DraftFile, result: Outcome) -> None:
        draft = self._drafts.draft_of(conversation)
        message = draft.message_with(item)
        if message is None:  # the user has removed it meanwhile
            return
        if isinstance(result, str):
            message.drop(item)
            self.refused.emit(message)
            if result == sentence("blind", item.name):
                self._refuse_picture(conversation, result)
            else:
                self._refuse(conversation, result)
        elif isinstance(result, ScannedPages):
            self._insert_pages(conversation, message, item, result)
        else:
            item.attachment, item.name = result, result.name
            item.more_detail = item.in_detail or self._has_more_detail(item, result)
            if item.link:
                announce(self._notice, tr("“{name}” is attached.", name=item.name))
        self._note_change(conversation, message)

    def _note_change(self, conversation: Conversation, message: Unsent) -> None:
        if message.fit != "too_much":
            message.fit = "unknown"
        self._drafts.store_draft(conversation)
        self.changed.emit(conversation, message)

    def _insert_pages(self, conversation: Conversation, message: Unsent, item: DraftFile, scan: ScannedPages) -> None:
        """Put the pages of a scanned PDF in the PDF's place, as many as the message can have."""
        pages = scan.pages[: MAX_FILES - len(message.items) + 1]
        at = message.items.index(item)
        message.items[at : at + 1] = [DraftFile(page.name, page) for page in pages]
        if len(pages) < scan.count:
            self._refuse(
                conversation,
                lambda: tr(
                    "“{name}” has {count} pages without text; {n} of them were attached as pictures.",
                    name=item.name,
                    count=scan.count,
                    n=len(pages),
                ),
            )

    # --- what a model can see -----------------------------------------------------------------------------------------

    def _pixels(self, item: DraftFile | None = None) -> int:
        """Return how many pixels a new picture keeps at most; 0 if the model cannot see."""
        model, full = self._state.model, item is not None and item.in_detail
        return wanted_pixels(model.vision if model else None, self._encoded, full)

    def _has_more_detail(self, item: DraftFile, read: Attachment) -> bool:
        """Return whether the picture was scaled down although the model can use more of it."""
        usual, full = self._pixels(), self._pixels(DraftFile("", in_detail=True))
        return bool(item.source and read.picture and full > usual and was_scaled(read.picture, usual))

    def _remember_encoded(self, state: EngineState) -> None:
        if state.statistics and state.statistics.encoded_tokens:
            self._encoded = state.statistics

    # --- what is refused --------------------------------------------------------------------------------------------

    def _has_room(self, conversation: Conversation) -> bool:
        if is_full := self._is_full(conversation):
            words = mark("A message can have {most} files. Remove one first.")
            self._refuse(conversation, lambda: tr(words, most=MAX_FILES), holds=lambda: self._is_full(conversation))
        return not is_full

    def _is_full(self, conversation: Conversation) -> bool:
        return len(self._drafts.draft_of(conversation).items) >= MAX_FILES

    def _is_blind(self) -> bool:
        return not self._pixels()

    def _refuse_picture(self, conversation: Conversation, words: UiText) -> None:
        """Say that the model cannot see, until one is loaded that can."""
        self._refuse(conversation, words, holds=self._is_blind)
        self._name_seeing_model(conversation)

    def _name_seeing_model(self, conversation: Conversation) -> None:
        """Say which is the smallest model that can see, once it is known, with a button that gets it."""
        say = partial(self._refuse, conversation, holds=self._is_blind)

        def named(found: tuple[LocalModel | None, CatalogueEntry | None]) -> None:
            here, entry = found
            if not self._is_blind():  # a model that sees was loaded meanwhile
                return
            if here is not None:
                model = title_of(here.path)
                words = mark(
                    "Pictures need a model that can see. The smallest one on this computer is {model}, {size}."
                )
                use = partial(self.model_wanted.emit, here.path)
                say(lambda: tr(words, model=model, size=show_bytes(here.size)), lambda: tr("Use it"), use)
            elif entry is not None:
                words = mark("Pictures need a model that can see. The smallest one to download is {model}, {size}.")
                get = partial(self.download_wanted.emit, entry.id)
                size = show_bytes(entry.size)
                say(lambda: tr(words, model=entry.title, size=size), lambda: tr("Download"), get)

        self._background.run(lambda: (smallest_on_disk(AddedPaths().read()), smallest_in_catalogue()), named)

    def _refuse(
        self,
        conversation: Conversation,
        words: UiText,
        step: UiText = "",
        work: Callable[[], object] | None = None,
        holds: Callable[[], bool] = lambda: True,
    ) -> None:
        """Say that something was not attached, below what was refused of the same files before.

        The notice stays until the message is sent, or until `holds` is false for all that was refused.
        """
        refused = self._refused = [*self._refused, (words, holds)]
        self._notice.post(
            lambda: "\n".join(current_text(words) for words, _ in refused),
            step,
            work,
            kind="problem",
            topic=FILES,
            chat=conversation.chat.id,
            holds=lambda: any(holds() for _, holds in refused),
        )
