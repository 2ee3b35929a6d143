"""The engine's rights: what it is refused when it tries, and that all its work still succeeds without them."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from common.paths import path_text
from engine.protocol.events import Finished, Loaded, Restart, Welcome
from engine.protocol.requests import Generate, Hello, Load, Sampling
from models.default import default_model
from models.readable_files import readable_files
from tests.common.confined_program import linux, needs_landlock, private_file, run_attempts
from tests.engine.serve.test_process import MESSAGES, Pipe

CONFINED = """
from engine.rights import confine_engine, out_of_reach
confine_engine(sys.argv[1:])
"""


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """Return the default model under a path that is in no model folder."""
    path = tmp_path / "Downloads" / "model.gguf"
    path.parent.mkdir()
    try:
        os.link(default_model(), path)
    except OSError:  # another disk
        shutil.copyfile(default_model(), path)
    return path


@linux
def test_the_engine_tries_the_network_and_fails():
    """`python -m engine` calls the same function with its command line when it starts."""
    attempts = {
        "connection": "socket.create_connection(('127.0.0.1', int(sys.argv[1])))",
        "name": "socket.getaddrinfo('huggingface.co', 443)",
        "listening": "socket.create_server(('127.0.0.1', 0))",
        "datagram": "socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', int(sys.argv[1])))",
        "download": "__import__('urllib.request').request.urlopen(f'http://127.0.0.1:{sys.argv[1]}/')",
        "a child's": "child(f'import socket; socket.create_connection((\"127.0.0.1\", {sys.argv[1]}))')",
        "numpy": "__import__('numpy').ones(3).sum()",
    }
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        outcomes = run_attempts(CONFINED, attempts, str(server.getsockname()[1]))
        with pytest.raises(BlockingIOError):
            server.accept()
    assert outcomes.pop("numpy") == "done"
    assert outcomes == dict.fromkeys(outcomes, "PermissionError") | {"name": "gaierror", "download": "URLError"}


@linux
def test_the_remote_engine_connects_and_can_do_nothing_else(tmp_path):
    attempts = {
        "connection": "socket.create_connection(('127.0.0.1', int(sys.argv[1])))",
        "listening": "socket.create_server(('127.0.0.1', 0))",
        "a child's": "child('print(1)')",
    }
    confined = "from engine.rights import confine_engine\nconfine_engine(['remote'])\n"
    with socket.create_server(("127.0.0.1", 0)) as server:
        outcomes = run_attempts(confined, attempts, str(server.getsockname()[1]))
    assert outcomes == {"connection": "done", "listening": "PermissionError", "a child's": "PermissionError"}


@needs_landlock
def test_the_remote_engine_reads_no_file_of_the_users(tmp_path, monkeypatch):
    for name in ("HOME", "CHICKADEE_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    secret = private_file(tmp_path)
    (tmp_path / "library.sqlite3").write_text("chats")
    attempts = {
        "secret": f"open({str(secret)!r})",
        "chats": f"open({str(tmp_path / 'library.sqlite3')!r})",
        "new file": f"open({str(tmp_path / 'new')!r}, 'w')",
        "certificates": "__import__('ssl').create_default_context()",
        "names": "open('/etc/hosts')",
    }
    confined = "from engine.rights import confine_engine\nconfine_engine(['remote'])\n"
    outcomes = run_attempts(confined, attempts)
    refused = dict.fromkeys(("secret", "chats", "new file"), "PermissionError")
    assert outcomes == refused | {"certificates": "done", "names": "done"}


def test_nothing_starts_threads_before_the_engine_is_confined():
    """Such threads would stay unconfined: numpy starts some as soon as it is imported."""
    code = "import engine.__main__, sys; print(*{'numpy', 'llama_cpp', 'ik_llama_cpp'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == []


@needs_landlock
def test_the_engine_reads_what_it_was_told_of_and_nothing_else(tmp_path, monkeypatch):
    for name, folder in {"HOME": "home", "CHICKADEE_DATA_DIR": "data", "CHICKADEE_CACHE_DIR": "cache"}.items():
        monkeypatch.setenv(name, str(tmp_path / folder))
        (tmp_path / folder).mkdir()
    secret, models = private_file(tmp_path / "home"), tmp_path / "home" / ".lmstudio" / "models"
    models.mkdir(parents=True)
    (tmp_path / "data" / "library.sqlite3").write_text("chats")
    (tmp_path / "data" / "model-folders.json").write_text(json.dumps([str(tmp_path / "home")]))  # too much
    parts = [tmp_path / f"split-0000{number}-of-00002.gguf" for number in (1, 2)]
    for path in (*parts, models / "found.gguf", tmp_path / "question.txt", tmp_path / "other.gguf"):
        path.write_text("GGUF")
    paths = {
        "part": parts[1], "found": models / "found.gguf", "question": tmp_path / "question.txt",
        "secret": secret, "chats": tmp_path / "data" / "library.sqlite3", "other": tmp_path / "other.gguf",
    }  # fmt: skip
    attempts = {name: f"Path({str(path)!r}).read_text()" for name, path in paths.items()} | {
        "cache": f"Path({str(tmp_path / 'cache' / 'new')!r}).write_text('x')",
        "temporary file": "__import__('tempfile').TemporaryFile().close()",
        "trace": f"Path({str(tmp_path / 'trace.jsonl')!r}).write_text('x')",
        "model changed": f"Path({str(parts[0])!r}).write_text('x')",
        "beside": f"Path({str(tmp_path / 'new')!r}).write_text('x')",
        "own program": "Path('engine/new.py').write_text('x')",
    }
    arguments = ["chat", "--model", str(parts[0]), f"--prompt-file={paths['question']}"]
    arguments += ["--prompt", str(secret), "--trace", str(tmp_path / "trace.jsonl")]
    outcomes = run_attempts(CONFINED, attempts, *arguments)
    wanted = ("part", "found", "question", "cache", "temporary file", "trace")
    assert outcomes == {name: "done" if name in wanted else "PermissionError" for name in attempts}


@needs_landlock
def test_a_file_is_out_of_reach_only_where_a_new_process_would_help(tmp_path):
    named, other, gone = (tmp_path / name for name in ("named.gguf", "other.gguf", "gone.gguf"))
    named.write_text("GGUF")
    other.write_text("GGUF")
    answers = f"[out_of_reach(Path(name)) for name in {[str(path) for path in (named, other, gone, tmp_path)]}]"
    expected = [False, True, False, False]
    assert run_attempts(CONFINED, {"answers": f"{answers} == {expected} or 1 / 0"}, "--read", str(named)) == {
        "answers": "done"
    }


@needs_landlock
def test_a_file_whose_name_is_no_text_can_be_told_of(tmp_path):
    path = tmp_path / os.fsdecode(b"m\xff.gguf")
    path.write_text("GGUF")
    for named in (path, path_text(path)):
        of = readable_files([named])
        assert of.covers(named)
        assert not of.covers(tmp_path / "other.gguf")
        assert [argument.encode("utf-8", "replace").decode() for argument in of.arguments] == of.arguments
        attempts = {"named": "__import__('common.paths').paths.path_of(sys.argv[2]).read_text()"}
        assert run_attempts(CONFINED, attempts, *of.arguments) == {"named": "done"}


@needs_landlock
def test_a_model_that_lies_elsewhere_takes_a_process_that_is_told_of_it(elsewhere):
    pipe = Pipe()
    pipe.send(Load(1, str(default_model()), n_ctx=512, threads=1, backend="llama"))
    assert isinstance(pipe.end(1), Loaded)
    pipe.send(Load(2, str(elsewhere), n_ctx=512, threads=1, backend="llama"))
    assert pipe.end(2) == Restart(2, None)
    pipe.send(Load(3, str(default_model()), n_ctx=512, threads=1, backend="llama", draft_model=str(elsewhere)))
    assert pipe.end(3) == Restart(3, None)
    pipe.send(Generate(4, MESSAGES, Sampling(temperature=0), max_tokens=2))
    assert isinstance(pipe.end(4), Finished)  # what was loaded still is
    assert pipe.close() == 0
    pipe = Pipe(*readable_files([elsewhere]).arguments)
    pipe.send(Hello(1), Load(2, str(elsewhere), n_ctx=512, threads=1, backend="llama"))
    welcome = pipe.end(1)
    assert isinstance(welcome, Welcome)
    assert welcome.limits == ("files", "network")
    assert isinstance(pipe.end(2), Loaded)
    pipe.send(Generate(3, MESSAGES, Sampling(temperature=0), max_tokens=2))
    assert isinstance(pipe.end(3), Finished)
    assert pipe.close() == 0


@linux
def test_the_engine_still_does_all_that_it_has_to():
    """It loads, answers, saves, watches for crashes, times the disk, describes the machine and starts a command."""
    work = """
