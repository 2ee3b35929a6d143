"""What recurrent layers cost in models of real widths: share of a pass by kind of work, and what snapshots add.

    python -m benchmarks.hybrids --folder F [--rounds N] [--rollback N …]

The models have random weights in Q4_0, the widths of Qwen3.5 2B, LFM2 1.2B and Granite 4.0 H 1B, and a fourth to a half
of their layers; they are written to F once (0.2 to 0.4 GB each). Times are processor time of one thread, so that other
programs disturb them less: the shares by ggml's callback for each operation, `ms` the least and the median of whole
passes, with contexts of each number of snapshots (`--rollback`) in turn.
"""

from __future__ import annotations

import argparse
import ctypes
import time
from collections import defaultdict
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import engine.runtime.llama.runtime as llama
from benchmarks.tiny_models import Weights, random_weights, write_tiny_model
from engine.runtime.contexts import ContextOptions
from engine.runtime.llama.library import ggml
from engine.stop import StopFlag

Q4_0 = 2  # llama_ftype
LARGE = 1 << 20  # numbers: larger matrices repeat the same random ones, which saves minutes
PASSES = (1, 8, 128)
SHORT_PASSES = (1, 8)  # those that snapshots are for
TOKENS = [*range(20, 110)] * 8
USUAL = {"context_length": 32768, "attention.layer_norm_rms_epsilon": 1e-6, "rope.freq_base": 1e6}
STATE = {"ssm.conv_kernel": 4, "ssm.state_size": 128}
SHAPES: dict[str, dict[str, Any]] = {
    "qwen35": USUAL
    | STATE
    | {"architecture": "qwen35", "block_count": 8, "embedding_length": 2048, "feed_forward_length": 6144}
    | {"attention.head_count": 8, "attention.head_count_kv": 2, "attention.key_length": 256}
    | {"attention.value_length": 256, "rope.dimension_count": 64, "rope.dimension_sections": [11, 11, 10, 0]}
    | {"full_attention_interval": 4, "ssm.group_count": 16, "ssm.time_step_rank": 16, "ssm.inner_size": 2048}
    | {"vocab_size": 50688},
    "lfm2": USUAL
    | {"architecture": "lfm2", "block_count": 8, "embedding_length": 2048, "feed_forward_length": 8192}
    | {"attention.head_count": 32, "attention.head_count_kv": [0, 0, 8, 0, 0, 8, 0, 8], "attention.key_length": 64}
    | {"attention.value_length": 64, "rope.dimension_count": 64, "shortconv.l_cache": 3, "vocab_size": 32768},
    "granitehybrid": USUAL
    | STATE
    | {"architecture": "granitehybrid", "block_count": 10, "embedding_length": 1536, "feed_forward_length": 4096}
    | {"attention.head_count": 12, "attention.head_count_kv": [4 * (i == 5) for i in range(10)]}
    | {"attention.key_length": 128, "attention.value_length": 128, "rope.dimension_count": 128}
    | {"ssm.group_count": 1, "ssm.time_step_rank": 48, "ssm.inner_size": 3072, "vocab_size": 25088},
}
KINDS = {"MUL_MAT": "products", "GATED_DELTA_NET": "recurrence", "SSM_SCAN": "recurrence", "SSM_CONV": "recurrence"}
COPIES = ("GET_ROWS", "CPY", "CONCAT")  # of recurrent states: gathered before the layer and stored behind it
Callback = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_bool, ctypes.c_void_p)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hybrids", description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--rollback", type=int, nargs="+", default=[0, 7, 11, 15])
    options = parser.parse_args()
    for name in SHAPES:
        with closing(llama.Model(written(options.folder, name))) as model:
            print(f"\n{name}\n{'':17}" + "".join(f"{f'{tokens} tokens':>14}" for tokens in PASSES))
            for kind, shares in shares_by_kind(model).items():
                print(f"{kind:17}" + "".join(f"{share:14.1%}" for share in shares))
            for rollback, times in pass_times(model, options.rollback, options.rounds).items():
                print(f"{rollback:2} snapshots, ms" + "".join(f"{min(t):7.1f}{median(t):7.1f}" for t in times))
            print("checkpoint: {:.1f} MB, {:.1f} ms".format(*checkpoint_cost(model)))


