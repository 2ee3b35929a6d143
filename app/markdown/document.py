"""Writes blocks into a QTextDocument. The text is hostile: no HTML, no image, nothing is ever fetched.

We draw the boxes of task lists: Qt's boxes touch the text and are crossed instead of ticked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPointF, QRectF, Qt, QUrl
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QFontMetricsF,
    QPainter,
    QPen,
    QPolygonF,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrameFormat,
    QTextLength,
    QTextListFormat,
    QTextTableFormat,
)  # fmt: skip

from app.look import theme as look
from app.look.theme import SIZES, Theme, body_font, code_font
from app.markdown.blocks import BOXES, BULLET, Block, Paragraph
from app.markdown.guard import displayable_address, name_direction_marks
from app.markdown.inline import Links, parse_inline, parse_question
from app.markdown.math_object import CHARACTER, DISPLAY, OBJECT, MathObject, insert_formula
from app.words import tr

if TYPE_CHECKING:
    from markdown_it.token import Token

_USER = QTextFormat.Property.UserProperty.value
RULE = QTextFormat.Property.BlockTrailingHorizontalRulerWidth
# Properties of block formats: whether a task is done; that an image stands alone.
TASK, CARD = _USER + 20, _USER + 21
TASKS, CARDS = "tasks", "cards"  # properties of a document: whether it contains tasks, and images that stand alone
LINE_BREAK = "\u2028"  # Qt's line break within a paragraph
PIXELS = QTextFormat.Property.FontPixelSize.value
_IMAGE = re.compile(r"!\[[^\[\]]*\]\([^()]*\)")
_TICK = ((0.24, 0.52), (0.43, 0.71), (0.77, 0.31))  # corners of the tick, in a box of size 1
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_ALIGNMENTS = {"right": Qt.AlignmentFlag.AlignRight, "center": Qt.AlignmentFlag.AlignHCenter}
_PROPORTIONAL = QTextBlockFormat.LineHeightTypes.ProportionalHeight.value
_FIXED = QTextBlockFormat.LineHeightTypes.FixedHeight.value


class MarkdownDocument(QTextDocument):
    """A document that loads nothing; a plain QTextDocument would read local files that an answer names."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.setUndoRedoEnabled(False)
        self.documentLayout().registerHandler(OBJECT, MathObject(self))

    def loadResource(self, _kind: int, _name: QUrl | str) -> object:
        return None


def render(document: QTextDocument, block: Block, theme: Theme, draws: bool = True) -> bool:
    """Fill the document with prose, a table or a piece of a question; return whether formulas are still to be drawn.

    A document that is only read and not shown `draws` no formulas.
    """
    document.setDocumentMargin(0)
    document.setDefaultFont(body_font())
    document.clear()
    document.setProperty(TASKS, any(paragraph.marker in BOXES for paragraph in block.paragraphs))
    document.setProperty(CARDS, any(map(_is_image, block.paragraphs)))
    cursor = QTextCursor(document)
    cursor.beginEditBlock()
    writer = _Writer(cursor, block.links, theme, draws)
    if block.rows:
        _write_table(cursor, block, writer)
    elif block.kind == "plain":
        cursor.setBlockFormat(_spaced(SIZES.line_height))
        writer.write_tokens(parse_question(block.text), QTextCharFormat())
    else:
        _write_paragraphs(cursor, block, writer)
    cursor.endEditBlock()
    if writer.has_formulas:
        format_formulas(document)
    return writer.pending


def plain_text(text: str, links: Links = ()) -> str:
    """Return what a paragraph shows, with formulas as LaTeX."""
    return "".join(_shown_text(token) for token in parse_inline(text, links))


def _shown_text(token: Token) -> str:
    if token.type in ("softbreak", "hardbreak"):
        return " "
    if token.type == "formula":
        return str(token.meta["formula"].source)
    return tr("[picture: {name}]", name=_alt(token)) if token.type == "image" else token.content


def _alt(image: Token) -> str:
    inner = (_alt(each) if each.type == "image" else _shown_text(each) for each in image.children or ())
    return "".join(inner).strip() or tr("picture")


def _spaced(percent: int) -> QTextBlockFormat:
    format = QTextBlockFormat()
    format.setLineHeight(percent, _PROPORTIONAL)
    return format


