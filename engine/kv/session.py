"""A chat's tokens with their keys and values, in a cache that grows, and their way to the disk and back."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from common.failures import Failure
from engine.kv.saved import SHORTEST, Guard, SavedChats, worth_saving
from engine.runtime.contexts import ANSWER_ROOM, size_class
from engine.runtime.interface import Logits, Runtime, Tree, TreeRuntime, prefill
from engine.tokenization.tokens import common_prefix

log = logging.getLogger("engine.kv.session")


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` tokens of a prompt are in the KV cache, `reused` of them were there before."""

    done: int
    reused: int


class Session:
    """`tokens` is exactly what the runtime's KV cache holds, also after whatever was stopped or failed; it never holds
    more than `limit`. `logits` are those of the last pass, until the next one."""

    def __init__(self, runtime: Runtime, limit: int | None = None) -> None:
        self.runtime = runtime
        self.limit = limit or runtime.n_ctx
        self.tokens: list[int] = []
        self.logits: Logits | None = None
        self._branched = False  # did the pass that is to be judged run a tree?

    def read(self, prompt: Sequence[int]) -> Iterator[Progress]:
        """Make the cache hold `prompt`, re-using the common beginning; the first Progress comes before any work.

        At least the last token is run, because its logits start the answer. Raises Stopped, and Failure when the cache
        cannot grow to hold it."""
        assert 0 < len(prompt) <= self.limit, len(prompt)
        reused = self.runtime.truncate(min(common_prefix(self.tokens, prompt), len(prompt) - 1))
        self.tokens = list(prompt[:reused])
        yield Progress(reused, reused)
        try:
            self._fit(len(prompt))
            for logits in prefill(self.runtime, prompt[reused:]):
                self.logits = logits
                self.tokens = list(prompt[: self.runtime.size])
                yield Progress(len(self.tokens), reused)
        except BaseException:
            self.tokens = list(prompt[: self.runtime.size])
            raise

    def _fit(self, needed: int) -> None:
        """Grow for a prompt of `needed` tokens; shrink when a new chat begins in a cache larger than it needs."""
        wanted = size_class(needed + ANSWER_ROOM, self.limit)
        if needed > self.runtime.n_ctx or (not self.tokens and wanted < self.runtime.n_ctx):
            self.runtime.resize(wanted)

    def restore(self, tokens: Sequence[int], load: Callable[[], None]) -> None:
        """Make the cache large enough for `tokens` and let `load` fill it with them; raises what `load` raises."""
        self.forget()
        self._fit(len(tokens))
        try:
            load()
        except BaseException:
            self.forget()
            raise
        assert self.runtime.size == len(tokens), (self.runtime.size, len(tokens))
        self.tokens = list(tokens)

    def holds(self, prompt: Sequence[int]) -> bool:
        """Is every token of `prompt` in the cache?"""
        return self.tokens[: len(prompt)] == list(prompt)

    def make_room(self, count: int) -> bool:
        """See that `count` more tokens fit, growing the cache if need be; False at its limit."""
        needed = len(self.tokens) + count
        if needed <= min(self.limit, self.runtime.n_ctx):
            return True
        if needed > self.limit:
            return False
        try:
            self.runtime.resize(size_class(needed, self.limit))
        except (Failure, MemoryError) as failure:
            log.warning("the KV cache stays at %d tokens: %s", self.runtime.n_ctx, failure)
            self.limit = self.runtime.n_ctx
            return False
        finally:
            self._agree()
        return True

    def run(self, tokens: Sequence[int], *, whole_rows: bool = False) -> Logits:
        """Run tokens in one pass for the logits of the last; `keep` must follow, if not at once. Raises Stopped."""
        try:
            self.logits = self.runtime.forward(tokens, whole_rows=whole_rows)
        except BaseException:
            self._agree()
            raise
        return self.logits

    def keep(self, tokens: Sequence[int], count: int) -> None:
        """Of the tokens that were run, keep the first `count` in the cache and forget the others."""
        if count < len(tokens):
            self.runtime.truncate(len(self.tokens) + count)
        self.tokens.extend(tokens[:count])
        self._agree()

    def verify(self, inputs: Sequence[int], draft: Tree, *, whole_rows: bool = False) -> Logits:
        """Run inputs and a draft behind them in one pass; `accept` or `reject` must follow.

        Rows of logits: that of the last input, then those of the draft's tokens. A draft with branches needs a
        `TreeRuntime`. Raises Stopped."""
        self._branched = not draft.is_line
        try:
            if not self._branched:  # no more than a longer pass
                self.logits = self.runtime.forward([*inputs, *draft.tokens], 1 + draft.size, whole_rows=whole_rows)
            else:
                self.logits = self._trees.forward_tree(inputs, draft)
        except BaseException:
            self._agree()
            raise
        return self.logits

    @property
    def _trees(self) -> TreeRuntime:
        assert isinstance(self.runtime, TreeRuntime), self.runtime
        return self.runtime

    def accept(self, inputs: Sequence[int], draft: Tree, path: Sequence[int]) -> None:
        """Keep the inputs that were just run and the draft's tokens on `path`, and forget all others."""
        try:
            self._keep(len(inputs), path)
        except BaseException:
            self._agree()
            raise
        self.tokens.extend(inputs)
        self.tokens.extend(draft.tokens[i] for i in path)

    def reject(self) -> None:
        """Forget all that was just run, the inputs too."""
        self._keep(0)
        self._agree()

    def _keep(self, inputs: int, path: Sequence[int] = ()) -> None:
        if self._branched:
            self._trees.keep(inputs, path)
        else:
            self.runtime.truncate(len(self.tokens) + inputs + len(path))

    def _agree(self) -> None:
        """What failed may have cost more than was new: a model that keeps one state for all tokens loses all."""
        del self.tokens[self.runtime.size :]

    def forget(self) -> None:
        """Empty the cache."""
        self.tokens = []
        self.runtime.truncate(0)


class ChatMemory:
    """A session with the chat that is in it. `chat`: its empty for one that must leave no trace."""

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
