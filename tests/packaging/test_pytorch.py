"""Tests that PyTorch is installed when asked for, kept, and removed; the probe takes its place here."""

from __future__ import annotations

import re
import subprocess
from importlib import import_module
from types import SimpleNamespace

import pytest

from tests.packaging import probe
from tests.packaging.conftest import ROOT


@pytest.fixture
def pytorch(setup, monkeypatch):
    """Return the module `pytorch`, Chickadee's lock file as `needed`, and the function `installed`.

    The environment has no package yet.
    """
    module = import_module("pytorch")
    needed = setup.folder / "needed.lock"
    needed.write_text("numpy==1 \\\n    --hash=sha256:0\n")
    monkeypatch.setattr(module, "LOCK", setup.folder / "wheels.lock")
    monkeypatch.setattr(module, "WHEELS_LOCK", needed)
    monkeypatch.setattr(module, "CHOSEN", setup.folder / "environment" / "training")
    setup.steps.uninstall(probe.NAME)

    def installed() -> bool:
        return subprocess.run([setup.steps.PYTHON, "-c", "import probe"], capture_output=True).returncode == 0

    return SimpleNamespace(module=module, needed=needed, installed=installed)


@pytest.mark.slow
def test_it_comes_stays_and_goes(pytorch, monkeypatch):
    assert (pytorch.installed(), pytorch.module.is_chosen()) == (False, False)
    pytorch.module.install()
    assert (pytorch.installed(), pytorch.module.is_chosen()) == (True, True)
    with monkeypatch.context() as patch:
        patch.setattr(pytorch.module, "install_locked", lambda *_: pytest.fail("installed again"))
        pytorch.module.keep()
    pytorch.module.remove()
    assert (pytorch.installed(), pytorch.module.is_chosen()) == (False, False)


@pytest.mark.slow
def test_what_chickadee_needs_stays(pytorch):
    pytorch.module.install()
    pytorch.needed.write_text(f"{probe.NAME}==0\n")
    lock = pytorch.module.LOCK.read_text()
    pytorch.module.LOCK.write_text(f"{lock}\nnot-there==1\n")
    pytorch.module.remove()
    assert (pytorch.installed(), pytorch.module.is_chosen()) == (True, False)


@pytest.mark.slow
def test_what_cannot_be_had_stops_only_those_who_asked(pytorch, capsys):
    lock = pytorch.module.LOCK
    lock.write_text(re.sub("sha256:.*", "sha256:" + "0" * 64, lock.read_text()))
    with pytest.raises(import_module("steps").SetupError, match="could not install PyTorch"):
        pytorch.module.install()
    capsys.readouterr()
    pytorch.module.keep()
    assert "could not install PyTorch" in capsys.readouterr().err


def test_the_lock_files_agree():
    """Packages in both files have the same version, so that neither undoes the other."""
    ours, theirs = (
        dict(re.findall(r"^([\w.-]+)==(\S+) \\$", (ROOT / name).read_text(), re.M))
        for name in ("requirements.lock", "requirements-training.lock")
    )
    assert theirs["torch"] in (ROOT / "pyproject.toml").read_text()
    shared = ours.keys() & theirs.keys()
    assert "typing-extensions" in shared
    assert all(ours[name] == theirs[name] for name in shared)
