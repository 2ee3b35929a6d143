"""The local API in the real window, with its real process and the scripted engine."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import Any

import pytest
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from app.wiring import Chickadee
from engine.api.server import reason_of
from engine.protocol.requests import Generate, Load
from tests.app.conftest import Requests

Ask = Callable[[Chickadee, str], None]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def question(port: int, words: str, key: str = "", path: str = "/v1/chat/completions") -> tuple[int, dict[str, Any]]:
    """Ask the API as another program does; return the status and the answer."""
    body = {"messages": [{"role": "user", "content": words}]}
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("POST", path, json.dumps(body), {"authorization": f"Bearer {key}", "user-agent": "Editor/1"})
        response = connection.getresponse()
        return response.status, json.loads(response.read())


@pytest.fixture
def port(chickadee: Chickadee, qtbot: QtBot) -> int:
    """Turn the API on and return its port."""
    port = free_port()
    chickadee.settings.change({"api.enabled": "on", "api.port": port})
    chickadee.window.commands.run("local_api")
    page = chickadee.api._page
    assert page
    qtbot.waitUntil(lambda: page.address.text() == f"http://127.0.0.1:{port}/v1")
    return port


def in_background(work: Callable[[], tuple[int, dict[str, Any]]]) -> Future[tuple[int, dict[str, Any]]]:
    pool = ThreadPoolExecutor(1)
    future = pool.submit(work)
    pool.shutdown(wait=False)
    return future


def test_another_program_asks_the_windows_model_and_the_page_shows_it_without_contents(
    chickadee: Chickadee, port: int, qtbot: QtBot
) -> None:
    page = chickadee.api._page
    assert page
    asked = in_background(lambda: question(port, "hello"))
    qtbot.waitUntil(asked.done)
    status, answer = asked.result()
    assert (status, answer["choices"][0]["message"]["content"]) == (200, "echo: hello")
    assert answer["model"] == "fake"
    qtbot.waitUntil(lambda: "Editor/1 · /chat/completions · 200" in page.requests.text())
    assert "hello" not in page.requests.text()
    page.copy_address.click()
    assert QGuiApplication.clipboard().text() == f"http://127.0.0.1:{port}/v1"


def test_chats_are_kept_on_disk_only_if_the_settings_say_so(
    chickadee: Chickadee, port: int, qtbot: QtBot, requests: Requests
) -> None:
    def is_kept() -> bool:
        asked = in_background(partial(question, port, "hello"))
        qtbot.waitUntil(asked.done)
        return bool([request.chat for request in requests() if isinstance(request, Generate)][-1])

    assert not is_kept()
    for store in ("on", "off"):
        chickadee.settings.change({"api.store": store})
        while is_kept() != (store == "on"):  # the API's process hears of the change a moment later
            continue


def test_the_next_load_plans_for_it_but_it_loads_no_model_again(
    chickadee: Chickadee, port: int, qtbot: QtBot, ask: Ask, requests: Requests
) -> None:
    ask(chickadee, "hello")
    qtbot.waitUntil(lambda: len(chickadee.open_chats.current.messages) == 2 and not chickadee.open_chats.current.busy)
    chickadee.settings.change({"engine.context": 2048})
    ask(chickadee, "hello")
    qtbot.waitUntil(lambda: len(chickadee.open_chats.current.messages) == 4 and not chickadee.open_chats.current.busy)
    assert [load.api for load in requests() if isinstance(load, Load)] == ["off", "on"]


def test_a_key_is_asked_for_as_soon_as_there_is_one(chickadee: Chickadee, port: int, qtbot: QtBot) -> None:
    page = chickadee.api._page
    assert page
    page.new_key.click()
    page.copy_key.click()
    key = QGuiApplication.clipboard().text()
    assert len(key) > 24
    assert key not in page.key.text()
    qtbot.waitUntil(lambda: page.address.text() == f"http://127.0.0.1:{port}/v1")
    for given, expected in (("", 401), ("wrong", 401), (key, 200)):
        asked = in_background(partial(question, port, "hello", given))
        qtbot.waitUntil(asked.done)
        assert asked.result()[0] == expected


def assert_refused(asked: Future[tuple[int, Any]], qtbot: QtBot) -> None:
    """Wait for the end of a request that the API's end refuses, or cuts off on a very busy computer."""
    qtbot.waitUntil(asked.done)
    try:
        status, answer = asked.result()
    except (OSError, http.client.HTTPException):
        return
    assert (status, answer["error"]["code"]) == (503, "turned_off")


