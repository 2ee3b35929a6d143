"""A model's own layers that predict further tokens (MTP), run in a second context of llama.cpp beside the target's.

The only module that calls llama.cpp's functions for them (`llama_cpp_ext`, declared unstable). What they do is read
from `common_speculative_impl_draft_mtp` in llama.cpp's common/speculative.cpp: the layers read each token together with
the target's hidden state of the token before it, and their own hidden state takes the place of the target's for tokens
that the target has not run. A model with several such layers drafts with the first one alone, again and again.

Each target pass leaves its hidden states here. With `reads_along` the layers read them at once if they are many, as a
prompt's are; otherwise only the newest ones are read, when tokens are predicted. So a user whose model drafts in vain
pays for copying the states only.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from common.failures import Failure
from engine.runtime.capi.context import SEQUENCE, Batch, CContext
from engine.runtime.capi.library import CLibrary
from engine.runtime.capi.model import CModel
from engine.runtime.capi.runtime import CLogits
from engine.runtime.capi.sequences import copy_sequence
from engine.runtime.contexts import ContextOptions
from engine.runtime.interface import MOST_IN_RAM
from engine.runtime.llama.library import lib, log, open_library
from engine.stop import StopFlag, Stopped

logger = logging.getLogger("engine.mtp")

CONTEXT_TYPE_MTP = 1  # LLAMA_CONTEXT_TYPE_MTP
READ_BATCH = 128  # tokens that the layers read in one pass
MOST_UNREAD = 512  # tokens whose states wait to be read
STEP_TOKENS = 4  # unread tokens that wait for the next prediction: what a step with a short draft adds
KEPT_READ = 64  # tokens whose states are kept, read or not, because the next prompt may take some tokens back
TO_END = -1


def extension() -> Any:
    """Return the module of llama.cpp's unstable functions."""
    open_library()
    from llama_cpp import llama_cpp_ext

    return llama_cpp_ext


def mtp_params(params: Any, target: Any) -> Any:
    """Return the parameters of a context with `layers_options` as those of the layers' own beside `target`."""
    params.ctx_type, params.ctx_other = CONTEXT_TYPE_MTP, target
    return params


def layers_options(options: ContextOptions) -> ContextOptions:
    """Return the options of the layers' own context beside a target's context with `options`."""
    n_batch = min(READ_BATCH, options.n_batch)
    return replace(options, sequences=1, rollback=0, n_batch=n_batch, max_logits=1, own_layers=True)


def states_bytes(model: CModel, n_batch: int) -> int:
    """Return the bytes of the hidden states that wait to be read, and of those that the library passes on."""
    width = int(lib.llama_model_n_embd_out(model.pointer))
    return 4 * width * (KEPT_READ + MOST_UNREAD + 2 * n_batch + READ_BATCH)


class StateBatch(Batch):
    """A batch whose tokens each come with a hidden state: a row of `states`, shape [capacity, width]."""

    def __init__(self, lib: CLibrary, capacity: int, width: int) -> None:
        self.lib, self.capacity, self.sequences = lib, capacity, 1
        self.raw = lib.llama_batch_init(capacity, width, 1)
        self._tokens: Any = (lib.llama_token * capacity)()  # the library allocates either tokens or states
        self.raw.token = self._tokens
        self.states = np.ctypeslib.as_array(self.raw.embd, (capacity * width,)).reshape(capacity, width)

    def close(self) -> None:
        if self.raw is not None:
            self.raw.token = None
        super().close()


