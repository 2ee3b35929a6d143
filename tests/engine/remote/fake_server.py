"""A model server for tests, which obeys words in the user's last message or in the key; some of them are hostile.

- slow: a word each 50 ms until the client is gone
- silent: nothing at all until the client is gone
- garbage: bytes that are no message
- line: one line without an end
- endless: tokens as fast as they can be sent
- half: some text, then the connection is closed
- broke: some text, then an error in the stream
- file, link-local, elsewhere, circle: a redirect; moved: one within the server
- status N: this status, with an error as OpenAI words it
- page: an HTML page
- plain: one JSON object in place of a stream
- ponder, tags: thoughts in a field of their own, or between tags
- filter, long, abort: the answer ends for this reason
- held: two words late, the first tokens of an answer, which may be the beginning of a thought
- drip: an answer, then comments for ten seconds, then more text
- packed: an answer that is compressed, although nobody asked for this
- retry WORD: too many requests, with this header of when to try again; location WORD: a redirect there
- mute: an answer, then nothing until the client is gone
- refuse NAME: the option is refused as unknown
- otherwise: an echo, word by word
"""

from __future__ import annotations

import contextlib
import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

REDIRECTS = {
    "file": "file:///etc/passwd",
    "link-local": "http://169.254.169.254/latest/meta-data/",
    "elsewhere": "https://elsewhere.invalid/v1/chat/completions",
    "circle": "/v1/chat/completions",
    "moved": "/moved/chat/completions",
}


