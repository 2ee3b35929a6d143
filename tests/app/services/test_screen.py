"""Pictures of the screen: by Qt, and by a portal on a session bus of the test's own."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from app.services import screen
from common.failures import Failure

with_bus = pytest.mark.skipif(
    not sys.platform.startswith("linux") or not shutil.which("dbus-daemon"), reason="there is no dbus-daemon"
)
Answer = Callable[[Any], tuple[int, dict[str, Any]] | None]


def test_the_window_is_not_in_the_picture(qtbot: QtBot) -> None:
    window = QLabel("in the way")
    window.setStyleSheet("background: red")
    window.resize(300, 200)
    qtbot.addWidget(window)
    window.show()
    got: list[QImage] = []
    screen.grab_behind(window, got.append)
    qtbot.waitUntil(lambda: bool(got))
    assert window.isVisible()
    assert not got[0].isNull()
    colours = {got[0].pixelColor(x, y).name() for x in range(0, got[0].width(), 20) for y in range(0, 200, 20)}
    assert "#ff0000" not in colours


@pytest.mark.parametrize(("session", "allowed"), [("x11", True), ("wayland", False)])
def test_on_wayland_only_the_portal_is_asked(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, session: str, allowed: bool
) -> None:
    monkeypatch.setenv("XDG_SESSION_TYPE", session)
    assert screen.can_grab() is allowed


def test_without_a_bus_there_is_no_portal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path / 'none'}")
    assert not screen.has_portal()
    if sys.platform.startswith("linux"):
        with pytest.raises(Failure, match="took no screenshot"):
            screen.screenshot_by_portal()


@pytest.fixture
def bus(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Start a session bus and return its address."""
    command = ["dbus-daemon", "--session", "--nofork", "--print-address"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as daemon:
        assert daemon.stdout
        address = daemon.stdout.readline().strip()
        monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", address)
        yield address
        daemon.terminate()


def portal(answer: Answer) -> threading.Thread:
    """Serve one screenshot on the bus in a thread: `answer` gets the options and returns the response."""
    from jeepney import DBusAddress, HeaderFields, message_bus, new_error, new_method_return, new_signal
    from jeepney.io.blocking import Proxy, open_dbus_connection

    connection = open_dbus_connection(bus="SESSION")
    Proxy(message_bus, connection).RequestName(screen.PORTAL)

    def serve() -> None:
        with connection:
            call = connection.receive(timeout=20)
            while call.header.fields.get(HeaderFields.member) != "Screenshot":
                call = connection.receive(timeout=20)
            options = call.body[1]
            response = answer(options)
            if response is None:
                connection.send(new_error(call, "org.freedesktop.DBus.Error.AccessDenied", "s", ("no",)))
                return
            sender = call.header.fields[HeaderFields.sender][1:].replace(".", "_")
            handle = f"{screen.PORTAL_PATH}/request/{sender}/{options['handle_token'][1]}"
            connection.send(new_method_return(call, "o", (handle,)))
            request = DBusAddress(handle, interface="org.freedesktop.portal.Request")
            connection.send(new_signal(request, "Response", "ua{sv}", response))

    thread = threading.Thread(target=serve)
    thread.start()
    return thread


@with_bus
def test_the_portal_gives_a_file(bus: str) -> None:
    asked: list[Any] = []

    def taken(options: Any) -> tuple[int, dict[str, Any]]:
        asked.append(options["interactive"])
        return screen.TAKEN, {"uri": ("s", "file:///home/bird/My%20pictures/shot.png")}

    assert not screen.has_portal()
    thread = portal(taken)
    assert screen.has_portal()
    assert screen.screenshot_by_portal() == Path("/home/bird/My pictures/shot.png")
    assert asked == [("b", True)]  # the user chooses what is taken
    thread.join()


@with_bus
def test_a_user_may_give_up(bus: str) -> None:
    thread = portal(lambda _options: (screen.CANCELLED, {}))
    assert screen.screenshot_by_portal() is None
    thread.join()


@with_bus
@pytest.mark.parametrize(
    "response", [None, (2, {}), (screen.TAKEN, {}), (screen.TAKEN, {"uri": ("s", "https://example.org/x.png")})]
)
def test_a_portal_that_refuses_is_one_sentence(bus: str, response: tuple[int, dict[str, Any]] | None) -> None:
    thread = portal(lambda _options: response)
    with pytest.raises(Failure, match="took no screenshot"):
        screen.screenshot_by_portal()
    thread.join()
