"""Markdown is the shown branch; names of files; a place that cannot be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.library.chat_markdown import file_name
from app.library.exporting import export_json, export_markdown
from app.library.library import Library
from app.library.progress import Progress
from models.failures import Failure
from tests.app.library.moved_chats import fill


def test_markdown_is_the_shown_branch(library: Library, tmp_path: Path) -> None:
    fill(library)
    path = tmp_path / "one.md"
    assert export_markdown(library.path, ["c0"], path, Progress()) == 1
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# chat 0"
    assert [line for line in lines if line.startswith("## ")][1].startswith("## m · 1970-01-01")
    assert "second" in lines
    assert "first" not in lines
    assert "*Attached: notes.txt*" in lines
    assert export_markdown(library.path, None, tmp_path / "many.md", Progress()) == 3
    assert export_markdown(library.path, None, tmp_path / "many.md", Progress()) == 3
    assert {file.name for file in (tmp_path / "many 2").iterdir()} == {"chat 0.md", "chat 1.md", "chat 2.md"}


@pytest.mark.parametrize(
    ("title", "name"),
    [("a/b\\c: d?", "a b c d"), ("..", "chat"), ("CON", "_CON"), ("nul.txt", "_nul.txt"), ("x" * 99, "x" * 80),
     ("a\nb", "a b")],
)  # fmt: skip
def test_names_of_files(title: str, name: str) -> None:
    assert file_name(title) == name


def test_a_place_that_cannot_be_written_is_told(library: Library, tmp_path: Path) -> None:
    fill(library)
    for write in (export_json, export_markdown):
        with pytest.raises(Failure, match="could not be written"):
            write(library.path, None, tmp_path / "no such folder" / "x.json", Progress())
