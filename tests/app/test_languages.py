"""Languages: nothing is left untranslated, and the running window changes from one to the other at once."""

from __future__ import annotations

import ast
import re
import sqlite3
from collections.abc import Callable, Collection, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot

from app.catalogue import (
    ENGINE,
    WINDOW,
    Catalogue,
    best_of,
    in_system_language,
    read_catalogue,
    read_contexts,
    system_languages,
)
from app.fatal import lacking
from app.services.process_end import EngineEnd
from app.wiring import Chickadee
from models.assets import asset

Ask = Callable[[Chickadee, str], None]
ROOT = Path(__file__).parents[2]
KEPT = {"Top-k", "Top-p", "Min-p"}  # the same in every language
CHINESE = asset("translations/zh_CN.ts")


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return read_catalogue(CHINESE)


def written(folder: Path, **contexts: dict[str, str]) -> Catalogue:
    parts = []
    for name, entries in contexts.items():
        messages = "".join(
            f"<message><source>{one}</source><translation>{other}</translation></message>"
            for one, other in entries.items()
        )
        parts.append(f"<context><name>{name}</name>{messages}</context>")
    path = folder / "xx.ts"
    path.write_text(f"<TS>{''.join(parts)}</TS>", encoding="utf-8")
    return read_catalogue(path)


def test_words_without_a_translation_stay_english(tmp_path: Path) -> None:
    some = written(tmp_path, Chickadee={"Copy": "复制", "Delete": ""})
    assert [some.translate(text) for text in ("Copy", "Delete", "Other")] == ["复制", "Delete", "Other"]


def test_what_is_put_into_a_sentence_is_found_again(tmp_path: Path) -> None:
    some = written(
        tmp_path,
        Engine={
            "{1} cannot be read: {2}.": "无法读取 {1}：{2}。",
            "{1} is {2}.": "{1}是{2}。",
            "up to {1} would fit": "最多可容纳 {1}",
            "Try again.": "请重试。",
        },
    )
    assert some.sentence("a b.gguf cannot be read: No such file.") == "无法读取 a b.gguf：No such file。"
    assert (
        some.sentence("x cannot be read: up to 2,048 would fit. Try again.") == "无法读取 x：最多可容纳 2,048。请重试。"
    )
    assert some.sentence("Nobody knows this sentence") == "Nobody knows this sentence"
    assert some.sentence("Try again. Nobody knows this") == "Try again. Nobody knows this"
    assert some.sentence("") == ""


@pytest.mark.parametrize(
    ("preferred", "language"),
    [
        (["zh-Hans-CN", "zh", "en"], "zh_CN"),
        (["zh_CN"], "zh_CN"),
        (["zh-SG"], "zh_CN"),
        (["zh-TW", "en-US"], "en"),
        (["de-DE", "zh-CN"], "zh_CN"),
        (["en-GB", "zh-CN"], "en"),
        (["fr"], "en"),
        ([], "en"),
    ],
)
def test_the_systems_language_is_taken_where_there_is_one(preferred: list[str], language: str) -> None:
    assert best_of(preferred) == language


@pytest.mark.parametrize(
    ("environment", "languages"),
    [
        ({"LANG": "zh_CN.UTF-8"}, ["zh_CN"]),
        ({"LANG": "de_DE.UTF-8", "LANGUAGE": "de:zh_CN"}, ["de", "zh_CN", "de_DE"]),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, ["en"]),
        ({"LC_MESSAGES": "sr_RS@latin", "LANG": "zh_CN"}, ["sr_RS"]),
        ({}, ["en"]),
    ],
)
def test_the_environment_says_what_the_system_speaks(environment: dict[str, str], languages: list[str]) -> None:
    assert system_languages(environment) == languages


