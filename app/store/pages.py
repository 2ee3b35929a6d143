"""Reads what is left in a damaged SQLite file, page by page, without SQLite, which stops at the first bad page.

The format is https://sqlite.org/fileformat2.html; numbers in it are big-endian. Knows nothing of chats.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

MAGIC = b"SQLite format 3\0"
USUAL_PAGE_SIZE = 4096
LEAF = 0x0D
FRAME_HEADER, WAL_HEADER = 24, 32
INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}  # bytes by serial type
Value = None | int | float | str | bytes
Row = tuple[int, tuple[Value, ...]]  # rowid and columns


class Unreadable(Exception):
    """This cell cannot be read; others may."""


@dataclass
class Pages:
    """`main` is the database file, `wal` its write-ahead log; either may be damaged or empty."""

    main: bytes | mmap.mmap
    wal: bytes = b""
    size: int = field(init=False)
    _newer: Mapping[int, bytes] = field(init=False)

    def __post_init__(self) -> None:
        self._sound = bytes(self.main[:16]) == MAGIC
        self.size = self._page_size()
        self._newer = committed_pages(self.wal, self.size)
        self._usable = self.size - (self.main[20] if self._sound and self.main[20] <= 64 else 0)

    @property
    def count(self) -> int:
        return max([-(-len(self.main) // self.size), *self._newer])

    def page(self, number: int) -> bytes:
        """Page `number`, counted from 1, as last committed; shorter or empty where the file ends."""
        newer = self._newer.get(number)
        return newer if newer is not None else bytes(self.main[(number - 1) * self.size : number * self.size])

    def tables(self) -> Iterator[list[Row]]:
        """The rows of each page of a table that can be read, without those that were let go."""
        free = self._free()
        for number in range(1, self.count + 1):
            if number not in free:
                rows = self._rows(self.page(number), 100 if number == 1 else 0)
                if rows:
                    yield rows

    def _page_size(self) -> int:
        sizes = [int.from_bytes(bytes(self.main[16:18])) if self._sound else 0, int.from_bytes(self.wal[8:12])]
        for size in sizes:
            size = 65536 if size == 1 else size
            if 512 <= size <= 65536 and size & (size - 1) == 0:
                return size
        return USUAL_PAGE_SIZE

    def _free(self) -> set[int]:
        """Pages that hold nothing any more, though old rows may still stand in them."""
        free: set[int] = set()
        first = self.page(1)
        trunk = int.from_bytes(first[32:36]) if first[:16] == MAGIC else 0
        while 1 < trunk <= self.count and trunk not in free:
            free.add(trunk)
            page = self.page(trunk)
            leaves = min(int.from_bytes(page[4:8]), self.size // 4 - 2)
            free.update(struct.unpack_from(f">{leaves}I", page, 8) if len(page) == self.size else ())
            trunk = int.from_bytes(page[:4])
        return free

    def _rows(self, page: bytes, start: int) -> list[Row]:
        if len(page) < start + 8 or page[start] != LEAF:
            return []
        rows: list[Row] = []
        for at in range(start + 8, start + 8 + 2 * int.from_bytes(page[start + 3 : start + 5]), 2):
            try:
                rows.append(self._cell(page, int.from_bytes(page[at : at + 2])))
            except (Unreadable, IndexError, struct.error, UnicodeDecodeError):
                continue
        return rows

    def _cell(self, page: bytes, at: int) -> Row:
        length, at = varint(page, at)
        rowid, at = varint(page, at)
        local = self._local(length)
        payload = page[at : at + local]
        if length > local:
            payload += self._overflow(int.from_bytes(page[at + local : at + local + 4]), length - local)
        if len(payload) != length:
            raise Unreadable
        return rowid, record(payload)

    def _local(self, length: int) -> int:
        """How many bytes of a payload stand in the page itself."""
        most = self._usable - 35
        if length <= most:
            return length
        least = (self._usable - 12) * 32 // 255 - 23
        fitting = least + (length - least) % (self._usable - 4)
        return fitting if fitting <= most else least

    def _overflow(self, number: int, length: int) -> bytes:
        if length > self.count * self.size:
            raise Unreadable
        pieces: list[bytes] = []
        while length > 0:
            page = self.page(number) if number else b""
            piece = page[4 : min(4 + length, self._usable)]
            if not piece:
                raise Unreadable
            pieces.append(piece)
            length -= len(piece)
            number = int.from_bytes(page[:4])
        return b"".join(pieces)


def varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at `at` and where the next one stands."""
    value = 0
    for place in range(8):
        byte = data[at + place]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + place + 1
    value = value << 8 | data[at + 8]
    return value - (1 << 64) if value >> 63 else value, at + 9


def record(payload: bytes) -> tuple[Value, ...]:
    """The columns of a row."""
    end, at = varint(payload, 0)
    kinds: list[int] = []
    while at < end:
        kind, at = varint(payload, at)
        kinds.append(kind)
    values: list[Value] = []
    for kind in kinds:
        value, length = _value(kind, payload, end)
        values.append(value)
        end += length
    if end != len(payload):
        raise Unreadable
    return tuple(values)


def _value(kind: int, payload: bytes, at: int) -> tuple[Value, int]:
    """The value of serial type `kind` and how many bytes it takes."""
    if kind == 0:
        return None, 0
    if kind in INTEGERS:
        return int.from_bytes(payload[at : at + INTEGERS[kind]], signed=True), INTEGERS[kind]
    if kind == 7:
        return struct.unpack_from(">d", payload, at)[0], 8
    if kind in (8, 9):
        return kind - 8, 0
    if kind < 12:
        raise Unreadable
    length = (kind - 12) // 2
    raw = payload[at : at + length]
    return (raw.decode() if kind % 2 else raw), length


def committed_pages(wal: bytes, page_size: int) -> dict[int, bytes]:
    """The pages that a write-ahead log has in place of the database's, up to the first frame that is not sound."""
    if len(wal) < WAL_HEADER or int.from_bytes(wal[:4]) not in (0x377F0682, 0x377F0683):
        return {}
    order = ">" if wal[3] & 1 else "<"
    sums = _checksum(wal[:24], (0, 0), order)
    committed: dict[int, bytes] = {}
    waiting: dict[int, bytes] = {}
    for at in range(WAL_HEADER, len(wal) - FRAME_HEADER - page_size + 1, FRAME_HEADER + page_size):
        head, page = wal[at : at + FRAME_HEADER], wal[at + FRAME_HEADER : at + FRAME_HEADER + page_size]
        sums = _checksum(page, _checksum(head[:8], sums, order), order)
        if head[8:16] != wal[16:24] or struct.unpack(">II", head[16:24]) != sums:
            break
        waiting[int.from_bytes(head[:4])] = page
        if int.from_bytes(head[4:8]):  # the end of a transaction
            committed |= waiting
            waiting = {}
    return committed


def _checksum(data: bytes, sums: tuple[int, int], order: str) -> tuple[int, int]:
    one, two = sums
    numbers = struct.unpack(f"{order}{len(data) // 4}I", data)
    for first, second in zip(numbers[::2], numbers[1::2], strict=True):
        one = one + first + two & 0xFFFFFFFF
        two = two + second + one & 0xFFFFFFFF
    return one, two
