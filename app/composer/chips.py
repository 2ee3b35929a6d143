"""Attached files as chips: in the composer with tokens and a Remove button, in a message without them."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import QIcon, QTextCursor
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QHBoxLayout,
    QPlainTextEdit,
    QToolButton,
    QVBoxLayout,
    QWidget,
)  # fmt: skip

from app.attachments.attachment import Attachment, runs
from app.commands.commands import keys_in
from app.composer.picture_view import show_picture, thumbnail_of
from app.look.flow import Flow
from app.look.live import Live, LiveAction
from app.look.sheet import Button, fill, label
from app.look.theme import SIZES, code_font, icon, theme
from app.markdown.guard import displayable_address
from app.state.draft import DraftFile
from app.words import escaped_html, mark, tr, tr_n
from engine.protocol.requests import Picture

SLICE = 20_000  # characters of a file's text that are shown at once: a few milliseconds


class ChipFrame(Live, QFrame):
    """A chip's button `face` and, if it is removable, the button for `remove`, which Delete and Backspace trigger too.

    The subclass calls `apply_look` once it is complete.
    """

    def __init__(self, removable: bool, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("chip")
        self.remove = LiveAction(self, mark("Remove"), "close", keys_in("file", "remove"))
        self.remove.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        self.remove.setEnabled(removable)
        self.addAction(self.remove)
        self.face = Button(self, kind="chip")
        self.close_button = QToolButton(self)
        self.close_button.setDefaultAction(self.remove)
        self.close_button.setVisible(removable)
        self._removable = removable
        # Aligned, because a layout is otherwise no higher than its lowest button of a fixed height.
        closing, margins = (self.close_button, Qt.AlignmentFlag.AlignVCenter), (0, 0, SIZES.gap_s * removable, 0)
        self.row = fill(QHBoxLayout(self), self.face, closing, gap=0, margins=margins)


class Chip(ChipFrame):
    """Chip of one file: a click or Enter shows the file's text; the button, Delete or Backspace triggers `remove`.

    A picture that was scaled down has another button, `detail`.
    """

    def __init__(self, item: DraftFile, removable: bool, parent: QWidget) -> None:
        super().__init__(removable, parent)
        self.item = item
        self._shown_picture: Picture | None = None
        self.detail = LiveAction(
            self, mark("Full detail"), tip=mark("Show the model all of this picture; takes longer")
        )
        self.detail.setCheckable(True)
        self.detail_button = QToolButton(self)
        self.detail_button.setObjectName("detail")
        self.detail_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self.detail_button.setDefaultAction(self.detail)
        self.detail_button.hide()
        self.row.insertWidget(1, self.detail_button, 0, Qt.AlignmentFlag.AlignVCenter)
        self.face.clicked.connect(self._open)
        self.apply_look()

    def show_item(self) -> None:
        """Show the file again after it was read or counted."""
        if self._picture is self._shown_picture:
            self.retranslate()
        else:
            self.restyle()

    def retranslate(self) -> None:
        size = size_of(self.item) if self._removable else ""
        name = self.fontMetrics().elidedText(self.item.name, Qt.TextElideMode.ElideMiddle, SIZES.chip)
        if self._picture is not None:
            self._describe_picture(name, size)
        elif page := self._page:
            self._describe_page(page, name, size)
        else:
            words = tr("File {name}", name=", ".join(filter(None, (self.item.name, size))))
            use = tr("Opens the text. Press Delete to remove the file.") if self._removable else ""
            self._say(" · ".join(filter(None, (name, size))), words, use, f"{self.item.name}\n{tr('Show the text')}")

    def _say(self, shown: str, words: str, use: str, tip: str) -> None:
        """Set the texts of the buttons: what is shown, what a screen reader says of it and of its use, and the tip."""
        self.face.setText(shown.replace("&", "&&"))
        self.face.setAccessibleName(words)
        self.face.setAccessibleDescription(use)
        self.face.setToolTip(escaped_html(tip))
        self.close_button.setAccessibleName(tr("Remove {name}", name=self.item.name))

    def _describe_page(self, page: Attachment, name: str, size: str) -> None:
        """Show a web page's title with its host and the day on which it was read."""
        host = page.host if page.host != page.name else ""
        shown = " · ".join(filter(None, (name, host, page.read_on, size)))
        words = tr("Web page {name}", name=", ".join(filter(None, (page.name, host, page.read_on, size))))
        use = tr("Opens the text. Press Delete to remove the page.") if self._removable else ""
        read = tr("{address}, read on {day}", address=displayable_address(page.address), day=page.read_on)
        self._say(shown, words, use, f"{page.name}\n{read}\n{tr('Show the text')}")

    def _describe_picture(self, name: str, size: str) -> None:
        """Show a thumbnail: with name and size while it can be removed, alone once it was sent."""
        self.detail_button.setVisible(self._removable and self.item.more_detail)
        self.detail.setChecked(self.item.in_detail)
        pixels = pixels_of(self.item)
        words = tr("Picture {name}", name=", ".join((self.item.name, size or pixels)))
        use = tr("Opens the picture. Press Delete to remove it.") if self._removable else tr("Opens the picture.")
        shown = f"{name}\n{size}" if self._removable else ""
        self._say(shown, words, use, f"{self.item.name}\n{pixels}\n{tr('Show the picture')}")

    @property
    def _page(self) -> Attachment | None:
        """The attachment, if it is a web page."""
        return self.item.attachment if self.item.attachment and self.item.attachment.address else None

    @property
    def _picture(self) -> Picture | None:
        return self.item.attachment.picture if self.item.attachment else None

    def restyle(self) -> None:
        self._shown_picture = self._picture
        if self._picture is not None:
            thumbnail = thumbnail_of(self._picture, SIZES.thumbnail if self._removable else 3 * SIZES.thumbnail)
            self.face.setIcon(QIcon(thumbnail))
            self.face.setIconSize(thumbnail.size())
        else:
            self.face.setIcon(icon("globe" if self.item.link or self._page else "file", theme().soft))
            self.face.setIconSize(QSize(SIZES.icon, SIZES.icon))
        self.retranslate()  # the name is elided to the new width

    def _open(self) -> None:
        if self._picture is not None:
            show_picture(self.item.name, self._picture, self.window())
        elif self.item.attachment:
            show_attachment(self.item.attachment, self.window())


