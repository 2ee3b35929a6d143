"""Loading with ik_llama.cpp: progress, stop, bad files, and what it must not do."""

from __future__ import annotations

import sys
from contextlib import closing

import numpy as np
import pytest

from common.failures import Failure
from engine.loading.libraries import backend
from engine.runtime.contexts import ContextOptions
from engine.runtime.ik.library import native, open_library
from engine.runtime.ik.runtime import EMBEDDING, IkModel, IkRuntime
from engine.runtime.interface import prefill
from engine.stop import StopFlag, Stopped
from models.default import default_model
from tests.engine.shallow import shallow_model


def test_progress_and_a_clean_stdout(capfd):
    fractions = []

    def progress(fraction: float) -> bool:
        fractions.append(fraction)
        return True

    IkModel(default_model(), progress).close()
    assert fractions == sorted(fractions)
    assert len(fractions) > 10
    assert fractions[-1] == 1
    assert capfd.readouterr() == ("", "")


def test_loading_is_stopped():
    with pytest.raises(Stopped):
        IkModel(default_model(), lambda fraction: fraction < 0.5)


def test_a_truncated_file(tmp_path):
    whole = default_model().read_bytes()
    (tmp_path / "cut.gguf").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(Failure, match="incomplete") as caught:
        IkModel(tmp_path / "cut.gguf")
    assert caught.value.code == "bad_model"


def test_the_vocabulary(model, prompt):
    vocabulary = model.vocabulary
    assert vocabulary.tokenize("<|im_end|>", special=True) == [2]
    assert len(vocabulary.tokenize("<|im_end|>", special=False)) > 1
    assert vocabulary.is_control(2)
    assert vocabulary.is_end(2)
    assert vocabulary.piece(2) == b""
    text = "Grüße, 日本 \U0001f426!"
    assert b"".join(map(vocabulary.piece, vocabulary.tokenize(text, special=False))).decode() == text
    assert vocabulary.text(prompt[0]) == vocabulary.bos_text


def test_what_the_file_says(model):
    assert model.n_ctx_train == 8192
    assert model.n_params == 56_632_896
    assert model.can_truncate
    assert model.size_bytes > shallow_model().stat().st_size  # the shared head is a tensor of its own in memory


def test_a_head_that_shares_the_embeddings_weights_is_repacked(model, prompt, monkeypatch):
    """This head has eight bits, which no step reads in two parts."""
    native_code = native()
    if native_code is None:
        pytest.skip("without native code it stays in the file's order")
    monkeypatch.setattr(IkModel, "_repacked_head", lambda *_: None)
    rows = []
    with closing(IkModel(shallow_model())) as as_loaded:
        assert native_code.code.chickadee_tied_head(embedding_of(model)) is None  # there is no third one
        for each in (model, as_loaded):
            with closing(IkRuntime(each, ContextOptions(n_ctx=256, threads=1), StopFlag())) as target:
                *_, last = prefill(target, prompt)
                rows.append([last.row().copy(), *(target.forward(prompt[:8], 8).row(i).copy() for i in range(8))])
    assert np.abs(np.array(rows[0]) - rows[1]).max() < 1e-4 * np.std(rows[0])


def embedding_of(model: IkModel) -> int:
    found: int = open_library().functions.llama_get_model_tensor(model.pointer, EMBEDDING.encode())
    return found


def test_llama_cpp_is_not_in_this_process():
    assert "ik-llama-cpp-python" in backend("ik").build
    assert "llama_cpp" not in sys.modules
