"""The first look at devices: what its process prints, and drivers that crash or hang in it."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from common.folders import cache_folder
from engine.devices.device import Device
from engine.devices.look import Ended, Look, Problem, _look_of, known_devices, look_at_devices, refusal, refuse

DEVICE = Device("vulkan Some GPU", "Vulkan0", "Some GPU", "vulkan", True, False, 1 << 30, 1 << 29, "some 1")
HANGS = "#include <unistd.h>\n__attribute__((constructor)) static void hang(void) { for (;;) pause(); }"
CRASHES = "#include <stdlib.h>\n__attribute__((constructor)) static void crash(void) { abort(); }"


def test_what_a_look_prints_is_read() -> None:
    look = Look((DEVICE,))
    assert _look_of(Ended(0, msgspec.json.encode(look))) == look
    assert _look_of(Ended(None, b"")).problem == "hung"
    assert _look_of(Ended(-11, b"")).problem == "crashed"
    assert _look_of(Ended(0, b"{")).problem == "crashed", "half of what it wanted to print"


def test_a_refused_device_is_refused_until_its_driver_changes() -> None:
    assert refusal(DEVICE) is None
    refuse(DEVICE, "wrong_numbers")
    assert refusal(DEVICE) == "wrong_numbers"
    assert refusal(replace(DEVICE, driver="some 2")) is None


@pytest.mark.slow
@pytest.mark.parametrize(("driver", "problem"), [(HANGS, "hung"), (CRASHES, "crashed")])
def test_a_driver_that_hangs_or_crashes_is_not_asked_again(
    driver: str, problem: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("no C compiler is here")
    cache_folder().mkdir(parents=True, exist_ok=True)
    library, source = cache_folder() / "libggml-shim.so", tmp_path / "shim.c"
    source.write_text(driver)
    subprocess.run([compiler, "-shared", "-fPIC", source, "-o", library], check=True)
    monkeypatch.setenv("GGML_BACKEND_PATH", str(library))
    assert known_devices() is None
    assert look_at_devices(longest=20.0) == Look(problem=problem)
    assert known_devices() == Look(problem=problem)