def size_of(item: DraftFile) -> str:
    """Return the file's tokens in words, or its characters while no model has counted the tokens."""
    if item.attachment is None:
        return tr("reading…")
    if item.attachment.picture:
        return tr_n("about {n} token", "about {n} tokens", item.tokens) if item.tokens else pixels_of(item)
    if item.tokens is None:
        return tr_n("{n} character", "{n} characters", len(item.attachment.text))
    return tr_n("{n} token", "{n} tokens", item.tokens)


def pixels_of(item: DraftFile) -> str:
    """Return a picture's width and height in pixels."""
    picture = item.attachment.picture if item.attachment else None
    return f"{picture.width:,} × {picture.height:,}" if picture else ""


class SentFiles(Flow):
    """Chips of a sent message's files, at the right edge above its bubble."""

    def __init__(self, attachments: Iterable[Attachment], parent: QWidget) -> None:
        super().__init__(parent, right=True)
        self.chips = [Chip(DraftFile(attachment.name, attachment), False, self) for attachment in attachments]
        self.set_widgets(self.chips)


class AttachmentText(Live, QDialog):
    """Window with an attached file's text as the model reads it.

    The text is plain and filled in slices, because it may be as long as a book.
    """

    def __init__(self, attachment: Attachment, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("attachmentText")
        self._attachment = attachment
        self._full_text, self._offset = shown_text(attachment), 0
        self.title, self.about = label("settingTitle", self), label("settingHelp", self)
        self.text = QPlainTextEdit(self)
        self.text.setReadOnly(True)
        self.text.setUndoRedoEnabled(False)
        margins = (SIZES.gap_l, SIZES.gap_l, SIZES.gap_l, SIZES.gap_l)
        fill(QVBoxLayout(self), self.title, self.about, self.text, margins=margins)
        self.resize(SIZES.dialog, SIZES.dialog_height)
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._fill)
        self._timer.start(0)
        self._fill()
        self.apply_look()
        self.text.setFocus()

    def restyle(self) -> None:
        self.text.setFont(code_font())

    def retranslate(self) -> None:
        a = self._attachment
        self.setWindowTitle(a.name)
        self.title.setText(a.name)
        pages = tr_n("{n} page", "{n} pages", len(a.pages)) if a.pages else ""
        parts = tr("{sent} of {total} parts sent", sent=len(a.sent), total=len(a.parts)) if a.sent is not None else ""
        characters = tr_n("{n} character", "{n} characters", len(a.text))
        source = f"{displayable_address(a.address)}, {a.read_on}" if a.address else ""
        self.about.setText(" · ".join(filter(None, (source, characters, pages, parts))))
        self.text.setAccessibleName(tr("Text of {name}", name=a.name))

    def _fill(self) -> None:
        cursor = QTextCursor(self.text.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText(self._full_text[self._offset : self._offset + SLICE])
        self._offset += SLICE
        if self._offset >= len(self._full_text):
            self._timer.stop()


def shown_text(attachment: Attachment) -> str:
    """Return the whole text, or the parts that were sent with lines of dots between them."""
    if attachment.sent is None:
        return attachment.text
    spans = [(attachment.parts[run[0]][0], attachment.parts[run[-1]][1]) for run in runs(attachment.sent)]
    return "\n\n…\n\n".join(attachment.text[begin:end].strip("\n") for begin, end in spans)


def show_attachment(attachment: Attachment, window: QWidget) -> None:
    """Open the file's text in a window beside the chat."""
    dialog = AttachmentText(attachment, window)
    dialog.finished.connect(dialog.deleteLater)
    dialog.show()
