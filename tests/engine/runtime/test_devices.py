"""A model placed on a graphics processor, here a software one (llvmpipe): the same answers as on the processor."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from common.failures import Failure
from engine.devices.device import ON_PROCESSOR, Device, Placement, Way
from engine.loading.device_check import compare
from engine.runtime.contexts import ContextOptions
from engine.runtime.interface import Tree
from engine.runtime.llama.devices import find_devices, layer_check
from engine.runtime.llama.runtime import LlamaRuntime, Model
from engine.stop import StopFlag, Stopped
from models.default import default_model
from models.header import read_header
from models.shapes import shapes_of
from tests.engine.runtime.hybrid import LAYERS, write_hybrid

pytestmark = pytest.mark.slow

OPTIONS = ContextOptions(512, threads=2, n_batch=256)
PROMPT = list(range(100, 180))
MARGIN = 0.2  # logits; two tokens that are nearer to each other may change places (a near tie)


@pytest.fixture(scope="module")
def device() -> Device:
    os.environ.setdefault("GGML_VK_VISIBLE_DEVICES", "0")  # ggml leaves software devices out otherwise
    found = find_devices("test")
    if not found:
        pytest.skip("no Vulkan here: `make vulkan`, and a driver such as mesa-vulkan-drivers")
    return found[0]


def layers() -> int:
    return len(shapes_of(read_header(default_model())).layers)


@pytest.fixture(params=[Way.PROMPTS, Way.SOME_LAYERS, Way.ALL_LAYERS])
def placement(request: pytest.FixtureRequest, device: Device) -> Placement:
    counts = {Way.PROMPTS: 0, Way.SOME_LAYERS: 2, Way.ALL_LAYERS: layers()}
    return Placement(request.param, device, counts[request.param])


@contextmanager
def runtime(placement: Placement, options: ContextOptions = OPTIONS) -> Iterator[LlamaRuntime]:
    stop = StopFlag()
    with (
        closing(Model(default_model(), repack=False, placement=placement)) as model,
        closing(LlamaRuntime(model, options, stop)) as target,
    ):
        yield target


def greedy(target: LlamaRuntime, count: int) -> list[tuple[int, float]]:
    """Return the greedy tokens behind PROMPT, each with its lead over the next best one."""
    row, said = target.forward(PROMPT).row(-1), []
    for _ in range(count):
        best, second = np.argsort(row)[-1], np.argsort(row)[-2]
        said.append((int(best), float(row[best] - row[second])))
        row = target.forward([int(best)]).row(-1)
    return said


def test_greedy_answers_are_the_processors_but_for_near_ties(placement: Placement) -> None:
    with runtime(ON_PROCESSOR) as target:
        right = greedy(target, 12)
    with runtime(placement) as target:
        other = greedy(target, 12)
    for (token, lead), (same, _) in zip(right, other, strict=True):
        if token != same:
            assert lead < MARGIN, (right, other)
            break  # what follows is another text


def test_logits_are_near_those_of_the_processor(placement: Placement) -> None:
    verdict = compare((read_header(default_model()),), placement)
    assert verdict.is_right, verdict


def test_a_stop_ends_a_long_pass_and_the_chat_goes_on(placement: Placement) -> None:
    if placement.layers and not layer_check():
        pytest.skip("our native code is not here")
    with runtime(placement) as target:
        before = target.forward(PROMPT[:40]).row(-1)
        timer = threading.Timer(0.05, target.stop.set)
        timer.start()
        with pytest.raises(Stopped):
            target.forward(PROMPT * 3)
        timer.join()
        assert target.size == 40, "the cells of the stopped pass are gone"
        target.stop.clear()
        target.truncate(39)
        again = target.forward([PROMPT[39]]).row(-1)
    assert np.argmax(again) == np.argmax(before)


def test_keys_and_values_are_saved_and_come_back(placement: Placement, tmp_path: Path) -> None:
    with runtime(placement) as target:
        target.forward(PROMPT)
        expected = np.array(target.forward([7]).row(-1))
        target.truncate(len(PROMPT))
        target.save(tmp_path / "chat", PROMPT)
        target.truncate(0)
        assert target.load(tmp_path / "chat") == PROMPT
        assert np.allclose(target.forward([7]).row(-1), expected, atol=1e-3)


def test_keys_and_values_of_the_processor_go_on_on_the_device(placement: Placement, tmp_path: Path) -> None:
    with runtime(ON_PROCESSOR) as target:
        target.forward(PROMPT)
        target.save(tmp_path / "chat", PROMPT)
        expected = np.array(target.forward([7]).row(-1))
    with runtime(placement) as target:
        assert target.load(tmp_path / "chat") == PROMPT
        other = target.forward([7]).row(-1)
    assert np.linalg.norm(other - expected) < 0.15 * np.linalg.norm(expected - expected.mean())


def test_drafts_are_verified_on_the_device(placement: Placement) -> None:
    with runtime(placement) as target:
        said = [token for token, _ in greedy(target, 6)]
        target.truncate(len(PROMPT) + 1)
        rows = target.forward(said[1:5], 4)
        assert [int(np.argmax(rows.row(i))) for i in range(4)] == said[2:6]
        target.truncate(len(PROMPT) + 2)
        rows = target.forward_tree([said[1]], Tree.merged([said[2:4], [1, 2]]))
        assert int(np.argmax(rows.row(0))) == said[2]
        target.keep_path(1, (0, 1))
        assert int(np.argmax(target.forward([said[4]]).row(-1))) == said[5]


def test_a_hybrid_goes_back_to_a_checkpoint(device: Device, tmp_path: Path) -> None:
    path = write_hybrid(tmp_path / "hybrid.gguf", "lfm2")
    placement = Placement(Way.ALL_LAYERS, device, LAYERS)
    with (
        closing(Model(path, placement=placement)) as model,
        closing(LlamaRuntime(model, OPTIONS, StopFlag())) as target,
    ):
        target.forward(PROMPT)
        kept = target.checkpoint()
        expected = np.array(target.forward([7, 8, 9]).row(-1))
        assert target.restore(kept)
        assert target.size == len(PROMPT)
        assert np.allclose(target.forward([7, 8, 9]).row(-1), expected, atol=1e-3)


def test_a_cache_that_the_device_has_no_memory_for_is_a_failure(device: Device) -> None:
    with (
        closing(Model(default_model(), placement=Placement(Way.ALL_LAYERS, device, layers()))) as model,
        pytest.raises(Failure) as failure,
    ):
        LlamaRuntime(model, ContextOptions(1 << 22, threads=2), StopFlag())
    assert "out_of_memory" in failure.value.sentence.id


def test_a_device_that_is_gone_is_a_failure(device: Device) -> None:
    gone = Device("vulkan Gone", "Vulkan9", "Gone", "vulkan", True, False, 0, 0, "")
    with pytest.raises(Failure) as failure:
        Model(default_model(), placement=Placement(Way.PROMPTS, gone))
    assert failure.value.sentence.id == "device.gone"
