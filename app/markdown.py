"""Turns markdown into a formatted QTextDocument. The text is hostile: no HTML, no image, nothing is ever fetched."""

from __future__ import annotations

from PySide6.QtCore import QUrl
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFont,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrameFormat,
    QTextLength,
    QTextList,
    QTextListFormat,
    QTextTable,
    QTextTableCell,
)  # fmt: skip

from app.theme import SIZES, Theme, body_font, code_font

FEATURES = QTextDocument.MarkdownFeature.MarkdownDialectGitHub | QTextDocument.MarkdownFeature.MarkdownNoHTML
RULE = QTextFormat.Property.BlockTrailingHorizontalRulerWidth


class MarkdownDocument(QTextDocument):
    """A document that loads nothing. QTextDocument by itself would read local files that an answer names."""

    def loadResource(self, _kind: int, _name: QUrl | str) -> object:
        return None


def render(document: QTextDocument, markdown: str, theme: Theme) -> None:
    """Fill the document with `markdown` in the theme's formats."""
    document.setDocumentMargin(0)
    document.setDefaultFont(body_font())
    document.setMarkdown(markdown, FEATURES)
    cursor = QTextCursor(document)
    cursor.beginEditBlock()
    lists = _lists(document)
    for each in lists:
        _format_list(each)
    document.setIndentWidth(SIZES.indent + SIZES.digit * _digits_above_two(lists))
    tables = [frame for frame in document.rootFrame().childFrames() if isinstance(frame, QTextTable)]
    for table in tables:
        _mend_header(table)
    spans = [(table.firstPosition(), table.lastPosition()) for table in tables]
    block = document.begin()
    while block.isValid():
        in_table = any(first <= block.position() <= last for first, last in spans)
        _format_block(block, in_table, theme)
        block = block.next()
    for table in tables:
        _format_table(table, theme)
    cursor.endEditBlock()


def _in_list(block: QTextBlock) -> bool:
    # Not textList(), and for tables not currentTable(): PySide 6.12 drops a reference to None when there is none.
    return block.blockFormat().objectIndex() >= 0


def _lists(document: QTextDocument) -> list[QTextList]:
    found: dict[int, QTextList] = {}
    block = document.begin()
    while block.isValid():
        if _in_list(block) and block.blockFormat().objectIndex() not in found:
            found[block.blockFormat().objectIndex()] = block.textList()
        block = block.next()
    return list(found.values())


def _format_list(each: QTextList) -> None:
    """One kind of bullet: Qt draws another one for each of the signs *, - and +, which mean the same."""
    format = each.format()
    if format.style() in (QTextListFormat.Style.ListCircle, QTextListFormat.Style.ListSquare):
        format.setStyle(QTextListFormat.Style.ListDisc)
        each.setFormat(format)


def _digits_above_two(lists: list[QTextList]) -> int:
    """The indentation has room for two; Qt would cut off what is left of it."""
    last = max((each.format().start() + each.count() for each in lists if each.format().start() >= 0), default=0)
    return max(0, len(str(last)) - 2)


def _format_block(block: QTextBlock, in_table: bool, theme: Theme) -> None:
    cursor = QTextCursor(block)
    format = QTextBlockFormat()
    format.setLineHeight(SIZES.line_height, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
    level = block.blockFormat().headingLevel()
    first, in_list = block.position() == 0, _in_list(block)
    format.setTopMargin(0 if first or in_table else SIZES.gap_l if level else 0)
    format.setBottomMargin(_gap_below(block, in_list, in_table))
    if block.blockFormat().hasProperty(RULE):
        format.setBackground(QBrush(QColor(theme.line)))  # Qt draws the rule in this colour
    if in_table:
        format.setLineHeight(SIZES.tight_height, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
    elif _is_filler(block):
        format.setLineHeight(1, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
    if block.blockFormat().intProperty(QTextFormat.Property.BlockQuoteLevel.value):
        format.setLeftMargin(SIZES.gap_l)
        format.setForeground(QBrush(QColor(theme.soft)))
    cursor.mergeBlockFormat(format)
    _format_fragments(block, level, theme)


def _gap_below(block: QTextBlock, in_list: bool, in_table: bool) -> int:
    following = block.next()
    if in_table or not following.isValid():
        return 0
    return SIZES.gap_s if in_list and _in_list(following) else SIZES.gap_m


def _is_filler(block: QTextBlock) -> bool:
    """Is it one of the empty lines that Qt puts behind tables and before rules?"""
    alone = block.document().blockCount() == 1
    return not (block.text() or alone or _in_list(block) or block.blockFormat().hasProperty(RULE))


def _format_fragments(block: QTextBlock, level: int, theme: Theme) -> None:
    spans = []
    at = block.begin()
    while not at.atEnd():
        fragment = at.fragment()
        spans.append((fragment.position(), fragment.length(), fragment.charFormat()))
        at += 1
    quoted = bool(block.blockFormat().intProperty(QTextFormat.Property.BlockQuoteLevel.value))
    for position, length, old in reversed(spans):  # from the end: replacing an image moves what follows
        format = _char_format(old, level, quoted, theme)
        cursor = QTextCursor(block.document())
        cursor.setPosition(position)
        cursor.setPosition(position + length, QTextCursor.MoveMode.KeepAnchor)
        if old.isImageFormat():
            name = str(old.property(QTextFormat.Property.ImageAltText.value) or "") or "image"
            cursor.insertText(f"[image: {name}]" * length, format)
        elif format.propertyCount():
            cursor.mergeCharFormat(format)


def _char_format(old: QTextCharFormat, level: int, quoted: bool, theme: Theme) -> QTextCharFormat:
    format = QTextCharFormat()
    if quoted or old.isImageFormat():
        format.setForeground(QColor(theme.soft))
    if level:
        font = body_font()
        format.setProperty(QTextFormat.Property.FontSizeAdjustment.value, 0)
        format.setProperty(
            QTextFormat.Property.FontPixelSize.value, round(font.pixelSize() * SIZES.heading_scales[level - 1])
        )
        format.setFontWeight(QFont.Weight.DemiBold)
    if old.fontFixedPitch():
        format.setFontFamilies([code_font().family()])
        format.setProperty(QTextFormat.Property.FontPixelSize.value, code_font().pixelSize())
        format.setBackground(QColor(theme.code))
    if old.isAnchor():
        format.setForeground(QColor(theme.link))
        format.setFontUnderline(True)
    return format


def _mend_header(table: QTextTable) -> None:
    """Behind a quotation Qt puts an empty line into the first cell and forgets to make its text bold."""
    cursor = table.cellAt(0, 0).firstCursorPosition()
    if not cursor.block().text() and cursor.block().next().position() <= table.cellAt(0, 0).lastPosition():
        cursor.deleteChar()
        cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
        bold = QTextCharFormat()
        bold.setFontWeight(QFont.Weight.Bold)
        cursor.mergeCharFormat(bold)


def _format_table(table: QTextTable, theme: Theme) -> None:
    format = table.format()
    format.setBorder(1)
    format.setBorderCollapse(True)
    format.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
    format.setBorderBrush(QColor(theme.line))
    format.setCellPadding(SIZES.gap)
    format.setCellSpacing(0)
    format.setTopMargin(4)
    format.setBottomMargin(SIZES.gap_m)
    format.setWidth(QTextLength())
    table.setFormat(format)
    for column in range(table.columns()):
        _shade(table.cellAt(0, column), theme)


def _shade(cell: QTextTableCell, theme: Theme) -> None:
    format = cell.format()
    format.setBackground(QColor(theme.code))
    cell.setFormat(format)
