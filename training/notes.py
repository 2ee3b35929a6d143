"""`python -m training.notes --count N`: chats of a narrow kind, notes turned into calendar entries, one a line.

To show with them what training for one's own kind of chats brings. No note comes twice, and the same seed draws the
same ones.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from models.assets import asset
from models.terminal import run_command

ASKED = "Turn this note into calendar entries, as JSON, one a line: {}"
PARTS = ("what", "who", "day", "time", "where")
MOST_ENTRIES = 3
NO_ON = re.compile(r"\b[Oo]n (today|tomorrow|next|this)\b")


class Words(msgspec.Struct, frozen=True):
    """Parts of notes. `forms` are sentences with holes for some of PARTS; `chatter` are sentences without any."""

    who: tuple[str, ...]
    what: tuple[str, ...]
    day: tuple[str, ...]
    where: tuple[str, ...]
    forms: tuple[str, ...]
    chatter: tuple[str, ...]


def chats(count: int, seed: int) -> Iterator[dict[str, object]]:
    words = msgspec.json.decode(asset("midlayer/notes.json").read_bytes(), type=Words)
    dice = np.random.default_rng(seed)
    seen: set[str] = set()
    while len(seen) < count:
        note, entries = _note(dice, words)
        if note not in seen:
            seen.add(note)
            question = {"role": "user", "content": ASKED.format(note)}
            yield {"messages": [question, {"role": "assistant", "content": entries}]}


def _note(dice: np.random.Generator, words: Words) -> tuple[str, str]:
    """Return a note and its calendar entries."""
    sentences, entries = [], []
    for _ in range(int(dice.integers(1, MOST_ENTRIES + 1))):
        form = _one(dice, words.forms)
        entry = {part: _one(dice, getattr(words, part)) for part in ("what", "who", "day", "where")}
        said, entry["time"] = _time(dice)
        sentence = NO_ON.sub(r"\1", form.format(**entry | {"time": said}))
        sentences.append(sentence[0].upper() + sentence[1:])
        entries.append(json.dumps({part: entry[part] if f"{{{part}}}" in form else None for part in PARTS}))
        if dice.random() < 0.3:
            sentences.append(_one(dice, words.chatter))
    return " ".join(sentences), "\n".join(entries)


def _time(dice: np.random.Generator) -> tuple[str, str]:
    """Return a time as a person writes it, and as HH:MM."""
    hour, minute = int(dice.integers(7, 22)), 15 * int(dice.integers(0, 4))
    exact, half = f"{hour:02}:{minute:02}", "am" if hour < 12 else "pm"
    twelve = (hour - 1) % 12 + 1
    spoken = f"{twelve} {half}" if minute == 0 else f"{twelve}:{minute:02} {half}"
    return (spoken if dice.random() < 0.5 else exact), exact


def _one(dice: np.random.Generator, choices: Sequence[str]) -> str:
    return choices[int(dice.integers(len(choices)))]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m training.notes", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=3000, help="(default: 3000)")
    parser.add_argument("--seed", type=int, default=0, help="(default: 0)")
    given = parser.parse_args()
    for chat in chats(given.count, given.seed):
        sys.stdout.write(f"{json.dumps(chat, ensure_ascii=False)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))
