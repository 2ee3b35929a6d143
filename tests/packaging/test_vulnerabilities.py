"""What `make audit` asks about: every lock file of the project."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

import pytest

from tests.packaging.conftest import ROOT


@pytest.fixture
def vulnerabilities(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    return import_module("vulnerabilities")


def test_every_lock_file_is_asked_about(vulnerabilities: ModuleType) -> None:
    names = {path.relative_to(ROOT).as_posix() for path in vulnerabilities.locks()}
    written = (ROOT / "packaging" / "lock.sh").read_text(encoding="utf-8")
    for name in ("requirements.lock", "packaging/compiled.lock", "packaging/package.lock", "packaging/audit.lock"):
        assert f"-o {name}" in written
        assert name in names
    command = vulnerabilities.command(vulnerabilities.locks())
    assert {str(ROOT / name) for name in names} <= set(command)
    assert {"--require-hashes", "--strict"} <= set(command)


def test_what_is_accepted_is_still_locked(vulnerabilities: ModuleType) -> None:
    locked = "".join(path.read_text(encoding="utf-8") for path in vulnerabilities.locks())
    for name in vulnerabilities.ACCEPTED.values():
        assert f"\n{name}==" in locked
