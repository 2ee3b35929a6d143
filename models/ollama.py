"""Ollama's models: its manifests name the blobs that are GGUF files. Read only; invalid manifests are skipped.

manifests/<registry>/<owner>/<model>/<tag> is JSON; its layer of the type MODEL is blobs/sha256-<digest>.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from common.files import read_small
from common.paths import display_name

MODEL = "application/vnd.ollama.image.model"
REGISTRY, OWNER = "registry.ollama.ai", "library"  # left out of the names that Ollama shows
MAX_MANIFEST = 1 << 20


def ollama_models(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield each model's name, as Ollama shows it, and its file."""
    root = folder / "manifests"
    for path in sorted(_files(root)):
        digest = _digest(path)
        if digest:
            yield display_name(_name(path.relative_to(root).parts)), folder / "blobs" / f"sha256-{digest}"


def _files(root: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(root):  # os.walk skips unreadable folders and follows no links
        depth = len(Path(parent).relative_to(root).parts)
        if depth >= 5:
            folders.clear()
        yield from (Path(parent) / name for name in names if not name.startswith("."))


def _digest(path: Path) -> str:
    """Return the digest of the model's blob; '' if the manifest names none."""
    try:
        manifest = json.loads(read_small(path, MAX_MANIFEST))
    except (OSError, ValueError, RecursionError):
        return ""
    layers = manifest.get("layers") if isinstance(manifest, dict) else None
    for layer in layers if isinstance(layers, list) else []:
        if isinstance(layer, dict) and layer.get("mediaType") == MODEL:
            found = re.fullmatch(r"sha256:([0-9a-f]{64})", str(layer.get("digest")))
            return found[1] if found else ""
    return ""


def _name(parts: tuple[str, ...]) -> str:
    """Join a manifest's path to a name: ('registry.ollama.ai', 'library', 'qwen2.5', '1.5b') → 'qwen2.5:1.5b'."""
    *owners, tag = parts
    named = [part for part, usual in zip(owners, (REGISTRY, OWNER), strict=False) if part != usual] + owners[2:]
    return f"{'/'.join(named)}:{tag}"