class FakeServer(ThreadingHTTPServer):
    """The server. `bodies`: requests for answers; `keys`: what came as Authorization; `gone`: clients that left.

    `pages`: status and body to send at a path, in place of what the server would say there.
    """

    daemon_threads = True
    request_queue_size = 32

    def __init__(self, models: tuple[dict[str, Any], ...], key: str, software: str) -> None:
        self.models, self.key, self.software = models, key, software
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.paths: list[str] = []
        self.pages: dict[str, tuple[int, bytes]] = {}
        self.gone = threading.Event()
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that have left."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FakeServer

    def version_string(self) -> str:
        return self.server.software

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self.server.paths.append(self.path)
        if not self._has_key():
            return
        if self.path in self.server.pages:
            status, body = self.server.pages[self.path]
            self._whole(body, "application/json", status)
        elif self.path == "/v1/models":
            self._json({"object": "list", "data": list(self.server.models)})
        elif self.path == "/props":
            self._json({"default_generation_settings": {"n_ctx": 4096}, "build_info": "b7000-abc",
                        "chat_template": "{% if enable_thinking %}{% endif %}"})  # fmt: skip
        else:
            self._json({"error": {"message": "Not Found"}}, 404)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.bodies.append(body)
        self.server.paths.append(self.path)
        if not self._has_key():
            return
        text = body["messages"][-1]["content"]
        try:
            self._answer(text, body)
        except OSError:
            self.server.gone.set()
            self.close_connection = True

    def _answer(self, text: str, body: dict[str, Any]) -> None:
        words = text.split()
        first = words[0] if words else ""
        if first in REDIRECTS and not self.path.startswith("/moved"):
            self.send_response(307)
            self.send_header("Location", REDIRECTS[first])
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif first in ("retry", "location"):
            self.send_response(429 if first == "retry" else 307)
            self.send_header("Retry-After" if first == "retry" else "Location", words[1])
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif first == "status":
            self._json({"error": {"message": f"This is error {words[1]}.", "code": None}}, int(words[1]))
        elif first == "refuse" and words[1] in body:
            self._json({"error": {"message": f"Unsupported parameter: '{words[1]}'."}}, 400)
        elif first == "toolong" and len(body["messages"]) > 2:
            self._json({"error": {"message": "This model's maximum context length is 4096 tokens."}}, 400)
        elif first == "page":
            self._whole(b"<!DOCTYPE html><html>Welcome</html>", "text/html")
        elif first == "plain":
            message = {"role": "assistant", "content": "All at once."}
            self._json({"choices": [{"message": message, "finish_reason": "stop"}], "usage": USAGE})
        elif first == "silent":
            self._wait_until_gone()
        else:
            self._stream(first, text)

    def _stream(self, first: str, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        if first == "packed":
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if first == "line":
            while True:
                self._chunk(b"x" * 65536)
        if first == "garbage":
            self._chunk(bytes(range(256)) + b"\n\ndata: {]\n\n")
            return
        self._say({"role": "assistant", "content": ""})
        if first == "endless":
            while True:
                self._say({"content": "more and more " * 2000})
        if first == "slow":
            while True:
                self._say({"content": "slow "})
                time.sleep(0.05)
        if first in ("half", "broke"):
            self._say({"content": "Only the beginning"})
            if first == "broke":
                self._event({"error": {"message": "CUDA out of memory", "code": 500}})
                self._chunk(b"")
            else:
                self.wfile.flush()
                self.close_connection = True
                self.connection.close()
            return
        if first == "ponder":
            for piece in ("Let me ", "think."):
                self._say({"reasoning_content": piece})
        if first == "held":
            for piece in ("<th", "e bird"):
                time.sleep(PAUSE)
                self._say({"content": piece})
        if first == "tags":
            self._say({"content": "<think>\nLet me"})
            self._say({"content": " think.\n</think>\n\n"})
        for number, word in enumerate(text.split()):
            if first == "call":
                self._call(number, word)
            else:
                self._say({"content": f"{word} "})
        self._say(
            {},
            {"call": "tool_calls", "filter": "content_filter", "long": "length", "abort": "abort"}.get(first, "stop"),
        )
        if first == "mute":
            self._wait_until_gone()
            return
        if first == "drip":
            for _ in range(100):
                self._chunk(b": wait\n\n")
                time.sleep(0.1)
            self._say({"content": "too late"})
        self._event({"choices": [], "usage": USAGE})
        self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _call(self, number: int, word: str) -> None:
        """Send a call of a tool in two pieces, as servers do."""
        start = {"id": f"id{number}", "type": "function", "function": {"name": "look", "arguments": '{"text": '}}
        for part in (start, {"function": {"arguments": f'"{word}"}}'}}):
            self._say({"tool_calls": [{"index": number} | part]})

    def _say(self, delta: dict[str, Any], finish: str | None = None) -> None:
        self._event({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    def _event(self, message: dict[str, Any]) -> None:
        self._chunk(b"data: " + json.dumps(message).encode() + b"\n\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _json(self, value: object, status: int = 200) -> None:
        self._whole(json.dumps(value).encode(), "application/json", status)

    def _whole(self, body: bytes, kind: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if status == 429:
            self.send_header("Retry-After", "7")
        self.end_headers()
        self.wfile.write(body)

    def _wait_until_gone(self) -> None:
        with contextlib.suppress(OSError):
            while self.connection.recv(1):
                pass
        self.server.gone.set()

    def _has_key(self) -> bool:
        given = self.headers.get("Authorization", "")
        self.server.keys.append(given)
        if self.server.key and given != f"Bearer {self.server.key}":
            self._json({"error": {"message": f"Incorrect API key provided: {given}"}}, 401)
            return False
        return True


USAGE = {
    "prompt_tokens": 21, "completion_tokens": 5, "total_tokens": 26, "prompt_tokens_details": {"cached_tokens": 8},
}  # fmt: skip
PAUSE = 0.2  # seconds
MODEL = {"id": "echo", "object": "model", "owned_by": "vllm", "max_model_len": 4096}


@contextmanager
def fake_server(
    *models: dict[str, Any], key: str = "", software: str = "uvicorn", tls: ssl.SSLContext | None = None
) -> Iterator[FakeServer]:
    """Run a server in a thread; `tls` is for one with safe connections."""
    server = FakeServer(models or (MODEL,), key, software)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
