"""A reading with compressed heads that begins in the middle equals one of the whole text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest

from benchmarks.compressed_readings import TextReader, divergence
from engine.runtime.graph.model import GraphModel
from engine.stop import StopFlag
from tests.engine.runtime.graph.tiny import write_tiny

TOKENS = [int(token) for token in np.random.default_rng(3).integers(0, 40, 700)]


@pytest.fixture(scope="module", params=["llama", "qwen2"])
def small(request, tmp_path_factory) -> Iterator[GraphModel]:
    path = tmp_path_factory.mktemp("small") / "small.gguf"
    model = GraphModel(write_tiny(path, request.param, factors=request.param == "llama"))
    yield model
    model.close()


@pytest.mark.parametrize("mode", ["merged", "window"])
def test_what_is_held_of_a_plain_reading_is_as_if_it_had_been_computed(small, mode):
    """The highest layer's heads are compressed, whose changes cannot reach other layers."""
    with closing(TextReader(small, mode, 1, StopFlag(), False)) as reader:
        plain = reader.read_plain(TOKENS, 512)
        for heads in ([(1, 0)], [(1, 0), (1, 1)]):
            held, computed = reader.predict_compressed(plain, heads, 512), reader.predict_compressed(plain, heads)
            assert held.entries == computed.entries < 1
            assert (held.log_probabilities == computed.log_probabilities).all()
            assert divergence(plain.predictions, held) > 0
