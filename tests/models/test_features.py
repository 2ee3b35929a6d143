"""Which features work with an architecture: compared with what the library says of a tiny model of each."""

from __future__ import annotations

import pytest

from benchmarks.tiny_models import write_tiny_model
from benchmarks.tiny_shapes import SHAPES
from engine.runtime.llama.runtime import DryModel
from models.features import RECURRENT, SNAPSHOTS, can_be_drafted


@pytest.mark.parametrize("architecture", sorted(SHAPES))
def test_wrong_drafts_can_be_undone_where_the_library_can(tmp_path, architecture):
    with DryModel(write_tiny_model(tmp_path / "tiny.gguf", SHAPES[architecture])) as model:
        context = model.context(1024, rollback=2)
        assert context
        assert can_be_drafted(architecture) == (model.can_truncate or context.rollback == 2)
        assert (architecture in RECURRENT) == (not model.can_truncate)


def test_snapshots_are_of_recurrent_layers():
    assert SNAPSHOTS < RECURRENT
