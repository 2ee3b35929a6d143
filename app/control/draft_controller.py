"""The draft of each chat: stores its text, reads, counts and fits its files into the context, and sends it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtGui import QImage

from app.attachments.attachment import Attachment, Refused, ScannedPages, sentence
from app.attachments.extraction import extracted
from app.attachments.fitting import (
    CountedFile,
    best_matching,
    from_the_beginning,
    room_beside_question,
    room_for_files,
    tokens_needed,
)
from app.attachments.pictures import picture_of
from app.attachments.reader import FileReader, Outcome
from app.control.chat_controller import ChatController
from app.control.retriever import Retriever
from app.events import Event
from app.notice import UNSAVED, NoticeArea
from app.services.background import Background
from app.services.timers import Debounce
from app.state.conversation import Conversation
from app.state.draft import NEW, DraftFile, DraftStore, MessageDraft
from app.state.engine_queue import EngineQueue
from app.state.engine_state import EngineState
from app.state.open_chats import OpenChats
from app.state.sight import picture_tokens, wanted_pixels, was_scaled
from app.window import Window
from app.words import UiText, current_text, mark, tr
from common.failures import Failure
from engine.protocol.events import Counted as CountedEvent
from engine.protocol.events import ModelInfo, Statistics
from models.added_paths import AddedPaths
from models.seeing import smallest_in_catalogue, smallest_on_disk

MAX_FILES = 20  # files in one message
ASSUMED_CONTEXT = 16_384  # tokens, where a server does not tell: what most can read at least
FILES = "files"  # topic of problems with the files of a message
FileCallback = Callable[[Attachment | str], None]


class DraftKeeper:
    """The drafts of all chats: in memory while the window is open, and stored for the next start.

    A draft that cannot be stored or read is reported once in a notice, without interrupting the user; storing it is
    tried again with the next write. `not_saved` is emitted each time that storing one fails.
    """

    def __init__(self, store: DraftStore, notice: NoticeArea, pause_ms: int) -> None:
        self._store, self._notice = store, notice
        self.not_saved: Event[()] = Event()
        self._changed_in: Conversation | None = None
        self._unstored: dict[Conversation, tuple[bool, Failure]] = {}  # whether its files are unstored too, and why
        # Without restarts, the text of a user who types without a pause is stored too.
        self._pause = Debounce(self._paused, pause_ms, notice, restarts=False)
        self._guarded(store.delete_orphans)

    def draft_of(self, conversation: Conversation) -> MessageDraft:
        """Return the conversation's draft; load it from the store the first time."""
        if conversation.draft is None:
            conversation.draft = MessageDraft()
            if conversation.temporary:
                return conversation.draft

            def load() -> None:
                conversation.draft = self._store.load(_key(conversation))

            self._guarded(load)
        return conversation.draft

    def store_draft(self, conversation: Conversation, files: bool = True) -> None:
        """Store the draft, and all drafts that could not be stored before.

        With `files` False only the text has changed.
        """
        self._pause.cancel()
        for each, (with_files, _) in ({conversation: (files, None)} | self._unstored).items():
            draft = each.draft
            if draft is not None:
                self._save(each, draft, with_files or (each is conversation and files))

    def store_soon(self, conversation: Conversation) -> None:
        """Store the draft's text after a pause, because the user may go on typing."""
        self._changed_in = conversation
        self._pause.request()

    def forget_new_chat(self) -> None:
        """Delete the stored draft of the new chat, which has just been stored as a chat of its own."""
        self._store.save(NEW, MessageDraft(), self._report)

    def retry_unstored(self) -> Failure | None:
        """Try once more to store the drafts that could not be stored; return the first Failure, or None."""
        for conversation, (files, _) in tuple(self._unstored.items()):
            self._save(conversation, conversation.draft or MessageDraft(), files)
        return next((failure for _, failure in self._unstored.values()), None)

    def _paused(self) -> None:
        if self._changed_in is not None:
            self.store_draft(self._changed_in, files=False)

    def _save(self, conversation: Conversation, draft: MessageDraft, files: bool) -> None:
        if conversation.state == "gone" or conversation.temporary:
            self._unstored.pop(conversation, None)
            return

        def done(failure: Failure | None) -> None:
            before = self._unstored.pop(conversation, None)
            if conversation.state == "gone":
                return
            if failure is not None:
                self._unstored[conversation] = files, failure
                self.not_saved.emit()
            if before is None:  # report it once
                self._report(failure, UNSAVED)

        self._store.save(_key(conversation), draft, done, files)

    def _guarded(self, work: Callable[[], object]) -> None:
        try:
            work()
        except Failure as failure:
            self._report(failure)

    def _report(self, failure: Failure | None, topic: str = "") -> None:
        if failure is not None:
            self._notice.post(failure.sentence, kind="problem", detail=failure.detail, topic=topic)


