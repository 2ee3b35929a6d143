"""One model's options through the real widgets, and in the file where people write them by hand."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.model_library.model_options import ModelOptions
from app.model_library.model_settings import ModelSettings, settings_for
from app.model_library.models_dialog import ModelsDialog
from app.services.planner import question
from app.settings.options import Options
from app.settings_view.setting_controls import Choice, Line
from app.wiring import Chickadee
from engine.protocol import Generate, Load, Request
from models.default import default_model
from tests.app.conftest import SECONDS, Requests
from tests.app.model_library.conftest import BUILT_IN, press
from tests.models.make_gguf import make_gguf


@pytest.fixture
def wren(chickadee: Chickadee, open_models: ModelsDialog, qtbot: QtBot, tmp_path: Path) -> Path:
    """A model that is loaded, with its options open."""
    path = make_gguf(tmp_path / "wren.gguf")
    chickadee.models.keeper.add(str(path))
    press(qtbot, open_models, ("here", path), "load")
    qtbot.waitUntil(lambda: chickadee.models.keeper.page.loaded == path, timeout=SECONDS)
    press(qtbot, open_models, ("here", path), "options")
    return path


def options_of(chickadee: Chickadee) -> ModelOptions:
    dialog = chickadee.models.keeper.options.dialog
    assert dialog
    return dialog


def enter(dialog: ModelOptions, qtbot: QtBot, key: str, text: str) -> None:
    control = dialog.rows[key].control
    assert isinstance(control, Line)
    control.selectAll()
    qtbot.keyClicks(control, text)
    qtbot.keyClick(control, Qt.Key.Key_Return)


def pick(dialog: ModelOptions, key: str, value: str) -> None:
    control = dialog.rows[key].control
    assert isinstance(control, Choice)
    control.setCurrentIndex(control.findData(value))
    control.commit()


def test_options_are_stored_for_the_model_and_it_is_loaded_with_them(
    chickadee: Chickadee, wren: Path, qtbot: QtBot, requests: Requests
) -> None:
    dialog = options_of(chickadee)
    assert dialog.load_button.isHidden()
    enter(dialog, qtbot, "context", "2048")
    pick(dialog, "kv_type", "q8_0")
    pick(dialog, "draft", "off")
    stored = tomllib.loads(chickadee.models.keeper.settings._file.path.read_text())
    assert stored == {"models": {"wren.gguf": {"context": 2048, "kv_type": "q8_0", "draft": "off"}}}
    qtbot.waitUntil(lambda: last_load(requests()).n_ctx == 2048, timeout=SECONDS)
    assert last_load(requests()).kv_type == "q8_0"
    assert draft_mode(chickadee) == "off"
    chickadee.models.status.use_model(str(wren.with_name("other.gguf")))
    qtbot.waitUntil(lambda: last_load(requests()).path.endswith("other.gguf"), timeout=SECONDS)
    assert last_load(requests()).n_ctx is None
    assert draft_mode(chickadee) == "auto"
    qtbot.mouseClick(dialog.reset_button, Qt.MouseButton.LeftButton)
    assert tomllib.loads(chickadee.models.keeper.settings._file.path.read_text()) == {"models": {"wren.gguf": {}}}
    assert not dialog.reset_button.isEnabled()


def draft_mode(chickadee: Chickadee) -> str:
    return chickadee.engine._options.generate.draft


def last_load(requests: list[Request]) -> Load:
    return [request for request in requests if isinstance(request, Load)][-1]


def test_a_wrong_value_is_told_and_not_stored(chickadee: Chickadee, wren: Path, qtbot: QtBot) -> None:
    dialog = options_of(chickadee)
    enter(dialog, qtbot, "context", "3")
    assert "from 64 to" in dialog.rows["context"].problem.text()
    assert not chickadee.models.keeper.settings._file.path.exists()


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
    assert isinstance(control, Line)
    qtbot.keyClicks(control, "2048")
    open_models.accept()
    assert chickadee.models.keeper.options.dialog is None
    assert chickadee.models.keeper.settings.values(default_model())["context"] == 2048


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
    chickadee.preferences.settings.change({"window.text_size": 200})
    qtbot.waitUntil(lambda: dialog.width() > 680 and below() and whole(), timeout=SECONDS)
    chickadee.preferences.settings.change({"window.text_size": 100})
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
draft_model = "{drafter}"
[models."b.gguf"]
draft_model = "gone.gguf"
[models."c.gguf"]
kv_type = 3
""")
    settings, plain = ModelSettings(path), Options()
    tailored = settings.tailored(Path("a.gguf"), plain)
    assert (tailored.load.n_ctx, tailored.load.threads, tailored.load.draft_model) == (512, None, str(drafter))
    for name in ("b.gguf", "c.gguf", "d.gguf"):
        assert settings.tailored(Path(name), plain) == plain
    (context, *_others) = settings_for()
    settings.change(Path("a.gguf"), context, 1024)
    settings.change(Path("x y.gguf"), context, 64)
    assert "context = 1024 # short" in path.read_text()
    assert tomllib.loads(path.read_text())["models"]["x y.gguf"] == {"context": 64}
    assert path.read_text().startswith("# mine\n")


def test_drafting_by_a_model_is_automatic_where_there_is_none(tmp_path: Path) -> None:
    path, drafter = tmp_path / "settings.toml", make_gguf(tmp_path / "small.gguf")
    path.write_text(f'[models."a.gguf"]\ndraft_model = "{drafter}"\nflash_attention = "on"\nkv_mode = "merged"\n')
    settings, everywhere = ModelSettings(path), Options(generate=Generate(0, (), draft="model"))
    tailored = settings.tailored(Path("a.gguf"), everywhere)
    assert (tailored.generate.draft, tailored.load.flash_attention, tailored.load.kv_mode) == ("model", "on", "merged")
    assert settings.tailored(Path("b.gguf"), everywhere).generate.draft == "auto"
    asked = question(Path("a.gguf"), tailored.load)
    assert (asked.flash_attention, asked.kv_mode, asked.draft) == ("on", "merged", str(drafter))


def test_a_layer_drafts_where_the_own_graph_computes(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text('[models."a.gguf"]\nbackend = "llama"\n')
    settings, everywhere = ModelSettings(path), Options(generate=Generate(0, (), draft="midlayer", exit_layers=3))
    by_itself = settings.tailored(Path("b.gguf"), everywhere)
    assert (by_itself.load.backend, by_itself.generate.draft, by_itself.generate.exit_layers) == (
        "graph",
        "midlayer",
        3,
    )
    named = settings.tailored(Path("a.gguf"), everywhere)
    assert (named.load.backend, named.generate.draft) == ("llama", "auto")
