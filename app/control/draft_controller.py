"""What is not sent yet: kept for each chat; its files are read, counted and fitted into the context, and sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtGui import QImage

from app.attachments.attachment import Attachment, Refused, sentence
from app.attachments.fitting import (
    Counted,
    best_matching,
    from_the_beginning,
    needed,
    room_for_files,
    without_question,
)
from app.attachments.reader import FileReader
from app.attachments.reading import extracted
from app.control.chat_controller import ChatController
from app.notice import Notice
from app.services.background import Background
from app.services.timers import Debounce
from app.state.conversation import Conversation
from app.state.draft import NEW, DraftFile, DraftStore, MessageDraft
from app.state.engine_queue import EngineQueue
from app.state.engine_state import EngineState
from app.state.open_chats import OpenChats
from app.window import Window
from app.words import Saying, said, tr
from common.failures import Failure
from engine.protocol import Counted as CountedEvent
from engine.protocol import ModelInfo

MOST_FILES = 20  # beside one question


class DraftKeeper:
    """Keeps what stands in the composer of each chat: at hand while the window is open, and for the next start.

    What cannot be stored or read is worth a note, but no interruption; it is tried again with the next write."""

    def __init__(self, store: DraftStore, notice: Notice, pause_ms: int) -> None:
        self._store, self._notice = store, notice
        self._typed: Conversation | None = None
        self._owed: dict[Conversation, tuple[bool, Failure]] = {}  # with its files?, and why it could not be stored
        # Who types without a pause is stored too.
        self._pause = Debounce(self._paused, pause_ms, notice, restarts=False)
        self._guarded(store.tidy)

    def of(self, conversation: Conversation) -> MessageDraft:
        """Read from the store where nobody has looked yet."""
        if conversation.draft is None:
            conversation.draft = MessageDraft()

            def load() -> None:
                conversation.draft = self._store.load(_key(conversation))

            self._guarded(load)
        return conversation.draft

    def keep(self, conversation: Conversation, files: bool = True) -> None:
        """Store it; `files` False: only the text, the files are the same."""
        self._pause.cancel()
        for each, (with_files, _) in ({conversation: (files, None)} | self._owed).items():
            draft = each.draft
            if draft is not None:
                self._save(each, draft, with_files or (each is conversation and files))

    def keep_soon(self, conversation: Conversation) -> None:
        """Its text has changed, and may change again in a moment."""
        self._typed = conversation
        self._pause.request()

    def forget_new(self) -> None:
        """The chat that was not stored is now."""
        self._store.save(NEW, MessageDraft(), self._hear)

    def unstored(self) -> Failure | None:
        """Why something that was begun cannot be stored, when that was tried once more; None: it is."""
        for conversation, (files, _) in tuple(self._owed.items()):
            self._save(conversation, conversation.draft or MessageDraft(), files)
        return next((failure for _, failure in self._owed.values()), None)

    def _paused(self) -> None:
        if self._typed is not None:
            self.keep(self._typed, files=False)

    def _save(self, conversation: Conversation, draft: MessageDraft, files: bool) -> None:
        def done(failure: Failure | None) -> None:
            before = self._owed.pop(conversation, None)
            if failure is not None:
                self._owed[conversation] = files, failure
            if before is None:  # said once
                self._hear(failure)

        self._store.save(_key(conversation), draft, done, files)

    def _guarded(self, work: Callable[[], object]) -> None:
        try:
            work()
        except Failure as failure:
            self._hear(failure)

    def _hear(self, failure: Failure | None) -> None:
        if failure is not None:
            self._notice.tell(failure.sentence, kind="problem", detail=failure.detail)


class DraftController(QObject):
    def __init__(
        self, window: Window, open_chats: OpenChats, engine: EngineQueue, chat: ChatController, pause_ms: int
    ) -> None:
        super().__init__(window)
        self._composer, self._notice, self._engine, self._chat = window.composer, window.notice, engine, chat
        self._drafts = DraftKeeper(DraftStore(open_chats.store), window.notice, pause_ms)
        self._reader = FileReader(self)
        self._background = Background(self)
        self._conversation: Conversation | None = None
        self._matching = self._hurry = False
        self._asked = False  # a message waits for what is to be done with files that do not fit
        self._model: ModelInfo | None = None
        self._refused: list[Saying] = []
        composer = window.composer
        composer.sent.connect(self.send)
        composer.text.textChanged.connect(self._typed)
        composer.text.attached.connect(self.take)
        composer.tray.chosen.connect(self.choose)
        open_chats.current_changed.connect(self.show)
        open_chats.answer_ended.connect(lambda conversation, _answer: self._fit_again(conversation))
        open_chats.branch_changed.connect(self._fit_again)
        engine.state.phase_changed.connect(self._count_for)

    # --- the chat that is shown -------------------------------------------------------------------------------------

    def show(self, conversation: Conversation) -> None:
        """Put what is not sent of this chat into the composer, and keep what is there for the chat it belongs to."""
        if conversation is self._conversation:
            return
        if self._conversation is not None:
            self._drafts.keep(self._conversation, files=False)
        self._conversation = conversation
        self._hurry = self._asked = False
        self._composer.set_text(self._drafts.of(conversation).text)
        self._fit(conversation)

    def close(self) -> None:
        """The window is closing: what is not sent is there again at the next start."""
        self._reader.close()
        self._background.wait()
        self._drafts.keep(self._current(), files=False)

    def unstored(self) -> Failure | None:
        """Why something that is not sent cannot be stored, when that was tried once more; None: it is."""
        return self._drafts.unstored()

    # --- what the user does -----------------------------------------------------------------------------------------

    def take(self, what: list[Path] | str | QImage) -> None:
        """Something was pasted, dropped or chosen that is no short text."""
        if isinstance(what, list):
            self.attach(what)
        elif isinstance(what, str):
            self.attach_text(what)
        else:
            self._refuse(lambda: tr("This model reads text only, so images cannot be attached."))

    def attach(self, paths: Iterable[Path]) -> None:
        """Read the files and put them beside the message."""
        conversation = self._current()
        self._asked = False
        draft, self._refused = self._drafts.of(conversation), []
        for path in paths:
            if len(draft.items) >= MOST_FILES:
                self._refuse(
                    lambda: tr("A message can have {most} files; the others were not attached.", most=MOST_FILES)
                )
                break
            item = DraftFile(path.name)
            draft.items.append(item)
            self._reader.read(path, lambda result, item=item: self._read(conversation, item, result))  # type: ignore[misc]
        self._fit(conversation)

    def attach_text(self, text: str) -> None:
        """A long text that was pasted goes along as a file; it can be put into the message instead."""
        conversation, item = self._current(), DraftFile(tr("Pasted text"))
        self._drafts.of(conversation).items.append(item)

        def operation() -> Attachment | str:
            try:
                made = extracted("pasted", len(text.encode("utf-8", "replace")), text)
            except Refused as refused:
                return sentence(refused.code, item.name, refused.values)
            return Attachment(item.name, made.kind, made.size, made.text, made.parts)

        def insert() -> None:
            self.remove(item)
            self._composer.text.insertPlainText(text)

        self._background.run(operation, lambda result: self._read(conversation, item, result))
        self._fit(conversation)
        self._notice.tell(
            lambda: tr("The long text was attached as a file."), lambda: tr("Insert into message"), insert
        )

    def remove(self, item: DraftFile) -> None:
        draft = self._drafts.of(self._current())
        if item in draft.items:
            draft.items.remove(item)
            draft.fit = "unknown"
            self._fit(self._current())
            self._drafts.keep(self._current())

    def choose(self, choice: str, item: DraftFile | None = None) -> None:
        """What to do with files that do not fit: `best`, `beginning`, `remove` one or the largest, or `ask` again.

        Where the question came up at sending, the choice of what to send sends it."""
        if item is not None:
            self.remove(item)
            return
        draft = self._drafts.of(self._current())
        sends, self._asked = self._asked and choice in ("best", "beginning"), False
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
        """Send the text with the files, or put it back where something stands in the way."""
        conversation = self._current()
        draft = self._drafts.of(conversation)
        if draft.reading or self._matching or (self._to_be_counted(draft) and not self._hurry):
            self._composer.set_text(text)
            self._hurry = not self._matching  # it is sent as soon as that is done, or at once when asked again
        elif draft.fit == "too_much":
            self._composer.set_text(text)
            self._composer.tray.ask_now()
            self._asked = True
        elif draft.fit in ("best", "beginning"):
            self._match(conversation, text)
        else:
            self._send(conversation, text, draft.attachments)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _count_for(self, state: EngineState) -> None:
        """Another model counts other tokens."""
        if state.phase == "ready" and state.model is not self._model:
            self._model = state.model
            if self._conversation is not None:
                self._fit(self._conversation)

    def _fit_again(self, conversation: Conversation) -> None:
        """With more of a chat before them, files may no longer fit."""
        if conversation.draft and conversation.draft.items:
            self._fit(conversation)

    def _to_be_counted(self, draft: MessageDraft) -> bool:
        return bool(draft.items) and draft.fit == "unknown" and self._engine.state.phase == "ready"

    def _match(self, conversation: Conversation, text: str) -> None:
        """Choose the parts in the background, then send."""
        draft = self._drafts.of(conversation)
        files = [Counted(item.attachment, item.tokens or 0) for item in draft.items if item.attachment]
        room, best, self._matching = without_question(draft.room, text), draft.fit == "best", True
        self._composer.set_text(text)
        self._composer.text.setReadOnly(True)  # what would be typed now would not be sent

        def found(attachments: tuple[Attachment, ...]) -> None:
            over()
            self._send(conversation, text, attachments)

        def over() -> None:
            self._matching = False
            self._composer.text.setReadOnly(False)

        def failed(_failure: Failure) -> None:
            over()
            self._notice.tell(lambda: tr("The files could not be searched, so nothing was sent."), kind="problem")

        self._background.run(
            lambda: best_matching(files, text, room) if best else from_the_beginning(files, room), found, failed
        )

    def _send(self, conversation: Conversation, text: str, attachments: tuple[Attachment, ...]) -> None:
        is_new = not conversation.stored
        if not conversation.send(text, attachments):
            if conversation is self._conversation:
                self._composer.set_text(text)  # nothing typed is ever lost
            return
        if is_new:
            self._drafts.forget_new()
        draft = self._drafts.of(conversation)
        draft.sent(text)
        if conversation is self._conversation:
            self._composer.set_text(draft.text)
            self._show()
        self._drafts.keep(conversation)
        self._engine.submit(conversation)

    def _read(self, conversation: Conversation, item: DraftFile, result: Attachment | str) -> None:
        draft = self._drafts.of(conversation)
        if item not in draft.items:  # removed meanwhile
            return
        if isinstance(result, str):
            draft.items.remove(item)
            self._refuse(result)
        else:
            item.attachment, item.name = result, result.name
        if draft.fit in ("best", "beginning", "all"):
            draft.fit = "unknown"
        self._fit(conversation)
        self._drafts.keep(conversation)

    def _refuse(self, words: Saying) -> None:
        self._refused.append(words)
        refused = list(self._refused)
        self._notice.tell(lambda: "\n".join(map(said, refused)), kind="problem")

    def _fit(self, conversation: Conversation) -> None:
        """Have counted what is not, and say whether it fits."""
        draft = self._drafts.of(conversation)
        new = draft.count_for(self._model)
        texts = tuple(item.attachment.text for item in new if item.attachment)

        def counted(event: CountedEvent) -> None:
            for item, tokens in zip(new, event.texts, strict=True):
                item.tokens = tokens
            self._judge(conversation, event.prompt)

        if draft.items and not draft.reading:
            self._engine.count(texts, conversation, counted)
        if conversation is self._conversation:
            self._show()

    def _judge(self, conversation: Conversation, history: int) -> None:
        draft, model = self._drafts.of(conversation), self._engine.state.model
        if model is None or draft.tokens is None:
            return
        draft.room = room_for_files(model.n_ctx, history)
        files = [Counted(item.attachment, item.tokens) for item in draft.items if item.attachment and item.tokens]
        if needed(files) <= without_question(draft.room, draft.text):
            draft.fit = "all"
        elif draft.fit not in ("best", "beginning"):
            draft.fit = "too_much"
        if conversation is self._conversation:
            self._show()
            self._chat.read_ahead_soon()  # it is certain now which files come with the next message
            if self._hurry:
                self._hurry = False
                self._composer.submit()

    def _show(self) -> None:
        draft = self._drafts.of(self._current())
        self._composer.tray.show_draft(draft)
        self._composer.refresh()

    def _typed(self) -> None:
        self._hurry = self._asked = False  # whoever goes on writing has changed his mind
        if self._conversation is not None:
            self._drafts.of(self._conversation).text = self._composer.text.toPlainText()
            self._drafts.keep_soon(self._conversation)

    def _current(self) -> Conversation:
        assert self._conversation is not None, "a chat is shown from the start"
        return self._conversation


def _key(conversation: Conversation) -> str:
    return conversation.chat.id if conversation.stored else NEW
