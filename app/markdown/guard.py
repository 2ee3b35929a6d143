"""Takes from a model's text what could deceive or load something, before anything shows it. Knows no Qt."""

from __future__ import annotations

import re

from app.words import tr

IMAGE = "\uf8f0"  # stands for the ! of an image
_IMAGE_SIGN = re.compile(r"(?<!\\)((?:\\\\)*)!\[")
_NAMELESS = re.compile(rf"{IMAGE}\[\s*\]")
# Embeddings, overrides and isolates: they make a text read otherwise than it is stored. Marks (U+200E, U+200F) cannot.
_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")


def plain_direction(text: str) -> str:
    """Characters that turn the direction of what follows are named instead of obeyed."""
    return _DIRECTION.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


def without_images(markdown: str) -> str:
    """Images become links behind IMAGE. Qt would open the file that an image names as soon as it lays out the text."""
    if "![" not in markdown and IMAGE not in markdown:
        return markdown
    text = _IMAGE_SIGN.sub(rf"\1{IMAGE}[", markdown.replace(IMAGE, "\ufffd"))
    return _NAMELESS.sub(f"{IMAGE}[{tr('image')}]", text)
