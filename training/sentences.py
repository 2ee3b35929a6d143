"""Takes the sentences that phrase drafting counts from a checkout of Mozilla's Common Voice, into `assets/phrases/`.

    python -m training.sentences CHECKOUT

Common Voice (common-voice/common-voice on GitHub, folder server/data) has sentences for people to read aloud, most of
them sent in for that, all of them in the public domain (CC0 1.0). Some of each language are taken, drawn by a fixed
number; the languages that small models speak best are larger. Needs no PyTorch.
"""

from __future__ import annotations

import argparse
import lzma
import random
import sys
from pathlib import Path

from models.assets import asset

USUAL = 300_000  # bytes per language, uncompressed
SIZES = {"en": 1_500_000, "de": 1_000_000, "fr": 1_000_000, "es": 1_000_000, "it": 750_000, "pt": 750_000}
LANGUAGES = (
    *("ar", "ca", "cs", "de", "el", "en", "es", "fa", "fi", "fr", "hi", "hu", "id", "it", "ja", "nl", "pl", "pt", "ro"),
    *("sv-SE", "tr", "uk", "vi", "zh-CN"),
)
SENT_IN = ("sentence-collector.txt",)
FILES = {
    "fr": ("issue2259_deleted_export_readd_fixed.txt",),
    "it": ("frasi.txt", "sentence-collector.txt"),
    "zh-CN": ("cn.txt", "wiki.zh-cn.txt"),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.sentences", description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path)
    data = parser.parse_args().checkout / "server" / "data"
    for language in LANGUAGES:
        lines = {
            line.strip()
            for name in FILES.get(language, SENT_IN)
            for line in (data / language / name).read_text("utf-8").splitlines()
        }
        text = sample_sentences(sorted(lines - {""}), SIZES.get(language, USUAL))
        packed = lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)
        asset(f"phrases/{language}.txt.xz").write_bytes(packed)
        print(f"{language:6} {text.count(chr(10)):6,} sentences, {len(packed):9,} bytes", file=sys.stderr)


def sample_sentences(sentences: list[str], size: int) -> str:
    """Return a random selection of the sentences that fits into `size` bytes, one per line."""
    random.Random(0).shuffle(sentences)
    lines, taken = [], 0
    for sentence in sentences:
        taken += len(sentence.encode()) + 1
        if taken > size:
            break
        lines.append(sentence)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