# --- paragraphs -------------------------------------------------------------------------------------------------------


def _write_paragraphs(cursor: QTextCursor, block: Block, writer: _Writer) -> None:
    paragraphs = block.paragraphs
    digits = max((len(paragraph.marker) - 1 for paragraph in paragraphs), default=0)
    # The usual indentation has room for two digits of a list's number; Qt would cut off the others.
    cursor.document().setIndentWidth(SIZES.indent + SIZES.digit * max(0, digits - 2))
    for number, paragraph in enumerate(paragraphs):
        following = paragraphs[number + 1] if number + 1 < len(paragraphs) else None
        format = _block_format(paragraph, following, writer.theme)
        if number:
            cursor.insertBlock(format, QTextCharFormat())
        else:
            cursor.setBlockFormat(format)
        if paragraph.marker and paragraph.marker not in BOXES:
            cursor.createList(_list_format(paragraph))
        quiet = bool(block.quote) or paragraph.level == 6
        writer.write_paragraph(paragraph, _char_format(paragraph, quiet, writer.theme))


def _block_format(paragraph: Paragraph, following: Paragraph | None, theme: Theme) -> QTextBlockFormat:
    format = _spaced(SIZES.line_height)
    if following is not None:
        format.setBottomMargin(space_between(paragraph, following))
    if paragraph.kind == "heading":
        format.setHeadingLevel(paragraph.level)
    if paragraph.kind == "rule":
        format.setProperty(RULE, QTextLength(QTextLength.Type.PercentageLength, 100))
        format.setBackground(QBrush(QColor(theme.line)))  # Qt draws the rule in this colour
    if paragraph.kind == "code":
        format.setBackground(QBrush(QColor(theme.code)))
    if _is_image(paragraph):
        format.setProperty(CARD, True)
        format.setLeftMargin(SIZES.gap_m)
        format.setTopMargin(SIZES.gap)
        format.setBottomMargin(format.bottomMargin() + SIZES.gap)
    if paragraph.marker in BOXES:
        format.setProperty(TASK, paragraph.marker == BOXES[1])
    if not paragraph.marker or paragraph.marker in BOXES:
        format.setIndent(paragraph.indent)
    return format


def space_between(paragraph: Paragraph, following: Paragraph) -> int:
    """Return the pixels between two paragraphs."""
    if following.kind == "heading":
        return SIZES.gap_l
    is_close = (bool(following.marker) and paragraph.indent > 0) or paragraph.kind == "term"
    return SIZES.gap_s if is_close else SIZES.gap_m


def _is_image(paragraph: Paragraph) -> bool:
    """Return whether an image stands alone, which makes a card of the paragraph."""
    return bool(_IMAGE.fullmatch(paragraph.text))


def _list_format(paragraph: Paragraph) -> QTextListFormat:
    """Return the format of a list of one item: Qt would number the items of a list that was cut from 1 on."""
    format = QTextListFormat()
    format.setIndent(paragraph.indent)
    if paragraph.marker == BULLET:
        format.setStyle(QTextListFormat.Style.ListDisc)
        return format
    format.setStyle(QTextListFormat.Style.ListDecimal)
    format.setStart(int(paragraph.marker[:-1]))
    format.setNumberSuffix(paragraph.marker[-1])
    return format


def _char_format(paragraph: Paragraph, is_quiet: bool, theme: Theme) -> QTextCharFormat:
    format = QTextCharFormat()
    if is_quiet:
        format.setForeground(QColor(theme.soft))
    if paragraph.level:
        format.setProperty(PIXELS, round(body_font().pixelSize() * SIZES.heading_scales[paragraph.level - 1]))
    if paragraph.kind in ("heading", "term", "summary"):
        format.setFontWeight(QFont.Weight.DemiBold)
    return format


