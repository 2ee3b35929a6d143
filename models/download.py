"""Download of one file: resumes what has arrived earlier, and trusts nothing but the published digest.

The download is a generator, so that its caller can show progress, pause and stop between any two pieces: closing the
generator keeps the part that has arrived.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from common.failures import Failure
from models.network import Network, host_of, network_failures
from models.part_file import PartFile, Source, check_room, hash_into, magic_of
from models.progress import DownloadProgress, DownloadSpeed

if TYPE_CHECKING:
    import requests

PIECE = 256 << 10
MOST_TRIES = 6  # tries in a row without a byte that is new
FIRST_WAIT, MOST_WAIT = 1.0, 30.0  # seconds between tries
SIZE = "[0-9]{1,19}"  # bytes in a header: int() takes other digits too, or refuses very long numbers
RANGE = rf"bytes ({SIZE})-{SIZE}/({SIZE}|\*)"
OK, PARTIAL, NO_SUCH_RANGE = 200, 206, 416


class Download:
    """Download of `source`; the file appears at `target` only when it is complete and its digest is right."""

    def __init__(
        self, source: Source, target: Path, network: Network | None = None, first_wait: float = FIRST_WAIT
    ) -> None:
        self.source = source
        self.target = target
        self.network = network or Network()
        self._first_wait = first_wait
        self._response: requests.Response | None = None

    def run(self) -> Iterator[DownloadProgress]:
        """Download the file, yielding progress.

        Raises Failure; after `no_connection` and `disk_full` the download can be resumed.
        """
        if self.target.exists():
            yield from self._check_existing()
            return
        with PartFile(self.target) as part:
            yield from self._prepare(part)
            yield from self._receive(part)
            if part.hash.hexdigest() != self.source.sha256:
                part.delete()
                raise Failure("wrong_bytes.other", name=self.target.name)
            if not self.target.exists():
                part.finish()
                return
            yield from self._check_existing()  # undoing a removal has brought it back meanwhile
            part.delete()

    def shutdown(self) -> None:
        """End a read that is waiting for bytes; called from another thread.

        On Windows the read goes on until its time-out.
        """
        response = self._response
        stop: Callable[[], None] | None = getattr(response.raw, "shutdown", None) if response else None
        if stop:
            try:
                stop()
            except (OSError, ValueError, RuntimeError):  # the response has just ended
                return

    # --- preparing ---

    def _check_existing(self) -> Iterator[DownloadProgress]:
        """Compare a file that is there already with the published digest, unless a download has just verified it."""
        note = PartFile(self.target).read_note()
        if note and note.state == "arrived" and note.sha256 == self.source.sha256:
            return
        size, digest = self.target.stat().st_size, hashlib.sha256()
        if size == self.source.size:
            for done in hash_into(digest, self.target, size):
                yield DownloadProgress("checking", done, size)
        if size != self.source.size or digest.hexdigest() != self.source.sha256:
            raise Failure("exists.other_file", name=self.target.name, folder=self.target.parent)

    def _prepare(self, part: PartFile) -> Iterator[DownloadProgress]:
        """Keep the part of an earlier download of the same file, and check that the disk has room for the rest."""
        noted = part.read_note()
        if noted is None or (noted.size, noted.sha256) != (self.source.size, self.source.sha256):
            part.truncate()
            noted = None
        if part.done > self.source.size or (part.done and not part.begins_like_a_model()):
            part.truncate()
        self._etag = noted.etag if noted and part.done else ""
        check_room(self.target, self.source.size - part.done)
        for done in part.hash_again():
            yield DownloadProgress("checking", done, self.source.size)
        part.write_note(msgspec.structs.replace(self.source, etag=self._etag))

    # --- receiving ---

    def _receive(self, part: PartFile) -> Iterator[DownloadProgress]:
        tries, most, size, speed = 0, part.done, self.source.size, DownloadSpeed()
        while part.done < size:
            yield DownloadProgress("connecting", part.done, size)
            try:
                for _ in self._pieces(part):
                    yield DownloadProgress("receiving", part.done, size, speed.at(part.done))
                dropped = Failure("no_connection.closed", host=host_of(self.source.url))
            except Failure as failure:
                if failure.code != "no_connection":
                    raise
                dropped = failure
            if part.done >= size:
                return
            tries = 1 if part.done > most else tries + 1
            most = max(most, part.done)  # a server that makes us start again and again brings nothing new
            if tries >= MOST_TRIES and not part.done:
                raise dropped
            if tries >= MOST_TRIES:
                raise Failure("no_connection.part_kept", dropped.detail, problem=dropped.sentence) from dropped
            yield from self._wait(part, tries)

    def _wait(self, part: PartFile, tries: int) -> Iterator[DownloadProgress]:
        until = time.monotonic() + min(MOST_WAIT, self._first_wait * 2 ** (tries - 1))
        while time.monotonic() < until:
            yield DownloadProgress("waiting", part.done, self.source.size)
            time.sleep(min(0.1, self._first_wait))

    def _pieces(self, part: PartFile) -> Iterator[None]:
        """Append what one connection sends until it ends, yielding after each piece."""
        url = self.source.url
        headers = {}
        if part.done:
            headers["Range"] = f"bytes={part.done}-"
            if self._etag:
                headers["If-Range"] = self._etag
        with self.network.get(url, headers, accept=(OK, PARTIAL, NO_SUCH_RANGE)) as response:
            self._response = response
            try:
                begun = b"" if _is_rest(part, response) else self._first_bytes(response)
                if self._continues_part(part, response):
                    yield from self._body(part, response, url, begun)
            finally:
                self._response = None

    def _first_bytes(self, response: requests.Response) -> bytes:
        """Return the first bytes of a file that is sent from its beginning; b"" if they do not all arrive.

        Raises Failure if no model begins with them: servers and networks send pages in place of files, to sign in or
        about errors. What the disk has of the model stays.
        """
        begun, magic = b"", magic_of(self.target)
        with network_failures(self.source.url):
            while len(begun) < len(magic) and (data := response.raw.read1(len(magic) - len(begun))):
                begun += data
        if not magic.startswith(begun):
            raise Failure("wrong_bytes.no_model", repr(begun), name=self.target.name, host=host_of(response.url))
        return begun if begun == magic else b""

    def _body(self, part: PartFile, response: requests.Response, url: str, begun: bytes) -> Iterator[None]:
        if begun:
            part.append(begun)
        elif not part.done:
            return
        checked = time.monotonic()
        while part.done < self.source.size:
            if time.monotonic() > checked + 1:  # connections may be forbidden at any time
                self.network.check(url)
                checked = time.monotonic()
            with network_failures(url):
                data = response.raw.read1(PIECE)
            if not data:
                return
            if part.done + len(data) > self.source.size:
                part.delete()
                raise Failure("wrong_bytes.more", name=self.target.name)
            part.append(data)
            yield

    def _continues_part(self, part: PartFile, response: requests.Response) -> bool:
        """Return whether the response continues where the part ends; otherwise empty the part, to start again."""
        if response.status_code == NO_SUCH_RANGE:
            part.truncate()  # the server's file is shorter, so it is another file
            self._etag = ""
            return False
        if response.status_code == PARTIAL:
            if response.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
                raise Failure("wrong_bytes.packed", name=self.target.name, host=host_of(response.url))
            range = re.fullmatch(RANGE, response.headers.get("Content-Range", "").strip())
            if not range or int(range[1]) != part.done or range[2] not in (str(self.source.size), "*"):
                part.truncate()
                self._etag = ""
                return False
        else:
            self._check_length(response)
            if part.done:  # the server ignored Range, or its file has changed
                part.truncate()
        self._note_etag(part, response)
        return True

    def _check_length(self, response: requests.Response) -> None:
        stated = response.headers.get("Content-Length", "")
        if re.fullmatch(SIZE, stated) and int(stated) != self.source.size:
            sizes = {"offered": int(stated), "published": self.source.size}
            raise Failure("wrong_bytes.size", name=self.target.name, **sizes)

    def _note_etag(self, part: PartFile, response: requests.Response) -> None:
        """Note the response's ETag if it is a strong one: only equal strong tags guarantee equal bytes."""
        etag = response.headers.get("ETag", "")
        etag = etag if re.fullmatch(r'"[\x21\x23-\x7e]{1,200}"', etag) else ""
        if etag != self._etag:
            self._etag = etag
            part.write_note(msgspec.structs.replace(self.source, etag=etag))


def _is_rest(part: PartFile, response: requests.Response) -> bool:
    """Return whether the response is not sent from the file's beginning: it continues the part, or has no bytes."""
    return response.status_code == NO_SUCH_RANGE or (response.status_code == PARTIAL and part.done > 0)
