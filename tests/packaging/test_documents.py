"""Tests that README is short, and that links, headings, files and packages named in the documents exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), ROOT / "packaging" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MOST_WORDS = 900  # words of README: two minutes
BASES = ("", "app", "engine", "engine/runtime", "packaging")  # folders from which paths in documents start
FILE = re.compile(r"`([\w./-]+/[\w.-]+\.(?:py|md|cpp|hpp|toml|sh|txt|ts|qss|svg))`")
ROOM = re.compile(r"^\| `([\w./]+/)` \|", re.MULTILINE)
MADE = {"./install.sh", "assets/translations/fr.ts"}  # in the archive; an example


def prose(path: Path) -> str:
    return re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def anchor(heading: str) -> str:
    """Return a heading's anchor, as links name it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def test_readme_takes_two_minutes() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= MOST_WORDS


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_document_names_is_there(path: Path) -> None:
    text = prose(path)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        name, _, heading = link.partition("#")
        if not name.startswith("https://"):
            target = path.parent / name if name else path
            assert target.exists(), link
            assert not heading or heading in map(anchor, re.findall(r"^#+ (.*)$", prose(target), re.MULTILINE)), link
    for name in {*FILE.findall(text), *ROOM.findall(text)} - MADE:
        assert any((ROOT / base / name).exists() for base in BASES), name
