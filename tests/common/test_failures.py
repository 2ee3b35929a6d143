"""Failures as they cross processes: short, whatever a library or a file said."""

from __future__ import annotations

from common.failures import LONGEST_DETAIL, Failure


def test_the_detail_is_the_end_of_what_was_said() -> None:
    failure = Failure("plain.text", "x" * 100_000 + "GGML_ASSERT(\x1b) failed", text="It failed.")
    assert len(failure.detail) == LONGEST_DETAIL
    assert failure.detail.endswith("xGGML_ASSERT(\ufffd) failed")


def test_the_log_has_neither_names_nor_details() -> None:
    failure = Failure("export.unwritable", "secret", path="/home/me/secret.md", reason="secret")
    failure.__cause__ = PermissionError(13, "Permission denied", "/home/me/secret.md")
    assert failure.log_text == "export.unwritable PermissionError EACCES"
    assert Failure("context_too_small.to_calibrate", n_ctx=64).log_text == "context_too_small.to_calibrate n_ctx=64"
