"""Turns markdown into a formatted QTextDocument. The text is hostile: no HTML, no image, nothing is ever fetched.

Formulas and images are replaced by one character each before Qt reads the markdown, and inserted afterwards. We draw
the boxes of task lists: Qt's boxes touch the text, cover numbers, and are crossed instead of ticked.
"""

from __future__ import annotations

import re

from PySide6.QtCore import QObject, QPointF, QRectF, QRegularExpression, Qt, QUrl
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
    QTextList,
    QTextListFormat,
    QTextTable,
    QTextTableCell,
)  # fmt: skip

from app.look import theme as look
from app.look.theme import SIZES, Theme, body_font, code_font
from app.markdown.grammar import BREAK
from app.markdown.guard import IMAGE, name_direction_marks, replace_images
from app.markdown.math_object import CHARACTER, DISPLAY, OBJECT, MathObject, show_formula
from app.markdown.math_text import Formula, extract_formulas, restore_sources
from app.words import tr

FEATURES = QTextDocument.MarkdownFeature.MarkdownDialectGitHub | QTextDocument.MarkdownFeature.MarkdownNoHTML
RULE = QTextFormat.Property.BlockTrailingHorizontalRulerWidth
TASK = QTextFormat.Property.UserProperty.value + 20  # property of a task's block format: whether the task is done
TASKS = "tasks"  # property of a document: whether it contains tasks
LINE_BREAK = "\u2028"  # Qt's line break within a paragraph
_BOX = re.compile(r"\[[ xX]\][ \t]")
_TICK = ((0.24, 0.52), (0.43, 0.71), (0.77, 0.31))  # corners of the tick, in a box of size 1
_BULLETS = (QTextListFormat.Style.ListDisc, QTextListFormat.Style.ListCircle, QTextListFormat.Style.ListSquare)


class MarkdownDocument(QTextDocument):
    """A document that loads nothing; a plain QTextDocument would read local files that an answer names."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.documentLayout().registerHandler(OBJECT, MathObject(self))

    def loadResource(self, _kind: int, _name: QUrl | str) -> object:
        return None


def render(document: QTextDocument, markdown: str, theme: Theme) -> bool:
    """Fill the document with `markdown` in the theme's formats; return whether formulas are still to be drawn."""
    document.setDocumentMargin(0)
    document.setDefaultFont(body_font())
    markdown = name_direction_marks(markdown)
    formulas: dict[str, Formula] = {}
    if "$" in markdown or "\\" in markdown:
        markdown, formulas = extract_formulas(markdown)
    document.setMarkdown(replace_images(markdown), FEATURES)
    cursor = QTextCursor(document)
    cursor.beginEditBlock()
    replace_task_markers(document, markdown)
    lists = _lists(document)
    for each in lists:
        _format_list(each)
    document.setIndentWidth(SIZES.indent + SIZES.digit * _digits_above_two(lists))
    tables = [frame for frame in document.rootFrame().childFrames() if isinstance(frame, QTextTable)]
    for table in tables:
        _repair_header(table)
    if tables and BREAK.search(markdown):
        _break_lines_in_cells(document, tables)
    spans = [(table.firstPosition(), table.lastPosition()) for table in tables]
    block = document.begin()
    while block.isValid():
        in_table = any(first <= block.position() <= last for first, last in spans)
        _format_block(block, in_table, theme, formulas)
        block = block.next()
    for table in tables:
        _format_table(table, theme)
    if IMAGE in document.toRawText():
        _name_images(document, theme)
    pending = _show_formulas(document, formulas) if formulas else False
    cursor.endEditBlock()
    if formulas:
        format_formulas(document)
    return pending


