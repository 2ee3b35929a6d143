"""Two real models in one chat: each answers, the way back reads little, and the next start takes the last one."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.folders import Folders
from app.state.answer_facts import statistics_from_json
from app.wiring import Chickadee
from models.default import default_model
from models.titles import title_of
from tests.app.conftest import SECONDS, Opener
from tests.app.test_start import start
from tests.app.test_window import Ask, done
from tests.engine.shallow import shallow_model

QUESTION = "Which birds are named here? " + "The chickadee, the wren and the robin sing in the old garden. " * 24
ENGINE = "[engine]\ncontext = 2048\nthreads = 1\n"


def answer_with(chickadee: Chickadee, model: Path, qtbot: QtBot) -> int:
    """Have `model` answer the last question again, and return how many tokens of the prompt it read."""
    conversation = chickadee.open_chats.current
    before = len(conversation.tree)
    chickadee.chats.messages.answer_with(conversation.messages[-1].id, model)
    qtbot.waitUntil(lambda: len(conversation.tree) > before and not conversation.busy, timeout=SECONDS)
    answer = conversation.messages[-1]
    numbers = statistics_from_json(answer.statistics)
    assert numbers
    assert answer.model == title_of(model)
    return numbers.prompt_tokens - numbers.reused_tokens


def test_two_models_answer_one_chat_and_the_last_one_is_there_again(
    open_window: Opener, ask: Ask, qtbot: QtBot, folders: Folders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path / "cache"))
    folders.settings.write_text(ENGINE)
    whole, shallow = default_model(), shallow_model()
    chickadee = open_window(command=None, max_tokens=4, model_used_last=True)
    ask(chickadee, QUESTION)
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    conversation = chickadee.open_chats.current
    assert conversation.chat.model == title_of(whole)
    assert answer_with(chickadee, shallow, qtbot) > 256
    assert answer_with(chickadee, whole, qtbot) < 64
    assert answer_with(chickadee, shallow, qtbot) < 64
    siblings = conversation.tree.siblings(conversation.messages[-1].id)
    assert [conversation.tree[id].model for id in siblings] == [title_of(whole), title_of(shallow)] * 2
    chickadee.window.close()

    again = open_window(command=None, max_tokens=4, model_used_last=True)
    qtbot.waitUntil(lambda: again.engine.state.phase == "ready", timeout=SECONDS)
    assert again.engine.state.path == shallow
    assert again.window.chat_model.isHidden()
    assert not again.window.notice.isVisible()
    again.models.controller.use_model(str(whole))
    qtbot.waitUntil(again.window.chat_model.isVisible, timeout=SECONDS)
    assert again.window.chat_model.text.text() == f"This chat last used {title_of(shallow)} ·"
    again.window.chat_model.button.click()
    qtbot.waitUntil(lambda: again.engine.state.phase == "ready", timeout=SECONDS)
    again.window.close()

    tested = start("--self-test", "--data-dir", str(folders.data))
    assert tested.returncode == 0, tested.stderr
    assert tested.stdout.startswith(f"self-test passed: {title_of(shallow)} answered (")
    assert folders.store.exists()