class NextTokenLayers:
    """The layers of `model`, with a KV cache of their own that follows the chat in the context `target`.

    The cache holds the chat from some token on: after a jump, such as a chat loaded from disk, it begins anew, which
    lowers the acceptance of drafts and nothing else. `params(options)` makes llama.cpp's parameters of a context.
    Raises Failure where memory is short.
    """

    def __init__(self, model: CModel, target: CContext, stop: StopFlag, params: Any, folder: Path | None) -> None:
        self._model, self._stop, self._params, self._folder = model, stop, params, folder
        self._extension = extension()
        self._width = int(lib.llama_model_n_embd_out(model.pointer))
        self.reads_along = False  # whether the layers read all states rather than only the newest ones
        self._target = target
        self._predicted: tuple[int, ...] = ()  # tokens of the last prediction, if nothing happened since
        self._context = self._open(target)
        self._batch = StateBatch(lib, self._context.n_batch, self._width)
        self._own_state = np.zeros(self._width, np.float32)  # of the last predicted token
        self._states = np.zeros((KEPT_READ + MOST_UNREAD + target.n_batch, self._width), np.float32)
        self._forget()
        self._extract_states()

    def _open(self, target: CContext) -> CContext:
        options = layers_options(replace(target.options, n_ctx=target.n_ctx))
        params = mtp_params(self._params(options), target.pointer)
        context = CContext(lib, log, self._model, options, params, self._stop)
        self._extension.llama_set_embeddings_nextn(context.pointer, True, True)
        return context

    def _extract_states(self) -> None:
        self._extension.llama_set_embeddings_nextn(self._target.pointer, True, False)

    # --- following the chat ---

    @property
    def end(self) -> int:
        """Position behind the chat's tokens that are known here: `predict` goes on from it."""
        return self._base + len(self._tokens)

    def record(self, position: int, tokens: Sequence[int]) -> None:
        """Copy the hidden states of the target's last pass, whose `tokens` begin at `position`."""
        if position != self.end:
            self._forget(position)
        elif self._read > position and tokens[0] != self._newest:
            self._drop_cells(position)
        if len(self._tokens) + len(tokens) > len(self._states):
            self._make_room()
        count = len(self._tokens)
        rows = self._extension.llama_get_embeddings_nextn(self._target.pointer)
        self._states[count : count + len(tokens)] = np.ctypeslib.as_array(rows, (len(tokens), self._width))
        self._tokens.extend(tokens)
        self._predicted = ()
        if self.reads_along and self.unread > STEP_TOKENS:
            try:
                self._read_until(self.end)
            except Stopped:  # the target's pass is done; whoever asks for the next one hears of the stop
                self._forget()

    def truncate(self, size: int) -> None:
        """Forget all tokens from index `size` on."""
        if size >= self.end:
            return
        if size <= self._base:
            self._forget()
        else:
            del self._tokens[size - self._base :]
            self._drop_cells(size)

    def _forget(self, position: int = 0) -> None:
        """Forget everything and begin anew at `position`; zeros take the place of a state before the first token."""
        first = position == 0
        self._base = position - first  # index of the first token whose state is kept
        self._tokens = [-1] if first else list[int]()  # as many as there are states
        self._states[0] = 0
        self._read = self._base + 1  # end of the tokens that were read
        self._cells = 0  # end of the layers' cache, which guesses may prolong
        self._newest = -1  # token at `end` that was read before the target ran it
        self._predicted = ()
        if self._context.is_open:
            lib.llama_memory_clear(self._context.memory, False)

    def _make_room(self) -> None:
        """Drop all states but the newest ones, whether they were read or not."""
        dropped = max(0, len(self._tokens) - KEPT_READ)
        self._states[: len(self._tokens) - dropped] = self._states[dropped : len(self._tokens)].copy()
        del self._tokens[:dropped]
        self._base += dropped
        if self._read <= self._base:
            lib.llama_memory_clear(self._context.memory, False)
            self._read, self._cells = self._base + 1, 0

    def _drop_cells(self, position: int) -> None:
        self._read = min(self._read, position)
        self._predicted = ()
        if self._cells > position:
            lib.llama_memory_seq_rm(self._context.memory, SEQUENCE, position, TO_END)
            self._cells = position

    # --- predicting ---

    @property
    def unread(self) -> int:
        """Tokens that are read before the next prediction."""
        lacking = max(0, self.end - self._read)
        return lacking if self.reads_along else min(KEPT_READ, lacking)

    def predict(self, tokens: Sequence[int]) -> CLogits:
        """Return the logits of what follows `tokens`: the newest token, at `end`, and those predicted behind it.

        All but the last one must have been given to the call before. Raises Stopped.
        """
        try:
            if len(tokens) == 1:
                if self.unread < self.end - self._read:
                    self._make_room()
                self._drop_cells(self.end)
                self._read_until(self.end)
                state = self._states[self.end - 1 - self._base]
                self._read, self._newest = self.end + 1, tokens[0]
            else:
                assert tuple(tokens[:-1]) == self._predicted, (tokens, self._predicted)
                state = self._own_state
            # A pass of its own: architectures disagree on which rows of states a pass with other tokens returns.
            self._run(self.end + len(tokens) - 1, tokens[-1:], state[None], True)
        except BaseException:
            self._forget()
            raise
        self._predicted = tuple(tokens)
        row = self._extension.llama_get_embeddings_nextn_ith(self._context.pointer, 0)
        self._own_state = np.ctypeslib.as_array(row, (self._width,)).copy()
        return CLogits(self._context, self._model.vocabulary.n_tokens, 1, 1)

    def _read_until(self, end: int) -> None:
        """Read the tokens before `end`."""
        self._drop_cells(self._read)  # guesses behind the tokens that were read
        while self._read < end:
            count = min(self._batch.capacity, end - self._read)
            first = self._read - self._base
            states = self._states[first - 1 : first - 1 + count]
            self._run(self._read, self._tokens[first : first + count], states, False)
            self._read += count

    def _run(self, position: int, tokens: Sequence[int], states: NDArray[np.float32], with_logits: bool) -> None:
        """Run tokens from `position` on, each with the state of the token before it, in one pass."""
        self._batch.start(len(tokens))
        self._batch.states[: len(tokens)] = states
        for i, token in enumerate(tokens):
            self._batch.set_token(i, token, position + i, (SEQUENCE,), with_logits)
        self._context.decode(self._batch)
        self._cells = position + len(tokens)

    # --- the target's context ---

    def use_options(self, options: ContextOptions) -> None:
        """Use as many threads as the target does."""
        own = self._context.options
        self._context.options = replace(own, threads=options.threads, prompt_threads=options.prompt_threads)

    def follow(self, target: CContext) -> None:
        """Follow the chat in another context of the model, to which it has moved. Raises Failure, OSError.

        The layers' cache grows with the target's.
        """
        self._target = target
        self._extract_states()
        if target.n_ctx > self._context.n_ctx:
            copy = copy_sequence(self._context, self._folder, MOST_IN_RAM) if self._cells else None
            self._context.close()
            self._context = self._open(target)
            if copy:
                copy(self._context)

    def close(self) -> None:
        """Free the layers' context and batch."""
        self._context.close()
        self._batch.close()


def open_layers(
    model: CModel, target: CContext, stop: StopFlag, params: Any, folder: Path | None
) -> NextTokenLayers | None:
    """Return the model's own layers; None, logged, where memory is short."""
    try:
        return NextTokenLayers(model, target, stop, params, folder)
    except Failure as error:
        logger.warning("the model's own layers do not draft: %s", error)
        return None
