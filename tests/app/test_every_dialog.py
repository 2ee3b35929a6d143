"""Every dialog opens with every library, policy and mode, in both languages and themes, and closes in any order."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import psutil
import pytest
from PySide6.QtWidgets import QApplication, QDialog
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from app.composer.status_line import detail_lines
from app.folders import Folders
from app.settings.schema import choice_words
from app.wiring import Chickadee
from common.sentences import Sentence
from engine.client import Changed
from engine.protocol.events import DrafterStatistics, Failed, HeadGroup, ModelInfo, Pulse, Remedy, Statistics
from engine.protocol.requests import BackendName, KVModeName, KVPolicy
from models.default import default_model
from tests.app.conftest import Opener
from tests.app.test_window import done

Ask = Callable[[Chickadee, str], None]
OPENERS = (
    "about", "help", "palette", "settings", "storage", "local_api", "models", "open_model", "import", "export_chat",
    "export_all", "bin", "engine", "chat_options", "attach", "find", "rename_chat", "snippets", "collections",
)  # fmt: skip
POLICIES: tuple[KVPolicy, ...] = get_args(KVPolicy)
MODES: tuple[KVModeName, ...] = get_args(KVModeName)
BACKENDS: tuple[BackendName, ...] = get_args(BackendName)
UNKNOWN: Any = "of-a-newer-engine"


@pytest.fixture(autouse=True)
def _qt_warns_of_nothing(qtlog: Any) -> Iterator[None]:
    """Check that Qt logs nothing but the warning that the offscreen plugin does not support something."""
    yield
    messages = [record.message for record in qtlog.records]
    assert [message for message in messages if not message.startswith("This plugin does not support")] == []


def open_dialogs() -> list[QDialog]:
    return [each for each in QApplication.topLevelWidgets() if isinstance(each, QDialog) and each.isVisible()]


def walk(chickadee: Chickadee, qtbot: QtBot, innermost_first: bool = True) -> None:
    """Open everything twice, switch language and theme, and close everything."""
    window = chickadee.window
    for name in (*OPENERS, *OPENERS):
        if name != "engine" or chickadee.chats.engine_monitor.panel.isHidden():
            window.commands.run(name)
    models = chickadee.models.controller.dialog
    assert models is not None
    qtbot.waitUntil(lambda: any("options" in row.buttons for row in models.rows.values()))
    next(row for row in models.rows.values() if "options" in row.buttons).buttons["options"].click()
    assert chickadee.models.controller.options is not None
    models.server_button.click()
    assert {type(each).__name__ for each in open_dialogs()} >= {
        "About", "HelpSheet", "SettingsDialog", "ModelsDialog", "QFileDialog", "BinDialog", "ModelOptions",
        "ServerDialog", "ImportDialog", "SnippetDialog", "CollectionsDialog",
    }  # fmt: skip
    settings = chickadee.settings
    for language, theme in (("zh_CN", "dark"), ("en", "light")):
        settings.change({"window.language": language, "window.theme": theme})
        QApplication.processEvents()
        for each in (window, *open_dialogs()):
            assert not each.grab().isNull()
    dialogs = sorted(open_dialogs(), key=depth, reverse=innermost_first)
    for dialog in dialogs:
        if isValid(dialog):  # a dialog's children are deleted with it
            dialog.close()
        QApplication.processEvents()
    chickadee.chats.engine_monitor.panel.close_button.click()
    chickadee.chats.palette.palette.dismiss()
    QApplication.processEvents()
    assert open_dialogs() == []


def depth(dialog: QDialog) -> int:
    parent = dialog.parentWidget()
    return 1 + depth(parent) if isinstance(parent, QDialog) else 0


def engine_messages(backend: Any, kernels: str, policy: Any, mode: Any) -> tuple[ModelInfo, Statistics, Pulse]:
    """Build a model's description, an answer's statistics and a pulse, as an engine sends them."""
    plan = {"weights_mapped": 9, "kv": 5, "kv_compressed": 3, "draft_kv": 2, "scratch": 1, "of a newer engine": 4}
    info = ModelInfo(
        "/nowhere/m.gguf",
        "m",
        "llama",
        10**6,
        10**6,
        4096,
        8192,
        2,
        "model",
        (Sentence.of("template.missing"), Sentence("of.a_newer_engine", {"n": 1})),
        plan,
        backend,
        kernels,
    )
    drafters = (DrafterStatistics("history", 9, 5, 3, 0.1), DrafterStatistics("of a newer engine", 9, 5, 3, 0.1))
    numbers = Statistics(20, 5, 0.1, 9, 0.5, 9, "end", 29, 4096, policy, 2, 1, 0.1, 5, 3, drafters)
    groups = (HeadGroup("exact", 3, 20, 512, 900), HeadGroup(mode, 6, 8, 64, 100))
    pulse = Pulse(0, 42, 500, 1000, 300, 4, 256, 512, 20, 40, 2.0, drafters, 1.2, 90.0, ((1, 1.0), (8, 3.0)), 8, groups)
    return info, numbers, pulse


COMBINATIONS = list(itertools.product((*BACKENDS, UNKNOWN), ("", "compiled in", "haswell", UNKNOWN)))
SOME = [COMBINATIONS[5 * number % len(COMBINATIONS)] for number in range(1 + max(len(POLICIES), len(MODES)))]


@pytest.mark.parametrize(
    "combinations", [pytest.param(SOME, id="some"), pytest.param(COMBINATIONS, id="all", marks=pytest.mark.slow)]
)
def test_every_dialog_opens_whatever_the_engine_says(
    chickadee: Chickadee, qtbot: QtBot, combinations: list[tuple[Any, str]]
) -> None:
    """The short run includes each library, kind of kernels, policy and mode at least once."""
    window, engine, panel = chickadee.window, chickadee.engine, chickadee.chats.engine_monitor.panel
    window.commands.run("engine")
    client = chickadee.process.client
    policies, modes = itertools.cycle((*POLICIES, UNKNOWN)), itertools.cycle((*MODES, UNKNOWN))
    for backend, kernels in combinations:
        info, numbers, pulse = engine_messages(backend, kernels, next(policies), next(modes))
        client.model = info
        client.news(Changed("ready"))
        client.received(pulse)
        engine.state.change(statistics=numbers)
        window.commands.run("about")
        about = chickadee.chats.palette.about.open
        assert about is not None
        assert choice_words("backend", backend) in about.computing.text()
        about.close()
        assert any(choice_words("backend", backend) in line for line in detail_lines(engine.state))
        panel.show_all()
        assert choice_words("kv_mode", pulse.head_groups[1].mode) in [part.name for part in panel.groups.segments]
    walk(chickadee, qtbot)


def test_a_remedy_of_a_newer_engine_is_left_out(chickadee: Chickadee, qtbot: QtBot, ask: Ask) -> None:
    ask(chickadee, "slow")
    qtbot.waitUntil(lambda: bool(chickadee.open_chats.current.answer_text))
    engine = chickadee.engine
    remedies = (Remedy(UNKNOWN), Remedy("forget_turns", turns=1))
    assert engine._answer
    chickadee.process.client.received(Failed(engine._answer.id, Sentence("of.a_newer_engine"), "", remedies))
    view = chickadee.window.transcript.views[-1]
    assert [button.text() for button in view.remedy_buttons.buttons] == ["Leave out the oldest turn"]


@pytest.mark.long
@pytest.mark.parametrize(
    "backend", [name if name == "llama" else pytest.param(name, marks=pytest.mark.slow) for name in BACKENDS]
)
def test_every_dialog_opens_with_the_real_engine(
    folders: Folders, open_window: Opener, qtbot: QtBot, ask: Ask, backend: str
) -> None:
    folders.settings.write_text(f'[engine]\nbackend = "{backend}"\n', encoding="utf-8")
    chickadee = open_window(model=default_model(), command=None, max_tokens=4)
    qtbot.waitUntil(lambda: chickadee.engine.state.phase in ("ready", "failed", "off"))
    model = chickadee.engine.state.model
    assert model is not None
    assert model.backend == backend, chickadee.window.notice.text.text()
    ask(chickadee, "hello")
    qtbot.waitUntil(lambda: done(chickadee))
    walk(chickadee, qtbot, innermost_first=False)


def test_the_window_closes_with_everything_open(chickadee: Chickadee, qtbot: QtBot, ask: Ask) -> None:
    ask(chickadee, "slow")
    qtbot.waitUntil(lambda: bool(chickadee.open_chats.current.answer_text))
    for name in OPENERS:
        chickadee.window.commands.run(name)
    chickadee.window.close()
    QApplication.processEvents()
    assert not chickadee.process.running


def test_the_engine_dies_with_everything_open(chickadee: Chickadee, qtbot: QtBot, ask: Ask) -> None:
    for name in OPENERS:
        chickadee.window.commands.run(name)
    psutil.Process(chickadee.process.pid).kill()
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "off")
    QApplication.processEvents()
    walk(chickadee, qtbot)


def test_a_chat_is_deleted_while_it_is_answered(chickadee: Chickadee, qtbot: QtBot, ask: Ask) -> None:
    """The engine's later events for the chat are ignored, and the next question is answered."""
    ask(chickadee, "slow")
    conversation = chickadee.open_chats.current
    qtbot.waitUntil(lambda: bool(conversation.answer_text))
    chickadee.window.commands.run("delete_chat")
    assert chickadee.open_chats.current is not conversation
    chickadee.chats.list._delete_for_good([conversation.chat.id])
    ask(chickadee, "hello")
    qtbot.waitUntil(lambda: done(chickadee) and len(chickadee.open_chats.current.messages) == 2)
    assert conversation.chat.id not in [chat.id for chat in chickadee.open_chats.chats()]


def test_an_answer_that_the_window_does_not_understand_ends_the_waiting(
    chickadee: Chickadee, qtbot: QtBot, tmp_path: Path
) -> None:
    chickadee.models.controller.use_model(str(tmp_path / "unheard.gguf"))
    notice = chickadee.window.notice
    qtbot.waitUntil(lambda: not notice.isHidden())
    assert "does not understand" in notice.text.text()
    assert "of-a-newer-engine" in notice.details.text()
    assert notice.button.text() == "Choose another model"
