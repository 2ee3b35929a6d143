"""What a model is called wherever the user reads of it: one name for each file, before it is loaded and after."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from common.failures import Failure
from common.paths import shown
from models.catalogue import catalogue
from models.ollama import ollama_models
from models.split import PART

BUILT_IN = {"smollm2-135m-instruct.q4_1.gguf": "SmolLM2 135M Instruct"}
SIZES = "0|1|2|3|4|5|6|7|8|K|S|M|L|XL|XS|XXS|NL"
LABEL = re.compile(rf"(?<![a-z0-9])(I?Q\d(?:_(?:{SIZES})(?![a-z0-9]))*|MXFP4|BF16|FP?(?:16|32))(?![a-z0-9])", re.I)
BETWEEN = re.compile(r"[-_\s]+|(?<!\d)\.+|\.+(?!\d)")  # words in a file's name; 2.5 is one


def title_of(path: Path) -> str:
    """The catalogue's title, Ollama's name, or the words of the file's name.

    The header's own name is no help: it is often a note of its makers ("Smollm2 135M 8k Lc100K Mix1 Ep2")."""
    name = path.name.casefold()
    return BUILT_IN.get(name) or _suggested().get(name) or _in_ollama(path) or cleaned(shown(path))


def cleaned(name: str) -> str:
    """'mistral-7b-instruct-v0.2.q4_k_m.gguf' → 'mistral 7b instruct v0.2 Q4_K_M'; the user's own case stays."""
    part = PART.fullmatch(name)
    stem = part[1] if part else re.sub(r"\.gguf$", "", name, flags=re.IGNORECASE)
    pieces = LABEL.split(stem)  # every second one is how it is quantised
    said = [piece.upper() if at % 2 else BETWEEN.sub(" ", piece) for at, piece in enumerate(pieces)]
    return " ".join(" ".join(said).split()) or stem or name


@cache
def _suggested() -> dict[str, str]:
    try:
        return {entry.file.casefold(): entry.title for entry in catalogue()}
    except Failure:  # an installation without it: the models' dialog says so
        return {}


@cache
def _in_ollama(path: Path) -> str:
    """Its files are called by their digest; empty where it is none of them."""
    if path.parent.name != "blobs" or not path.name.startswith("sha256-"):
        return ""
    return next((name for name, blob in ollama_models(path.parent.parent) if blob == path), "")