def _break_lines_in_cells(document: QTextDocument, tables: list[QTextTable]) -> None:
    """Replace each `<br>` in a cell by a line break: it is the only way to write one. In code it stays as it is."""
    tag = QRegularExpression(f" *{BREAK.pattern} *", QRegularExpression.PatternOption.CaseInsensitiveOption)
    cursor = document.find(tag)
    while not cursor.isNull():
        sign = QTextCursor(document)
        sign.setPosition(cursor.selectionStart() + cursor.selectedText().index("<") + 1)
        in_table = any(table.firstPosition() <= sign.position() <= table.lastPosition() for table in tables)
        if in_table and not sign.charFormat().fontFixedPitch():
            cursor.insertText(LINE_BREAK)
        cursor = document.find(tag, cursor)


def _name_images(document: QTextDocument, theme: Theme) -> None:
    """Replace each image by “[image: ALT TEXT]” in grey; the image is neither loaded nor linked to."""
    cursor = document.find(IMAGE)
    while not cursor.isNull():
        code = cursor.charFormat().fontFixedPitch()
        alt = "" if code else _anchor_behind(cursor)
        if cursor.selectedText() == IMAGE and not alt:
            cursor.insertText("!", QTextCharFormat(cursor.charFormat()))
        else:
            format = QTextCharFormat()
            format.setForeground(QColor(theme.soft))
            cursor.insertText(tr("[image: {name}]", name=alt.strip() or tr("image")), format)
        cursor = document.find(IMAGE, cursor)


def _anchor_behind(cursor: QTextCursor) -> str:
    """Return the text of the link behind the selected sign and select it too; "" if no link follows."""
    end = cursor.selectionEnd()
    probe = QTextCursor(cursor.document())
    probe.setPosition(end)
    href, text = None, ""
    while not probe.atBlockEnd():
        probe.movePosition(QTextCursor.MoveOperation.NextCharacter, QTextCursor.MoveMode.KeepAnchor)
        format = probe.charFormat()
        href = format.anchorHref() if href is None else href
        if not format.isAnchor() or format.anchorHref() != href:
            break
        text += probe.selectedText()
        probe.setPosition(probe.selectionEnd())
        cursor.setPosition(probe.position(), QTextCursor.MoveMode.KeepAnchor)
    return text


def _show_formulas(document: QTextDocument, formulas: dict[str, Formula]) -> bool:
    """Replace the stand-in characters by their formulas; return whether some are not drawn yet."""
    pending = False
    cursor = QTextCursor(document)
    for standin, formula in formulas.items():
        place = document.find(standin, cursor)
        if place.isNull():
            place = document.find(standin)  # markdown moved it, or it is in an address and not in the text
        if not place.isNull():
            pending = show_formula(place, formula) or pending
            cursor = place
    return pending


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
        if block.text() == CHARACTER and cursor.charFormat().boolProperty(DISPLAY) and not _in_list(block):
            format.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        cursor.setPosition(block.position())
        cursor.mergeBlockFormat(format)
        cursor.setPosition(block.position() + block.length() - 1)
        cursor = document.find(CHARACTER, cursor)
    edit.endEditBlock()


def replace_task_markers(document: QTextDocument, markdown: str) -> None:
    """Replace the markers of Qt's task items by our own boxes; in a numbered list the box becomes a letter."""
    document.setProperty(TASKS, False)
    if not _BOX.search(markdown):
        return
    block = document.begin()
    while block.isValid():
        marker = block.blockFormat().marker()
        if marker != QTextBlockFormat.MarkerType.NoMarker:
            _replace_marker(block, marker == QTextBlockFormat.MarkerType.Checked)
            document.setProperty(TASKS, True)
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


def _replace_marker(block: QTextBlock, done: bool) -> None:
    format = QTextBlockFormat()
    format.setMarker(QTextBlockFormat.MarkerType.NoMarker)
    cursor = QTextCursor(block)
    if block.blockFormat().objectIndex() >= 0:  # Qt also marks paragraphs behind a list of tasks, which are no tasks
        items = block.textList()
        if items.format().style() in _BULLETS:
            items.remove(block)  # the block stays indented
            format.setProperty(TASK, done)
        else:
            cursor.insertText("☑ " if done else "☐ ")
    cursor.mergeBlockFormat(format)


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


