"""ik_llama.cpp for this very processor, in place of the prebuilt library, which stops at AVX2 on x86.

`make setup NATIVE=1` chooses it and later set-ups keep it; `NATIVE=0` goes back. What is chosen is a file in `.venv`
with the key of the build that is installed.
"""

from __future__ import annotations

from compiled import Compiled
from steps import ROOT, VENV, WHEELS_LOCK, SetupError, install_locked, install_wheel, say, uninstall

CHOSEN = VENV / "native"


IK = Compiled(
    "ik-llama-cpp-python",
    "ik_llama.cpp",
    ROOT / "packaging" / "native.lock",
    minutes=10,
    memory=1_000_000_000,
    cmake=ROOT / "packaging" / "native.cmake",
)


def chosen() -> bool:
    return CHOSEN.exists()


def install_native(build: Compiled = IK) -> None:
    """Raises SetupError if it cannot be built; then the prebuilt library is there."""
    key = build.key()
    if CHOSEN.exists() and CHOSEN.read_text() == key:
        return
    try:
        wheel = build.wheel()
    except SetupError as error:
        if CHOSEN.exists():  # a build of another version or for another processor must not stay
            install_prebuilt(build)
        raise SetupError(f"{error}\nsetup: the prebuilt {build.title} stays, where there is one") from error
    install_wheel(wheel)
    CHOSEN.write_text(key)
    say(f"{build.title} is now compiled for this processor; `make setup NATIVE=0` goes back to the prebuilt library")


def keep_native(build: Compiled = IK) -> None:
    """A later set-up: the choice stands, but what failed is no reason to stop, or to try again each time."""
    try:
        install_native(build)
    except SetupError as error:
        say(str(error))


def install_prebuilt(build: Compiled = IK) -> None:
    """Where no wheel exists the lock file's line is void, and llama.cpp alone computes."""
    CHOSEN.write_text("")  # no build's key: if this is interrupted, either set-up installs anew
    uninstall(build.package)
    install_locked(f"the prebuilt {build.title}", WHEELS_LOCK)
    CHOSEN.unlink()
