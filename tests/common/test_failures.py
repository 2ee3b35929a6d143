"""Failures as they cross processes: short, whatever a library or a file said."""

from __future__ import annotations

from common.failures import LONGEST_DETAIL, Failure


def test_the_detail_is_the_end_of_what_was_said() -> None:
    failure = Failure("plain.text", "x" * 100_000 + "GGML_ASSERT(\x1b) failed", text="It failed.")
    assert len(failure.detail) == LONGEST_DETAIL
    assert failure.detail.endswith("xGGML_ASSERT(\ufffd) failed")
