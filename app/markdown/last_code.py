"""The last block of code in an answer. Knows no Qt."""

from __future__ import annotations

from app.markdown.blocks import BlockSplitter


def last_code(answer: str) -> str | None:
    """Without its fences; None where the answer has none."""
    splitter = BlockSplitter()
    splitter.feed(answer)
    splitter.close()
    return next((block.text for block in reversed(splitter.finished) if block.kind == "code"), None)