def _in_list(block: QTextBlock) -> bool:
    # Without textList(), and for tables without currentTable(): where there is none, PySide 6.12 drops a reference too
    # many to None.
    return block.blockFormat().objectIndex() >= 0


def _is_item(block: QTextBlock) -> bool:
    return _in_list(block) or is_task(block)


def _lists(document: QTextDocument) -> list[QTextList]:
    lists: dict[int, QTextList] = {}
    block = document.begin()
    while block.isValid():
        if _in_list(block) and block.blockFormat().objectIndex() not in lists:
            lists[block.blockFormat().objectIndex()] = block.textList()
        block = block.next()
    return list(lists.values())


def _format_list(each: QTextList) -> None:
    """Use one kind of bullet: Qt draws different ones for *, - and +, which mean the same."""
    format = each.format()
    if format.style() in (QTextListFormat.Style.ListCircle, QTextListFormat.Style.ListSquare):
        format.setStyle(QTextListFormat.Style.ListDisc)
        each.setFormat(format)


def _digits_above_two(lists: list[QTextList]) -> int:
    """Return how many digits the longest list number has beyond two.

    The usual indentation has room for two digits; Qt would cut off the others.
    """
    last = max((each.format().start() + each.count() for each in lists if each.format().start() >= 0), default=0)
    return max(0, len(str(last)) - 2)


def _format_block(block: QTextBlock, in_table: bool, theme: Theme, formulas: dict[str, Formula]) -> None:
    cursor = QTextCursor(block)
    format = QTextBlockFormat()
    format.setLineHeight(SIZES.line_height, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
    level = block.blockFormat().headingLevel()
    first, in_list = block.position() == 0, _is_item(block)
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
    _format_fragments(block, level, theme, formulas)


def _gap_below(block: QTextBlock, in_list: bool, in_table: bool) -> int:
    following = block.next()
    if in_table or not following.isValid():
        return 0
    return SIZES.gap_s if in_list and _is_item(following) else SIZES.gap_m


def _is_filler(block: QTextBlock) -> bool:
    """Return whether this is one of the empty lines that Qt puts behind tables and before rules."""
    alone = block.document().blockCount() == 1
    return not (block.text() or alone or _in_list(block) or block.blockFormat().hasProperty(RULE))


def _format_fragments(block: QTextBlock, level: int, theme: Theme, formulas: dict[str, Formula]) -> None:
    spans = []
    at = block.begin()
    while not at.atEnd():
        fragment = at.fragment()
        spans.append((fragment.position(), fragment.length(), fragment.charFormat()))
        at += 1
    quoted = bool(block.blockFormat().intProperty(QTextFormat.Property.BlockQuoteLevel.value))
    for position, length, old in reversed(spans):  # replacing an image moves all positions behind it
        format = _char_format(old, level, quoted, theme)
        if formulas and old.isAnchor():
            format.setAnchorHref(restore_sources(old.anchorHref(), formulas))
        cursor = QTextCursor(block.document())
        cursor.setPosition(position)
        cursor.setPosition(position + length, QTextCursor.MoveMode.KeepAnchor)
        if old.isImageFormat():  # an image that Qt found and `replace_images` did not
            cursor.insertText(f"[{tr('image')}]" * length, format)
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


def _repair_header(table: QTextTable) -> None:
    """Repair a table's header row behind a quotation.

    There Qt puts an empty line into the first cell and leaves the cell's text without bold type.
    """
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
    for row in range(table.rows()):
        for column in range(table.columns()):
            _format_cell(table.cellAt(row, column), row == 0, theme)


def _format_cell(cell: QTextTableCell, is_head: bool, theme: Theme) -> None:
    format = cell.format().toTableCellFormat()
    format.setBottomPadding(SIZES.gap_s / 2)  # a paragraph has space of its own below its last line
    if is_head:
        format.setBackground(QColor(theme.code))
    cell.setFormat(format)
