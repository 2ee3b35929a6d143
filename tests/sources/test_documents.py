"""Tests that README is short, and that what the documents name exists: links, headings, files, packages, benchmarks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from app.words import read_contexts

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), ROOT / "packaging" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MOST_WORDS = 900  # words of README: two minutes
BASES = ("", "app", "engine", "engine/runtime", "packaging")  # folders from which paths in documents start
FILE = re.compile(r"`([\w./-]+/[\w.-]+\.(?:py|md|cpp|hpp|toml|sh|txt|ts|qss|svg))`")
ROOM = re.compile(r"^\| `([\w./]+/)` \|", re.MULTILINE)
MADE = {"./install.sh", "assets/translations/fr.ts", "build/mutants/report.md"}  # in the archive; an example; by a run


BENCHMARK = re.compile(r"`?(?:python -m )?benchmarks[./](\w+)")
REMOVED = re.compile(r"of (?:git's )?`[0-9a-f]{8}`")  # the revision that still has a removed benchmark


def prose(path: Path) -> str:
    return re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def anchors(path: Path) -> set[str]:
    """Return the anchors of a document's headings, as links name them."""
    headings = re.findall(r"^#+ (.*)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def test_readme_takes_two_minutes() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= MOST_WORDS


def missing(path: Path) -> Iterator[str]:
    """Yield the links, files and packages that a document names and that are not there."""
    text = prose(path)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        name, _, heading = link.partition("#")
        target = path.parent / name if name else path
        if name.startswith("https://"):
            continue
        if not target.exists() or (heading and heading not in anchors(target)):
            yield link
    for name in {*FILE.findall(text), *ROOM.findall(text)} - MADE:
        if not any((ROOT / base / name).exists() for base in BASES):
            yield name


def test_what_a_document_names_is_there() -> None:
    assert {path: gone for path in DOCUMENTS if (gone := list(missing(path)))} == {}


def benchmark_exists(name: str) -> bool:
    return any(path.stem == name for base in ("", "tests") for path in (ROOT / base / "benchmarks").iterdir())


def test_a_benchmark_that_a_document_names_is_there_or_at_the_named_revision() -> None:
    for path in DOCUMENTS:
        for entry in re.split(r"\n(?=\n|- |\|)", path.read_text(encoding="utf-8")):
            gone = [name for name in BENCHMARK.findall(entry) if not benchmark_exists(name)]
            assert not gone or REMOVED.search(" ".join(entry.split())), (path, gone)


def test_the_list_of_benchmarks_has_every_program() -> None:
    listed = re.findall(
        r"^\| `benchmarks\.(\w+)` \|", (ROOT / "docs" / "performance.md").read_text("utf-8"), re.MULTILINE
    )
    files = (ROOT / "benchmarks").glob("*.py")
    assert sorted(listed) == sorted(path.stem for path in files if "__main__" in path.read_text("utf-8"))


# What the documents quote that is no text of the window: examples of what users write, answers, colours.
EXAMPLES = {
    "dark mode", "trash", "red", "Add up this receipt.", "What does this error say?",
    "把小票上的金额加起来。", "这条错误说了什么？",
}  # fmt: skip
SURE = 6  # characters beside the values of a text
GUIDES = ("guide", "troubleshooting", "pictures", "pictures.zh-CN", "server", "api")


def test_what_a_guide_quotes_is_said_in_the_window() -> None:
    """The guide named a button “Switch” that is called “Switch back”."""
    wrong = {}
    for name in GUIDES:
        said = window_texts(1 if name.endswith("zh-CN") else 0)
        parts = {part for quoted in quotations(prose(ROOT / "docs" / f"{name}.md")) for part in quoted}
        wrong[name] = {part for part in parts - EXAMPLES if not any(text.fullmatch(part) for text in said)}
    assert {name: parts for name, parts in wrong.items() if parts} == {}


def quotations(text: str) -> Iterator[list[str]]:
    """Yield quoted texts; “File → Quit” and “Connections: Never” are of two parts, and a menu's dots do not count."""
    for quoted in re.findall(r"“([^”]{2,60})”", " ".join(text.split())):
        yield [part.rstrip("…") for part in re.split(r" → |: ", quoted)]


def window_texts(language: int) -> list[re.Pattern[str]]:
    """Return patterns of the window's texts, without the marks of menus: English for 0, Chinese for 1."""
    contexts = read_contexts(ROOT / "assets" / "translations" / "zh_CN.ts").values()
    found = [[source, *forms][language] for texts in contexts for source, forms in texts.items()]
    plain = [re.sub(r"\(&\w\)|&", "", text).rstrip("…") for text in found]
    # A text of little but values would match every quotation.
    sure = [text for text in plain if text and ("{" not in text or len(re.sub(r"{\w+}", "", text)) > SURE)]
    return [re.compile(re.sub(r"\\\{\w+\\\}", ".+", re.escape(text))) for text in sure]
