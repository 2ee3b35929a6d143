"""A whole text as one block of prose, for tests of what stands within paragraphs."""

from __future__ import annotations

from app.markdown.blocks import Block, split
from app.markdown.joined import join_prose


def prose_of(text: str) -> Block:
    """Return the paragraphs of a text in one block, without its code and tables."""
    blocks = split(text)
    return join_prose(blocks) if blocks else Block()
