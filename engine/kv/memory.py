"""The chat that is in the KV cache, and its way to the disk and back. Knows no messages and no template."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from engine.kv.saved import SHORTEST, Guard, SavedChats, worth_saving
from engine.kv.session import Session
from engine.tokenization.tokens import common_prefix
from models.failures import Failure

log = logging.getLogger("engine.memory")


class ChatMemory:
    """`chat`: id of the chat in the cache, empty for one that must leave no trace."""

    def __init__(self, session: Session, saved: SavedChats, guard: Guard) -> None:
        self.session = session
        self.saved = saved
        self.guard = guard
        self.chat = ""
        self.prefill_rate = 0.0  # tokens per second, of the last prompts that were long enough to tell
        self.saved_tokens = 0  # how many of the session's tokens are on the disk

    def open(self, chat: str, prompt: Sequence[int]) -> None:
        """Before `prompt` of `chat` is read: fetch the chat's saved keys and values if they spare much reading."""
        self.chat = chat
        record = self.saved.find(chat, self.guard) if chat else None
        self.saved_tokens = common_prefix(record.tokens, prompt) if record else 0
        if record is None or len(record.tokens) > self.session.limit:
            return
        gain = common_prefix(record.tokens, prompt) - common_prefix(self.session.tokens, prompt)
        if gain < SHORTEST:
            return
        runtime = self.session.runtime
        with ThreadPoolExecutor(1) as pool:
            whole = pool.submit(self.saved.is_whole, chat)  # while the cache is made large enough
            try:
                self.session.restore(record.tokens, lambda: self.saved.load(chat, record, runtime, whole.result()))
                self.saved_tokens = len(record.tokens)
            except Failure as failure:
                log.warning("%s %s", failure, failure.detail)

    def has_read(self, tokens: int, seconds: float) -> None:
        """Learn how fast prompts are read; shorter ones say little."""
        if tokens >= 32 and seconds > 0:
            rate = tokens / seconds
            self.prefill_rate = (self.prefill_rate + rate) / 2 if self.prefill_rate else rate

    def save(self, disk_bytes_per_s: float) -> bool:
        """Save the chat if that pays, anything is new and the quota allows it; Failure where the disk takes nothing."""
        tokens = self.session.tokens
        new = len(tokens) - self.saved_tokens
        if not self.chat or not self.prefill_rate or new < SHORTEST // 4:
            return False
        seconds = len(tokens) / self.prefill_rate
        size = self.session.runtime.state_bytes
        # A chat above the quota is refused here without a word: the user chose the quota.
        if size > self.saved.quota or not worth_saving(len(tokens), size, seconds, disk_bytes_per_s):
            return False
        self.saved.save(self.chat, self.guard, self.session.runtime, tokens, seconds)
        self.saved_tokens = len(tokens)
        return True

    def delete(self, chat: str) -> None:
        """Forget a chat on the disk; if it is in the cache, it is not saved again."""
        self.saved.delete(chat)
        if chat == self.chat:
            self.chat, self.saved_tokens = "", 0
            self.session.forget()
