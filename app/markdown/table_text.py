"""What a GitHub table looks like in markdown: its head, its rows, its cells. Knows no Qt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

RULE = re.compile(r"^[ \t]{0,3}\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
RULE_BEGUN = re.compile(r"^[ \t]{0,3}\|?[ \t:|-]*$")
_NO_ROW = re.compile(r"^[ \t]{0,3}(#|>|```|~~~)")
_ADDRESS = re.compile(r"(?<=\])\([^)]*\)|\$[^$]*\$")
_MARKS = re.compile(r"[*_`~\[\]\\]")
_CELL_END = re.compile(r"\\.|`+|\|")
Alignment = Literal["left", "right", "center"]


def is_table_head(lines: Sequence[str]) -> bool:
    """Are these two lines a row of names and the rule below it?"""
    if len(lines) != 2 or "|" not in lines[0] or "-" not in lines[1] or not RULE.match(lines[1]):
        return False
    return lines[0].lstrip()[:1] != ">" and len(cells(lines[0])) == len(cells(lines[1]))


def may_be_table_head(lines: Sequence[str]) -> bool:
    """May these last one or two lines of what is written so far become a table's head?"""
    if len(lines) == 2 and lines[0].lstrip().startswith("|"):
        return bool(RULE_BEGUN.match(lines[1]))
    return bool(lines) and lines[-1].lstrip().startswith("|")


def belongs_to_table(line: str) -> bool:
    """Is `line`, below a table's rows, another one?"""
    return "|" in line and not _NO_ROW.match(line)


def cells(row: str) -> list[str]:
    """The markdown of each cell. A bar behind a backslash, and for us one inside code, separates nothing."""
    row = row.strip()
    row = row[1:] if row.startswith("|") else row
    found, start, at = [], 0, 0
    while end := _CELL_END.search(row, at):
        at = end.end()
        if end[0][0] == "`":
            closing = re.compile(rf"(?<!`){end[0]}(?!`)").search(row, at)
            at = closing.end() if closing else at
        elif end[0] == "|":
            found.append(row[start : end.start()])
            start = at
    if row[start:].strip():
        found.append(row[start:])
    return [cell.strip().replace("\\|", "|") for cell in found]


def words_of(cell: str) -> list[str]:
    """Of what a cell shows: neither marks nor a link's address."""
    return _MARKS.sub("", _ADDRESS.sub("", cell)).split()


def alignments(rule: str) -> list[Alignment]:
    """What the rule says of each column."""
    return [
        "center" if cell[:1] == ":" == cell[-1:] else "right" if cell[-1:] == ":" else "left" for cell in cells(rule)
    ]
