"""Options are checked before any file is read, and each header is read once a load."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from common.failures import Failure
from common.files import open_file
from engine.engine import Engine
from engine.loading.options import LoadOptions
from engine.loading.resolve import resolve
from engine.protocol.requests import Load
from engine.runtime.contexts import KVMode
from engine.runtime.llama.runtime import Context
from engine.tokenization.template import ChatTemplate
from models.default import default_model
from tests.engine.altered import write_altered
from tests.engine.shallow import shallow_model

NOWHERE = Path("none.gguf")


@pytest.mark.parametrize("backend", ["llama", "graph"])
def test_a_header_is_read_once_a_load(backend, tmp_path, monkeypatch):
    """This includes the draft model's header, and files that another process looks at first."""
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path / "cache"))
    model, draft = (write_altered(tmp_path / name) for name in ("model.gguf", "draft.gguf"))
    read: Counter[str] = Counter()

    def counted(path: Path):
        read[path.name] += 1
        return open_file(path)

    monkeypatch.setattr("models.header.open_file", counted)
    engine = Engine()
    engine.load(Load(0, str(model), n_ctx=512, threads=1, backend=backend, draft_model=str(draft)))
    engine.close()
    assert {name: read[name] for name in ("model.gguf", "draft.gguf")} == {"model.gguf": 1, "draft.gguf": 1}


@pytest.mark.parametrize(
    ("wishes", "words"),
    [
        ({"threads": 0}, "threads must be 1 or more"),
        ({"n_ctx": 63}, "64 tokens or more"),
        ({"memory_bytes": -1}, "memory must be 0 bytes or more"),
    ],
)
def test_what_is_out_of_range_is_refused_before_a_file_is_read(wishes, words):
    with pytest.raises(ValueError, match=words):
        LoadOptions(NOWHERE, **wishes)


def test_what_does_not_go_together_is_refused_before_a_file_is_read():
    with pytest.raises(Failure, match="Only the built-in engine supports --kv merged, not ik"):
        LoadOptions(NOWHERE, backend="ik", kv_mode=KVMode("merged", 0.25))
    with pytest.raises(Failure, match="needs flash attention"):
        LoadOptions(NOWHERE, kv_type="q8_0", flash_attention="off")


@pytest.mark.parametrize("part", ["NgramCounter", "ChatCache", "return_freed_memory"])
def test_what_was_opened_is_closed_if_loading_fails_half_way(part, monkeypatch):
    """A context that outlived its model would crash the process."""
    contexts, closed = [], []

    class Noted(Context):
        def __init__(self, *arguments) -> None:
            super().__init__(*arguments)
            contexts.append(self)

    def fails(*_arguments: object) -> None:
        raise Failure("unwritable.results", folder="here", reason="full")

    monkeypatch.setattr("engine.runtime.llama.runtime.Context", Noted)
    monkeypatch.setattr(ChatTemplate, "close", lambda template: closed.append(template))
    monkeypatch.setattr(f"engine.loading.load.{part}", fails)
    with closing(Engine()) as engine, pytest.raises(Failure, match="cannot be saved"):
        engine.load(Load(0, str(shallow_model()), n_ctx=512, threads=1, backend="llama"))
    assert [context.is_open for context in contexts] == [False]
    assert len(closed) == 1


def test_a_plan_made_again_for_a_larger_context_reads_no_header(monkeypatch):
    plan = resolve(LoadOptions(default_model(), backend="llama", n_ctx=512))
    monkeypatch.setattr("models.header.open_file", None)
    assert plan.with_context(4096, 0).n_ctx == 4096


def test_no_other_library_where_none_is_wanted(monkeypatch):
    monkeypatch.setattr("engine.runtime.ik.needs.library_file", lambda: None)
    assert resolve(LoadOptions(default_model(), backend="ik")).choice.name == "llama"
    with pytest.raises(Failure, match=r"ik_llama.cpp is not installed"):
        resolve(LoadOptions(default_model(), backend="ik", no_other=True))
