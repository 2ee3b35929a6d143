"""A chat's tokens with their keys and values, in a KV cache that grows."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from common.failures import Failure
from engine.kv.checkpoints import Checkpoints
from engine.runtime.contexts import ANSWER_ROOM, size_class
from engine.runtime.interface import (
    Checkpoint,
    CheckpointRuntime,
    Logits,
    PictureRuntime,
    Runtime,
    Tree,
    TreeRuntime,
    prefill,
)
from engine.tokenization.pictures import blocks, is_picture, runs, whole_blocks
from engine.tokenization.tokens import common_prefix

log = logging.getLogger("engine.kv.session")

SHORT_PROMPT = 64  # tokens: so many are read again in a moment, and a checkpoint in front of them is enough


@dataclass(frozen=True, slots=True)
class PromptProgress:
    """Progress of a prefill: `done` tokens of the prompt are in the KV cache, `reused` of them from before.

    While a picture is encoded, `looking` is the fraction of all pictures that is done, above 0.
    """

    done: int
    reused: int
    looking: float = 0.0


class Session:
    """The tokens in the runtime's KV cache, and all changes to them.

    `tokens` equals the cache's content at all times, also after a stopped or failed pass, and never exceeds `limit`
    tokens: the planned context, which memory that is short for a while does not change. `logits` are those of the last
    pass. `checkpoints` lead back where the cache cannot be truncated. `expected`: tokens of the longest chat that may
    come next, for which the cache stays large enough.
    """

    def __init__(self, runtime: Runtime, limit: int | None = None, checkpoints: int = 0) -> None:
        """Start with an empty cache; keep at most `checkpoints` checkpoints, if the runtime makes any."""
        self.runtime = runtime
        self.limit = limit or runtime.n_ctx
        self.expected = 0
        self.tokens: list[int] = []
        self.logits: Logits | None = None
        self.checkpoints = Checkpoints(checkpoints if isinstance(runtime, CheckpointRuntime) else 0)
        self._ran_tree = False  # whether the pass before accept or reject ran a tree

    def prefill(self, prompt: Sequence[int]) -> Iterator[PromptProgress]:
        """Prefill `prompt`, reusing the longest prefix of it in the cache, and yield the progress.

        The first progress comes before any pass. The last token always runs, because its logits start the answer.
        Raises Stopped, and Failure if the cache cannot grow to hold the prompt.
        """
        assert 0 < len(prompt) <= self.limit, len(prompt)
        wanted = shared_prefix(self.tokens, prompt)
        reused = self._go_back(wanted)
        self.checkpoints.drop_behind(wanted)
        yield PromptProgress(reused, reused)
        try:
            self._resize_for(len(prompt))
            for run in runs(prompt, reused):
                if is_picture(prompt[run.start]):
                    yield from self._read_block(prompt, run, reused)
                else:
                    yield from self._read_text(prompt, run, reused)
        finally:
            self._drop_lost_tokens()

    def _read_text(self, prompt: Sequence[int], run: range, reused: int) -> Iterator[PromptProgress]:
        for part, checkpoint in self._parts(run.start, run.stop, len(prompt)):
            if checkpoint:
                self._add_checkpoint(is_turn=part.start in (reused, len(prompt) - 1))
            self.logits = self.runtime.forward(prompt[part.start : part.stop])
            self.tokens = list(prompt[: self.runtime.size])
            yield PromptProgress(len(self.tokens), reused)

    def _read_block(self, prompt: Sequence[int], run: range, reused: int) -> Iterator[PromptProgress]:
        """Encode one part of a picture, unless that was done before, and read it."""
        assert isinstance(self.runtime, PictureRuntime), self.runtime
        pictures = list(blocks(prompt))
        before = sum(block.end <= run.start for block in pictures)
        tokens = prompt[run.start : run.stop]
        for fraction in self.runtime.encode_block(tokens):
            yield PromptProgress(len(self.tokens), reused, max(0.001, (before + fraction) / len(pictures)))
        if self._needs_checkpoint(run.start):
            self._add_checkpoint(is_turn=True)
        self.runtime.forward_block(tokens)
        self.tokens = list(prompt[: self.runtime.size])
        yield PromptProgress(len(self.tokens), reused)

    def read_rows(self, prompt: Sequence[int]) -> Iterator[range]:
        """Read a prompt without pictures anew; yield the tokens of each pass, for all of which `logits` has a row.

        Raises what `prefill` raises.
        """
        self.clear()
        self._resize_for(len(prompt))
        step = min(self.runtime.max_batch, self.runtime.max_logits)
        for begin in range(0, len(prompt), step):
            part = range(begin, min(begin + step, len(prompt)))
            self.tokens.extend(prompt[part.start : part.stop])
            try:
                self.logits = self.runtime.forward(prompt[part.start : part.stop], len(part), whole_rows=True)
            finally:
                self._drop_lost_tokens()
            yield part

    def _parts(self, begin: int, end: int, prompt_end: int) -> Iterator[tuple[range, bool]]:
        """Yield the passes over a prompt's tokens from `begin` to `end`, and whether a checkpoint precedes each.

        A long prompt's last token runs alone behind a checkpoint: another try reads nothing but this token again.
        """
        ends = end == prompt_end and self._needs_checkpoint(end) and end - begin > SHORT_PROMPT
        last = end - 1 if ends else end
        for start in range(begin, last, self.runtime.max_batch):
            yield range(start, min(start + self.runtime.max_batch, last)), self._needs_checkpoint(start)
        if last < end:
            yield range(last, end), True

    def _needs_checkpoint(self, size: int) -> bool:
        """Return whether a cache of `size` tokens, once it has grown, cannot be truncated back to this size."""
        return size > self.runtime.window and self.checkpoints.most > 0

    def _add_checkpoint(self, is_turn: bool) -> None:
        """Make a checkpoint of the present content, if there is none; without memory for it, go on without."""
        size = self.runtime.size
        if not size or self.checkpoints.has(size):
            return
        assert isinstance(self.runtime, CheckpointRuntime), self.runtime
        self.checkpoints.make_room(size)
        try:
            self.checkpoints.add(self.runtime.checkpoint(), is_turn)
        except MemoryError as error:
            log.warning("no checkpoint at %d tokens: %s", size, error)

    def go_back(self, size: int) -> None:
        """Keep the first `size` tokens in the cache, or as many as can be kept."""
        self._go_back(min(size, len(self.tokens)))
        self.checkpoints.drop_behind(len(self.tokens))

    def _go_back(self, size: int) -> int:
        """Keep the first `size` tokens, or as many as the nearest checkpoint before them has; return their number."""
        if not self.runtime.can_truncate_to(size) and (kept := self._restore_checkpoint(size)) is not None:
            del self.tokens[kept:]
            return kept
        kept = self.runtime.truncate(size)
        del self.tokens[kept:]
        if not kept:
            self.checkpoints.clear()
        return kept

    def _restore_checkpoint(self, size: int) -> int | None:
        """Restore the last checkpoint of at most `size` tokens and return its size, or None if there is none."""
        checkpoint = self.checkpoints.before(size)
        if checkpoint is None or not isinstance(self.runtime, CheckpointRuntime):
            return None
        return checkpoint.size if self.runtime.restore(checkpoint) else None

    def _resize_for(self, needed: int) -> None:
        """Grow the cache for a prompt of `needed` tokens; shrink a cache that is larger than any coming chat needs."""
        needed = max(needed, self.expected)
        wanted = size_class(needed + ANSWER_ROOM, self.limit)
        if needed > self.runtime.n_ctx or (not self.tokens and wanted < self.runtime.n_ctx):
            self.runtime.resize(wanted)

    def restore(self, tokens: Sequence[int], load: Callable[[], Sequence[Checkpoint]]) -> None:
        """Resize the cache for `tokens` and call `load`, which fills it with them and returns checkpoints of them.

        Raises what `load` raises.
        """
        self.clear()
        self._resize_for(len(tokens))
        try:
            checkpoints = load()
        except BaseException:
            self.clear()
            raise
        assert self.runtime.size == len(tokens), (self.runtime.size, len(tokens))
        self.tokens = list(tokens)
        for checkpoint in checkpoints[-self.checkpoints.most :] if self.checkpoints.most else ():
            self.checkpoints.add(checkpoint, is_turn=True)

    def reusable(self, prompt: Sequence[int]) -> int:
        """Return the number of the prompt's first tokens that `prefill` would not run again."""
        wanted = shared_prefix(self.tokens, prompt)
        if self.runtime.can_truncate_to(wanted):
            return wanted
        checkpoint = self.checkpoints.before(wanted)
        return checkpoint.size if checkpoint else 0

    def holds(self, prompt: Sequence[int]) -> bool:
        """Return whether the cache holds the whole prompt."""
        return self.tokens[: len(prompt)] == list(prompt)

    def make_room(self, count: int) -> bool:
        """Ensure that `count` more tokens fit, growing the cache if needed; False at its limit or without memory."""
        needed = len(self.tokens) + count
        if needed <= min(self.limit, self.runtime.n_ctx):
            return True
        if needed > self.limit:
            return False
        try:
            self.runtime.resize(size_class(needed, self.limit))
        except (Failure, MemoryError) as failure:
            log.warning("the KV cache stays at %d tokens: %s", self.runtime.n_ctx, failure)
            return False
        finally:
            self._drop_lost_tokens()
        return True

    def run(self, tokens: Sequence[int]) -> Logits:
        """Run tokens in one pass and return the logits of the last one. Raises Stopped.

        `keep_first` must follow before the next pass.
        """
        try:
            self.logits = self.runtime.forward(tokens)
        finally:
            self._drop_lost_tokens()
        return self.logits

    def append(self, tokens: Sequence[int]) -> None:
        """Run tokens that are certain, in as many passes as needed, and keep them all. Raises Stopped.

        After Stopped, those that were run are kept.
        """
        self.tokens.extend(tokens)
        try:
            for logits in prefill(self.runtime, tokens):
                self.logits = logits
        finally:
            self._drop_lost_tokens()

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
        finally:
            self._drop_lost_tokens()
        return self.logits

    @property
    def _tree_runtime(self) -> TreeRuntime:
        assert isinstance(self.runtime, TreeRuntime), self.runtime
        return self.runtime

    def accept(self, inputs: Sequence[int], draft: Tree, path: Sequence[int]) -> None:
        """Keep the inputs that were just run and the draft's tokens on `path` (indices); drop the rest of the draft."""
        try:
            self._keep_in_cache(len(inputs), path)
        finally:
            self._drop_lost_tokens()
        self.tokens.extend(inputs)
        self.tokens.extend(draft.tokens[i] for i in path)
        assert self.runtime.size == len(self.tokens), "a draft of at most max_draft tokens can be taken back"

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
        """Drop the tokens that the cache has lost; none after a pass that went well.

        After a failed pass a recurrent model has lost all of them, not only the new ones: the last checkpoint among
        them is then restored.
        """
        size = self.runtime.size
        if not size and self.tokens:
            size = self._restore_checkpoint(len(self.tokens)) or 0
        del self.tokens[size:]
        self.checkpoints.drop_behind(size)

    def clear(self) -> None:
        """Empty the cache."""
        self.tokens = []
        self.checkpoints.clear()
        self.runtime.truncate(0)


def shared_prefix(cached: Sequence[int], prompt: Sequence[int]) -> int:
    """Return how many cached tokens a prompt can begin with.

    At least the prompt's last token is left to run, and a picture is shared as a whole or not at all.
    """
    shared = min(common_prefix(cached, prompt), len(prompt) - 1)
    return min(whole_blocks(cached, shared), whole_blocks(prompt, shared)) if shared else 0
