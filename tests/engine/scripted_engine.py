"""A program that speaks the engine's protocol and does what the texts of its requests say; tests start it.

The name of a model says how its loading goes: "refuse", "restart" (once, a file beside it remembers), "always" (asks
for a restart each time), "crash", "leave", "hang" (the whole process stops) and "silent" (the load never ends). The
text of a question says the same of its answer; "slow" writes until it is cancelled, "deaf" for ever, "faster" ends with
Faster.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

from common.sentences import Sentence
from engine.protocol.events import (
    Cancelled,
    Event,
    Failed,
    Faster,
    Finished,
    Loaded,
    ModelInfo,
    Restart,
    Statistics,
    StatusReport,
    Text,
    Tokenized,
    Welcome,
)
from engine.protocol.lines import decode_request, encode
from engine.protocol.requests import Cancel, Generate, Hello, Load, Shutdown, Status, Tokenize

STATISTICS = Statistics(
    prompt_tokens=1, reused_tokens=0, prompt_seconds=1, decode_tokens=1, decode_seconds=1, steps=1, stop_reason="end",
    context_tokens=2, n_ctx=64,
)  # fmt: skip
stopped: set[int] = set()
running: set[int] = set()
writing = threading.Lock()


def say(event: Event) -> None:
    with writing:
        sys.stdout.buffer.write(encode(event))
        sys.stdout.buffer.flush()


def info(path: str) -> ModelInfo:
    return ModelInfo(path, Path(path).name, "a", 1, 1, n_ctx=64, n_ctx_train=64, threads=1, template="chatml")


def do(words: str, id: int) -> bool:
    """Do what the words say instead of an answer; return False if they say nothing of that kind."""
    if "crash" in words:
        signal.raise_signal(signal.SIGSEGV)  # to this thread, which must not go on
    if "leave" in words:
        os._exit(3)
    if "hang" in words:
        os.kill(os.getpid(), signal.SIGSTOP)
        return True  # another thread takes the signal: this one may still run for a moment, and must say nothing
    if "refuse" in words:
        say(Failed(id, Sentence.of("empty_prompt.message")))
        return True
    return "silent" in words


def load(request: Load, before: ModelInfo | None) -> ModelInfo | None:
    mark = Path(request.path + ".mark")
    if "restart" in request.path and not mark.exists():
        mark.touch()
        say(Restart(request.id, "ik"))
    elif "always" in request.path:
        say(Restart(request.id, "ik"))
    elif not do(Path(request.path).name, request.id):
        say(Loaded(request.id, info(request.path), 0.1))
        return info(request.path)
    return before


def generate(request: Generate) -> None:
    words = request.messages[-1].content if request.messages else ""
    if not do(words, request.id):
        say(Text(request.id, f"{os.getpid()}"))
        while "slow" in words or "deaf" in words:
            if request.id in stopped and "deaf" not in words:
                break
            threading.Event().wait(0.005)
        running.discard(request.id)
        say(Finished(request.id, STATISTICS, (1,)))
        if "faster" in words:
            say(Faster(0, "ik"))
    running.discard(request.id)


def main() -> None:
    model: ModelInfo | None = None
    for line in sys.stdin.buffer:
        match decode_request(line):
            case Hello() as hello:
                say(Welcome(hello.id, engine="scripted", backend="", pid=os.getpid(), limits=()))
            case Load() as wanted:
                model = load(wanted, model)
            case Generate() as request:
                running.add(request.id)
                threading.Thread(target=generate, args=(request,), daemon=True).start()
            case Tokenize() as request:
                if not do(request.text, request.id):
                    say(Tokenized(request.id, (os.getpid(),), (b"",)))
            case Cancel() as cancel:
                stopped.add(cancel.request)
                say(Cancelled(cancel.id, found=cancel.request in running))
            case Status() as status:
                say(StatusReport(status.id, model, 0, 0))
            case Shutdown():
                break


if __name__ == "__main__":
    main()
