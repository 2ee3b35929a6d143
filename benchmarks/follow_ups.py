"""What a follow-up question about the same documents reads again, and what the order of passages saves.

    python -m benchmarks.follow_ups [--json]

Each question of benchmarks/retrieval.py is asked in a chat of its own, then a follow-up about the section that answers
it. Tokens are estimated as the program does. `again`: passages of the follow-up that the chat has not read yet, in
place of all that were found. `prefix`: what a new chat with the follow-up has in common with the first one's prompt,
so that its saved keys and values could be used, with passages in the order of their files and in that of their rank.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from app.attachments.attachment import estimated_tokens, with_attachments
from app.collections.attached import attachments_of
from app.collections.messages import Answer, FoundFile, Question
from app.collections.ranking import Ranked
from app.collections.search import Searcher
from benchmarks.retrieval import Asked, Documents, questions

ROOM = 3_000  # tokens for passages, as a context of 4,096 leaves
FOLLOW_UPS = ("And what happens in the end?", "Who else is in “{heading}”?", "Explain “{heading}” in simple words.")


class ByRank(Searcher):
    """A searcher that leaves passages in the order of their rank, to compare with."""

    def _chosen(self, ranked: Sequence[Ranked], room: int) -> list[FoundFile]:
        found: list[FoundFile] = []
        for each in ranked:
            for file in super()._chosen([each], room):
                tokens = sum(estimated_tokens(passage.text) for passage in file.passages)
                if len(found) < 10 and tokens <= room:
                    room -= round(tokens)
                    found.append(file)
        return found


def prompt(answer: Answer, question: str, read: Sequence[str] = ()) -> str:
    """Return the message as the model gets it."""
    return with_attachments(attachments_of(answer, ["all"], read), question)


def common_prefix(one: str, other: str) -> str:
    pairs = enumerate(zip(one, other, strict=False))
    return one[: next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))]


def measure(documents: Documents, asked: Sequence[Asked]) -> dict[str, float]:
    """Return means over all questions: tokens of a follow-up, those read again, and the shares of common prefixes."""
    totals = dict.fromkeys(("found", "again", "prefix_by_file", "prefix_by_rank"), 0.0)
    searchers = {name: kind(documents.db, documents.vectors) for name, kind in (("file", Searcher), ("rank", ByRank))}
    for number, each in enumerate(asked):
        follow_up = FOLLOW_UPS[number % len(FOLLOW_UPS)].format(heading=each.heading)
        query = f"{follow_up}\n{each.question}" if "{" not in FOLLOW_UPS[number % len(FOLLOW_UPS)] else follow_up
        for name, searcher in searchers.items():
            first, second = (
                searcher.answer(Question(number, text, documents.folders, ROOM)) for text in (each.question, query)
            )
            before, alone = prompt(first, each.question), prompt(second, follow_up)
            totals[f"prefix_by_{name}"] += estimated_tokens(common_prefix(before, alone)) / len(asked)
            if name == "file":
                totals["found"] += estimated_tokens(alone) / len(asked)
                totals["again"] += estimated_tokens(prompt(second, follow_up, [before])) / len(asked)
    return {name: round(value, 1) for name, value in totals.items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.follow_ups", description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Documents(Path(folder))) as documents:
        rows = measure(documents, questions())
    if options.json:
        print(json.dumps(rows))
        return
    for name, value in rows.items():
        print(f"{name:16}{value:10.1f} tokens")


if __name__ == "__main__":
    main()
