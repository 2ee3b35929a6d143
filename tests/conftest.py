"""For all tests: nothing is read from or left in the user's own folders."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

# Threads that sleep early: tests must get through beside other busy programs too, and their speed does not matter.
os.environ.setdefault("GOMP_SPINCOUNT", "500")
# No deadline for the same reason. A run is like the one before; `make test-slow` tries many more examples, and others.
settings.register_profile("usual", deadline=None, max_examples=20, derandomize=True)
settings.register_profile("slow", deadline=None, max_examples=400)
settings.load_profile("usual")
# Words are compared: whatever the system speaks, the window speaks English until a test switches.
os.environ |= {"LANGUAGE": "en", "LC_ALL": "C.UTF-8"}


def pytest_configure(config: pytest.Config) -> None:
    if config.option.markexpr == "slow":
        settings.load_profile("slow")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What hypothesis makes up examples for is slow too where slow tests are asked for. Long tests begin first: nobody
    waits at the end for one of them alone."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
    if config.option.markexpr == "slow":
        for item in items:
            if isinstance(item, pytest.Function) and getattr(item.obj, "is_hypothesis_test", False):
                item.add_marker("slow")


def pytest_xdist_auto_num_workers() -> int:
    """One more than usable cores, for some tests wait; five would not fit into the memory of a small laptop."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min((cores or 1) + 1, 4)


@pytest.fixture(scope="session", autouse=True)
def private_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("home")
    names = {"CHICKADEE_CACHE_DIR": "cache", "CHICKADEE_DATA_DIR": "data"}
    before = {name: os.environ.get(name) for name in names}
    os.environ.update({name: str(folder / part) for name, part in names.items()})
    yield
    for name, value in before.items():
        os.environ.pop(name)
        if value is not None:
            os.environ[name] = value
