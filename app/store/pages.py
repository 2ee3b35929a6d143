"""Reads what is left in a damaged SQLite file, page by page, without SQLite, which stops at the first bad page.

The format is https://sqlite.org/fileformat2.html; numbers in it are big-endian. Knows nothing of chats.
"""

from __future__ import annotations

import mmap
import re
import struct
from collections import Counter
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
    """A cell that cannot be read; others may be readable."""


@dataclass
class Pages:
    """The pages of a database file `main` and its write-ahead log `wal`; either may be damaged or empty."""

    main: bytes | mmap.mmap
    wal: bytes = b""
    size: int = field(init=False)
    _newer: Mapping[int, bytes] = field(init=False)

    def __post_init__(self) -> None:
        self._sound = bytes(self.main[:16]) == MAGIC
        self.size = page_size(self.main, self.wal)
        self._newer = committed_pages(self.wal, self.size)
        self._usable = self.size - (self.main[20] if self._sound and self.main[20] <= 64 else 0)

    @property
    def count(self) -> int:
        return max([-(-len(self.main) // self.size), *self._newer])

    def page(self, number: int) -> bytes:
        """Return page `number`, counted from 1, as last committed; shorter or empty at the end of the file."""
        newer = self._newer.get(number)
        return newer if newer is not None else bytes(self.main[(number - 1) * self.size : number * self.size])

    def tables(self) -> Iterator[list[Row]]:
        """Yield the readable rows of each table page, except free pages."""
        free = self._free()
        for number in range(1, self.count + 1):
            if number not in free:
                rows = self._rows(self.page(number), 100 if number == 1 else 0)
                if rows:
                    yield rows

    def _free(self) -> set[int]:
        """Return the numbers of free pages, which may still have old rows in them."""
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
        """Return how many bytes of a payload are stored in the page itself."""
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


def page_size(main: bytes | mmap.mmap, wal: bytes) -> int:
    """Return the page size that the file names, else its log, else the usual one."""
    sizes = [int.from_bytes(main[16:18]) if main[:16] == MAGIC else 0, int.from_bytes(wal[8:12])]
    for size in sizes:
        size = 65536 if size == 1 else size
        if 512 <= size <= 65536 and size & (size - 1) == 0:
            return size
    return USUAL_PAGE_SIZE


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the variable-length integer at `at` and the position after it."""
    value = 0
    for place in range(8):
        byte = data[at + place]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + place + 1
    value = value << 8 | data[at + 8]
    return value - (1 << 64) if value >> 63 else value, at + 9


def record(payload: bytes) -> tuple[Value, ...]:
    """Return the columns of a row; raise Unreadable if the lengths do not fit."""
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
    """Return the value of serial type `kind` at `at` and how many bytes it takes."""
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
    """Return the pages in a write-ahead log that replace the database's.

    SQLite reads as far as the first frame with a wrong checksum. Later frames with the log's salt are used too, to save
    the text in them.
    """
    committed: dict[int, bytes] = {}
    waiting: dict[int, bytes] = {}
    most = 1 << 20  # pages; a damaged frame may contain any page number
    for head, page, _ in _frames(wal, page_size):
        if 0 < int.from_bytes(head[:4]) <= most:
            waiting[int.from_bytes(head[:4])] = page
        if int.from_bytes(head[4:8]):  # the end of a transaction
            committed |= waiting
            waiting = {}
    return committed


def is_damaged_log(wal: bytes, page_size: int) -> bool:
    """Return whether SQLite would lose committed pages of the log.

    SQLite drops everything after the first frame with a wrong checksum, and the whole log if its header is damaged.
    """
    if not _head_is_sound(wal):
        return bool(wal.strip(b"\0"))
    return any(int.from_bytes(head[4:8]) and not sound for head, _, sound in _frames(wal, page_size))


def _frames(wal: bytes, page_size: int) -> Iterator[tuple[bytes, bytes, bool]]:
    """Yield header, page, and whether all is sound so far, for each frame with the log's salt.

    Frames of an earlier round, which remain after the last one until they are overwritten, have another salt.
    """
    size = FRAME_HEADER + page_size
    sound = _head_is_sound(wal)
    salt = wal[16:24] if sound else _usual_salt(wal)
    order = ">" if sound and wal[3] & 1 else "<"
    sums = _checksum(wal[:24], (0, 0), order) if sound else (0, 0)
    at = WAL_HEADER if sound else 0
    while at + size <= len(wal):
        head, page = wal[at : at + FRAME_HEADER], wal[at + FRAME_HEADER : at + size]
        if sound:
            sums = _checksum(page, _checksum(head[:8], sums, order), order)
            sound = head[8:16] == salt and struct.unpack(">II", head[16:24]) == sums
        if head[8:16] == salt:
            yield head, page, sound
            at += size
        else:  # damaged, of an earlier round, or at a wrong position
            at = salt_at - 8 if (salt_at := wal.find(salt, at + 9)) >= 0 else len(wal)


def _head_is_sound(wal: bytes) -> bool:
    if len(wal) < WAL_HEADER or int.from_bytes(wal[:4]) not in (0x377F0682, 0x377F0683):
        return False
    return struct.unpack(">II", wal[24:32]) == _checksum(wal[:24], (0, 0), ">" if wal[3] & 1 else "<")


def _usual_salt(wal: bytes) -> bytes:
    """Return the salt, two random numbers, that most frames have, wherever they are in the log.

    The salt follows the page's number and the database's size in pages. If no two salts are equal, the first frame's is
    returned.
    """
    heads = re.finditer(rb"(?s)(?=\0[\0-\x0f]..\0[\0-\x0f]..(.{8}))", wal)
    salts = Counter(salt for head in heads if len(set(salt := head[1])) > 3).most_common(1)
    return salts[0][0] if salts and salts[0][1] > 1 else wal[WAL_HEADER + 8 : WAL_HEADER + 16]


def _checksum(data: bytes, sums: tuple[int, int], order: str) -> tuple[int, int]:
    one, two = sums
    numbers = struct.unpack(f"{order}{len(data) // 4}I", data)
    for first, second in zip(numbers[::2], numbers[1::2], strict=True):
        one = one + first + two & 0xFFFFFFFF
        two = two + second + one & 0xFFFFFFFF
    return one, two