def written(folder: Path, name: str) -> Path:
    """Return the model's file; write it if it is not there yet."""
    path, exact = folder / f"{name}.gguf", folder / f"{name}-exact.gguf"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_tiny_model(exact, SHAPES[name], make=repeated_weights)
        llama.quantise(exact, path, Q4_0, 1)
        exact.unlink()
    return path


def repeated_weights(name: str, sizes: tuple[int, ...], seed: int) -> Weights:
    """Return random weights; large matrices repeat the same few numbers."""
    count = int(np.prod(sizes))
    if count < LARGE:
        return random_weights(name, sizes, seed)
    block = np.random.default_rng(seed).normal(size=LARGE).astype(np.float32)
    return np.resize(block, count).reshape(sizes) * np.float32(sizes[-1] ** -0.5)


def target(model: llama.Model, rollback: int) -> llama.LlamaRuntime:
    return llama.LlamaRuntime(model, ContextOptions(n_ctx=1024, threads=1, rollback=rollback), StopFlag())


def shares_by_kind(model: llama.Model) -> dict[str, list[float]]:
    """Return, by kind of work, the share of a pass's time for each of PASSES, without snapshots."""
    seconds, started = defaultdict[str, float](float), [0.0]
    describe = ggml("ggml_op_desc", ctypes.c_char_p, ctypes.c_void_p)

    def measure(tensor: int, before: bool, _data: object) -> bool:
        if before:
            started[0] = time.thread_time()
        else:
            operation = describe(tensor).decode()
            kind = KINDS.get(operation, "copies of states" if operation in COPIES else "others")
            seconds[kind] += time.thread_time() - started[0]
        return True

    callback, usual, shares = Callback(measure), llama.context_params, defaultdict[str, list[float]](list)

    def measured(options: ContextOptions) -> Any:
        params = usual(options)
        params.cb_eval = ctypes.cast(callback, type(params.cb_eval))
        return params

    llama.context_params = measured
    try:
        with closing(target(model, 0)) as runtime:
            for tokens in PASSES:
                runtime.forward(TOKENS[:tokens])
                seconds.clear()
                for _ in range(3):
                    runtime.forward(TOKENS[:tokens])
                runtime.truncate(0)
                for kind in ("products", "recurrence", "copies of states", "others"):
                    shares[kind].append(seconds[kind] / sum(seconds.values()))
    finally:
        llama.context_params = usual
    return shares


def pass_times(model: llama.Model, rollbacks: list[int], rounds: int) -> dict[int, list[list[float]]]:
    """Return milliseconds of passes by number of snapshots, for each of SHORT_PASSES; the contexts take turns."""
    times: dict[int, list[list[float]]] = {rollback: [[] for _ in SHORT_PASSES] for rollback in rollbacks}
    with ExitStack() as stack:
        runtimes = {rollback: stack.enter_context(closing(target(model, rollback))) for rollback in rollbacks}
        for _ in range(rounds):
            for rollback, runtime in runtimes.items():
                if runtime.size > len(TOKENS):
                    runtime.truncate(0)
                for _ in range(2):  # after another context's turn the first ones find cold caches
                    runtime.forward(TOKENS[:1])
                for tokens, some in zip(SHORT_PASSES, times[rollback], strict=True):
                    started = time.process_time()
                    runtime.forward(TOKENS[:tokens], tokens)
                    some.append(1000 * (time.process_time() - started))
    return times


def checkpoint_cost(model: llama.Model) -> tuple[float, float]:
    """Return the megabytes of a checkpoint, and the milliseconds of the fastest of several."""
    with closing(target(model, 0)) as runtime:
        runtime.forward(TOKENS[:64])
        seconds = []
        for _ in range(8):
            started = time.process_time()
            checkpoint = runtime.checkpoint()
            seconds.append(time.process_time() - started)
        return len(checkpoint.data) / 1e6, 1000 * min(seconds)


if __name__ == "__main__":
    main()
