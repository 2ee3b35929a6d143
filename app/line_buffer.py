"""Cuts a stream of bytes into lines, whatever pieces it arrives in."""

from __future__ import annotations


class LineBuffer:
    """Keeps the unfinished line; `feed` returns the lines that a piece has completed, without their line breaks."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, piece: bytes) -> list[bytes]:
        # Only the new piece is searched: a long line in small pieces must not cost a scan for each.
        if b"\n" not in piece:
            self._rest += piece
            return []
        *lines, rest = piece.split(b"\n")
        lines[0] = bytes(self._rest) + lines[0]
        self._rest = bytearray(rest)
        return [line for line in lines if line.strip()]
