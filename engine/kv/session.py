"""A chat's tokens with their keys and values, in a KV cache that grows; saving them to disk and loading them again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from common.failures import Failure
from engine.kv.saved import MIN_SAVED_TOKENS, Guard, SavedChats, worth_saving
from engine.runtime.contexts import ANSWER_ROOM, size_class
from engine.runtime.interface import Logits, Runtime, Tree, TreeRuntime, prefill
from engine.tokenization.tokens import common_prefix

log = logging.getLogger("engine.kv.session")


@dataclass(frozen=True, slots=True)
class PromptProgress:
    """Progress of a prefill: `done` tokens of the prompt are in the KV cache, `reused` of them from before."""

    done: int
    reused: int


class Session:
    """The tokens in the runtime's KV cache, and all changes to them.

    `tokens` equals the cache's content at all times, also after a stopped or failed pass, and never exceeds `limit`
    tokens. `logits` are those of the last pass.
    """

    def __init__(self, runtime: Runtime, limit: int | None = None) -> None:
        self.runtime = runtime
        self.limit = limit or runtime.n_ctx
        self.tokens: list[int] = []
        self.logits: Logits | None = None
        self._ran_tree = False  # whether the pass before accept or reject ran a tree

    def prefill(self, prompt: Sequence[int]) -> Iterator[PromptProgress]:
        """Prefill `prompt`, reusing the longest prefix of it in the cache, and yield the progress.

        The first progress comes before any pass. The last token always runs, because its logits start the answer.
        Raises Stopped, and Failure if the cache cannot grow to hold the prompt.
        """
        assert 0 < len(prompt) <= self.limit, len(prompt)
        reused = self.runtime.truncate(min(common_prefix(self.tokens, prompt), len(prompt) - 1))
        self.tokens = list(prompt[:reused])
        yield PromptProgress(reused, reused)
        try:
            self._resize_for(len(prompt))
            for logits in prefill(self.runtime, prompt[reused:]):
                self.logits = logits
                self.tokens = list(prompt[: self.runtime.size])
                yield PromptProgress(len(self.tokens), reused)
        except BaseException:
            self.tokens = list(prompt[: self.runtime.size])
            raise

    def _resize_for(self, needed: int) -> None:
        """Grow the cache for a prompt of `needed` tokens; shrink a cache that is larger than a new chat needs."""
        wanted = size_class(needed + ANSWER_ROOM, self.limit)
        if needed > self.runtime.n_ctx or (not self.tokens and wanted < self.runtime.n_ctx):
            self.runtime.resize(wanted)

    def restore(self, tokens: Sequence[int], load: Callable[[], None]) -> None:
        """Resize the cache for `tokens` and call `load`, which fills it with them. Raises what `load` raises."""
        self.clear()
        self._resize_for(len(tokens))
        try:
            load()
        except BaseException:
            self.clear()
            raise
        assert self.runtime.size == len(tokens), (self.runtime.size, len(tokens))
        self.tokens = list(tokens)

    def holds(self, prompt: Sequence[int]) -> bool:
        """Return whether the cache holds the whole prompt."""
        return self.tokens[: len(prompt)] == list(prompt)

    def make_room(self, count: int) -> bool:
        """Ensure that `count` more tokens fit, growing the cache if needed; return False at its limit."""
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
            self._drop_lost_tokens()
        return True

    def run(self, tokens: Sequence[int], *, whole_rows: bool = False) -> Logits:
        """Run tokens in one pass and return the logits of the last one. Raises Stopped.

        `keep_first` must follow before the next pass.
        """
        try:
            self.logits = self.runtime.forward(tokens, whole_rows=whole_rows)
        except BaseException:
            self._drop_lost_tokens()
            raise
        return self.logits

    def append(self, tokens: Sequence[int]) -> None:
        """Run tokens that are certain, in as many passes as needed, and keep them all. Raises Stopped.

        After Stopped, those that were run are kept.
        """
        all_tokens = [*self.tokens, *tokens]
        try:
            for logits in prefill(self.runtime, tokens):
                self.logits = logits
        finally:
            self.tokens = all_tokens[: self.runtime.size]

    def keep_first(self, tokens: Sequence[int], count: int) -> None:
        """Keep the first `count` of the tokens that were just run in the cache, and drop the others."""
        if count < len(tokens):
            self.runtime.truncate(len(self.tokens) + count)
        self.tokens.extend(tokens[:count])
        self._drop_lost_tokens()

    def verify(self, inputs: Sequence[int], draft: Tree, *, whole_rows: bool = False) -> Logits:
        """Run input tokens and a draft behind them in one pass; `accept` or `reject` must follow. Raises Stopped.

        Returns one row of logits for the last input and one for each token of the draft. A draft with branches needs a
        `TreeRuntime`.
        """
        self._ran_tree = not draft.is_line
        try:
            if not self._ran_tree:  # a draft without branches is just a longer pass
                self.logits = self.runtime.forward([*inputs, *draft.tokens], 1 + draft.size, whole_rows=whole_rows)
            else:
                self.logits = self._tree_runtime.forward_tree(inputs, draft)
        except BaseException:
            self._drop_lost_tokens()
            raise
        return self.logits

    @property
    def _tree_runtime(self) -> TreeRuntime:
        assert isinstance(self.runtime, TreeRuntime), self.runtime
        return self.runtime

    def accept(self, inputs: Sequence[int], draft: Tree, path: Sequence[int]) -> None:
        """Keep the inputs that were just run and the draft's tokens on `path` (indices); drop the rest of the draft."""
        try:
            self._keep_in_cache(len(inputs), path)
        except BaseException:
            self._drop_lost_tokens()
            raise
        self.tokens.extend(inputs)
        self.tokens.extend(draft.tokens[i] for i in path)

    def reject(self) -> None:
        """Drop all tokens that were just run, inputs and draft."""
        self._keep_in_cache(0)
        self._drop_lost_tokens()

    def _keep_in_cache(self, inputs: int, path: Sequence[int] = ()) -> None:
        if self._ran_tree:
            self._tree_runtime.keep_path(inputs, path)
        else:
            self.runtime.truncate(len(self.tokens) + inputs + len(path))

    def _drop_lost_tokens(self) -> None:
        """Drop the tokens that the cache has lost.

        After a failed pass a model with a single state for all tokens has lost all of them, not only the new ones.
        """
        del self.tokens[self.runtime.size :]

    def clear(self) -> None:
        """Empty the cache."""
        self.tokens = []
        self.runtime.truncate(0)


