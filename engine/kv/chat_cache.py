"""The chat in the KV cache, and how chats leave it and come back: kept in memory, and saved on disk."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from common.failures import Failure
from common.sentences import Sentence
from engine.kv.kept import MIN_KEPT_TOKENS, KeptChat, KeptChats, is_continued, reusable
from engine.kv.saved import MIN_SAVED_TOKENS, Guard, Record, SavedChats, worth_saving
from engine.kv.session import Session, shared_prefix
from engine.machine import is_memory_short
from engine.runtime.interface import MOST_IN_RAM, Checkpoint, RollbackRuntime
from engine.tokenization.tokens import common_prefix

log = logging.getLogger("engine.kv.chat_cache")

RETRY_AFTER = 600.0  # seconds until a chat that could not be saved is written again
COPIED_CHECKPOINTS = 3  # checkpoints that a copy of a chat contains: for another try, an edit and removed thoughts


class ChatCache:
    """A session, the id of the chat in it, the chats kept in memory (at most `kept_bytes`), and the saved ones on disk.

    `chat` is empty for a chat that is never saved.
    """

    def __init__(self, session: Session, saved: SavedChats, guard: Guard, kept_bytes: int = 0) -> None:
        self.session = session
        self.saved = saved
        self.guard = guard
        self.kept = KeptChats(kept_bytes)
        self.chat = ""
        self.prefill_rate = 0.0  # tokens/s, averaged over the last prompts that were long enough
        self.saved_tokens = 0  # number of the session's tokens that are on disk
        self.returns = 0  # how often the chat in the session was continued
        self.retry_at = 0.0  # seconds of the monotonic clock, until which saving is not tried after it failed
        self._why_not: Sentence | None = None  # why the last try to save failed

    def open_chat(self, chat: str, prompt: Sequence[int], beginning: str = "") -> None:
        """Make `chat` the current chat, before its `prompt` is prefilled.

        Keeps the session's content if another chat takes its place. Then replaces it by the kept or the saved chat that
        spares most of the prefill, if one spares more than the content does. `beginning` is a second id under which a
        saved chat may be found: several chats begin with its content.
        """
        session, same = self.session, bool(chat) and chat == self.chat
        is_own = same or not chat  # whether the content may be saved as this chat's; without an id nothing is saved
        self.kept.turn += 1
        kept, in_kept = self.kept.find(prompt, session.runtime.window)
        returns = 1 + self.returns if same or is_continued(session.tokens, prompt) else 0
        if not returns:
            self._keep(len(session.tokens) - shared_prefix(session.tokens, prompt), kept)
        session.expected = max(self.kept.longest, len(prompt))
        own, common = (self.saved.find(each, self.guard) if each else None for each in (chat, beginning))
        in_own, in_common = (self._in_saved(each, prompt) if each else 0 for each in (own, common))
        name, record = (chat, own) if in_own >= in_common else (beginning, common)
        if record and max(in_own, in_common) - max(session.reusable(prompt), in_kept) >= MIN_SAVED_TOKENS:
            record, returns = self._load_saved(name, record), 1
            is_own, own = name == chat, record if name == chat else own
        if kept and in_kept - session.reusable(prompt) >= MIN_KEPT_TOKENS and self._load(kept.tokens, kept.load):
            returns = 1 + kept.returns if is_continued(kept.tokens, prompt) else 0
            is_own = chat in ("", kept.id)
        self.kept.drop(lambda each: (bool(chat) and each.id == chat) or is_continued(each.tokens, prompt))
        if not is_own and session.holds(prompt):
            session.go_back(len(prompt))  # the rest is another chat's
        self.chat, self.returns = chat, returns
        self.saved_tokens = common_prefix(own.tokens, prompt) if own else 0

    def _in_saved(self, record: Record, prompt: Sequence[int]) -> int:
        """Return the number of the prompt's first tokens that need no pass once the saved chat is loaded."""
        if len(record.tokens) > self.session.limit:
            return 0
        sizes = [size for size, _ in record.checkpoints]
        return reusable(record.tokens, sizes, prompt, self.session.runtime.window)

    def _load_saved(self, chat: str, record: Record) -> Record | None:
        """Load the saved chat into the session; return None if that fails."""
        runtime = self.session.runtime
        with ThreadPoolExecutor(1) as pool:
            intact = pool.submit(self.saved.is_intact, chat, self.guard)  # checks the file while the cache is resized
            loaded = self._load(record.tokens, lambda: self.saved.load(chat, record, runtime, intact.result()))
        return record if loaded else None

    def _load(self, tokens: Sequence[int], load: Callable[[], Sequence[Checkpoint]]) -> bool:
        """Restore the session by `load`; return False, with an empty session, if that fails."""
        try:
            self.session.restore(tokens, load)
        except Failure as failure:
            log.warning("%s", failure.log_text)
            return False
        return True

    def _keep(self, spared: int, opening: KeptChat | None) -> None:
        """Keep a copy of the session's content, which is about to lose `spared` tokens, if that pays and there is room.

        The chat that is `opening` is not dropped for it.
        """
        if spared < MIN_KEPT_TOKENS or self.kept.holds(self.session.tokens):
            return
        try:
            self._copy(spared, opening)
        except MemoryError as error:
            log.warning("a chat is not kept in memory: %s", error)

    def _copy(self, spared: int, opening: KeptChat | None = None, paused: bool = False) -> KeptChat | None:
        """Add a copy of the session's content to the kept chats; without room only if `paused`, then in a file.

        Returns the copy, or None. Raises MemoryError.
        """
        runtime, (checkpoints, size) = self.session.runtime, self._checkpoints_and_bytes()
        assert isinstance(runtime, RollbackRuntime), runtime
        tokens, turn = list(self.session.tokens), self.kept.turn
        chat = KeptChat(self.chat, self.saved_tokens, self.returns, tokens, checkpoints, size, spared, turn, paused)
        self.release_if_short()
        if is_memory_short() or not self.kept.make_room(chat, opening):
            if not paused:
                return None
            chat.bytes, chat.checkpoints = 0, ()
        chat.restore = runtime.snapshot(chat.bytes or MOST_IN_RAM)
        self.kept.add(chat)
        return chat

    def _checkpoints_and_bytes(self) -> tuple[tuple[Checkpoint, ...], int]:
        """Return the checkpoints that a copy of the session's content contains, and the bytes of such a copy."""
        checkpoints = self.session.checkpoints.newest(COPIED_CHECKPOINTS)
        return checkpoints, self.session.runtime.state_bytes + sum(checkpoint.bytes for checkpoint in checkpoints)

    @contextmanager
    def set_aside(self) -> Iterator[None]:
        """Set the current chat aside while others are answered, then make it the current one again, bit by bit.

        After an exception it is a kept chat like others. Raises Failure if the cache is smaller by then and cannot grow
        again.
        """
        chat = self._copy(len(self.session.tokens), paused=True)
        assert chat
        try:
            yield
        except BaseException:
            chat.paused = False
            self.kept.drop(lambda each: not each.bytes)
            raise
        self._keep(len(self.session.tokens) - common_prefix(self.session.tokens, chat.tokens), chat)
        chat.paused = False
        self.kept.drop(lambda each: each is chat)
        self.session.restore(chat.tokens, chat.load)
        self.chat, self.saved_tokens, self.returns = chat.id, chat.saved_tokens, chat.returns

    def record_prefill(self, tokens: int, seconds: float) -> None:
        """Update the prefill speed after a prefill of `tokens` tokens.

        Prefills of fewer than 32 tokens are ignored, because they say little.
        """
        if tokens >= 32 and seconds > 0:
            rate = tokens / seconds
            self.prefill_rate = (self.prefill_rate + rate) / 2 if self.prefill_rate else rate

    def save(self, disk_bytes_per_s: float) -> bool:
        """Save the chat if enough is new, loading would pay and the quota allows it; return whether it was saved.

        Raises Failure if the disk has no room or cannot be written; soon afterwards it does so without another try,
        because writing a chat takes seconds.
        """
        tokens = self.session.tokens
        new = len(tokens) - self.saved_tokens
        if not self.chat or not self.prefill_rate or new < MIN_SAVED_TOKENS // 4:
            return False
        seconds = len(tokens) / self.prefill_rate
        checkpoints, size = self._checkpoints_and_bytes()
        # A chat above the quota raises no Failure here, because the user chose the quota.
        if size > self.saved.quota or not worth_saving(len(tokens), size, seconds, disk_bytes_per_s):
            return False
        if self._why_not and time.monotonic() < self.retry_at:
            raise Failure(self._why_not)
        try:
            self.saved.save(self.chat, self.guard, self.session.runtime, tokens, seconds, checkpoints)
        except Failure as failure:
            self._why_not, self.retry_at = failure.sentence, time.monotonic() + RETRY_AFTER
            raise
        self._why_not = None
        self.saved_tokens = len(tokens)
        return True

    def release_if_short(self) -> None:
        """Drop the kept chats if little memory is available, to the model or to other programs."""
        if self.kept.count and is_memory_short():
            self.kept.drop()

    def clear(self) -> None:
        """Empty the session and drop the kept chats."""
        self.session.clear()
        self.kept.drop()

    def delete_chat(self, chat: str) -> None:
        """Delete the chat from the disk, from memory and, if it is the current one, from the cache.

        A deleted chat is not saved again.
        """
        self.saved.delete(chat)
        self.kept.drop(lambda each: each.id == chat)
        if chat == self.chat:
            self.chat, self.saved_tokens = "", 0
            self.session.clear()
