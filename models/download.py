"""Downloads one file: resumes what is there, and believes nothing but the published digest.

A generator, so that whoever runs it can show, pause and stop it between any two pieces: closing it keeps the part.
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
from models.network import Network, failures, host_of
from models.part_file import PartFile, Source, check_room, hash_into
from models.progress import Progress, Speed

if TYPE_CHECKING:
    import requests

PIECE = 256 << 10
MOST_TRIES = 6  # without a byte arriving in between
FIRST_WAIT, MOST_WAIT = 1.0, 30.0  # seconds between tries
OK, PARTIAL, NO_SUCH_RANGE = 200, 206, 416


class Download:
    """`source` says what the file must be; it arrives at `target`, whole or not at all."""

    def __init__(
        self, source: Source, target: Path, network: Network | None = None, first_wait: float = FIRST_WAIT
    ) -> None:
        self.source = source
        self.target = target
        self.network = network or Network()
        self._first_wait = first_wait
        self._response: requests.Response | None = None

    def run(self) -> Iterator[Progress]:
        """Ends when the file is there. Raises Failure; after `no_connection` and `disk_full` it can go on later."""
        if self.target.exists():
            yield from self._check_existing()
            return
        with PartFile(self.target) as part:
            yield from self._prepare(part)
            yield from self._receive(part)
            self._judge(part)

    def shutdown(self) -> None:
        """From another thread: let a read that waits for bytes end now."""
        response = self._response
        stop: Callable[[], None] | None = getattr(response.raw, "shutdown", None) if response else None
        if stop:
            try:
                stop()
            except (OSError, ValueError, RuntimeError):  # it ended in this very moment
                return

    # --- before ---

    def _check_existing(self) -> Iterator[Progress]:
        size, digest = self.target.stat().st_size, hashlib.sha256()
        if size == self.source.size:
            for done in hash_into(digest, self.target, size):
                yield Progress("checking", done, size)
        if size != self.source.size or digest.hexdigest() != self.source.sha256:
            raise Failure("exists.other_file", name=self.target.name, folder=self.target.parent)

    def _prepare(self, part: PartFile) -> Iterator[Progress]:
        """Keep what is there of the same file, and see that the rest has room."""
        noted = part.source()
        if noted is None or (noted.size, noted.sha256) != (self.source.size, self.source.sha256):
            part.empty()
            noted = None
        if part.done > self.source.size:
            part.empty()
        self._etag = noted.etag if noted and part.done else ""
        check_room(self.target, self.source.size - part.done)
        for done in part.hash_again():
            yield Progress("checking", done, self.source.size)
        part.note(msgspec.structs.replace(self.source, etag=self._etag))

    # --- receiving ---

    def _receive(self, part: PartFile) -> Iterator[Progress]:
        tries, size, speed = 0, self.source.size, Speed()
        while part.done < size:
            before = part.done
            yield Progress("connecting", part.done, size)
            try:
                for _ in self._pieces(part):
                    yield Progress("receiving", part.done, size, speed.at(part.done))
                dropped = Failure("no_connection.closed", host=host_of(self.source.url))
            except Failure as failure:
                if failure.code != "no_connection":
                    raise
                dropped = failure
            if part.done >= size:
                return
            tries = 1 if part.done > before else tries + 1
            if tries >= MOST_TRIES:
                raise Failure("no_connection.part_kept", dropped.detail, problem=dropped.sentence) from dropped
            yield from self._wait(part, tries)

    def _wait(self, part: PartFile, tries: int) -> Iterator[Progress]:
        until = time.monotonic() + min(MOST_WAIT, self._first_wait * 2 ** (tries - 1))
        while time.monotonic() < until:
            yield Progress("waiting", part.done, self.source.size)
            time.sleep(min(0.1, self._first_wait))

    def _pieces(self, part: PartFile) -> Iterator[None]:
        """One connection: appends what arrives, until it ends."""
        url = self.source.url
        headers = {}
        if part.done:
            headers["Range"] = f"bytes={part.done}-"
            if self._etag:
                headers["If-Range"] = self._etag
        with self.network.get(url, headers, accept=(OK, PARTIAL, NO_SUCH_RANGE)) as response:
            self._response = response
            try:
                if self._starts(part, response):
                    yield from self._body(part, response, url)
            finally:
                self._response = None

    def _body(self, part: PartFile, response: requests.Response, url: str) -> Iterator[None]:
        checked = time.monotonic()
        while part.done < self.source.size:
            if time.monotonic() > checked + 1:  # connections may be forbidden at any time
                self.network.check(url)
                checked = time.monotonic()
            with failures(url):
                data = response.raw.read1(PIECE)
            if not data:
                return
            if part.done + len(data) > self.source.size:
                part.delete()
                raise Failure("wrong_bytes.more", name=self.target.name)
            part.append(data)
            yield

    def _starts(self, part: PartFile, response: requests.Response) -> bool:
        """Does the answer begin where the part ends? What does not fit together is started again."""
        if response.status_code == NO_SUCH_RANGE:
            part.empty()  # the server's file is another, and shorter
            self._etag = ""
            return False
        if response.status_code == PARTIAL:
            found = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", "").strip())
            if not found or int(found[1]) != part.done or found[2] not in (str(self.source.size), "*"):
                part.empty()
                self._etag = ""
                return False
        else:
            self._check_length(response)
            if part.done:  # it ignored Range, or its file has changed since
                part.empty()
        self._remember(part, response)
        return True

    def _check_length(self, response: requests.Response) -> None:
        said = response.headers.get("Content-Length", "")
        if said.isdigit() and int(said) != self.source.size:
            sizes = {"offered": int(said), "published": self.source.size}
            raise Failure("wrong_bytes.size", name=self.target.name, **sizes)

    def _remember(self, part: PartFile, response: requests.Response) -> None:
        """Only a strong tag says that two answers are the same bytes."""
        etag = response.headers.get("ETag", "")
        etag = etag if re.fullmatch(r'"[\x21\x23-\x7e]{1,200}"', etag) else ""
        if etag != self._etag:
            self._etag = etag
            part.note(msgspec.structs.replace(self.source, etag=etag))

    # --- after ---

    def _judge(self, part: PartFile) -> None:
        if part.hash.hexdigest() != self.source.sha256:
            part.delete()
            raise Failure("wrong_bytes.other", name=self.target.name)
        part.finish()
