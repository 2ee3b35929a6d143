"""The app of macOS as far as other systems can tell: its property lists, its image and its signature."""

from __future__ import annotations

import plistlib
import runpy
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

PACKAGING = Path(__file__).resolve().parents[2] / "packaging"


@pytest.fixture
def installers(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(PACKAGING))
    return import_module("installers")


@pytest.fixture
def commands(installers: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return the list that the commands are written to, which only macOS can run."""
    written: list[list[str]] = []
    monkeypatch.setattr(installers, "run", lambda command, _failure: written.append([*map(str, command)]))
    return written


def test_the_hardened_runtime_is_allowed_what_python_foreign_libraries_and_dictation_need() -> None:
    entitlements = plistlib.loads((PACKAGING / "macos" / "entitlements.plist").read_bytes())
    assert entitlements == {
        "com.apple.security.cs.allow-unsigned-executable-memory": True,
        "com.apple.security.cs.disable-library-validation": True,
        "com.apple.security.device.audio-input": True,
    }


def test_the_property_list_offers_the_app_for_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PACKAGING))
    contents = import_module("bundle_contents")
    plist = plistlib.loads(plistlib.dumps(contents.INFO_PLIST))
    (opened,), (declared,) = plist["CFBundleDocumentTypes"], plist["UTImportedTypeDeclarations"]
    assert opened["LSItemContentTypes"] == [declared["UTTypeIdentifier"]]
    assert declared["UTTypeTagSpecification"] == {"public.filename-extension": ["gguf"]}
    assert plist["LSBackgroundOnly"] is False
    assert "bundle_contents.INFO_PLIST" in (PACKAGING.parent / "pyinstaller.spec").read_text(encoding="utf-8")


def test_the_image_shows_the_app_beside_the_folder_for_it() -> None:
    settings = runpy.run_path(
        str(PACKAGING / "macos" / "dmg_settings.py"), {"defines": {"application": "/build/Chickadee.app"}}
    )
    files = [str(Path("/build/Chickadee.app"))]
    assert (settings["files"], settings["symlinks"]) == (files, {"Applications": "/Applications"})
    assert settings["icon_locations"].keys() == {"Chickadee.app", "Applications"}


@pytest.mark.parametrize("identity", ["", "Developer ID Application: A. Bird (ABCDE12345)"])
def test_only_a_real_signature_has_the_hardened_runtime(
    identity: str, installers: ModuleType, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHICKADEE_SIGN_IDENTITY", identity)
    installers.sign(Path("Chickadee.app"))
    (command,) = commands
    assert command[command.index("--sign") + 1] == (identity or "-")
    assert ("--options=runtime" in command) == bool(identity)
    assert command[-1] == "Chickadee.app"
