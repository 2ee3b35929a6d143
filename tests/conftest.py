"""Settings for all tests: nothing is read from or left in the user's own folders."""

from __future__ import annotations

import gc
import os
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.windows_exceptions import ignored_files, skip_exceptions

# Waiting threads sleep early, because tests must also pass beside busy programs; their speed does not matter.
os.environ.setdefault("GOMP_SPINCOUNT", "500")
# Tests expect what a computer does that is plugged in, and must also pass on one that is not.
os.environ["CHICKADEE_BATTERY"] = "none"
# No deadline, for the same reason. Each run tries other examples; its last lines say how to repeat them.
# The shortest example that fails is looked for only if that is asked for: in a busy run, pytest-timeout ended tests
# meanwhile, and with them the whole process, which could not tell what had failed.
SHRINKS = "CHICKADEE_RANDOM_SHRINK" in os.environ
PHASES = [phase for phase in Phase if SHRINKS or phase not in (Phase.shrink, Phase.explain)]
for profile, examples in (("usual", 50), ("slow", 2_000)):
    settings.register_profile(
        profile,
        deadline=None,
        max_examples=examples,
        print_blob=True,
        phases=PHASES,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile("usual")
# Tests compare texts, so the window is English, whatever the system's language, until a test switches.
os.environ |= {"LANGUAGE": "en", "LC_ALL": "C.UTF-8"}
# Variables by which users move folders that programs otherwise have in their home folder.
MOVED_FOLDERS = (
    "HF_HOME", "HF_HUB_CACHE", "LLAMA_CACHE", "OLLAMA_MODELS", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
)  # fmt: skip


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose this run's seed, which all processes of the run share, before hypothesis reads it."""
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(secrets.randbelow(1 << 32))
    if config.option.markexpr == "slow":
        settings.load_profile("slow")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Tell how to try the same examples again."""
    seed = config.option.hypothesis_seed
    terminalreporter.write_line(
        f"The examples of this run: --hypothesis-seed={seed} (CHICKADEE_RANDOM_SHRINK=1 looks for the shortest)"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark hypothesis tests as slow where slow tests are asked for; run what once failed first, then long tests.

    A long test that began last would keep one process busy alone at the end.
    """
    items.sort(key=lambda item: [item.get_closest_marker(name) is None for name in ("found", "long")])
    if sys.platform == "win32":
        skip_exceptions(items)
    if config.option.markexpr == "slow":
        for item in items:
            if isinstance(item, pytest.Function) and getattr(item.obj, "is_hypothesis_test", False):
                item.add_marker("slow")


def pytest_collection_finish() -> None:
    """Keep modules and tests out of garbage collection: looking through them again costs 20 ms for each test."""
    gc.collect()
    gc.freeze()


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out files that cannot even be imported on Windows; each is listed with its reason."""
    return True if sys.platform == "win32" and collection_path in ignored_files() else None


def pytest_xdist_auto_num_workers() -> int:
    """Return one process more than usable cores, because some tests wait, but at most four.

    Five processes would not fit into the memory of a small laptop.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min((cores or 1) + 1, 4)


@pytest.fixture(scope="session", autouse=True)
def private_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give all tests a home folder of their own, so that models of the user's other programs are not found."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in MOVED_FOLDERS:
            patch.delenv(name, raising=False)
        for name, folder in {
            "HOME": "",
            "USERPROFILE": "",
            "CHICKADEE_CACHE_DIR": "cache",
            "CHICKADEE_DATA_DIR": "data",
        }.items():
            patch.setenv(name, str(home / folder))
        yield
