"""Ollama's models: its manifests name the blobs that are GGUF files. Read only; invalid manifests are skipped.

manifests/<registry>/<owner>/<model>/<tag> is JSON; its layer of the type MODEL is blobs/sha256-<digest>.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from common.files import read_small
from common.paths import display_name

MODEL, TEMPLATE = "application/vnd.ollama.image.model", "application/vnd.ollama.image.template"
REGISTRY, OWNER = "registry.ollama.ai", "library"  # left out of the names that Ollama shows
DIGEST = r"sha256:([0-9a-f]{64})"
MAX_MANIFEST = 1 << 20


@dataclass(frozen=True, slots=True)
class OllamaModel:
    """Model of a manifest: its name, as Ollama shows it, and its file; of a split model the first one.

    `has_template`: whether Ollama keeps a chat template beside the file; it is one of Go's text/template, no Jinja.
    """

    name: str
    path: Path
    has_template: bool


def ollama_models(folder: Path) -> Iterator[OllamaModel]:
    """Yield the models of the manifests in Ollama's folder."""
    root = folder / "manifests"
    for path in sorted(_files(root)):
        layers = dict(reversed(tuple(_layers(path))))
        if MODEL in layers:
            name, blob = display_name(_name(path.relative_to(root).parts)), f"sha256-{layers[MODEL]}"
            yield OllamaModel(name, folder / "blobs" / blob, TEMPLATE in layers)


@cache
def name_of_blob(path: Path) -> str:
    """Return Ollama's name of a model file, which is named by its digest; '' for any other file."""
    if not is_blob(path):
        return ""
    return next((model.name for model in ollama_models(path.parent.parent) if path == model.path), "")


def is_blob(path: Path) -> bool:
    return path.parent.name == "blobs" and path.name.startswith("sha256-")


def _files(root: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(root):  # os.walk skips unreadable folders and follows no links
        depth = len(Path(parent).relative_to(root).parts)
        if depth >= 5:
            folders.clear()
        yield from (Path(parent) / name for name in names if not name.startswith("."))


def _layers(path: Path) -> Iterator[tuple[str, str]]:
    """Yield type and digest of the manifest's layers; nothing if it is no manifest."""
    try:
        manifest = json.loads(read_small(path, MAX_MANIFEST))
    except (OSError, ValueError, RecursionError):
        return
    layers = manifest.get("layers") if isinstance(manifest, dict) else None
    for layer in layers if isinstance(layers, list) else []:
        kind, digest = (layer.get("mediaType"), layer.get("digest")) if isinstance(layer, dict) else (None, None)
        if isinstance(kind, str) and isinstance(digest, str) and (match := re.fullmatch(DIGEST, digest)):
            yield kind, match[1]


def _name(parts: tuple[str, ...]) -> str:
    """Join a manifest's path to a name: ('registry.ollama.ai', 'library', 'qwen2.5', '1.5b') → 'qwen2.5:1.5b'."""
    *owners, tag = parts
    named = [part for part, usual in zip(owners, (REGISTRY, OWNER), strict=False) if part != usual] + owners[2:]
    return f"{'/'.join(named)}:{tag}"
