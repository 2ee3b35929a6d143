"""Words for models, downloads and plans, and which models can draft for others; without a window."""

from __future__ import annotations

from pathlib import Path

from app.dialogs.model_details import weights
from app.dialogs.model_list import Filters, ModelList, job_row
from app.model_fit import parts_words, tone_of, verdict_words, writing_speed
from common.planning import Verdict
from common.sentences import Sentence
from models.collection import describe_model
from models.download_queue import DownloadJob
from models.progress import DownloadProgress
from tests.models.make_gguf import make_gguf


def test_words_for_verdicts() -> None:
    gib = 1 << 30
    assert verdict_words(None) == "Checking whether it fits…"
    assert verdict_words(Verdict()) == "Could not determine whether it fits"
    assert verdict_words(Verdict(verdict="tight", total_bytes=gib, n_ctx=4096, exact=True)) == (
        "Tight: 1.07 GB of memory with 4,096 tokens"
    )
    from_disk = Verdict(verdict="disk", total_bytes=gib, available_bytes=gib // 2, predicted_speed=0.44, exact=True)
    words = "Very slow: needs 1.07 GB, more than the memory, so it is read from the disk again and again"
    assert verdict_words(from_disk) == words
    assert tone_of(from_disk) == "tight"
    assert writing_speed(from_disk) == "about 0.4 tok/s"
    assert parts_words(from_disk).endswith("537 MB available · about 0.4 tok/s")
    assert not Filters(fits=True).admit(None, from_disk)
    assert verdict_words(Verdict(verdict="no", total_bytes=gib)) == "Does not fit: needs about 1.07 GB of memory"
    assert "a context of 2,048 tokens would fit" in verdict_words(
        Verdict(verdict="no", total_bytes=gib, max_n_ctx=2048)
    )


def test_words_for_downloads() -> None:
    row = job_row(DownloadJob(1, "bird.gguf", "running", DownloadProgress("receiving", 1 << 20, 4 << 20, 1 << 14)))
    assert row.facts == "Downloading · 1 MB of 4 MB · 16 kB/s · 3 min left"
    assert row.fraction == 0.25
    assert weights(1_777_088_000) == "1.8B"


def test_smaller_models_of_the_same_vocabulary_can_draft(tmp_path: Path) -> None:
    large = describe_model(make_gguf(tmp_path / "large.gguf", rows=640))
    small = describe_model(make_gguf(tmp_path / "small.gguf"))
    page = ModelList(local_models=[large, small])
    assert page.drafters_for(large) == [small]
    assert page.drafters_for(small) == []


def test_words_for_the_parts_of_a_plan() -> None:
    parts = {"weights_mapped": 1 << 30, "weights_repacked": 1 << 29, "kv": 1 << 20, "compute": 1 << 20}
    parts |= {"draft_kv": 1 << 21, "draft_weights_mapped": 1 << 28}
    said = parts_words(
        Verdict(verdict="fits", total_bytes=1, available_bytes=2 << 30, parts=parts, notes=(Sentence.plain("Note."),))
    )
    assert said == ("weights 1.61 GB · KV cache 1 MB · draft model 271 MB · other 1 MB · 2.15 GB available\nNote.")
    assert parts_words(Verdict()) == ""
