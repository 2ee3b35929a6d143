"""The chat on the terminal, run as a person runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from engine.__main__ import main
from engine.commands.terminal import Conversation, Output
from engine.costs import calibration
from engine.protocol.requests import Generate
from tests.engine.altered import STRING, Value, write_altered
from tests.engine.remote.fake_server import MODEL, fake_server

REPORT = {
    "text": str,
    "tokens": list,
    "prompt_tokens": int,
    "reused_tokens": int,
    "prompt_seconds": float,
    "decode_tokens": int,
    "decode_seconds": float,
    "steps": int,
    "stop_reason": str,
    "kv_policy": str,
    "fixed_tokens": int,
    "pending_tokens": int,
    "recomputed_tokens": int,
    "recompute_seconds": float,
    "drafted": int,
    "accepted": int,
    "drafters": dict,
    "drafting_seconds": float,
    "verifying_seconds": float,
    "estimated_speedup": float,
    "thinking_tokens": int,
    "thinking_seconds": float,
    "threads": int,
    "prompt_threads": int,
    "model": str,
    "backend": str,
}


def run(*arguments: str, input: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "engine", "chat", *arguments]
    return subprocess.run(command, capture_output=True, text=True, input=input, timeout=240)


@pytest.fixture
def once(capsys) -> Callable[..., str]:
    """Return a function that asks one question in this process and returns the output.

    A new process would take a second to import what it needs.
    """

    def ask(*arguments: str) -> str:
        assert main(["chat", "--threads", "1", "--ctx", "512", *arguments]) == 0
        printed = capsys.readouterr()
        assert printed.err == ""
        return str(printed.out)

    return ask


def test_json_report():
    done = run("--prompt", "Say hello.", "--max-tokens", "6", "--greedy", "--json", "--threads", "2", "--ctx", "512")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    report = json.loads(done.stdout)
    assert {name: type(value) for name, value in report.items()} == REPORT
    assert report["decode_tokens"] == len(report["tokens"]) == 6
    assert report["stop_reason"] == "length"


def test_trace(once, tmp_path):
    trace = str(tmp_path / "trace.jsonl")
    once("--prompt", "Say hello.", "--max-tokens", "6", "--greedy", "--draft", "off", "--trace", trace)
    passes = [json.loads(line) for line in (tmp_path / "trace.jsonl").read_text().splitlines()]
    assert [p["step"] for p in passes] == [1, 2, 3, 4, 5]
    assert all(p["keep"] and p["inputs"] == 1 and p["seconds"] > 0 for p in passes)


def test_a_drafter_that_is_named_has_the_passes_timed_first(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(calibration, "BUDGET", 0.2)
    model = write_altered(tmp_path / "small.gguf")
    question = ["chat", "--model", str(model), "--prompt", "Say it again: the wren sings.", "--threads", "1"]
    question += ["--greedy", "--max-tokens", "8", "--json"]
    assert main([*question, "--draft", "history"]) == 0
    first = capsys.readouterr()
    assert first.err.startswith("chickadee: Timing this model's passes first")
    kept = bool(list(tmp_path.glob("calibration/*")))
    assert main([*question, "--draft", "history"]) == 0
    assert kept == ("another program was busy" not in first.err)
    assert kept == (capsys.readouterr().err == "")
    assert main(question) == 0
    assert capsys.readouterr().err == ""


def test_published_drafts_in_numbers(once):
    sizes = ("--draft", "history-published", "--match", "2", "--m", "3", "--n", "5", "--select", "random")
    prompt = "Say it four times: the wren sings. the wren sings."
    report = json.loads(once("--prompt", prompt, "--greedy", "--max-tokens", "24", "--json", *sizes))
    numbers = report["drafters"]["history-published"]
    assert set(numbers) == {"proposed", "drafted", "accepted", "seconds"}
    assert 0 < numbers["accepted"] == report["accepted"] <= numbers["drafted"] == report["drafted"]
    assert report["steps"] < report["decode_tokens"] - 1
    assert report["verifying_seconds"] > 0


def test_messages_file_and_seed(once, tmp_path):
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Name a bird."}]
    (tmp_path / "chat.json").write_text(json.dumps(chat))
    arguments = ("--messages", str(tmp_path / "chat.json"), "--seed", "4", "--max-tokens", "8")
    assert once(*arguments) == once(*arguments) != "\n"


def test_interactive_chat_over_lines(tmp_path):
    lines = "/help\nName a bird.\n/stats\n/fly\n/system Be brief.\n/new\n/quit\n"
    done = run("--greedy", "--max-tokens", "8", "--threads", "1", "--ctx", "512", input=lines)
    assert done.returncode == 0, done.stderr
    for words in ("/new", "tok/s", "Unknown command: /fly", "New chat"):
        assert words in done.stdout


def test_a_stopped_answer_goes_on_in_the_terminal(once):
    lines = "Count from one to twenty in words.\n/continue\n/new\n/continue\n/quit\n"
    done = run("--greedy", "--max-tokens", "6", "--threads", "1", "--ctx", "512", "--backend", "llama", input=lines)
    whole = once("--prompt", "Count from one to twenty in words.", "--greedy", "--max-tokens", "12", "--json")
    first, second = done.stdout.split("\n> ")[1:3]
    assert json.loads(whole)["text"] == first.strip("\n") + second.strip("\n")
    assert "There is no unfinished answer to continue." in done.stdout


def test_a_full_context_asks_before_it_forgets():
    question = "word " * 75
    lines = f"{question}\n{question}\n{question}\nn\n{question}\ny\n/quit\n"
    done = run("--greedy", "--max-tokens", "4", "--threads", "1", "--ctx", "256", input=lines)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Leave out the oldest") >= 2
    assert done.stdout.count("[y/N]") == 2


def test_ctrl_c_stops_the_answer_and_the_chat_goes_on():
    pty = pytest.importorskip("pty", reason="a terminal that a program plays is POSIX's")
    screen, child_end = pty.openpty()
    command = [sys.executable, "-m", "engine", "chat", "--greedy", "--threads", "1", "--ctx", "512"]
    process = subprocess.Popen(command, stdin=child_end, stdout=child_end, stderr=child_end, start_new_session=True)
    os.close(child_end)
    read_until(screen, b"> ")
    os.write(screen, b"Tell me a very long story.\n")
    read_until(screen, b"\n")  # of the question
    read_until(screen, b" ")  # of the answer
    process.send_signal(signal.SIGINT)
    read_until(screen, b"(stopped)")
    os.write(screen, b"/quit\n")
    assert process.wait(120) == 0
    os.close(screen)


def read_until(screen: int, words: bytes) -> None:
    seen = b""
    while words not in seen:
        seen += os.read(screen, 4096)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--model", "missing.gguf", "--prompt", "x"], "no file"),
        (["--model", ".", "--prompt", "x"], "folder"),
        (["--model", __file__, "--prompt", "x"], "not a GGUF"),
        (["--prompt", "  "], "empty"),
        (["--prompt-file", "missing.txt"], "cannot be read"),
        (["--messages", __file__], "not a JSON list"),
        (["--json"], "--json needs"),
        (["--greedy", "--temp", "1", "--prompt", "x"], "cannot be combined"),
        (["--temp", "-3", "--prompt", "x"], "temperature"),
        (["--ctx", "3", "--prompt", "x"], "64 tokens"),
        (["--threads", "0", "--prompt", "x"], "threads"),
        (["--max-tokens", "-1", "--prompt", "x"], "longest answer"),
        (["--seed", "-1", "--prompt", "x"], "seed"),
        (["--draft", "history", "--n", "5", "--prompt", "x"], "--n belongs to --draft history-published"),
        (["--draft", "history-published", "--n", "1", "--prompt", "x"], "2 to 64 tokens"),
        (["--draft", "history-published", "--m", "9", "--n", "8", "--prompt", "x"], "1 to 8 sequences"),
        (["--draft", "model", "--prompt", "x"], "needs a --draft-model"),
        (["--draft", "history", "--draft-model", "d.gguf", "--prompt", "x"], "--draft-model belongs"),
        (["--trace", "/nowhere/at/all", "--prompt", "x"], "trace"),
    ],
)
def test_bad_input_is_a_sentence_and_an_exit_code(arguments, words, capsys):
    assert main(["chat", *arguments]) != 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert words.lower() in printed.err.lower()
    first, *details = printed.err.splitlines()
    assert first.startswith("chickadee: ")
    assert all(line.startswith("  ") for line in details)
    assert "Traceback" not in printed.err


@pytest.mark.parametrize("command", [["chat", "--prompt", "x"], ["plan"]])
def test_the_librarys_own_reason_is_told(command, tmp_path, capsys):
    path = write_altered(tmp_path / "bird.gguf", {"tokenizer.ggml.pre": Value("birdsong", STRING)})
    model = ["--model", str(path)] if command[0] == "chat" else [str(path)]
    assert main([*command, *model, "--backend", "llama"]) != 0
    sentence, reason, *_ = capsys.readouterr().err.splitlines()
    assert "bird.gguf needs the tokenizer “birdsong”" in sentence
    assert reason.startswith("  ")
    assert "unknown pre-tokenizer type: 'birdsong'" in reason


def test_unknown_names_are_refused(capsys):
    for arguments in (["--draft", "fly"], ["--draft", "history-published", "--select", "oldest"]):
        with pytest.raises(SystemExit):
            main(["chat", *arguments, "--prompt", "x"])
        assert "invalid choice" in capsys.readouterr().err


def test_prompt_too_long(tmp_path, capsys):
    (tmp_path / "long.txt").write_text("word " * 5000)
    assert main(["chat", "--prompt-file", str(tmp_path / "long.txt"), "--ctx", "512"]) != 0
    assert "the context holds 512" in capsys.readouterr().err


def test_ctrl_c_before_an_answer_begins_leads_back_to_the_prompt(engine, monkeypatch, capsys):
    def stops(_text, special):
        engine.stop.set()
        return [1]

    monkeypatch.setattr(engine._loaded().model.vocabulary, "_tokenize", stops)
    conversation = Conversation(engine, engine._loaded().info, Generate(0, ()), Output(show=True))
    conversation._answer("A very long text.")
    assert capsys.readouterr().out == "(stopped)\n"
    assert conversation.messages == []


def test_a_server_answers_by_the_process_that_asks_servers() -> None:
    with fake_server() as server:
        answered = run("--server", server.url, "--prompt", "hello there")
        assert answered.stdout == "hello there \n", answered.stderr
        report = json.loads(run("--server", server.url, "--prompt", "hello", "--json").stdout)
        assert report["text"] == "hello "
        assert report["model"].endswith(MODEL["id"])
        refused = run("--server", server.url, "--prompt", "status 500")
        assert refused.returncode == 2
        assert refused.stderr.startswith("chickadee: ")


def test_a_server_with_several_models_is_asked_for_none_until_one_is_named() -> None:
    with fake_server({"id": "small"}, {"id": "large"}) as server:
        several = run("--server", server.url, "--prompt", "hello")
        assert several.returncode == 2
        assert "Name one with --server-model: small, large." in several.stderr
        assert not server.bodies
        assert run("--server", server.url, "--server-model", "large", "--prompt", "hello").stdout == "hello \n"
        assert server.bodies[-1]["model"] == "large"
        gone = run("--server", server.url, "--server-model", "huge", "--prompt", "hello")
        assert "does not have huge any more" in gone.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="no signal like Ctrl-C")
def test_ctrl_c_stops_an_answer_of_a_server() -> None:
    with fake_server() as server:
        command = [sys.executable, "-m", "engine", "chat", "--server", server.url, "--prompt", "slow"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as chat:
            assert chat.stdout
            assert chat.stdout.read(4)
            chat.send_signal(signal.SIGINT)
            chat.communicate(timeout=60)
        assert chat.returncode == 0
        assert server.gone.wait(30)
