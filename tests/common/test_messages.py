"""Tests of the table of messages against the code: each id that is used exists with its holes, and each id is used."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

from common.messages import MESSAGES
from engine.protocol.settings import OF_REQUESTS

ROOT = Path(__file__).parents[2]
ROOMS = ("app", "common", "engine", "models")
MADE = {"Failure", "Sentence.of"}  # calls that make a sentence of an id and values
# Modules that speak English only, to developers and users of the terminal.
COMMANDS = (
    "app/self_test.py", "engine/commands/", "models/commands/", "training/",
    "benchmarks/",
)  # fmt: skip


def sources(rooms: tuple[str, ...]) -> Iterator[tuple[str, ast.Module]]:
    for room in rooms:
        for path in sorted((ROOT / room).rglob("*.py")):
            if path != ROOT / "common" / "messages.py":
                yield path.relative_to(ROOT).as_posix(), parsed(path)


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def called(call: ast.Call) -> str:
    """Return the called name, `name` or `name.attribute`; '' for anything longer."""
    match call.func:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=name), attr=attribute):
            return f"{name}.{attribute}"
    return ""


def literals(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Constant(value=str() as text):
            yield text
        case ast.IfExp(body=one, orelse=other):
            yield from literals(one)
            yield from literals(other)


def holes(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def texts_of(id: str) -> tuple[str, ...]:
    message = MESSAGES[id]
    return message if isinstance(message, tuple) else (message,)


def made(tree: ast.Module) -> Iterator[tuple[ast.Call, list[str]]]:
    """Yield the calls that make a sentence, each with the message ids that it names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and called(node) in MADE and node.args:
            yield node, list(literals(node.args[0]))


@pytest.mark.parametrize("room", ROOMS)
def test_each_id_that_is_used_is_in_the_table_with_its_values(room: str) -> None:
    for name, tree in sources((room,)):
        for call, ids in made(tree):
            given = {keyword.arg for keyword in call.keywords}
            for id in ids:
                assert id in MESSAGES, f"{name}:{call.lineno}"
                for text in texts_of(id):
                    # `**values` may contain any; of two texts, one may leave out the number
                    wanted = holes(text) | ({"n"} if len(texts_of(id)) > 1 else set())
                    assert None in given or given == wanted, f"{name}:{call.lineno}"


def test_each_id_of_the_table_is_used() -> None:
    said = {
        node.value
        for _, tree in sources(ROOMS)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert set(MESSAGES) - said == set()


def test_ids_that_are_looked_up_are_in_the_table() -> None:
    """An id that is no literal in the call comes from one of these tables."""
    from app.store.database import KNOWN
    from common.process_end import SIGNALS
    from engine.devices.refusal import SENTENCES
    from models.vocabulary_match import SPECIAL

    assert {*SIGNALS.values(), *SENTENCES.values(), *KNOWN, *SPECIAL.values()} <= set(MESSAGES)
    found = {(name, ast.unparse(call.args[0])) for name, tree in sources(ROOMS) for call, ids in made(tree) if not ids}
    assert found == {
        ("common/process_end.py", "known"),
        ("app/control/dictation_controller.py", "outcome.problem"),
        ("app/services/background.py", "BUG"),
        ("app/control/server_keys.py", "reason"),
        ("app/services/server_probe.py", "EngineEnd(end.exit_code, end.signal_number, end.not_started).sentence"),
        ("app/services/server_probe.py", "event.sentence"),
        ("app/store/database.py", "known"),
        ("app/store/database.py", "BUG"),
        ("app/store/readers/database.py", "code"),
        ("app/state/snippets.py", "id"),
        ("common/failures.py", "sentence"),
        ("engine/client_process.py", "changed.end.sentence"),
        ("engine/client_process.py", "changed.failed.sentence"),
        ("engine/client_process.py", "event.sentence"),
        ("engine/api/server.py", "reason"),
        ("engine/devices/refusal.py", "SENTENCES[self.problem]"),
        ("engine/kv/chat_cache.py", "self._why_not"),
        ("engine/loading/first_look.py", "refusal.sentence"),
        ("engine/loading/from_disk.py", "words"),
        ("engine/remote/engine.py", "failure.sentence"),
        ("engine/remote/engine.py", "self._forbidden"),
        ("engine/runtime/capi/model.py", "id"),
        ("models/commands/pull.py", "job.problem"),
        ("models/download_queue.py", "problem"),
        ("models/network.py", "_reason(error)"),
        ("models/network.py", "reason"),
        ("models/removal.py", "sentence"),
        ("models/split.py", "reason"),
        ("models/vocabulary_match.py", "meaning"),
        ("models/vocabulary_match.py", "what"),
    }


def test_every_id_is_a_code_and_a_name() -> None:
    for id, message in MESSAGES.items():
        code, _, which = id.partition(".")
        assert code.isidentifier(), id
        assert which.isidentifier(), id
        assert holes(texts_of(id)[0]) <= holes(texts_of(id)[-1]) | {"n"}
        if isinstance(message, str):
            assert "n" not in holes(message), f"{id}: a message with a number n has two texts"


def test_only_the_terminal_speaks_english_alone() -> None:
    for name, tree in sources((*ROOMS, "training", "benchmarks")):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and called(node) == "CommandFailure":
                assert name.startswith(COMMANDS), f"{name}:{node.lineno}"


def test_a_user_of_the_packaged_program_is_not_sent_to_python() -> None:
    """Which program to type is a value of the message; settings name only the command."""
    texts = [text for id in MESSAGES for text in texts_of(id)]
    texts += [text for setting in OF_REQUESTS.values() for text in (setting.help, setting.own_help)]
    assert [text for text in texts if "python -m" in text] == []