class DraftController(QObject):
    def __init__(
        self,
        window: Window,
        open_chats: OpenChats,
        engine: EngineQueue,
        chat: ChatController,
        retriever: Retriever,
        pause_ms: int,
    ) -> None:
        super().__init__(window)
        self._retriever = retriever
        self._composer, self._notice, self._engine, self._chat = window.composer, window.notice, engine, chat
        self._drafts = DraftKeeper(DraftStore(open_chats.store), window.notice, pause_ms)
        self.draft_not_saved = self._drafts.not_saved
        self._reader = FileReader(self)
        self._background = Background(self)
        self._conversation: Conversation | None = None
        self._selecting = self._send_when_counted = False
        self._waits_for_choice = False  # the user pressed Send, and must choose what to do with the files
        self._model: ModelInfo | None = None
        self._encoded: Statistics | None = None  # of the last answer for which pictures were encoded
        self._refused: list[UiText] = []
        composer = window.composer
        composer.sent.connect(self.send)
        composer.recalled.connect(self.recall)
        composer.text.textChanged.connect(self._text_changed)
        composer.text.attached.connect(self.attach_content)
        composer.tray.chosen.connect(self.choose_fit)
        composer.tray.detail_toggled.connect(self.toggle_detail)
        open_chats.current_changed.connect(self.show_draft)
        open_chats.options_changed.connect(self._options_changed)
        open_chats.entry_changed.connect(self._collections_changed)
        open_chats.answer_ended.connect(lambda conversation, _answer: self._recount(conversation))
        engine.state.numbers_changed.connect(self._remember_encoded)
        open_chats.branch_changed.connect(self._recount)
        engine.state.phase_changed.connect(self._recount_for_model)

    # --- the chat that is shown -------------------------------------------------------------------------------------

    def show_draft(self, conversation: Conversation) -> None:
        """Show the conversation's draft in the composer, after storing the draft of the chat shown before."""
        if conversation is self._conversation:
            return
        if self._conversation is not None:
            self._drafts.store_draft(self._conversation, files=False)
        self._conversation = conversation
        self._send_when_counted = self._waits_for_choice = False
        draft = self._drafts.draft_of(conversation)
        self._composer.set_text(draft.text)
        if draft.options and not conversation.stored:  # chosen before the first message, in an earlier run
            conversation.update_entry(options=draft.options)
        if draft.collections and not conversation.stored:
            conversation.update_entry(collections=draft.collections)
        self._count_files(conversation)

    def close(self) -> None:
        """Stop the background work and store the draft's text, which the next start puts into the composer."""
        self._reader.close()
        self._background.wait()
        self._drafts.store_draft(self._current(), files=False)

    def retry_unstored(self) -> Failure | None:
        """Try once more to store the drafts that could not be stored; return the first Failure, or None."""
        return self._drafts.retry_unstored()

    # --- what the user does -------------------------------------------------------------------------------------------

    def recall(self) -> None:
        """Put the chat's last prompt into the empty composer, to be changed and sent again."""
        prompts = [message.content for message in self._current().messages if message.role == "user"]
        if prompts:
            self._composer.set_text(prompts[-1])

    def attach_content(self, content: list[Path] | str | QImage) -> None:
        """Attach pasted, dropped or chosen content: files, a text too long for a message, or a picture."""
        if isinstance(content, list):
            self.attach(content)
        elif isinstance(content, str):
            self.attach_text(content)
        elif self.can_attach_picture():
            self.attach_image(content, tr("Pasted picture"))

    def attach(self, paths: Iterable[Path]) -> None:
        """Read the files in the background and attach them to the draft, up to MAX_FILES."""
        conversation = self._current()
        self._waits_for_choice = False
        draft, self._refused = self._drafts.draft_of(conversation), []
        for path in paths:
            if len(draft.items) >= MAX_FILES:
                self._report_refused(
                    lambda: tr("A message can have {most} files; the others were not attached.", most=MAX_FILES)
                )
                break
            item = DraftFile(path.name, source=path)
            draft.items.append(item)
            self._reader.read(
                path,
                lambda result, item=item: self._file_read(conversation, item, result),  # type: ignore[misc]
                self._picture_pixels(),
            )
        self._count_files(conversation)

    def can_attach_picture(self) -> bool:
        """Return whether the model sees and the message has room for a picture; if not, say why."""
        self._refused = []
        if not self._picture_pixels():
            self._report_refused(lambda: tr("This model cannot see pictures."))
            self._name_seeing_model()
        elif len(self._drafts.draft_of(self._current()).items) >= MAX_FILES:
            self._report_refused(lambda: tr("A message can have {most} files. Remove one first.", most=MAX_FILES))
        return not self._refused

    def attach_image(self, image: QImage, name: str) -> None:
        """Attach a picture that is no file, such as one of the clipboard."""
        conversation, item = self._current(), DraftFile(name, source=image)
        self._drafts.draft_of(conversation).items.append(item)
        self._read_image(conversation, item, image)
        self._count_files(conversation)

    def toggle_detail(self, item: DraftFile) -> None:
        """Read a picture again with all its detail, or as small as usual."""
        conversation = self._current()
        item.in_detail = not item.in_detail
        item.attachment = item.tokens = None
        if isinstance(item.source, QImage):
            self._read_image(conversation, item, item.source)
        elif isinstance(item.source, Path):
            self._reader.read(
                item.source, lambda result: self._file_read(conversation, item, result), self._picture_pixels(item)
            )
        self._count_files(conversation)

    def _read_image(self, conversation: Conversation, item: DraftFile, image: QImage) -> None:
        pixels = self._picture_pixels(item)

        def operation() -> Attachment | str:
            try:
                picture = picture_of(image, pixels)
            except Refused as refused:
                return sentence(refused.code, item.name, refused.values)
            return Attachment(item.name, "picture", len(picture.data), "", picture=picture)

        self._background.run(operation, lambda result: self._file_read(conversation, item, result))

    def _picture_pixels(self, item: DraftFile | None = None) -> int:
        """Return how many pixels a new picture keeps at most; 0 if the model cannot see."""
        model, full = self._engine.state.model, item is not None and item.in_detail
        return wanted_pixels(model.vision if model else None, self._encoded, full)

    def _name_seeing_model(self) -> None:
        """Say which model can see, once it is known."""

        def named(models: tuple[str, str]) -> None:
            self._report_refused(lambda: seeing_words(*models))

        self._background.run(lambda: (smallest_on_disk(AddedPaths().read()), smallest_in_catalogue()), named)

    def attach_page(self, link: str, name: str, read: Callable[[FileCallback], Callable[[], object]]) -> bool:
        """Attach the web page at `link`, which `read` begins to read; return False if the message has no room for it.

        `read` gets the callback for its outcome, and returns what stops it: removing the page does.
        """
        conversation, item = self._current(), DraftFile(name, link=link)
        draft, self._refused = self._drafts.draft_of(conversation), []
        self._waits_for_choice = False
        if len(draft.items) >= MAX_FILES:
            self._report_refused(lambda: tr("A message can have {most} files. Remove one first.", most=MAX_FILES))
            return False
        draft.items.append(item)
        item.stop = read(lambda result: self._file_read(conversation, item, result))
        self._count_files(conversation)
        return True

    def attach_text(self, text: str) -> None:
        """Attach a long pasted text as a file; the button of a notice inserts it into the message instead."""
        conversation, item = self._current(), DraftFile(tr("Pasted text"))
        self._drafts.draft_of(conversation).items.append(item)

        def operation() -> Attachment | str:
            try:
                pasted = extracted("pasted", len(text.encode("utf-8", "replace")), text)
            except Refused as refused:
                return sentence(refused.code, item.name, refused.values)
            return Attachment(item.name, pasted.kind, pasted.size, pasted.text, pasted.parts)

        def insert() -> None:
            self._insert_in_place_of(conversation, item, text)

        self._background.run(operation, lambda result: self._file_read(conversation, item, result))
        self._count_files(conversation)
        self._notice.post(
            lambda: tr("The long text was attached as a file."), lambda: tr("Insert into message"), insert
        )

    def _insert_in_place_of(self, conversation: Conversation, item: DraftFile, text: str) -> None:
        """Put the text of an attached paste into the message of its own chat, which may not be open any more."""
        if conversation is self._current():
            self.remove(item)
            self._composer.text.insertPlainText(text)
            return
        draft = self._drafts.draft_of(conversation)
        if item in draft.items:
            draft.items.remove(item)
            draft.fit, draft.text = "unknown", draft.text + text
            self._drafts.store_draft(conversation)

    def remove(self, item: DraftFile) -> None:
        draft = self._drafts.draft_of(self._current())
        if item in draft.items:
            item.stop()
            draft.items.remove(item)
            draft.fit = "unknown"
            self._count_files(self._current())
            self._drafts.store_draft(self._current())

    def choose_fit(self, choice: str, item: DraftFile | None = None) -> None:
        """Apply the user's choice for files that do not fit, or remove the file `item`.

        `choice` is `best`, `beginning`, `remove` (the largest file) or `ask` (show the choices again). `best` and
        `beginning` also send the message if the choices were shown because the user pressed Send.
        """
        if item is not None:
            self.remove(item)
            return
        draft = self._drafts.draft_of(self._current())
        sends, self._waits_for_choice = self._waits_for_choice and choice in ("best", "beginning"), False
        if choice == "remove" and draft.items:
            self.remove(max(draft.items, key=lambda item: item.tokens or 0))
        elif choice in ("best", "beginning"):
            draft.fit = "best" if choice == "best" else "beginning"
        elif choice == "ask":
            draft.fit = "too_much"
        self._show()
        self._composer.setFocus()
        if sends:
            self._composer.submit()

    def send(self, text: str) -> None:
        """Send the text with the files.

        The text is put back into the composer while files are still being read, counted or searched, and while the user
        must choose what to do with files that do not fit. It is sent as soon as the counting is done, or at once when
        the user presses Send again.
        """
        conversation = self._current()
        draft = self._drafts.draft_of(conversation)
        if draft.reading or self._selecting or (self._to_be_counted(draft) and not self._send_when_counted):
            self._composer.set_text(text)
            self._send_when_counted = not self._selecting
        elif draft.fit == "too_much":
            self._composer.set_text(text)
            self._composer.tray.focus_choices()
            self._waits_for_choice = True
        elif draft.fit in ("best", "beginning"):
            self._select_parts(conversation, text)
        else:
            self._send(conversation, text, draft.attachments)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _recount_for_model(self, state: EngineState) -> None:
        """Count the files' tokens again when another model has been loaded."""
        if state.phase in ("off", "failed"):
            self._send_uncounted(self._conversation)
        if state.phase == "ready" and state.model is not self._model:
            self._model = state.model
            if self._conversation is not None:
                self._count_files(self._conversation)

    def _remember_encoded(self, state: EngineState) -> None:
        if state.statistics and state.statistics.encoded_tokens:
            self._encoded = state.statistics

    def _recount(self, conversation: Conversation) -> None:
        """Check again whether the files fit, because the chat before them has changed."""
        if conversation.draft and conversation.draft.items:
            self._count_files(conversation)

    def _to_be_counted(self, draft: MessageDraft) -> bool:
        return bool(draft.items) and draft.fit == "unknown" and self._engine.state.phase == "ready"

    def _select_parts(self, conversation: Conversation, text: str) -> None:
        """Select the parts of the files in the background, then send."""
        draft = self._drafts.draft_of(conversation)
        counted = [CountedFile(item.attachment, item.tokens or 0) for item in draft.items if item.attachment]
        pictures = [file for file in counted if file.attachment.picture]
        files = [file for file in counted if not file.attachment.picture]
        room, best = room_beside_question(draft.room, text) - tokens_needed(pictures), draft.fit == "best"
        seen = tuple(file.attachment for file in pictures)
        self._hold(text)

        def send(attachments: tuple[Attachment, ...]) -> None:
            self._release()
            self._send(conversation, text, (*seen, *attachments))

        def failed(_failure: Failure) -> None:
            self._release()
            sentence = mark("The files could not be searched, so nothing was sent.")
            self._notice.post(lambda: tr(sentence), kind="problem", topic=FILES)

        self._background.run(
            lambda: best_matching(files, text, room) if best else from_the_beginning(files, room), send, failed
        )

    def _hold(self, text: str) -> None:
        """Keep the text in the composer unchanged while something is searched: text typed now would not be sent."""
        self._selecting = True
        self._composer.set_text(text)
        self._composer.text.setReadOnly(True)

    def _release(self) -> None:
        self._selecting = False
        self._composer.text.setReadOnly(False)

    def _send(self, conversation: Conversation, text: str, attachments: tuple[Attachment, ...]) -> None:
        """Send the text and the files, after a search in the chat's collections."""
        if not self._retriever.is_wanted(conversation, text) or conversation.busy:
            self._send_now(conversation, text, attachments)
            return

        def send_with(passages: tuple[Attachment, ...]) -> None:
            self._release()
            self._send_now(conversation, text, (*attachments, *passages))

        self._hold(text)
        self._retriever.find(conversation, text, attachments, send_with)

    def _send_now(self, conversation: Conversation, text: str, attachments: tuple[Attachment, ...]) -> None:
        is_new = not conversation.stored
        if not conversation.send(text, attachments):
            if conversation is self._conversation:
                self._composer.set_text(text)  # no typed text is ever lost
            return
        self._notice.solve(FILES)
        if is_new and not conversation.temporary:
            self._drafts.forget_new_chat()
        draft = self._drafts.draft_of(conversation)
        draft.clear_sent(text)
        if conversation is self._conversation:
            self._composer.set_text(draft.text)
            self._show()
        self._drafts.store_draft(conversation)
        self._engine.submit(conversation)

    def _file_read(self, conversation: Conversation, item: DraftFile, result: Outcome) -> None:
        draft = self._drafts.draft_of(conversation)
        if item not in draft.items:  # the user has removed it meanwhile
            return
        if isinstance(result, str):
            draft.items.remove(item)
            self._report_refused(result)
            if result == sentence("blind", item.name):
                self._name_seeing_model()
        elif isinstance(result, ScannedPages):
            self._insert_pages(draft, item, result)
        else:
            item.attachment, item.name = result, result.name
            item.more_detail = item.in_detail or self._has_more_detail(item, result)
        if draft.fit in ("best", "beginning", "all"):
            draft.fit = "unknown"
        self._count_files(conversation)
        self._drafts.store_draft(conversation)

    def _has_more_detail(self, item: DraftFile, read: Attachment) -> bool:
        """Return whether the picture was scaled down although the model can use more of it."""
        usual, full = self._picture_pixels(), self._picture_pixels(DraftFile("", in_detail=True))
        return bool(item.source and read.picture and full > usual and was_scaled(read.picture, usual))

    def _insert_pages(self, draft: MessageDraft, item: DraftFile, scan: ScannedPages) -> None:
        """Put the pages of a scanned PDF in the PDF's place, as many as the message can have."""
        pages = scan.pages[: MAX_FILES - len(draft.items) + 1]
        at = draft.items.index(item)
        draft.items[at : at + 1] = [DraftFile(page.name, page) for page in pages]
        if len(pages) < scan.count:
            self._report_refused(
                lambda: tr(
                    "“{name}” has {count} pages without text; {n} of them were attached as pictures.",
                    name=item.name,
                    count=scan.count,
                    n=len(pages),
                )
            )

    def _report_refused(self, words: UiText) -> None:
        self._refused.append(words)
        refused = list(self._refused)
        self._notice.post(lambda: "\n".join(map(current_text, refused)), kind="problem", topic=FILES)

    def _count_files(self, conversation: Conversation) -> None:
        """Count the files that have no count yet, by the engine, then decide whether they fit."""
        draft = self._drafts.draft_of(conversation)
        new = draft.files_to_count(self._model)
        for item in new:
            if item.attachment and item.attachment.picture:
                vision = self._model.vision if self._model else None
                item.tokens = picture_tokens(item.attachment.picture, vision) or 0
        new = [item for item in new if item.tokens is None]
        texts = tuple(item.attachment.text for item in new if item.attachment)

        def counted(event: CountedEvent | None) -> None:
            if event is None:
                self._send_uncounted(conversation)
                return
            for item, tokens in zip(new, event.texts, strict=True):
                item.tokens = tokens
            self._decide_fit(conversation, event.prompt)

        if draft.items and not draft.reading:
            self._engine.idle.count(texts, conversation, counted)
        if conversation is self._conversation:
            self._show()

    def _decide_fit(self, conversation: Conversation, history: int) -> None:
        draft, model = self._drafts.draft_of(conversation), self._engine.state.model
        if model is None or draft.tokens is None:
            return
        draft.room = room_for_files(model.n_ctx or ASSUMED_CONTEXT, history)
        files = [CountedFile(item.attachment, item.tokens) for item in draft.items if item.attachment and item.tokens]
        if tokens_needed(files) <= room_beside_question(draft.room, draft.text):
            draft.fit = "all"
        elif draft.fit not in ("best", "beginning"):
            draft.fit = "too_much"
        if conversation is self._conversation:
            self._show()
            self._chat.read_ahead_soon()  # now the files of the next message are certain
            if self._send_when_counted:
                self._send_when_counted = False
                self._composer.submit()

    def _send_uncounted(self, conversation: Conversation | None) -> None:
        """Send the shown chat's message that waits for a count, unless a model is being loaded, which will count."""
        if conversation is not self._conversation or not self._send_when_counted:
            return
        if (
            self._engine.state.phase not in ("starting", "loading")
            and not self._drafts.draft_of(self._current()).reading
        ):
            self._composer.submit()
            self._send_when_counted = False

    def _show(self) -> None:
        draft = self._drafts.draft_of(self._current())
        self._composer.tray.show_draft(draft)
        self._composer.update_button()

    def _text_changed(self) -> None:
        self._send_when_counted = self._waits_for_choice = False  # a user who goes on typing does not want to send yet
        if self._conversation is not None:
            text = self._drafts.draft_of(self._conversation).text = self._composer.text.toPlainText()
            self._drafts.store_soon(self._conversation)
            if text:
                self._retriever.warm_up(self._conversation)

    def _collections_changed(self, conversation: Conversation) -> None:
        """Keep the collections of a chat without messages with its draft, as its options are."""
        if conversation is not self._conversation or conversation.stored:
            return
        draft = self._drafts.draft_of(conversation)
        if draft.collections != conversation.chat.collections:
            draft.collections = conversation.chat.collections
            self._drafts.store_draft(conversation, files=False)

    def _options_changed(self, conversation: Conversation) -> None:
        """Keep the options of a chat without messages with its draft; `Conversation` stores those of other chats."""
        draft = self._drafts.draft_of(conversation)
        if not conversation.stored and draft.options != conversation.chat.options:
            draft.options = conversation.chat.options
            self._drafts.store_draft(conversation, files=False)

    def _current(self) -> Conversation:
        assert self._conversation is not None, "a chat is shown from the start"
        return self._conversation


def seeing_words(on_disk: str, in_catalogue: str) -> str:
    """Return which model can see: the smallest one here, else the smallest of the catalogue."""
    if on_disk:
        return tr("The smallest model on this computer that can see is {name}.", name=on_disk)
    return tr(
        "A model sees with a projector: a second file, named mmproj, beside its own. The smallest such model in the"
        " catalogue is {name}.",
        name=in_catalogue,
    )


def _key(conversation: Conversation) -> str:
    return conversation.chat.id if conversation.stored else NEW