def test_the_windows_own_question_goes_first(
    chickadee: Chickadee, port: int, qtbot: QtBot, ask: Ask, requests: Requests
) -> None:
    """An API request that is still being read gives way to a question of the window, and is answered afterwards."""
    first = in_background(lambda: question(port, "mute, first"))
    qtbot.waitUntil(lambda: any(isinstance(each, Generate) for each in requests()))
    ask(chickadee, "my own")
    qtbot.waitUntil(lambda: len(chickadee.open_chats.current.messages) == 2 and not chickadee.open_chats.current.busy)
    order = [request.messages[-1].content for request in requests() if isinstance(request, Generate)]
    assert order[:2] == ["mute, first", "my own"]
    qtbot.waitUntil(lambda: len([each for each in requests() if isinstance(each, Generate)]) == 3)
    assert not first.done()
    chickadee.settings.change({"api.enabled": "off"})
    assert_refused(first, qtbot)


def test_an_answer_that_is_being_written_is_paused_for_the_windows_own_question(
    chickadee: Chickadee, port: int, qtbot: QtBot, ask: Ask
) -> None:
    asked = in_background(lambda: question(port, "slow"))
    guests = chickadee.engine.guests
    qtbot.waitUntil(lambda: guests.busy and not guests.in_the_way)
    ask(chickadee, "my own")
    qtbot.waitUntil(lambda: len(chickadee.open_chats.current.messages) == 2 and not chickadee.open_chats.current.busy)
    assert chickadee.open_chats.current.messages[-1].content == "echo: my own"
    assert guests.busy
    assert not asked.done()
    chickadee.settings.change({"api.enabled": "off"})
    assert_refused(asked, qtbot)


def test_a_client_that_hangs_up_stops_its_answer(chickadee: Chickadee, port: int, qtbot: QtBot) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", "/v1/chat/completions", json.dumps({"messages": [{"role": "user", "content": "slow"}]}))
    qtbot.waitUntil(lambda: chickadee.engine.guests.busy)
    connection.close()
    qtbot.waitUntil(lambda: not chickadee.engine.guests.busy)
    asked = in_background(lambda: question(port, "hello"))
    qtbot.waitUntil(asked.done)
    assert asked.result()[0] == 200


def test_an_engine_that_dies_ends_the_request_with_an_error(chickadee: Chickadee, port: int, qtbot: QtBot) -> None:
    asked = in_background(lambda: question(port, "die"))
    qtbot.waitUntil(asked.done)
    status, answer = asked.result()
    assert status == 503
    assert answer["error"]["code"] == "engine_end"
    again = in_background(lambda: question(port, "hello"))  # starts the engine again
    qtbot.waitUntil(again.done)
    assert again.result()[0] == 200


def test_a_taken_port_is_a_problem_that_the_page_names(chickadee: Chickadee, qtbot: QtBot) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        with pytest.raises(OSError) as refused:  # noqa: PT011 - its words are the system's
            socket.create_server(taken.getsockname())
        chickadee.settings.change({"api.enabled": "on", "api.port": taken.getsockname()[1]})
        chickadee.api.open()
        page = chickadee.api._page
        assert page
        qtbot.waitUntil(lambda: reason_of(refused.value) in page.state.text())
        assert not page.address.isVisible()
