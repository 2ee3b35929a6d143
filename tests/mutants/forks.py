"""Pytest plugin: collects the tests once, and tests each mutant in a fork of this process, which needs no start-up.

A fork gives the functions that the mutant changes their new code, and a constant its new value wherever it is imported.
Whatever else a mutant changes, or a changed constant had done already, shows in a process of its own alone.
"""

from __future__ import annotations

import gc
import json
import os
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from inspect import CO_OPTIMIZED
from types import CodeType, FunctionType, ModuleType

import pytest

SOCKET = "CHICKADEE_MUTANTS_SOCKET"  # variable with the number of the socket for requests and answers
UNKNOWN = "unknown"  # answer for a mutant that only a process of its own shows
PLAIN = (str, bytes, int, float, tuple, list, dict, set, frozenset, type(None))


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Answer each request, a path with two texts and names of tests, by the name of the test that failed, or by ""."""
    if session.config.option.collectonly or SOCKET not in os.environ:
        return None
    with socket.socket(fileno=int(os.environ.pop(SOCKET))) as link, link.makefile(encoding="utf-8") as lines:
        link.sendall(b'""\n')  # all is collected
        for line in lines:
            answer = in_a_fork(partial(test, session, *json.loads(line)))
            link.sendall(f"{json.dumps(answer)}\n".encode())
    return True


def in_a_fork(work: Callable[[], str]) -> str:
    """Return what `work` returns in a fork of this process, or how the fork ended."""
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        os.write(writing, json.dumps(work()).encode())
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    # Not until the pipe's end: what the tests started may hold it for longer.
    answer = json.dumps(f"exit code {code}") if code else os.read(reading, 1 << 16).decode()
    os.close(reading)
    os.close(writing)
    return str(json.loads(answer))


def test(session: pytest.Session, path: str, old: str, new: str, names: Sequence[str]) -> str:
    """Run these tests of the broken module, or all without names; return the name of the first that fails, or ""."""
    gc.unfreeze()  # what is frozen is not found
    whole = break_functions(path, old, new)
    if not whole and not break_constants(path, new):
        return UNKNOWN
    failures = Failures()
    session.config.pluginmanager.register(failures)
    items = [each for each in session.items if not names or each.nodeid in names]
    for item, following in zip(items, [*items[1:], None], strict=True):
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if failures.names:
            break
    return next(iter(failures.names), "" if whole else UNKNOWN)


test.__test__ = False  # type: ignore[attr-defined]


class Failures:
    """Names of the tests that failed."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.names.append(report.nodeid)


def break_functions(path: str, old: str, new: str) -> bool:
    """Give the module's functions the code of its text `new`; return False if more differs or nothing is found."""
    before, after = (compile(text, path, "exec", dont_inherit=True) for text in (old, new))
    if shape(before, with_functions=False) != shape(after, with_functions=False):
        return False
    pairs = zip(functions(before), functions(after), strict=True)
    changed = {place_of(one): other for one, other in pairs if shape(one) != shape(other)}
    living = [each for each in gc.get_objects() if isinstance(each, FunctionType) and each.__code__.co_filename == path]
    broken = [(each, changed[place]) for each in living if (place := place_of(each.__code__)) in changed]
    alike = all(len(each.__code__.co_freevars) == len(code.co_freevars) for each, code in broken)
    if not alike or {place_of(each.__code__) for each, _ in broken} != changed.keys():
        return False
    for function, code in broken:
        function.__code__ = code
    return bool(changed)


def break_constants(path: str, new: str) -> bool:
    """Give the module's constants their values of its text `new`, wherever they are imported; False if none differs."""
    module = next((each for each in sys.modules.values() if getattr(each, "__file__", None) == path), None)
    if module is None:
        return False
    old, values = dict(vars(module)), {name: vars(module)[name] for name in ("__name__", "__file__", "__package__")}
    try:
        exec(compile(new, path, "exec", dont_inherit=True), values)
    except Exception:  # noqa: BLE001 - a process of its own tells what the tests make of it
        return False
    plain = {name: value for name, value in values.items() if isinstance(value, PLAIN) and name in old}
    changed = {name: value for name, value in plain.items() if repr(value) != repr(old[name])}
    for names in [vars(each) for each in sys.modules.values() if isinstance(each, ModuleType)]:
        names.update({name: value for name, value in changed.items() if names.get(name) is old[name]})
    return bool(changed)


def place_of(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def functions(code: CodeType) -> Iterator[CodeType]:
    """Yield the functions of a module and its classes, without those within functions."""
    for part in parts(code.co_consts):
        if part.co_flags & CO_OPTIMIZED:
            yield part
        else:
            yield from functions(part)


def parts(constants: Iterable[object]) -> Iterator[CodeType]:
    return (each for each in constants if isinstance(each, CodeType))


def shape(code: CodeType, with_functions: bool = True) -> tuple[object, ...]:
    """Return what two codes must have in common to do the same, wherever their lines are."""
    constants = tuple(
        repr(each)
        if not isinstance(each, CodeType)
        else each.co_name
        if not with_functions and each.co_flags & CO_OPTIMIZED
        else shape(each, with_functions)
        for each in code.co_consts
    )
    return (
        code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_flags,
        code.co_argcount, code.co_kwonlyargcount, code.co_exceptiontable, constants,
    )  # fmt: skip