class ChatCache:
    """A session, the id of the chat in it, and the saved chats on disk.

    `chat` is empty for a chat that is never saved.
    """

    def __init__(self, session: Session, saved: SavedChats, guard: Guard) -> None:
        self.session = session
        self.saved = saved
        self.guard = guard
        self.chat = ""
        self.prefill_rate = 0.0  # tokens/s, averaged over the last prompts that were long enough
        self.saved_tokens = 0  # number of the session's tokens that are on disk

    def open_chat(self, chat: str, prompt: Sequence[int]) -> None:
        """Make `chat` the current chat, before its `prompt` is prefilled.

        Loads the chat's saved keys and values if they spare much of the prefill.
        """
        self.chat = chat
        record = self.saved.find(chat, self.guard) if chat else None
        self.saved_tokens = common_prefix(record.tokens, prompt) if record else 0
        if record is None or len(record.tokens) > self.session.limit:
            return
        gain = common_prefix(record.tokens, prompt) - common_prefix(self.session.tokens, prompt)
        if gain < MIN_SAVED_TOKENS:
            return
        runtime = self.session.runtime
        with ThreadPoolExecutor(1) as pool:
            intact = pool.submit(self.saved.is_intact, chat, self.guard)  # checks the file while the cache is resized
            try:
                self.session.restore(record.tokens, lambda: self.saved.load(chat, record, runtime, intact.result()))
                self.saved_tokens = len(record.tokens)
            except Failure as failure:
                log.warning("%s", failure.log_text)

    def record_prefill(self, tokens: int, seconds: float) -> None:
        """Update the prefill speed after a prefill of `tokens` tokens.

        Prefills of fewer than 32 tokens are ignored, because they say little.
        """
        if tokens >= 32 and seconds > 0:
            rate = tokens / seconds
            self.prefill_rate = (self.prefill_rate + rate) / 2 if self.prefill_rate else rate

    def save(self, disk_bytes_per_s: float) -> bool:
        """Save the chat if enough is new, loading would pay and the quota allows it; return whether it was saved.

        Raises Failure if the disk has no room or cannot be written.
        """
        tokens = self.session.tokens
        new = len(tokens) - self.saved_tokens
        if not self.chat or not self.prefill_rate or new < MIN_SAVED_TOKENS // 4:
            return False
        seconds = len(tokens) / self.prefill_rate
        size = self.session.runtime.state_bytes
        # A chat above the quota raises no Failure here, because the user chose the quota.
        if size > self.saved.quota or not worth_saving(len(tokens), size, seconds, disk_bytes_per_s):
            return False
        self.saved.save(self.chat, self.guard, self.session.runtime, tokens, seconds)
        self.saved_tokens = len(tokens)
        return True

    def delete_chat(self, chat: str) -> None:
        """Delete the chat from the disk and, if it is the current one, from the cache.

        A deleted chat is not saved again.
        """
        self.saved.delete(chat)
        if chat == self.chat:
            self.chat, self.saved_tokens = "", 0
            self.session.clear()
