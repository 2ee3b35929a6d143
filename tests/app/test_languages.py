"""Languages: no text is left untranslated, and the running window switches languages at once."""

from __future__ import annotations

import ast
import ctypes
import locale
import plistlib
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from itertools import product
from pathlib import Path
from string import Formatter
from types import ModuleType
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication, QTranslator
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QWidget
from pytestqt.qtbot import QtBot

from app import words
from app.commands.related_words import RELATED
from app.fatal import missing_library_failure
from app.wiring import Chickadee
from app.words import (
    PLURALS,
    Catalogue,
    best_of,
    in_system_language,
    read_catalogue,
    read_contexts,
    system_languages,
)
from common.messages import MESSAGES
from common.process_end import EngineEnd
from common.sentences import Sentence
from engine.protocol.events import Failed, Notice
from engine.protocol.lines import decode_event, encode
from models.assets import asset
from tests.app.test_window import label_text

Ask = Callable[[Chickadee, str], None]
ROOT = Path(__file__).parents[2]
KEPT = {"Top-k", "Top-p", "Min-p"}  # the same in every language
CHINESE = asset("translations/zh_CN.ts")


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return read_catalogue(CHINESE)


def written(folder: Path, messages: str) -> Catalogue:
    path = folder / "pl.ts"
    path.write_text(f"<TS><context><name>a room</name>{messages}</context></TS>", encoding="utf-8")
    return read_catalogue(path)


def test_words_without_a_translation_stay_english(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PLURALS, "pl", lambda _n: 0)
    some = written(
        tmp_path,
        "<message><source>Copy</source><translation>复制</translation></message>"
        '<message><source>Delete</source><translation type="unfinished"></translation></message>',
    )
    assert [some.translate(text) for text in ("Copy", "Delete", "Other")] == ["复制", None, None]


