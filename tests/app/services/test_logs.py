"""The log files after a day of the window: nothing in them was written by the user or by a model."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.folders import Folders
from app.services.logs import start_logging, stop_logging
from app.settings.resolve import PROMPT
from app.store.exchange import MARKDOWN
from app.store.recovery import open_store
from app.wiring import Chickadee
from common.failures import Failure
from tests.app.conftest import Opener

Ask = Callable[[Chickadee, str], None]
SECRET = "xyzzy"


@pytest.fixture
def log(folders: Folders) -> Iterator[Callable[[], str]]:
    level = logging.getLogger().level
    start_logging(folders.logs)
    yield lambda: "".join(path.read_text(encoding="utf-8") for path in sorted(folders.logs.iterdir()))
    stop_logging()
    logging.getLogger().setLevel(level)


def test_a_day_with_many_failures_leaves_no_text_of_the_users(
    log: Callable[[], str], folders: Folders, open_window: Opener, ask: Ask, qtbot: QtBot, tmp_path: Path
) -> None:
    chickadee = open_window()
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready")
    for words in ("nonsense", "refuse", "die"):
        ask(chickadee, f"{words} {SECRET}")
        qtbot.waitUntil(lambda: not chickadee.open_chats.current.busy)
    chat = chickadee.open_chats.current.chat
    assert SECRET in chat.title
    notice = chickadee.window.notice
    (tmp_path / f"{SECRET}.md").mkdir()
    chickadee.chats.import_export.export([chat.id], str(tmp_path / f"{SECRET}.md"), MARKDOWN)
    qtbot.waitUntil(lambda: "could not be written" in notice.text.text())
    (tmp_path / f"{SECRET}.json").write_text(f'[{{"{SECRET}"')
    chickadee.chats.importing.open()
    dialog = chickadee.chats.importing.dialog
    assert dialog
    chickadee.chats.importing.look_at_file(str(tmp_path / f"{SECRET}.json"))
    qtbot.waitUntil(lambda: "is damaged at byte" in dialog.problem.text())
    dialog.reject()
    chickadee.settings.path.write_text(f"[answer]\nsystem_prompt = ['{SECRET}']\ntop_k = '{SECRET}'\n")
    chickadee.settings.refresh()
    chickadee.chats.options.change_option(PROMPT, SECRET)
    (tmp_path / f"{SECRET}.pdf").write_bytes(b"%PDF-1.4 " + SECRET.encode())
    chickadee.chats.drafts.attach([tmp_path / f"{SECRET}.pdf"])
    qtbot.waitUntil(lambda: f"{SECRET}.pdf" in notice.text.text())
    chickadee.window.close()
    with sqlite3.connect(folders.store) as db:
        db.execute("DROP TRIGGER message_changed")
        db.execute("UPDATE messages SET content = CAST(? AS TEXT)", (b"\xff " + SECRET.encode(),))
    db.close()
    store, _ = open_store(folders.store)
    with pytest.raises(Failure):
        store.messages(chat)
    store.close()
    text = log()
    for expected in ("from the engine was ignored", "request ", "export.unwritable", "import.damaged", "answer.top_k"):
        assert expected in text
    assert SECRET not in text