class _Writer:
    """A writer of paragraphs at a cursor. `pending`: formulas are still to be drawn."""

    def __init__(self, cursor: QTextCursor, links: Links, theme: Theme, draws: bool) -> None:
        self.theme = theme
        self.pending = self.has_formulas = False
        self._cursor, self._links, self._draws = cursor, links, draws

    def write_paragraph(self, paragraph: Paragraph, format: QTextCharFormat) -> None:
        if paragraph.kind == "code":
            code = name_direction_marks(paragraph.text).replace("\n", LINE_BREAK)
            self._cursor.insertText(code, self._changed(format, "code"))
        elif paragraph.text:
            self.write_tokens(parse_inline(paragraph.text, self._links), format)

    def write_tokens(self, tokens: Iterable[Token], format: QTextCharFormat) -> None:
        outer: list[QTextCharFormat] = []
        for token in tokens:
            if token.nesting > 0:
                outer.append(format)
                format = self._changed(format, token.type.removesuffix("_open"), str(token.attrs.get("href", "")))
            elif token.nesting < 0:
                format = outer.pop()
            else:
                self._write_token(token, format)

    def _write_token(self, token: Token, format: QTextCharFormat) -> None:
        match token.type:
            case "softbreak" | "hardbreak":
                self._cursor.insertText(LINE_BREAK, format)
            case "code_inline":
                self._cursor.insertText(token.content, self._changed(format, "code"))
            case "formula":
                self._write_formula(token, format)
            case "image":
                self._write_image(token, format)
            case "footnote_ref":
                number = dict(self._links)[f"^{token.meta['label']}"]
                self._cursor.insertText(number.translate(_RAISED), self._changed(format, "note"))
            case _:
                self._cursor.insertText(token.content.replace("\n", LINE_BREAK), format)

    def _write_formula(self, token: Token, format: QTextCharFormat) -> None:
        self.has_formulas = True
        if self._draws:
            self.pending = insert_formula(self._cursor, token.meta["formula"], format) or self.pending
        else:
            self._cursor.insertText(CHARACTER)

    def _write_image(self, token: Token, format: QTextCharFormat) -> None:
        """Write what the image shows, and its address: the image is not loaded."""
        address = str(token.attrs.get("src", ""))
        quiet = QTextCharFormat(format)
        quiet.setForeground(QColor(self.theme.soft))
        self._cursor.insertText(tr("[picture: {name}]", name=_alt(token)), quiet)
        if address and not format.isAnchor():
            alone = self._cursor.blockFormat().hasProperty(CARD)
            self._cursor.insertText(LINE_BREAK if alone else " ", quiet)
            self._cursor.insertText(displayable_address(address), self._changed(format, "link", address))

    def _changed(self, format: QTextCharFormat, kind: str, address: str = "") -> QTextCharFormat:
        """Return the format of a text within these marks."""
        format = QTextCharFormat(format)
        match kind:
            case "strong":
                format.setFontWeight(QFont.Weight.Bold)
            case "em":
                format.setFontItalic(True)
            case "s":
                format.setFontStrikeOut(True)
            case "u":
                format.setFontUnderline(True)
            case "sub":
                format.setVerticalAlignment(QTextCharFormat.VerticalAlignment.AlignSubScript)
            case "sup":
                format.setVerticalAlignment(QTextCharFormat.VerticalAlignment.AlignSuperScript)
            case "mark":
                format.setBackground(QColor(self.theme.mark))
            case "code" | "kbd":
                scale = (format.intProperty(PIXELS) or body_font().pixelSize()) / body_font().pixelSize()
                format.setFontFamilies([code_font().family()])
                format.setFontFixedPitch(True)
                format.setProperty(PIXELS, round(code_font().pixelSize() * scale))
                format.setBackground(QColor(self.theme.code if kind == "code" else self.theme.chosen))
            case "link":
                format.setAnchor(True)
                format.setAnchorHref(address)
                format.setForeground(QColor(self.theme.link))
                format.setFontUnderline(True)
        return format


# --- tables -----------------------------------------------------------------------------------------------------------


def _write_table(cursor: QTextCursor, block: Block, writer: _Writer) -> None:
    """Write rows of a table."""
    table = cursor.insertTable(len(block.rows), len(block.aligns), _table_format(writer.theme))
    for row, cells in enumerate(block.rows):
        is_head = row == 0 and block.has_head
        for column, text in enumerate(cells):
            cell = table.cellAt(row, column)
            format = cell.format().toTableCellFormat()
            format.setBottomPadding(SIZES.gap_s / 2)  # a paragraph has space of its own below its last line
            if is_head:
                format.setBackground(QColor(writer.theme.code))
            cell.setFormat(format)
            cursor.setPosition(cell.firstPosition())
            spaced = _spaced(SIZES.tight_height)
            spaced.setAlignment(_ALIGNMENTS.get(block.aligns[column], Qt.AlignmentFlag.AlignLeading))
            cursor.setBlockFormat(spaced)
            writer.write_paragraph(
                Paragraph(text), _char_format(Paragraph("", "term" if is_head else "text"), False, writer.theme)
            )
    for filler in (cursor.document().begin(), cursor.document().lastBlock()):  # Qt wants a line above and below
        low = QTextBlockFormat()
        low.setLineHeight(1, _FIXED)
        QTextCursor(filler).setBlockFormat(low)