def test_each_number_has_its_plural_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Polish has three forms: 1 plik, 2 pliki, 5 plików, 22 pliki."""

    def form(n: int) -> int:
        few = n % 10 in (2, 3, 4) and n % 100 not in (12, 13, 14)
        return 0 if n == 1 else 1 if few else 2

    monkeypatch.setitem(PLURALS, "pl", form)
    forms = "".join(f"<numerusform>{form}</numerusform>" for form in ("{n} plik", "{n} pliki", "{n} plików"))
    polish = written(
        tmp_path, f'<message numerus="yes"><source>{{n}} files</source><translation>{forms}</translation></message>'
    )
    words.use(polish.translate)
    said = [words.tr_n("{n} file", "{n} files", n) for n in (1, 2, 5, 12, 22)]
    assert said == ["1 plik", "2 pliki", "5 plików", "12 plików", "22 pliki"]


def test_the_systems_language_is_taken_where_there_is_one() -> None:
    best = {
        ("zh-Hans-CN", "zh", "en"): "zh_CN",
        ("zh_CN",): "zh_CN",
        ("zh-SG",): "zh_CN",
        ("zh-TW", "en-US"): "en",
        ("de-DE", "zh-CN"): "zh_CN",
        ("en-GB", "zh-CN"): "en",
        ("fr",): "en",
        (): "en",
    }
    assert {preferred: best_of(list(preferred)) for preferred in best} == best


def test_the_environment_says_what_the_system_speaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    for environment, languages in (
        ({"LANG": "zh_CN.UTF-8"}, ["zh_CN"]),
        ({"LANG": "de_DE.UTF-8", "LANGUAGE": "de:zh_CN"}, ["de", "zh_CN", "de_DE"]),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, ["en"]),
        ({"LC_MESSAGES": "sr_RS@latin", "LANG": "zh_CN"}, ["sr_RS"]),
        ({}, ["en"]),
    ):
        assert system_languages(environment) == languages, environment


@pytest.mark.skipif(sys.platform != "win32", reason="Windows' settings")
def test_windows_says_what_it_speaks(monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.platform == "win32":  # mypy knows what there is elsewhere
        own = ctypes.windll.kernel32.GetUserDefaultUILanguage()
        assert system_languages({}) == [locale.windows_locale[own]]
        monkeypatch.setitem(locale.windows_locale, own, "zh_CN")
        assert best_of(system_languages({})) == "zh_CN"


def test_macos_says_what_it_speaks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    settings = tmp_path / "Library" / "Preferences" / ".GlobalPreferences.plist"
    assert system_languages({}) == ["en"]
    settings.parent.mkdir(parents=True)
    for content, languages in (
        (b"bplist00 damaged", ["en"]),
        (plistlib.dumps({"AppleLanguages": "zh-Hans"}), ["en"]),
        (
            plistlib.dumps({"AppleLanguages": ["zh-Hans-CN", 7, "en-CN"]}, fmt=plistlib.FMT_BINARY),
            ["zh-Hans-CN", "en-CN"],
        ),
    ):
        settings.write_bytes(content)
        assert system_languages({}) == languages
    assert best_of(system_languages({})) == "zh_CN"
    assert system_languages({"LANG": "de_DE.UTF-8"}) == ["de_DE"]


def test_what_is_said_before_there_is_a_window_is_said_in_chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    sentence = missing_library_failure(
        "libEGL.so.1: cannot open shared object file: No such file or directory"
    ).sentence
    assert in_system_language(sentence) == str(sentence)
    for name in ("LANGUAGE", "LC_ALL"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    chinese = in_system_language(sentence)
    assert chinese.startswith("窗口无法打开")
    assert "libEGL.so.1" in chinese
    assert re.search(r"apt-get install libegl1\W", chinese)  # by whom depends on who runs this


def holes(text: str) -> list[str]:
    """Return the holes of a text; double braces are variables of a prompt snippet, whose names are translated too."""
    return sorted(re.findall(r"(?<!\{)\{\w*(?::[^}]*)?\}(?!\})", text))


def test_each_translation_has_the_holes_of_its_english() -> None:
    for texts in read_contexts(CHINESE).values():
        for source, forms in texts.items():
            for said in forms:
                assert holes(said) == holes(source), source


def test_words_are_those_of_the_house() -> None:
    """Texts do not hurry or beg, and use one family of units; Chinese has one word for each term.

    The terms are a token, a chat and the reader. Other words that users may type find a command all the same.
    """
    for texts in read_contexts(CHINESE).values():
        for source, forms in texts.items():
            assert not re.search(r"!|\bplease\b|\b[KMG]iB\b|\bfor good\b", source, re.IGNORECASE), source
            for said in forms if source not in RELATED.values() else ():
                assert not re.search(r"(?<![{\w])tokens?(?![\w:}])|聊天|会话|您", said), said


@pytest.fixture
def translations(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    return import_module("translations")


def test_nothing_is_left_untranslated(window_texts: Mapping[str, Any]) -> None:
    """`make translations` adds new texts and removes old ones; the empty translations are then filled in by hand."""
    contexts = read_contexts(CHINESE)
    said = {(context, text) for context, texts in contexts.items() for text in texts}
    wanted = {(text.context, english) for english, text in window_texts.items()}
    assert wanted - said == set(), "run `make translations`"
    assert said - wanted == set(), "run `make translations`"
    assert [text for texts in contexts.values() for text, forms in texts.items() if not forms] == []


def test_each_room_is_a_context(window_texts: Mapping[str, Any]) -> None:
    contexts = {text.context for text in window_texts.values()}
    assert {"composer", "messages", "shared", "transcript"} < contexts
    rooms = {folder.name for folder in (ROOT / "app").iterdir()}
    assert contexts - rooms == {"app", "messages", "shared", "suggestions"}


def test_a_file_is_brought_in_line_and_loses_nothing(
    translations: ModuleType, window_texts: Mapping[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "zh_CN.ts"
    copy.write_bytes(CHINESE.read_bytes().replace(b"<name>composer</name>", b"<name>of another time</name>"))
    assert translations.update(copy, window_texts) == (0, 0)
    assert read_contexts(copy) == read_contexts(CHINESE)
    new = tmp_path / "fr.ts"
    new.write_text('<TS version="2.1" language="fr" sourcelanguage="en"></TS>')
    monkeypatch.setitem(PLURALS, "fr", lambda n: int(n > 1))
    assert translations.update(new, window_texts) == (len(window_texts), 0)
    assert new.read_text(encoding="utf-8").count("<numerusform></numerusform><numerusform></numerusform>") == sum(
        text.counted for text in window_texts.values()
    )


def test_qts_own_tools_take_the_file(tmp_path: Path, window_texts: Mapping[str, Any]) -> None:
    compiler = shutil.which("pyside6-lrelease", path=str(Path(sys.executable).parent))
    assert compiler
    compiled = tmp_path / "zh_CN.qm"
    done = subprocess.run([compiler, str(CHINESE), "-qm", str(compiled)], capture_output=True, text=True, check=True)
    assert f"({len(window_texts)} finished and 0 unfinished)" in done.stdout
    translator = QTranslator()
    assert translator.load(str(compiled))
    assert translator.translate("shared", "{n} tokens", None, 3) == "{n} 个词元"


SAMPLE: dict[str, Any] = {"share": 0.5, "ratio": 1.02, "reason": "No such file"}


def filled(text: str) -> dict[str, Any]:
    """Build values for the placeholders of a message."""
    return {
        name: SAMPLE.get(name, 1234567 if spec or name == "n" else f"x{name}")
        for _, name, spec, _ in Formatter().parse(text)
        if name
    }


def test_every_message_crosses_the_border_and_is_worded_in_both_languages(catalogue: Catalogue) -> None:
    for message, (id, text) in product((Failed, Notice), MESSAGES.items()):
        sentence = Sentence.of(id, **filled(text[1] if isinstance(text, tuple) else text))
        event = decode_event(encode(message(7, sentence)))
        assert event == message(7, sentence)
        assert isinstance(event, Failed | Notice)
        assert (event.code, event.message) == (sentence.code, str(sentence))  # for readers that know no ids
        english, chinese = str(event.sentence), event.sentence.worded(catalogue.translate)
        assert not re.search(r"[{}]", english + chinese), id
        if re.search(r"[A-Za-z]{2,}", re.sub(r"\{[^}]*\}", "", str(text))):
            assert re.search(r"[一-鿿]", chinese), id
        for value in sentence.values.values():
            if isinstance(value, str):
                assert value in english, id
                assert value in chinese, id


def test_a_failure_of_an_engine_that_knows_no_ids_is_still_one() -> None:
    line = b'{"v": 1, "type": "failed", "id": 3, "code": "bad_model", "message": "m.gguf is damaged."}'
    event = decode_event(line)
    assert isinstance(event, Failed)
    assert (event.code, event.message) == ("bad_model", "m.gguf is damaged.")
    assert str(event.sentence) == MESSAGES["internal.engine"]


def test_an_end_of_the_engine_is_told_in_chinese(catalogue: Catalogue) -> None:
    for end in (EngineEnd(signal_number=9), EngineEnd(exit_code=3), EngineEnd(not_started="no such file")):
        assert re.search(r"[一-鿿]", end.sentence.worded(catalogue.translate)), end


def test_a_sentence_of_parts_is_wholly_translated(catalogue: Catalogue) -> None:
    first = Sentence.of("turns.leave_out", n=2)
    other = Sentence.of("turns.larger_8_bit", n_ctx=8192)
    needed = Sentence.of("turns.more_than", tokens=5000)
    said = Sentence.of("prompt_too_long.chat", needed=needed, n_ctx=4096, first=first, other=other)
    assert str(said) == (
        "This chat needs more than 5,000 tokens, the context holds 4,096. Leave out the oldest 2 turns, start a new "
        "chat, or load the model with a context of 8,192 tokens and an 8-bit KV cache."
    )
    chinese = said.worded(catalogue.translate)
    assert all(number in chinese for number in ("5,000", "4,096", "2", "8,192"))
    assert not re.search(r"[A-Za-z]{3,}", chinese), chinese


# Calls that show a text to the user, and the number of the argument; that text must come from tr.
SHOWING = {
    "setText": 0, "setToolTip": 0, "setAccessibleName": 0, "setAccessibleDescription": 0, "setPlaceholderText": 0,
    "setWindowTitle": 0, "setStatusTip": 0, "setWhatsThis": 0, "addAction": 0, "addMenu": 0, "setTitle": 0, "tell": 0,
    "post": 0,
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


def test_no_text_is_shown_that_no_translation_can_reach() -> None:
    sources = {path: path.read_text(encoding="utf-8") for path in (ROOT / "app").rglob("*.py")}
    assert len(sources) > 200
    assert [(path, *found) for path, source in sources.items() for found in shown_literals(ast.parse(source))] == []


def test_the_search_for_literals_finds_them() -> None:
    source = (
        'a.setText("Hello")\nQPushButton(f"Delete {x}", self)\nb.setToolTip("Yes" if y else tr("No"))\nc.setText("· %")'
    )
    assert [text for _, text in shown_literals(ast.parse(source))] == ["Hello", "Delete ", "Yes"]


def words_in(widget: QWidget) -> set[str]:
    """Collect the visible texts of `widget`, its children and menus, except what is typed or written in text fields."""
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
    notice, settings = chickadee.window.notice, chickadee.settings
    assert (notice.text.text(), notice.button.text()) == ("“first” was deleted.", "Undo")
    settings.change({"window.language": "zh_CN"})
    assert (notice.text.text(), notice.button.text()) == ("已删除“first”。", "撤销")
    settings.change({"window.language": "en"})
    assert (notice.text.text(), notice.button.text()) == ("“first” was deleted.", "Undo")
    notice.button.click()
    assert chickadee.window.sidebar.titles() == ["first"]


def test_errors_that_are_shown_follow_the_language(chickadee: Chickadee) -> None:
    notice, settings = chickadee.window.notice, chickadee.settings
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


def test_why_an_answer_failed_follows_the_language(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    settings, transcript = chickadee.settings, chickadee.window.transcript
    ask(chickadee, "long")
    qtbot.waitUntil(lambda: not chickadee.open_chats.current.busy)
    assert label_text(transcript.views[-1], "problem").startswith(
        "This chat needs 5,000 tokens, the context holds 4,096."
    )
    answer = chickadee.open_chats.current.messages[-1]
    assert answer.problem.startswith('{"id":"prompt_too_long.chat"')  # stored without a language
    settings.change({"window.language": "zh_CN"})
    assert label_text(transcript.views[-1], "problem").startswith("此对话需要 5,000 个词元，上下文只能容纳 4,096 个。")
    transcript.views[-1].finish(replace(answer, problem="An earlier version said this."))
    assert label_text(transcript.views[-1], "problem") == "An earlier version said this."


def test_what_is_wrong_with_the_settings_file_follows_the_language(chickadee: Chickadee) -> None:
    notice, settings = chickadee.window.notice, chickadee.settings
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
    assert notice.isHidden()  # a notice that was read is not posted again in another language


def test_the_running_window_changes_all_its_words_at_once(chickadee: Chickadee, qtbot: QtBot) -> None:
    window, settings = chickadee.window, chickadee.settings_controller
    settings.open()
    for name in ("help", "about"):
        window.commands.run(name)
    assert settings.dialog
    assert chickadee.chats.palette.help.open
    assert chickadee.chats.palette.about.open
    english = {text for texts in read_contexts(CHINESE).values() for text in texts} - KEPT
    settings.settings.change({"window.language": "zh_CN"})
    for part in (window, settings.dialog, chickadee.chats.palette.help.open, chickadee.chats.palette.about.open):
        assert words_in(part) & english == set()
    assert window.commands.actions["new_chat"].text() == "新对话(&N)"
    assert QCoreApplication.translate("QPlatformTheme", "Cancel") == "取消"
    settings.settings.change({"window.language": "en"})
    assert window.commands.actions["new_chat"].text() == "&New chat"
    assert QCoreApplication.translate("QPlatformTheme", "Cancel") == "Cancel"
    assert "设置" not in words_in(settings.dialog)
    for sheet in (chickadee.chats.palette.help.open, chickadee.chats.palette.about.open):
        sheet.close()


def test_lists_follow_the_language(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    """The day headings of the chat list and the deleted chats, with the question about them, are translated too."""
    for text in ("first", "second"):
        ask(chickadee, text)
        qtbot.waitUntil(lambda: not chickadee.open_chats.current.busy)
        chickadee.window.commands.run("new_chat")
    chickadee.chats.list.delete([chickadee.open_chats.chats()[0].id])
    chickadee.window.commands.run("bin")
    dialog, days = chickadee.chats.list._bin.open, chickadee.window.sidebar.list.rows
    assert dialog
    dialog.delete_all.click()
    assert days.data(days.index(0)) == "Today"
    chickadee.settings.change({"window.language": "zh_CN"})
    assert days.data(days.index(0)) == "今天"
    chickadee.chats.list.list_now()  # the rows are made anew while the language is Chinese
    chickadee.settings.change({"window.language": "en"})
    assert days.data(days.index(0)) == "Today"
    chickadee.settings.change({"window.language": "zh_CN"})
    assert not re.search(r"[a-z]{4,}", dialog.list.item(0).text().replace("second", "").replace("first", ""))
    assert not re.search(r"[a-z]{4,}", dialog.question.text())
    dialog.close()
