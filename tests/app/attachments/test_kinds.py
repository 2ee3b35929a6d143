"""The table of readable kinds: all sentences and lists about them follow from it."""

from __future__ import annotations

from pathlib import Path

from app.attachments.attachment import sentence
from app.attachments.kinds import KINDS, kind_of, kinds_words
from app.collections.index import VERSION

ROOT = Path(__file__).resolve().parents[3]


def test_sentences_name_every_kind() -> None:
    assert kinds_words() == "text, code, tables, PDF, Word (.docx) and web pages"
    assert sentence("binary", "a.bin") == f"“a.bin” contains no text. You can attach {kinds_words()}."


def test_a_page_is_as_risky_under_each_of_its_endings() -> None:
    """One library reads them all, so that a crash at any must be remembered."""
    assert all(KINDS[kind_of(Path(f"a{ending}"))].risky for ending in (".pdf", ".docx", ".html", ".htm", ".XHTML"))
    assert not KINDS[kind_of(Path("a.py"))].risky


def test_an_ending_belongs_to_one_kind() -> None:
    endings = [ending for kind in KINDS.values() for ending in kind.endings]
    assert len(endings) == len(set(endings))
    assert kind_of(Path("a.unknown")) == "text"


def test_a_new_kind_has_folders_indexed_again() -> None:
    """Collections do not read a file again that they could not read: raise VERSION, and both numbers here."""
    assert (VERSION, len(KINDS)) == (3, 6)


def test_the_readme_names_every_kind() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(kind.title.split(" ")[0] in text for kind in KINDS.values())
