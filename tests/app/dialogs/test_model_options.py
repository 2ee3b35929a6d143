"""One model's options through the real widgets, and in the file where people write them by hand."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.dialogs.model_options import ModelOptions
from app.dialogs.models_dialog import ModelsDialog
from app.dialogs.setting_row import ChoiceControl, LineControl
from app.services.planner import question
from app.settings.schema import for_model
from app.settings.settings import Settings
from app.wiring import Chickadee
from engine.protocol.requests import Load, Request
from models.default import default_model
from tests.app.conftest import SECONDS, Requests
from tests.app.dialogs.conftest import BUILT_IN, press
from tests.models.make_gguf import make_gguf


@pytest.fixture
def wren(chickadee: Chickadee, open_models: ModelsDialog, qtbot: QtBot, tmp_path: Path) -> Path:
    """Return the path of a loaded model whose options are open."""
    path = make_gguf(tmp_path / "wren.gguf")
    chickadee.models.controller.add(str(path))
    press(qtbot, open_models, ("here", path), "load")
    qtbot.waitUntil(lambda: chickadee.models.controller.list.loaded == path, timeout=SECONDS)
    press(qtbot, open_models, ("here", path), "options")
    return path


def options_of(chickadee: Chickadee) -> ModelOptions:
    dialog = chickadee.models.controller.options
    assert dialog
    return dialog


def enter(dialog: ModelOptions, qtbot: QtBot, key: str, text: str) -> None:
    control = dialog.rows[key].control
    assert isinstance(control, LineControl)
    control.selectAll()
    qtbot.keyClicks(control, text)
    qtbot.keyClick(control, Qt.Key.Key_Return)


def pick(dialog: ModelOptions, key: str, value: str) -> None:
    control = dialog.rows[key].control
    assert isinstance(control, ChoiceControl)
    control.setCurrentIndex(control.findData(value))
    control.activated.emit(control.currentIndex())


def test_options_are_stored_for_the_model_and_it_is_loaded_with_them(
    chickadee: Chickadee, wren: Path, qtbot: QtBot, requests: Requests
) -> None:
    dialog = options_of(chickadee)
    assert dialog.load_button.isHidden()
    enter(dialog, qtbot, "context", "2048")
    pick(dialog, "kv_type", "q8_0")
    pick(dialog, "draft", "off")
    stored = tomllib.loads(chickadee.settings._file.path.read_text())
    assert stored == {"models": {"wren.gguf": {"context": 2048, "kv_type": "q8_0", "draft": "off"}}}
    qtbot.waitUntil(lambda: last_load(requests()).n_ctx == 2048, timeout=SECONDS)
    assert last_load(requests()).kv_type == "q8_0"
    assert draft_mode(chickadee) == "off"
    chickadee.models.controller.use_model(str(wren.with_name("other.gguf")))
    qtbot.waitUntil(lambda: last_load(requests()).path.endswith("other.gguf"), timeout=SECONDS)
    assert last_load(requests()).n_ctx is None
    assert draft_mode(chickadee) == "auto"
    qtbot.mouseClick(dialog.reset_button, Qt.MouseButton.LeftButton)
    assert tomllib.loads(chickadee.settings._file.path.read_text()) == {"models": {"wren.gguf": {}}}
    assert not dialog.reset_button.isEnabled()


def draft_mode(chickadee: Chickadee) -> str:
    return chickadee.engine.model.options_for(chickadee.open_chats.current).generate.draft


def last_load(requests: list[Request]) -> Load:
    return [request for request in requests if isinstance(request, Load)][-1]


def test_a_wrong_value_is_told_and_not_stored(chickadee: Chickadee, wren: Path, qtbot: QtBot) -> None:
    dialog = options_of(chickadee)
    enter(dialog, qtbot, "context", "3")
    assert "from 64 to" in dialog.rows["context"].problem.text()
    assert not chickadee.settings._file.path.exists()


def test_the_plan_follows_the_options(open_models: ModelsDialog, chickadee: Chickadee, qtbot: QtBot) -> None:
    press(qtbot, open_models, BUILT_IN, "options")
    dialog = options_of(chickadee)
    pick(dialog, "backend", "llama")
    qtbot.waitUntil(lambda: "8,192 tokens" in dialog.plan.verdict.text(), timeout=SECONDS)
    assert "KV cache 189 MB" in dialog.plan.parts.text()
    enter(dialog, qtbot, "context", "1024")
    qtbot.waitUntil(lambda: "1,024 tokens" in dialog.plan.verdict.text(), timeout=SECONDS)
    assert "KV cache 24 MB" in dialog.plan.parts.text()
    pick(dialog, "kv_type", "q8_0")
    qtbot.waitUntil(lambda: "KV cache 13 MB" in dialog.plan.parts.text(), timeout=SECONDS)
    row = open_models.rows[BUILT_IN]
    qtbot.waitUntil(lambda: "1,024 tokens" in row.verdict.text(), timeout=SECONDS)


def test_options_close_with_the_dialog_they_lie_on_and_what_was_typed_counts(
    open_models: ModelsDialog, chickadee: Chickadee, qtbot: QtBot
) -> None:
    press(qtbot, open_models, BUILT_IN, "options")
    dialog = options_of(chickadee)
    control = dialog.rows["context"].control
    assert isinstance(control, LineControl)
    qtbot.keyClicks(control, "2048")
    open_models.accept()
    assert chickadee.models.controller.options is None
    assert chickadee.settings.of_model(default_model())["engine.context"] == 2048


def test_nothing_is_cut_off_in_a_narrow_sheet_or_with_large_text(
    open_models: ModelsDialog, chickadee: Chickadee, qtbot: QtBot
) -> None:
    press(qtbot, open_models, BUILT_IN, "options")
    dialog = options_of(chickadee)
    row = dialog.rows["context"]

    def below() -> bool:
        return row.control.y() > row.help.geometry().bottom()

    def whole() -> bool:
        return row.control.geometry().right() < row.width() <= row.visibleRegion().boundingRect().width()

    qtbot.waitUntil(lambda: not below() and whole(), timeout=SECONDS)
    dialog.resize(360, dialog.height())
    qtbot.waitUntil(lambda: below() and whole(), timeout=SECONDS)
    dialog.resize(680, dialog.height())
    qtbot.waitUntil(lambda: not below() and whole(), timeout=SECONDS)
    chickadee.settings.change({"window.text_size": 200})
    qtbot.waitUntil(lambda: dialog.width() > 680 and below() and whole(), timeout=SECONDS)
    chickadee.settings.change({"window.text_size": 100})
    qtbot.waitUntil(lambda: dialog.width() == 680 and not below() and whole(), timeout=SECONDS)


def test_what_people_write_by_hand_is_read(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    drafter = make_gguf(tmp_path / "small.gguf")
    path.write_text(f"""# mine
