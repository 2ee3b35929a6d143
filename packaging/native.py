"""Installs ik_llama.cpp compiled for this processor, replacing the prebuilt library, which stops at AVX2 on x86.

`make setup NATIVE=1` chooses it and later set-ups keep it; `NATIVE=0` goes back. The choice is stored as a file in
`.venv` with the key of the installed build.
"""

from __future__ import annotations

from compiled_wheel import CompiledWheel
from steps import ROOT, VENV, WHEELS_LOCK, SetupError, install_locked, install_wheel, say, uninstall

CHOSEN = VENV / "native"


IK = CompiledWheel(
    "ik-llama-cpp-python",
    "ik_llama.cpp",
    ROOT / "packaging" / "native.lock",
    minutes=10,
    memory=1_000_000_000,
    cmake=ROOT / "packaging" / "native.cmake",
)


def is_chosen() -> bool:
    return CHOSEN.exists()


def install_native(build: CompiledWheel = IK) -> None:
    """Compile and install the library. If that fails, raises SetupError and leaves the prebuilt one installed."""
    key = build.key()
    if CHOSEN.exists() and CHOSEN.read_text() == key:
        return
    try:
        wheel = build.wheel()
    except SetupError as error:
        if CHOSEN.exists():  # remove a build of another version or for another processor
            install_prebuilt(build)
        raise SetupError(f"{error}\nsetup: the prebuilt {build.title} stays, where there is one") from error
    install_wheel(wheel)
    CHOSEN.write_text(key)
    say(f"{build.title} is now compiled for this processor; `make setup NATIVE=0` goes back to the prebuilt library")


def keep_native(build: CompiledWheel = IK) -> None:
    """Keep the library of an earlier choice; a failed build does not stop set-up."""
    try:
        install_native(build)
    except SetupError as error:
        say(str(error))


def install_prebuilt(build: CompiledWheel = IK) -> None:
    """Install the prebuilt library.

    On systems without a wheel the lock file's line has no effect, and llama.cpp computes alone.
    """
    CHOSEN.write_text("")  # an empty key matches no build: after an interruption, every set-up installs again
    uninstall(build.package)
    install_locked(f"the prebuilt {build.title}", WHEELS_LOCK)
    CHOSEN.unlink()
