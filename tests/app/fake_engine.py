"""A scripted engine: speaks the protocol over stdin and stdout and obeys words in the user's last message.

- slow: text until cancelled
- read: prefill progress first; with "wait" until cancelled
- die: some text, then SIGKILL
- nonsense: broken lines between the text
- refuse: a failure
- mute: nothing until Cancel, then a failure
- many: a hundred paragraphs
- notice: a Notice and an empty answer
- outdo: the other library is now faster, so the next Load asks for a new process
- long: too long, with remedies, unless turns are forgotten or the context is larger
- full: text until the context is full
- hang: some text, then no reaction to Cancel
- use, at the beginning of lines, with tools: a call for each such line, "use name {arguments}"; with "in rounds" each
  in an answer of its own; then an answer with the last result
- How much, with a picture: the picture is looked at until Cancel
- ponder: a thought until AnswerNow or Cancel, then an answer
- a request for a title gets one; with "dawdle" in the chat, only once another request has come, and then none
- otherwise: an echo

Words in a model's path:

- missing: the model cannot be loaded
- large: the model does not fit into memory until the file `room` exists beside it
- fromdisk: the model is larger than the memory, and loaded once the file `go` exists beside it
- slowload: the model is loaded once the file `go` exists beside it
- crash: the process ends; with "once" only the first one
- unheard: the model is loaded by a library that the window does not know
- tight: the model leaves little memory
- grown: the model is large enough for titles
- thinker: the model can think or not, and does by default
- effortful: the model thinks with an effort, usually medium
- -vl-: the model sees
- hybrid: the model needs llama.cpp, which is there once the file `compiled` exists beside it
- other (in the file's name): a new process is asked for first

Each Load, Prepare, Generate, Title and Watch is logged in `requests.log` beside the model. A Prepare of a chat with
"read" in it continues until the next request. A token has four characters; a text with "uncounted" is never counted.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import queue
import re
import signal
import socket
import sys
import threading
import time
from dataclasses import replace
from typing import Any

from common.paths import path_of
from common.sentences import Sentence
from engine.protocol import events, lines, requests

REQUESTS: queue.Queue[requests.Request | None] = queue.Queue()
CANCELLED: set[int] = set()
ANSWERING_NOW: set[int] = set()


def say(event: events.Event) -> None:
    sys.stdout.buffer.write(lines.encode(event))
    sys.stdout.buffer.flush()


def listen() -> None:
    for line in sys.stdin.buffer:
        request = lines.decode_request(line)
        if isinstance(request, requests.Cancel):
            CANCELLED.add(request.request)
            say(events.Cancelled(request.id, True))
        elif isinstance(request, requests.AnswerNow):
            ANSWERING_NOW.add(request.request)
            say(events.AnsweringNow(request.id, True))
        elif isinstance(request, requests.Count):
            if not any("uncounted" in text for text in request.texts):
                say(count(request))
        else:
            REQUESTS.put(request)
    os._exit(0)


def end_as(signal_name: str, windows_code: int) -> None:
    """End this process by a signal, on Windows by the exit code that stands for it."""
    if sys.platform == "win32":
        ctypes.windll.kernel32.TerminateProcess(ctypes.c_void_p(-1), windows_code)
    else:
        os.kill(os.getpid(), signal.Signals[signal_name])


def count(request: requests.Count) -> events.Counted:
    """Count the request's tokens: one for four characters."""
    texts = tuple(len(text) // 4 for text in request.texts)
    return events.Counted(request.id, texts, sum(len(message.content) // 4 + 5 for message in request.messages))


def info(path: str, n_ctx: int) -> events.ModelInfo:
    from models.titles import title_of  # imported late, because it takes longest and only Load needs it

    thinking = events.ThinkingControls()
    if "thinker" in path:
        thinking = events.ThinkingControls(switch=True, default=True)
    elif "effortful" in path:
        thinking = events.ThinkingControls(efforts=("low", "medium", "high"), default_effort="medium")
    title = title_of(path_of(path))
    parameters = 1_500_000_000 if "grown" in path else 1_000_000
    vision = events.Vision(token_side=28) if "-vl-" in path.lower() else None
    return events.ModelInfo(
        path, title, "llama", parameters, 1_000_000, n_ctx, 32768, 2, "model", thinking=thinking, vision=vision
    )


def load(request: requests.Load) -> events.ModelInfo | None:
    note(request.path, request)
    say(events.LoadProgress(request.id, 0.5))
    if "missing" in request.path:
        say(events.Failed(request.id, Sentence.of("no_such_file.model", path=request.path), "details for the log"))
        return None
    if "large" in path_of(request.path).name and not path_of(request.path).with_name("room").exists():
        reasons = Sentence.plain("large needs 20 GB; 6 GB are free")
        say(events.Failed(request.id, Sentence.of("out_of_memory.plan", reasons=reasons)))
        return None
    if "hybrid" in request.path and not path_of(request.path).with_name("compiled").exists():
        say(events.Failed(request.id, Sentence.of("no_backend.for_model", reason="It is a hybrid.")))
        return None
    path = path_of(request.path)
    crashed = path.with_name("crashed")
    if "crash" in request.path and not ("once" in request.path and crashed.exists()):
        crashed.touch()
        end_as("SIGSEGV", 0xC0000005)
    restarted = path.with_name("restarted")
    outdone = path.with_name("outdone").exists()
    if ("other" in path.name or outdone) and not restarted.exists():
        restarted.touch()
        say(events.Restart(request.id, "ik"))
        return None
    if "fromdisk" in request.path:
        sentence = Sentence.of("from_disk.slow", name=path.stem, speed=Sentence.of("unit.speed", rate="0.4"))
        say(events.SpeedExpected(request.id, sentence, 0.4, is_slow=True))
    while ("slowload" in request.path or "fromdisk" in request.path) and not path.with_name("go").exists():
        time.sleep(0.01)
    if "unheard" in request.path:  # as a newer engine might answer
        said = lines.encode(events.Loaded(request.id, info(request.path, 4096), 0.1))
        sys.stdout.buffer.write(said.replace(b'"backend":"llama"', b'"backend":"of-a-newer-engine"'))
        sys.stdout.buffer.flush()
        return None
    backend: requests.BackendName = "ik" if "other" in path.name or outdone else "llama"
    model = replace(info(request.path, request.n_ctx or 4096), backend=backend, tight="tight" in request.path)
    say(events.Loaded(request.id, model, 0.1))
    return model


def finish(request: requests.Generate, reason: requests.StopReason, tokens: int, thinking: int = 0) -> None:
    numbers = events.Statistics(20, 5, 0.1, tokens, 0.5, tokens, reason, 20 + tokens, 4096, thinking_tokens=thinking)
    say(events.Finished(request.id, numbers, ()))


def note(model: str, request: requests.Request) -> None:
    with path_of(model).with_name("requests.log").open("ab") as log:
        log.write(lines.encode(request))


def prepare(request: requests.Prepare) -> None:
    total = 20 * len(request.messages)
    if any("read" in message.content for message in request.messages):
        total = 3000
        say(events.PrefillProgress(request.id, 1000, total, 0))
        while REQUESTS.empty():
            time.sleep(0.01)
    say(events.Prepared(request.id, total, total))


def write_title(request: requests.Title) -> None:
    if any("dawdle" in message.content for message in request.messages):
        while REQUESTS.empty():
            time.sleep(0.01)
        say(events.Failed(request.id, Sentence.of("cancelled.request")))
        return
    asked = next(message.content for message in request.messages if message.role == "user")
    say(events.Titled(request.id, "Sure!" if "untitled" in asked else f'**Title:** "About {asked}"'))


def too_long(request: requests.Generate, model: events.ModelInfo) -> None:
    remedies = (
        events.Remedy("forget_turns", turns=2),
        events.Remedy("larger_context", n_ctx=8192),
        events.Remedy("smaller_kv", n_ctx=16384, kv_type="q8_0"),
    )
    parts = {"needed": Sentence.of("turns.tokens", tokens=5000), "first": Sentence.of("turns.leave_out", n=2)}
    other = Sentence.of("turns.larger_context", n_ctx=8192)
    sentence = Sentence.of("prompt_too_long.chat", **parts, n_ctx=model.n_ctx, other=other)
    say(events.Failed(request.id, sentence, "", remedies))


def generate(request: requests.Generate, model: events.ModelInfo) -> None:
    words = next(message.content for message in reversed(request.messages) if message.role == "user")
    if "mute" in words:
        while request.id not in CANCELLED:
            time.sleep(0.01)
        say(events.Failed(request.id, Sentence.of("cancelled.request")))
        return
    read(request, words)
    if "long" in words and not request.forget_turns and model.n_ctx < 8192:
        too_long(request, model)
    elif not answer_as_asked(request, words, model):
        text = "\n\n".join(f"Paragraph {n} of many." for n in range(100)) if "many" in words else f"echo: {words}"
        for start in range(0, len(text), 7):
            say(events.Text(request.id, text[start : start + 7]))
        finish(request, "end", 10)


def read(request: requests.Generate, words: str) -> None:
    """Report the progress of reading the prompt, and wait for a stop where the words ask for that."""
    say(events.PrefillProgress(request.id, 0, 3000, 0))
    if request.messages[-1].pictures and any(part in words for part in ("How much", "多少")):
        say(events.PrefillProgress(request.id, 30, 600, 0, looking=0.4))
        while request.id not in CANCELLED:
            time.sleep(0.01)
    if "read" in words:
        for done in (1000, 1200):
            time.sleep(0.05)
            say(events.PrefillProgress(request.id, done, 3000, 0))
        while request.id not in CANCELLED and "wait" in words:
            time.sleep(0.01)


def answer_as_asked(request: requests.Generate, words: str, model: events.ModelInfo) -> bool:
    """Answer as a word of the message asks; return False if it has no such word."""
    if request.tools and (calls := re.findall(r"^use (\S+) (.*)$", words, re.MULTILINE)):
        use_tools(request, calls, "in rounds" in words)
    elif "full" in words:
        say(events.Text(request.id, "Half an answer"))
        finish(request, "context", 2)
    elif "brim" in words:
        say(events.Text(request.id, f"echo: {words}"))
        finish(request, "end", 3500)
    elif "hang" in words:
        say(events.Text(request.id, "The partial answer"))
        time.sleep(3600)
    elif "refuse" in words:
        say(events.Failed(request.id, Sentence.plain("This chat has 9,000 tokens, 4,096 fit."), "prompt=9000"))
    elif "outdo" in words:
        path_of(model.path).with_name("outdone").touch()
        say(events.Text(request.id, "outdone"))
        finish(request, "end", 1)
        say(events.Faster(0, "ik"))
    elif "notice" in words:
        say(events.Notice(0, Sentence.of("cache_full.disk")))
        finish(request, "end", 1)
    elif "die" in words:
        say(events.Text(request.id, "The partial answer"))
        time.sleep(0.2)
        end_as("SIGKILL", 0xC0000017)
    elif "remembered" in words:
        said = next(message.content for message in request.messages if message.role == "user")
        say(events.Text(request.id, f"- The user said: {said}\nnone\n* The moon is made of cheese."))
        finish(request, "end", 10)
    elif "ponder" in words:
        ponder(request)
    elif "slow" in words:
        write_for_ever(request, model)
    elif "nonsense" in words:
        say(events.Text(request.id, "before "))
        sys.stdout.buffer.write(b'this is not JSON\n{"v": 99}\n\xff\xfe\n{"v": 1, "type": "text", "id": []}\n')
        sys.stdout.buffer.flush()
        say(events.Text(request.id, "after"))
        finish(request, "end", 2)
    else:
        return False
    return True


def use_tools(request: requests.Generate, calls: list[tuple[str, str]], rounds: bool) -> None:
    """Call the tools that are still to be called, or answer with the last result."""
    last = max(at for at, message in enumerate(request.messages) if message.role == "user")
    done = sum(message.role == "tool" for message in request.messages[last:])
    left = [] if request.tool_choice == "none" else calls[done:][: 1 if rounds else None]
    for index, (name, arguments) in enumerate(left):
        say(events.ToolCallStarted(request.id, index, f"call {done + index}", name))
        say(events.ToolCallArguments(request.id, index, arguments))
    if not left:
        say(events.Text(request.id, f"result: {request.messages[-1].content}"))
    finish(request, "tool_calls" if left else "end", 10)


def watch(request: requests.Watch, model: events.ModelInfo | None) -> None:
    if model:
        note(model.path, request)
    say(events.Watching(request.id, request.on))
    if request.on:
        history = (events.DrafterStatistics("history", 40, 30, 20, 0.1),)
        cached: dict[str, Any] = {"fixed": 300, "pending": 4, "saved": 256, "capacity": 512}
        costs = ((1, 1.0), (8, 3.0))
        say(events.Pulse(0, 42_000_000, 500_000_000, 1_000_000_000, **cached, steps=20, tokens=40, decode_seconds=2.0,
                    drafters=history, costs=costs, batch=8))  # fmt: skip


def ponder(request: requests.Generate) -> None:
    say(events.ThinkingStarted(request.id, "<think>"))
    count = 0
    while request.id not in ANSWERING_NOW | CANCELLED:
        say(events.Thinking(request.id, f"hm{count} "))
        count += 1
        time.sleep(0.01)
    if request.id not in CANCELLED:
        say(events.ThinkingEnded(request.id, "</think>", True, 340, 12.0))
        say(events.Text(request.id, "The answer."))
    finish(request, "cancelled" if request.id in CANCELLED else "end", 343, 340)


def write_for_ever(request: requests.Generate, model: events.ModelInfo) -> None:
    count = 0
    while request.id not in CANCELLED:
        if request.background and not REQUESTS.empty():
            pause(model)
        say(events.Text(request.id, f"word{count} " if count % 10 else f"\n\nparagraph {count} "))
        count += 1
        time.sleep(0.01)
    finish(request, "cancelled", count)


def pause(model: events.ModelInfo) -> None:
    """Answer what waits, as an engine does that writes in the background."""
    request = REQUESTS.get()
    if isinstance(request, requests.Generate):
        note(model.path, request)
        generate(request, model)
    else:
        REQUESTS.put(request)


def main() -> None:
    sys.stderr.write("fake engine: hello from stderr\n")
    sys.stderr.flush()
    threading.Thread(target=listen, daemon=True).start()
    model: events.ModelInfo | None = None
    while True:
        match REQUESTS.get():
            case requests.Hello() as request:
                say(events.Welcome(request.id, "fake", "none", os.getpid()))
            case requests.Load() as request:
                model = load(request) or (model if "hybrid" in request.path else None)  # the old model stays loaded
            case requests.Generate() as request:
                assert model
                note(model.path, request)
                generate(request, model)
            case requests.Prepare() as request:
                assert model
                note(model.path, request)
                prepare(request)
            case requests.Title() as request:
                assert model
                note(model.path, request)
                write_title(request)
            case requests.Forget() as request:
                say(events.Forgotten(request.id))
            case requests.Status() as request:
                say(events.StatusReport(request.id, model, 0, 42_000_000))
            case requests.Watch() as request:
                watch(request, model)
            case _:
                os._exit(0)  # an orderly exit would wait for the reading thread


def serve_forks(path: str) -> None:
    """Listen at `path`; for each connecting `fake_engine_client`, fork this process, which has imported everything."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel removes ended children
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        sys.stdout.write("listening\n")
        sys.stdout.flush()
        listening.settimeout(5)
        tests = os.getppid()
        while os.getppid() == tests:
            try:
                connection, _ = listening.accept()
            except TimeoutError:
                continue
            if os.fork() == 0:
                look_after_one(connection)
            connection.close()


def look_after_one(connection: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, pipes, _, _ = socket.recv_fds(connection, 16, 3)
    copy = os.fork()
    if copy == 0:
        for number, pipe in enumerate(pipes):
            os.dup2(pipe, number)
            os.close(pipe)
        threading.Thread(target=end_with, args=[connection], daemon=True).start()
        main()
        os._exit(0)
    for pipe in (0, 1, 2, *pipes):
        os.close(pipe)
    code = os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1])
    with contextlib.suppress(OSError):  # the client was killed
        connection.send(str(code).encode())
    os._exit(0)


def end_with(connection: socket.socket) -> None:
    """End this process when the client is killed, because the window knows only the client."""
    connection.recv(1)
    os._exit(1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--forks"]:
        serve_forks(sys.argv[2])
    else:
        main()
