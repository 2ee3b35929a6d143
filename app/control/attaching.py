"""What happens to files between composer and chat: they are read, counted, fitted and sent. Part of the wiring."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtGui import QImage

from app.assistant.assistant import Assistant
from app.assistant.standing import Standing
from app.attachments.attachment import Attachment
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
from app.attachments.refusal import Refused, sentence
from app.background import Background
from app.control.unsent_keeper import UnsentKeeper
from app.open_chats.conversation import Change, Conversation
from app.open_chats.unsent import Item, Unsent
from app.window import Window
from app.words import Saying, said, tr
from common.failures import Failure
from engine.protocol import Counted as CountedEvent
from engine.protocol import ModelInfo

MOST_FILES = 20  # beside one question


class Attaching(QObject):
    """`certain` is called when it has changed what is sure to be read with the next message."""

    def __init__(
        self,
        window: Window,
        assistant: Assistant,
        unsent: UnsentKeeper,
        certain: Callable[[], object],
    ) -> None:
        super().__init__(window)
        self._composer, self._notice, self._assistant = window.composer, window.notice, assistant
        self._unsent = unsent
        self._certain = certain
        self._reader = FileReader(self)
        self._background = Background(self)
        self._conversation: Conversation | None = None
        self._matching = self._hurry = False
        self._asked = False  # a message waits for what is to be done with files that do not fit
        self._model: ModelInfo | None = None
        self._refused: list[Saying] = []
        composer = window.composer
        composer.text.textChanged.connect(self._typed)
        composer.text.attached.connect(self.take)
        composer.tray.chosen.connect(self.choose)

    # --- the chat that is shown -------------------------------------------------------------------------------------

    def show(self, conversation: Conversation) -> None:
        """Put what is not sent of this chat into the composer, and keep what is there for the chat it belongs to."""
        if conversation is self._conversation:
            return
        if self._conversation is not None:
            self._unsent.keep(self._conversation, files=False)
        self._conversation = conversation
        self._hurry = self._asked = False
        self._composer.set_text(self._unsent.of(conversation).text)
        self._fit(conversation)

    def close(self) -> None:
        """The window is closing: what is not sent is there again at the next start."""
        self._reader.close()
        self._background.wait()
        self._unsent.keep(self._current(), files=False)

    def unstored(self) -> Failure | None:
        """Why something that is not sent cannot be stored, when that was tried once more; None: it is."""
        return self._unsent.unstored()

    def stands(self, standing: Standing) -> None:
        """Another model counts other tokens."""
        if standing.phase == "ready" and standing.model is not self._model:
            self._model = standing.model
            if self._conversation is not None:
                self._fit(self._conversation)

    def changed(self, conversation: Conversation, change: Change) -> None:
        """With more of a chat before them, files may no longer fit."""
        if change.kind in ("ended", "branch") and conversation.unsent and conversation.unsent.items:
            self._fit(conversation)

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
        unsent, self._refused = self._unsent.of(conversation), []
        for path in paths:
            if len(unsent.items) >= MOST_FILES:
                self._refuse(
                    lambda: tr("A message can have {most} files; the others were not attached.", most=MOST_FILES)
                )
                break
            item = Item(path.name)
            unsent.items.append(item)
            self._reader.read(path, lambda result, item=item: self._read(conversation, item, result))  # type: ignore[misc]
        self._fit(conversation)

    def attach_text(self, text: str) -> None:
        """A long text that was pasted goes along as a file; it can be put into the message instead."""
        conversation, item = self._current(), Item(tr("Pasted text"))
        self._unsent.of(conversation).items.append(item)

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

    def remove(self, item: Item) -> None:
        unsent = self._unsent.of(self._current())
        if item in unsent.items:
            unsent.items.remove(item)
            unsent.fit = "unknown"
            self._fit(self._current())
            self._unsent.keep(self._current())

    def choose(self, choice: str, item: Item | None = None) -> None:
        """What to do with files that do not fit: `best`, `beginning`, `remove` one or the largest, or `ask` again.

        Where the question came up at sending, the choice of what to send sends it."""
        if item is not None:
            self.remove(item)
            return
        unsent = self._unsent.of(self._current())
        sends, self._asked = self._asked and choice in ("best", "beginning"), False
        if choice == "remove" and unsent.items:
            self.remove(max(unsent.items, key=lambda item: item.tokens or 0))
        elif choice in ("best", "beginning"):
            unsent.fit = "best" if choice == "best" else "beginning"
        elif choice == "ask":
            unsent.fit = "too_much"
        self._show()
        self._composer.setFocus()
        if sends:
            self._composer.submit()

    def send(self, text: str) -> None:
        """Send the text with the files, or put it back where something stands in the way."""
        conversation = self._current()
        unsent = self._unsent.of(conversation)
        if unsent.reading or self._matching or (self._to_be_counted(unsent) and not self._hurry):
            self._composer.set_text(text)
            self._hurry = not self._matching  # it is sent as soon as that is done, or at once when asked again
        elif unsent.fit == "too_much":
            self._composer.set_text(text)
            self._composer.tray.ask_now()
            self._asked = True
        elif unsent.fit in ("best", "beginning"):
            self._match(conversation, text)
        else:
            self._send(conversation, text, unsent.attachments)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _to_be_counted(self, unsent: Unsent) -> bool:
        return bool(unsent.items) and unsent.fit == "unknown" and self._assistant.standing.phase == "ready"

    def _match(self, conversation: Conversation, text: str) -> None:
        """Choose the parts in the background, then send."""
        unsent = self._unsent.of(conversation)
        files = [Counted(item.attachment, item.tokens or 0) for item in unsent.items if item.attachment]
        room, best, self._matching = without_question(unsent.room, text), unsent.fit == "best", True
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
            self._unsent.forget_new()
        unsent = self._unsent.of(conversation)
        unsent.sent(text)
        if conversation is self._conversation:
            self._composer.set_text(unsent.text)
            self._show()
        self._unsent.keep(conversation)
        self._assistant.submit(conversation)

    def _read(self, conversation: Conversation, item: Item, result: Attachment | str) -> None:
        unsent = self._unsent.of(conversation)
        if item not in unsent.items:  # removed meanwhile
            return
        if isinstance(result, str):
            unsent.items.remove(item)
            self._refuse(result)
        else:
            item.attachment, item.name = result, result.name
        if unsent.fit in ("best", "beginning", "all"):
            unsent.fit = "unknown"
        self._fit(conversation)
        self._unsent.keep(conversation)

    def _refuse(self, words: Saying) -> None:
        self._refused.append(words)
        refused = list(self._refused)
        self._notice.tell(lambda: "\n".join(map(said, refused)), kind="problem")

    def _fit(self, conversation: Conversation) -> None:
        """Have counted what is not, and say whether it fits."""
        unsent = self._unsent.of(conversation)
        new = unsent.count_for(self._model)
        texts = tuple(item.attachment.text for item in new if item.attachment)

        def counted(event: CountedEvent) -> None:
            for item, tokens in zip(new, event.texts, strict=True):
                item.tokens = tokens
            self._judge(conversation, event.prompt)

        if unsent.items and not unsent.reading:
            self._assistant.count(texts, conversation, counted)
        if conversation is self._conversation:
            self._show()

    def _judge(self, conversation: Conversation, history: int) -> None:
        unsent, model = self._unsent.of(conversation), self._assistant.standing.model
        if model is None or unsent.tokens is None:
            return
        unsent.room = room_for_files(model.n_ctx, history)
        files = [Counted(item.attachment, item.tokens) for item in unsent.items if item.attachment and item.tokens]
        if needed(files) <= without_question(unsent.room, unsent.text):
            unsent.fit = "all"
        elif unsent.fit not in ("best", "beginning"):
            unsent.fit = "too_much"
        if conversation is self._conversation:
            self._show()
            self._certain()
            if self._hurry:
                self._hurry = False
                self._composer.submit()

    def _show(self) -> None:
        unsent = self._unsent.of(self._current())
        self._composer.tray.show_unsent(unsent)
        self._composer.refresh()

    def _typed(self) -> None:
        self._hurry = self._asked = False  # whoever goes on writing has changed his mind
        if self._conversation is not None:
            self._unsent.of(self._conversation).text = self._composer.text.toPlainText()
            self._unsent.keep_soon(self._conversation)

    def _current(self) -> Conversation:
        assert self._conversation is not None, "a chat is shown from the start"
        return self._conversation
