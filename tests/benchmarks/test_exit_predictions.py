"""The predictions behind several layers at once are those of looking ahead from each."""

from __future__ import annotations

from contextlib import closing

import gguf

from benchmarks.exit_predictions import predict_at_exits
from engine.runtime.graph.model import GraphModel
from engine.runtime.graph.runtime import GraphRuntime
from engine.stop import StopFlag
from tests.engine.runtime.graph.conftest import OPTIONS
from tests.engine.runtime.graph.tiny import VOCABULARY, write_tiny


def test_guesses_are_those_of_looking_ahead(tmp_path):
    path = write_tiny(tmp_path / "m.gguf", "llama", layers=4, type=gguf.GGMLQuantizationType.F32)
    tokens = [i * 7 % VOCABULARY for i in range(75)]  # two passes and a part of one
    with closing(GraphModel(path)) as model, closing(GraphRuntime(model, OPTIONS, StopFlag())) as target:
        predictions = predict_at_exits(model, tokens, [1, 3, 4], 2, StopFlag())
        assert predictions.shape == (3, 75)
        for i, layers in enumerate((1, 3)):
            assert [int(target.look_ahead([token], layers).row().argmax()) for token in tokens] == predictions[
                i
            ].tolist()
            logits = target.forward(tokens, 32)
            assert [int(logits.row(j).argmax()) for j in range(32)] == predictions[2][-32:].tolist()
            target.truncate(0)
