"""What set-up says when pip fails: the cause in a sentence, and pip's own words above it."""

from __future__ import annotations

import re
import sys

import pytest

from tests.packaging import probe


def failure(setup, command, capfd) -> str:
    with pytest.raises(setup.steps.SetupError) as error:
        setup.steps.download(command, "the probe")
    assert "ERROR" in capfd.readouterr().err  # pip's words
    return str(error.value)


def install(setup, lock: str, *options: str):
    path = setup.folder / "other.lock"
    path.write_text(lock)
    return setup.steps.pip("install", "--no-deps", "--require-hashes", *options, "-r", path)


def test_an_archive_with_another_hash_is_refused(setup, capfd) -> None:
    lock = re.sub(r"sha256:\w{8}", "sha256:00000000", (setup.folder / "wheels.lock").read_text())
    assert "what came is not what was published, so it was not installed" in failure(
        setup, install(setup, lock, "--force-reinstall"), capfd
    )


def test_a_release_that_is_not_there_is_not_blamed_on_the_network(setup, capfd) -> None:
    lock = f"{probe.NAME}==9.9.9 --hash=sha256:{'0' * 64}"
    said = failure(setup, install(setup, lock), capfd)
    assert "the package index has none for this Python and this computer" in said


def test_no_network_is_told(setup, monkeypatch, capfd) -> None:
    for name in ("PIP_NO_INDEX", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    lock = f"{probe.NAME}==9.9.9 --hash=sha256:{'0' * 64}"
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/")  # nobody listens there
    assert "the package index cannot be reached" in failure(setup, install(setup, lock, "--retries", "1"), capfd)


def test_a_full_disk_is_told(setup, capfd) -> None:
    says = "import sys; sys.exit('ERROR: Could not install packages: [Errno 28] No space left on device')"
    assert "the disk is full" in failure(setup, [sys.executable, "-c", says], capfd)


def test_another_failure_shows_where_to_look(setup, capfd) -> None:
    assert "see above" in failure(setup, [sys.executable, "-c", "import sys; sys.exit('ERROR: a bird')"], capfd)