def _table_format(theme: Theme) -> QTextTableFormat:
    format = QTextTableFormat()
    format.setBorder(1)
    format.setBorderCollapse(True)
    format.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
    format.setBorderBrush(QColor(theme.line))
    format.setCellPadding(SIZES.gap)
    format.setCellSpacing(0)
    format.setWidth(QTextLength())
    return format


# --- formulas ---------------------------------------------------------------------------------------------------------


def format_formulas(document: QTextDocument) -> None:
    """Give lines with formulas the same spacing as other lines, and centre a formula that stands alone."""
    line = QFontMetricsF(body_font()).height() / 100
    edit = QTextCursor(document)
    edit.beginEditBlock()  # all changes are laid out once
    cursor = document.find(CHARACTER)
    while not cursor.isNull():
        block = cursor.block()
        format = QTextBlockFormat()
        if block.blockFormat().lineHeightType() != QTextBlockFormat.LineHeightTypes.LineDistanceHeight.value:
            distance = (block.blockFormat().lineHeight() - 100) * line
            format.setLineHeight(distance, QTextBlockFormat.LineHeightTypes.LineDistanceHeight.value)
        if (
            block.text() == CHARACTER
            and cursor.charFormat().boolProperty(DISPLAY)
            and block.blockFormat().objectIndex() < 0
        ):
            format.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        cursor.setPosition(block.position())
        cursor.mergeBlockFormat(format)
        cursor.setPosition(block.position() + block.length() - 1)
        cursor = document.find(CHARACTER, cursor)
    edit.endEditBlock()


# --- tasks ------------------------------------------------------------------------------------------------------------


def draw_cards(document: QTextDocument, painter: QPainter) -> None:
    """Draw the grounds of images that stand alone, in the document's coordinates."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QColor(look.theme().line))
    painter.setBrush(QColor(look.theme().code))
    block = document.begin()
    while block.isValid():
        if block.blockFormat().hasProperty(CARD):
            text = document.documentLayout().blockBoundingRect(block)
            left, right = text.left() + 0.5, document.textWidth() - 0.5
            ground = QRectF(left, text.top() - SIZES.gap + 0.5, right - left, text.height() + 2 * SIZES.gap - 1)
            painter.drawRoundedRect(ground, SIZES.radius, SIZES.radius)
        block = block.next()


def is_task(block: QTextBlock) -> bool:
    return block.blockFormat().hasProperty(TASK)


def draw_tasks(document: QTextDocument, painter: QPainter) -> None:
    """Draw the boxes of all tasks, in the document's coordinates."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    block = document.begin()
    while block.isValid():
        if is_task(block) and block.layout().lineCount():
            _draw_task(painter, _task_box(block), block.blockFormat().boolProperty(TASK))
        block = block.next()


def _task_box(block: QTextBlock) -> QRectF:
    """Return the rectangle of a task's box: left of the first line, centred on the height of its capitals."""
    line = block.layout().lineAt(0)
    left = block.layout().position().x() + line.naturalTextRect().left()
    middle = block.layout().position().y() + line.y() + line.ascent() - QFontMetricsF(body_font()).capHeight() / 2
    return QRectF(round(left - SIZES.gap - SIZES.body), round(middle - SIZES.body / 2), SIZES.body, SIZES.body)


def _draw_task(painter: QPainter, box: QRectF, done: bool) -> None:
    colour = QColor(look.theme().accent if done else look.theme().soft)
    painter.setPen(colour)
    painter.setBrush(colour if done else Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), SIZES.gap_s, SIZES.gap_s)
    if done:
        painter.setPen(QPen(QColor(look.theme().on_accent), SIZES.body / 8))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPolyline(QPolygonF([box.topLeft() + QPointF(x, y) * box.width() for x, y in _TICK]))