[models]
network = "allowed"
[models."a.gguf"]
context = 512 # short
threads = "many"
draft_model = '{drafter}'
[models."b.gguf"]
draft_model = "gone.gguf"
[models."c.gguf"]
kv_type = 3
""")
    settings = Settings(path)
    load = settings.options(Path("a.gguf")).load
    assert (load.n_ctx, load.threads, load.draft_model) == (512, None, str(drafter))
    for name in ("b.gguf", "c.gguf", "d.gguf"):
        assert settings.options(Path(name)) == settings.options()
    (context, *_others) = for_model()
    settings.change_model(Path("a.gguf"), context, 1024)
    settings.change_model(Path("x y.gguf"), context, 64)
    assert "context = 1024 # short" in path.read_text()
    assert tomllib.loads(path.read_text())["models"]["x y.gguf"] == {"context": 64}
    assert path.read_text().startswith("# mine\n")


def test_what_is_written_by_hand_for_the_loaded_model_is_taken_over(
    chickadee: Chickadee, wren: Path, qtbot: QtBot, requests: Requests
) -> None:
    chickadee.settings.path.write_text('[models."wren.gguf"]\ncontext = 640\n')
    chickadee.settings_controller.application_state_changed(Qt.ApplicationState.ApplicationActive)
    qtbot.waitUntil(lambda: last_load(requests()).n_ctx == 640, timeout=SECONDS)


def test_a_draft_model_that_is_gone_stays_in_the_file_when_the_options_close(
    open_models: ModelsDialog, chickadee: Chickadee, qtbot: QtBot
) -> None:
    """The draft model may be on a disk that comes back."""
    own = f'[models."{default_model().name}"]\ndraft_model = "/gone/small.gguf"\n'
    chickadee.settings.path.write_text(own)
    chickadee.settings.refresh()
    press(qtbot, open_models, BUILT_IN, "options")
    assert chickadee.settings.options(default_model()).load.draft_model is None
    options_of(chickadee).close()
    assert chickadee.settings.path.read_text() == own


def test_drafting_by_a_model_is_automatic_where_there_is_none(tmp_path: Path) -> None:
    path, drafter = tmp_path / "settings.toml", make_gguf(tmp_path / "small.gguf")
    own = f"""[models."a.gguf"]\ndraft_model = '{drafter}'\nflash_attention = "on"\nkv_mode = "merged"\n"""
    path.write_text(f'[engine]\ndraft = "model"\n{own}')
    settings = Settings(path)
    options = settings.options(Path("a.gguf"))
    assert (options.generate.draft, options.load.flash_attention, options.load.kv_mode) == ("model", "on", "merged")
    assert settings.options(Path("b.gguf")).generate.draft == "auto"
    asked = question(Path("a.gguf"), options.load)
    assert (asked.flash_attention, asked.kv_mode, asked.draft) == ("on", "merged", str(drafter))


def test_a_layer_drafts_where_the_own_graph_computes(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text('[engine]\ndraft = "midlayer"\nexit_layers = 3\n[models."a.gguf"]\nbackend = "llama"\n')
    settings = Settings(path)
    by_itself = settings.options(Path("b.gguf"))
    assert (by_itself.load.backend, by_itself.generate.draft, by_itself.generate.exit_layers) == (
        "graph",
        "midlayer",
        3,
    )
    named = settings.options(Path("a.gguf"))
    assert (named.load.backend, named.generate.draft) == ("llama", "auto")
