"""Pictures of the screen: taken by Qt where every program may look at it, by the desktop's portal on Wayland."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from PySide6.QtCore import QTimer
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QWidget

from common.failures import Failure

GRABBING = ("xcb", "windows", "cocoa", "offscreen")  # Qt's platforms that can look at the screen
HIDDEN_MS = 400  # until the hidden window has left the screen
PATIENCE = 600.0  # seconds in which the user chooses what the portal takes
PORTAL, PORTAL_PATH = "org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop"
TAKEN, CANCELLED = 0, 1  # responses of the portal


def can_grab() -> bool:
    """Return whether this program may look at the screen itself: on Wayland it would see nothing."""
    return QGuiApplication.platformName() in GRABBING and os.environ.get("XDG_SESSION_TYPE") != "wayland"


def grab_behind(window: QWidget, done: Callable[[QImage], object]) -> None:
    """Hide the window for a moment and call `done` with a picture of its screen; an empty one if none was possible."""
    screen, place = window.screen(), window.saveGeometry()
    window.hide()

    def grab() -> None:
        image = screen.grabWindow(0).toImage()
        window.show()
        window.restoreGeometry(place)
        window.activateWindow()
        done(image)

    QTimer.singleShot(HIDDEN_MS, window, grab)


# --- the portal (https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.Screenshot.html) --------


def has_portal() -> bool:
    """Return whether the desktop has a portal, running or ready to be started."""
    if not sys.platform.startswith("linux"):
        return False
    from jeepney import message_bus
    from jeepney.io.blocking import Proxy, open_dbus_connection

    try:
        with open_dbus_connection(bus="SESSION") as connection:
            bus = Proxy(message_bus, connection)
            return any(PORTAL in names()[0] for names in (bus.ListNames, bus.ListActivatableNames))
    except (OSError, KeyError, ValueError):  # no session bus, or no address of one
        return False


def screenshot_by_portal() -> Path | None:
    """Let the user take a picture by the desktop's own tool; return its file, None if the user gave up.

    Takes as long as the user does, so call it in a thread. Raises Failure.
    """
    from jeepney import DBusAddress, DBusErrorResponse, MatchRule, message_bus, new_method_call
    from jeepney.io.blocking import Proxy, open_dbus_connection

    token = f"chickadee_{uuid.uuid4().hex}"
    try:
        with open_dbus_connection(bus="SESSION") as connection:
            own = connection.unique_name.removeprefix(":").replace(".", "_")
            request = f"{PORTAL_PATH}/request/{own}/{token}"
            rule = MatchRule(type="signal", interface="org.freedesktop.portal.Request", member="Response", path=request)
            Proxy(message_bus, connection).AddMatch(rule)  # before the call, so that no response is missed
            portal = DBusAddress(PORTAL_PATH, PORTAL, "org.freedesktop.portal.Screenshot")
            options = {"handle_token": ("s", token), "interactive": ("b", True)}
            with connection.filter(rule) as responses:
                call = new_method_call(portal, "Screenshot", "sa{sv}", ("", options))
                reply = connection.send_and_get_reply(call)
                if reply.header.message_type.name == "error":
                    raise DBusErrorResponse(reply)
                code, results = connection.recv_until_filtered(responses, timeout=PATIENCE).body
    except TimeoutError:
        return None
    except (OSError, DBusErrorResponse) as error:
        raise Failure("no_screenshot.portal", str(error)) from error
    if code == CANCELLED:
        return None
    uri = urlsplit(results["uri"][1]) if code == TAKEN and "uri" in results else None
    if uri is None or uri.scheme != "file":
        raise Failure("no_screenshot.portal", f"response {code}")
    return Path(unquote(uri.path))