from common.confinement import limits
from engine.run_subprocess import run_engine_command
from engine.loading.crash_mark import CrashMark, CrashWatch, folder
from engine.engine import Engine
from common.folders import cache_folder
from engine import machine
from engine.costs import speeds
from engine.kv import saved, session
from engine.protocol.requests import Generate, Load, Message, Sampling
from engine.stop import Stopped
from models.default import default_model

session.MIN_SAVED_TOKENS = saved.MIN_SAVED_TOKENS = 32  # tokens of a chat that is saved: so few are soon read

def save():
    engine.stop.set()
    try:
        engine.idle()
    except Stopped:
        engine.stop.clear()
    assert list((cache_folder() / "chats").glob("*.kv"))

def crash():
    watch, mark = CrashWatch(), CrashMark("library", "model")
    watch.watch(mark)
    assert len(list(folder().glob(f"{mark.name}-*"))) == 1
    watch.watch(None)
    assert not list(folder().glob(f"{mark.name}-*"))

engine = Engine()
question = (Message("user", "Tell me of birds. " * 10),)
"""
    attempts = {
        "confined": "limits() or 1 / 0",
        "load": "engine.load(Load(0, str(default_model()), n_ctx=256, threads=1, backend='llama'))",
        "answer": "list(engine.generate(Generate(1, question, Sampling(temperature=0), max_tokens=2, chat='a')))",
        "save": "save()",
        "crash mark": "crash()",
        "disk": "speeds.disk_speeds(cache_folder(), 0.01, 1 << 20)",
        "machine": "(machine.memory(), machine.fingerprint(), machine.last_level_cache(), machine.resident_bytes())",
        "command apart": "list(run_engine_command('cache', 'list'))[-1] and 1 / 0",
        "close": "engine.close()",
    }
    assert run_attempts(CONFINED + work, attempts) == dict.fromkeys(attempts, "done")
