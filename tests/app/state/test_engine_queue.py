"""The window when the engine refuses, sends nonsense, dies, or does not start: the text stays, a step is offered."""

from __future__ import annotations

import sys
from pathlib import Path

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.composer.status_line import detail_lines
from app.folders import Folders
from app.services.engine_process import EngineProcess
from app.wiring import Chickadee
from engine.client import Changed, Target
from engine.protocol.events import Text
from engine.protocol.lines import encode
from engine.protocol.requests import Load, Prepare
from tests.app.conftest import SECONDS, Opener, Requests
from tests.app.test_window import Ask, done, label_text, last_text, stored
from tests.common.confined_program import needs_landlock
from tests.engine.altered import write_altered


def test_a_refusal_is_told_in_place(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask(chickadee, "refuse")
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    view = chickadee.window.transcript.views[-1]
    assert label_text(view, "problem") == "This chat has 9,000 tokens, 4,096 fit."
    assert label_text(view, "details") == ""
    qtbot.mouseClick(view.row.buttons["details"], Qt.MouseButton.LeftButton)
    assert label_text(view, "details") == "prompt=9000"


def test_what_the_engine_wants_to_say_is_shown(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask(chickadee, "notice")
    notice = chickadee.window.notice
    qtbot.waitUntil(notice.isVisible, timeout=SECONDS)
    assert notice.text.text() == "The disk is nearly full: contexts are no longer cached on it."
    assert notice.button.isHidden()


def test_nonsense_from_the_engine_is_ignored(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask(chickadee, "nonsense")
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    assert last_text(chickadee) == "before after"


def test_the_engines_death_keeps_the_text_and_the_next_message_starts_it_again(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, folders: Folders
) -> None:
    ask(chickadee, "die")
    notice = chickadee.window.notice
    qtbot.waitUntil(lambda: done(chickadee) and notice.isVisible(), timeout=SECONDS)
    assert notice.text.text() == "The engine was stopped by the system, most likely because memory ran out."
    assert notice.button.text() == "Restart engine"
    assert stored(folders)[-1] == ("assistant", "The partial answer", "engine")
    assert last_text(chickadee) == "The partial answer"
    ask(chickadee, "again")
    qtbot.waitUntil(lambda: len(chickadee.open_chats.current.messages) == 4 and done(chickadee), timeout=SECONDS)
    assert last_text(chickadee) == "echo: again"
    assert notice.isHidden()


def test_the_button_starts_the_engine_again(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask(chickadee, "die")
    qtbot.waitUntil(chickadee.window.notice.isVisible, timeout=SECONDS)
    qtbot.mouseClick(chickadee.window.notice.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready", timeout=SECONDS)


def test_an_engine_that_is_not_there_is_told(open_window: Opener, qtbot: QtBot) -> None:
    chickadee = open_window(command=["/no/such/engine"], model=Path("/m.gguf"))
    qtbot.waitUntil(chickadee.window.notice.isVisible, timeout=SECONDS)
    assert chickadee.window.notice.text.text().startswith("The engine could not be started")


def test_a_message_sent_while_the_model_loads_is_stored_and_answered(
    open_window: Opener, ask: Ask, qtbot: QtBot, tmp_path: Path, folders: Folders
) -> None:
    chickadee = open_window(model=tmp_path / "slowload.gguf")
    ask(chickadee, "early")
    assert stored(folders) == [("user", "early", "end")]
    assert "then answering your message" in chickadee.window.composer.progress.text()
    (tmp_path / "go").touch()
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    assert last_text(chickadee) == "echo: early"


def test_a_model_that_does_not_load_is_told_and_the_message_waits(
    open_window: Opener, ask: Ask, qtbot: QtBot, tmp_path: Path
) -> None:
    chickadee = open_window(model=tmp_path / "missing.gguf")
    ask(chickadee, "hello")
    notice = chickadee.window.notice
    qtbot.waitUntil(notice.isVisible, timeout=SECONDS)
    gone = f"There is no file {tmp_path / 'missing.gguf'}. It may have been moved or renamed."
    assert (notice.text.text(), notice.button.text()) == (gone, "Choose another model")
    chickadee.models.controller.use_model(str(tmp_path / "other.gguf"))
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    assert last_text(chickadee) == "echo: hello"
    assert notice.isHidden()


def test_an_engine_that_crashes_on_loading_is_not_started_for_ever(
    open_window: Opener, ask: Ask, qtbot: QtBot, tmp_path: Path
) -> None:
    chickadee = open_window(model=tmp_path / "crash.gguf")
    qtbot.waitUntil(chickadee.window.notice.isVisible, timeout=SECONDS)
    assert chickadee.window.notice.text.text() == "The engine crashed."
    assert chickadee.engine.state.phase == "off"


def test_a_load_in_which_a_library_crashes_goes_on_with_another_one_unless_the_user_named_it(
    open_window: Opener, ask: Ask, qtbot: QtBot, tmp_path: Path
) -> None:
    chickadee = open_window(model=tmp_path / "crash once.gguf")
    ask(chickadee, "hello")
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    assert last_text(chickadee) == "echo: hello"
    assert chickadee.window.notice.isHidden()
    (tmp_path / "crashed").unlink()
    chickadee.settings.change({"engine.backend": "ik"})
    chickadee.models.controller.use_model(str(tmp_path / "crash once too.gguf"))
    qtbot.waitUntil(chickadee.window.notice.isVisible, timeout=SECONDS)
    assert chickadee.window.notice.text.text() == "The engine crashed."


def test_a_model_for_another_library_is_loaded_by_a_new_engine(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, tmp_path: Path
) -> None:
    """The process with the wrong library ends; the window shows nothing but loading."""
    first, phases = chickadee.process.pid, set()
    state = chickadee.engine.state
    for event in (state.phase_changed, state.problem_changed):
        event.connect(lambda state: phases.add((state.phase, state.problem)))
    chickadee.models.controller.use_model(str(tmp_path / "other.gguf"))
    chickadee.chats.drafts.send("hello")
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    assert last_text(chickadee) == "echo: hello"
    assert chickadee.process.pid != first
    assert phases <= {("loading", None), ("starting", None), ("ready", None)}
    assert "Runs on ik_llama.cpp with 2 threads" in detail_lines(chickadee.engine.state)


def test_a_burst_of_events_is_told_whole_and_in_order_before_the_end(qtbot: QtBot, tmp_path: Path) -> None:
    burst = tmp_path / "burst"
    burst.write_bytes(b"".join(encode(Text(1, str(number))) for number in range(3000)))
    code = f"import sys; sys.stdout.buffer.write(open({str(burst)!r}, 'rb').read())"
    process = EngineProcess([sys.executable, "-c", code])
    told: list[object] = []
    process.client.news = told.append
    process.client.use(Target(Load(0, str(tmp_path / "m.gguf"))))
    qtbot.waitUntil(lambda: bool(told) and told[-1] == Changed("absent", None, process.client.end), timeout=SECONDS)
    assert told[1:-1] == [Text(1, str(number)) for number in range(3000)]


@needs_landlock
def test_a_model_from_elsewhere_is_loaded_by_an_engine_that_may_read_it(
    open_window: Opener, qtbot: QtBot, tmp_path: Path
) -> None:
    """The real engine starts with the right to read its first model; one from elsewhere needs a new engine."""
    elsewhere = tmp_path / "Downloads" / "model.gguf"
    elsewhere.parent.mkdir()
    write_altered(elsewhere)
    chickadee = open_window(command=None)
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready")
    first = chickadee.process.pid
    assert chickadee.engine.state.limits == ("files", "network")
    chickadee.engine.model.use(elsewhere)
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready")
    assert chickadee.engine.state.model
    assert Path(chickadee.engine.state.model.path) == elsewhere
    assert chickadee.process.pid != first


def test_a_faster_library_takes_over_while_nobody_waits(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, requests: Requests
) -> None:
    """A new process reads the chat again; the window shows nothing of that but the library's name."""
    state, phases = chickadee.engine.state, []
    ask(chickadee, "a chat with something to read again")
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    state.phase_changed.connect(lambda state: phases.append((state.phase, state.model is not None)))
    ask(chickadee, "outdo")
    qtbot.waitUntil(lambda: state.model is not None and state.model.backend == "ik", timeout=SECONDS)
    assert set(phases) == {("ready", True)}
    assert [type(request) for request in requests()[-2:]] == [Load, Load]  # the first one was answered by Restart
    qtbot.waitUntil(lambda: isinstance(requests()[-1], Prepare), timeout=SECONDS)
    again = requests()[-1]
    assert isinstance(again, Prepare)
    assert len(again.messages) == 4
    ask(chickadee, "and now")
    qtbot.waitUntil(lambda: done(chickadee) and last_text(chickadee) == "echo: and now", timeout=SECONDS)
    assert not chickadee.window.notice.isVisible()


def test_what_is_sent_during_the_change_waits_for_it(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask(chickadee, "outdo")
    qtbot.waitUntil(lambda: chickadee.process.client.switching, timeout=SECONDS)
    ask(chickadee, "meanwhile")
    qtbot.waitUntil(lambda: done(chickadee) and last_text(chickadee) == "echo: meanwhile", timeout=SECONDS)
    assert chickadee.engine.state.model is not None
    assert chickadee.engine.state.model.backend == "ik"