def test_what_is_said_before_there_is_a_window_is_said_in_chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    sentence = str(lacking("libEGL.so.1: cannot open shared object file: No such file or directory"))
    assert in_system_language(sentence) == sentence
    for name in ("LANGUAGE", "LC_ALL"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    chinese = in_system_language(sentence)
    assert chinese.startswith("窗口无法打开")
    assert "libEGL.so.1" in chinese
    assert "`sudo apt install libegl1`" in chinese


def test_each_translation_has_the_names_of_its_english() -> None:
    contexts = read_contexts(CHINESE)
    assert set(contexts) == {WINDOW, ENGINE}
    for entries in contexts.values():
        for source, said in entries.items():
            if said:
                assert set(re.findall(r"\{(\w+)", said)) == set(re.findall(r"\{(\w+)", source)), source


def test_words_are_those_of_the_house() -> None:
    """No haste and no begging, one family of units; in Chinese one word each for a token, a chat and the reader."""
    for entries in read_contexts(CHINESE).values():
        for source, said in entries.items():
            assert not re.search(r"!|\bplease\b|\b[KMG]iB\b|\bfor good\b", source, re.IGNORECASE), source
            assert not re.search(r"(?<![{\w])tokens?(?![\w}])|聊天|会话|您", said), said


@pytest.fixture
def translations(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    return import_module("translations")


def test_nothing_is_left_untranslated(translations: ModuleType, window_texts: Collection[str]) -> None:
    """`make translations` makes room for new words and takes old ones out; then translate what is empty."""
    said = read_contexts(CHINESE)
    for context, texts in ((WINDOW, window_texts), (ENGINE, translations.engine_texts())):
        assert set(texts) - set(said[context]) == set(), "run `make translations`"
        assert set(said[context]) - set(texts) == set(), "run `make translations`"
        assert [text for text in texts if not said[context][text]] == []


def test_the_engines_sentences_are_found_by_their_templates(catalogue: Catalogue, translations: ModuleType) -> None:
    for source in translations.engine_texts():
        sentence = re.sub(r"\{(\d+)\}", r"x\1", source)
        assert catalogue.sentence(sentence) != sentence, source


@pytest.mark.parametrize(
    "end", [EngineEnd(signal_number=9), EngineEnd(exit_code=3), EngineEnd(not_started="no such file")], ids=str
)
def test_an_end_of_the_engine_is_told_in_chinese(catalogue: Catalogue, end: EngineEnd) -> None:
    assert re.search(r"[一-鿿]", catalogue.sentence(str(end)))


def test_several_sentences_in_one_are_all_translated(catalogue: Catalogue) -> None:
    said = "This chat needs 5,000 tokens, the context holds 4,096. Leave out the oldest 2 turns, start a new chat, or"
    said += " load the model with a context of 8,192 tokens and an 8-bit KV cache."
    chinese = catalogue.sentence(said)
    assert all(number in chinese for number in ("5,000", "4,096", "2", "8,192"))
    assert not re.search(r"[A-Za-z]{6,}", chinese), chinese


# What shows a text to the user, and which of its arguments does; a text there must have gone through tr.
SHOWING = {
    "setText": 0, "setToolTip": 0, "setAccessibleName": 0, "setAccessibleDescription": 0, "setPlaceholderText": 0,
    "setWindowTitle": 0, "setStatusTip": 0, "setWhatsThis": 0, "addAction": 0, "addMenu": 0, "setTitle": 0, "tell": 0,
    "QPushButton": 0, "QToolButton": 0, "QLabel": 0, "QAction": 0, "QCheckBox": 0, "QMenu": 0, "QListWidgetItem": 0,
    "addItem": 0, "setItemText": 1, "QFileDialog": 1, "setInformativeText": 0, "QGroupBox": 0, "addTab": 1,
    "getOpenFileName": 1, "getSaveFileName": 1, "getOpenFileNames": 1, "getExistingDirectory": 1,
}  # fmt: skip
LETTERS = re.compile(r"[A-Za-z]{2,}")


def shown_literals(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in SHOWING and len(node.args) > SHOWING[name]:
            for text in literals(node.args[SHOWING[name]]):
                if LETTERS.search(text):
                    yield node.lineno, text


def literals(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Constant(value=str() as text):
            yield text
        case ast.JoinedStr(values=parts):
            yield "".join(str(part.value) for part in parts if isinstance(part, ast.Constant))
        case ast.IfExp(body=one, orelse=other) | ast.BinOp(left=one, right=other):
            yield from literals(one)
            yield from literals(other)


@pytest.mark.parametrize("path", sorted((ROOT / "app").rglob("*.py")), ids=lambda path: path.stem)
def test_no_text_is_shown_that_no_translation_can_reach(path: Path) -> None:
    assert list(shown_literals(ast.parse(path.read_text(encoding="utf-8")))) == []


def test_the_search_for_literals_finds_them() -> None:
    source = (
        'a.setText("Hello")\nQPushButton(f"Delete {x}", self)\nb.setToolTip("Yes" if y else tr("No"))\nc.setText("· %")'
    )
    assert [text for _, text in shown_literals(ast.parse(source))] == ["Hello", "Delete ", "Yes"]


def words_in(widget: QWidget) -> set[str]:
    """What is visible of `widget` and in it, and its menus; not what is typed or written in texts."""
    said: set[str] = set()
    for part in (widget, *widget.findChildren(QWidget)):
        typed = isinstance(part, QPlainTextEdit | QLineEdit)
        for name in ("placeholderText",) if typed else ("text", "title", "currentText"):
            read = getattr(part, name, None)
            if callable(read):
                said.add(str(read()))
        said |= {part.toolTip(), part.accessibleName(), part.accessibleDescription()}
        said |= {action.text() for action in part.actions()}
    return said


def test_a_notice_follows_the_language(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask(chickadee, "first")
    qtbot.waitUntil(lambda: not chickadee.open_chats.current.busy)
    chickadee.window.commands.run("delete_chat")
    notice, settings = chickadee.window.notice, chickadee.preferences.settings
    assert (notice.text.text(), notice.button.text()) == ("“first” was deleted.", "Undo")
    settings.change({"window.language": "zh_CN"})
    assert (notice.text.text(), notice.button.text()) == ("已删除“first”。", "撤销")
    settings.change({"window.language": "en"})
    assert (notice.text.text(), notice.button.text()) == ("“first” was deleted.", "Undo")
    notice.button.click()
    assert chickadee.window.sidebar.titles() == ["first"]


def test_errors_that_are_shown_follow_the_language(chickadee: Chickadee) -> None:
    notice, settings = chickadee.window.notice, chickadee.preferences.settings
    path = chickadee.store.path
    locked = sqlite3.connect(path, isolation_level=None)
    locked.execute("BEGIN IMMEDIATE")
    chickadee.chats.drafts.send("a question that cannot be stored")
    locked.close()
    assert notice.text.text().startswith("Another program is using the file with your chats")
    settings.change({"window.language": "zh_CN"})
    assert "另一个程序" in notice.text.text()
    assert str(path) in notice.text.text()
    assert not re.search(r"[A-Za-z]{4,}", notice.text.text().replace(str(path), "").replace("Chickadee", ""))


def test_what_is_wrong_with_the_settings_file_follows_the_language(chickadee: Chickadee) -> None:
    notice, settings = chickadee.window.notice, chickadee.preferences.settings
    settings.change({"window.theme": "dark"})
    broken = settings.path.read_text() + '\n[engine]\nthreads = "many"\ndraft = 7\n'
    settings.path.write_text(broken)
    settings.refresh()
    english = [str(problem) for problem in settings.problems]
    assert (notice.text.text(), notice.details.text()) == (english[0], english[1])
    settings.change({"window.language": "zh_CN"})
    chinese = [str(problem) for problem in settings.problems]
    assert (notice.text.text(), notice.details.text()) == (chinese[0], chinese[1])
    assert all(re.search(r"[一-鿿]", sentence) for sentence in chinese)
    notice.dismiss()
    settings.change({"window.language": "en"})
    assert notice.isHidden()  # what was read once is not told again in another language


def test_the_running_window_changes_all_its_words_at_once(chickadee: Chickadee, qtbot: QtBot) -> None:
    window, settings = chickadee.window, chickadee.preferences
    settings.open()
    for name in ("help", "about"):
        window.commands.run(name)
    assert settings.dialog
    assert chickadee.chats.palette.help
    assert chickadee.chats.palette.about
    english = set(read_contexts(CHINESE)[WINDOW]) - KEPT
    settings.settings.change({"window.language": "zh_CN"})
    for part in (window, settings.dialog, chickadee.chats.palette.help, chickadee.chats.palette.about):
        assert words_in(part) & english == set()
    assert window.commands.actions["new_chat"].text() == "新对话(&N)"
    assert QCoreApplication.translate("QPlatformTheme", "Cancel") == "取消"
    settings.settings.change({"window.language": "en"})
    assert window.commands.actions["new_chat"].text() == "&New chat"
    assert QCoreApplication.translate("QPlatformTheme", "Cancel") == "Cancel"
    assert "设置" not in words_in(settings.dialog)
    for sheet in (chickadee.chats.palette.help, chickadee.chats.palette.about):
        sheet.close()


def test_lists_follow_the_language(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    """The days among the chats, and what is deleted with the question about it."""
    for text in ("first", "second"):
        ask(chickadee, text)
        qtbot.waitUntil(lambda: not chickadee.open_chats.current.busy)
        chickadee.window.commands.run("new_chat")
    chickadee.chats.list.delete([chickadee.open_chats.chats()[0].id])
    chickadee.window.commands.run("bin")
    dialog, days = chickadee.chats.list._bin, chickadee.window.sidebar.list.rows
    assert dialog
    dialog.delete_all.click()
    assert days.data(days.index(0)) == "Today"
    chickadee.preferences.settings.change({"window.language": "zh_CN"})
    assert days.data(days.index(0)) == "今天"
    assert not re.search(r"[a-z]{4,}", dialog.list.item(0).text().replace("second", "").replace("first", ""))
    assert not re.search(r"[a-z]{4,}", dialog.question.text())
    dialog.close()
