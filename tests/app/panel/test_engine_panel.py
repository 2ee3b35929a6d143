"""The engine monitor's panel in the real window with the scripted engine."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from pytestqt.qtbot import QtBot

from app.commands.commands import BY_NAME
from app.look.theme import DARK, LIGHT
from app.wiring import Chickadee
from common.sentences import Sentence
from engine.protocol.events import DeviceUse, HeadGroup
from engine.protocol.requests import Watch
from tests.app.conftest import Requests
from tests.app.control.test_api_controller import free_port
from tests.app.test_window import Ask


def test_it_is_closed_at_first_and_the_engine_tells_nothing(chickadee: Chickadee, requests: Requests) -> None:
    assert chickadee.chats.engine_monitor.panel.isHidden()
    assert not [request for request in requests() if isinstance(request, Watch)]


def test_open_it_shows_what_the_engine_tells(chickadee: Chickadee, qtbot: QtBot) -> None:
    assert BY_NAME["engine"].keys == ("Ctrl+E",)
    chickadee.window.commands.run("engine")
    panel = chickadee.chats.engine_monitor.panel
    qtbot.waitUntil(lambda: bool(panel.now.segments))
    qtbot.waitUntil(lambda: panel.steps is not None)
    assert [part.text for part in panel.now.segments] == ["42 MB", "458 MB", "500 MB"]
    assert [part.text for part in panel.cache.segments] == ["256", "44", "4", "208", "3,584"]
    assert "2.00 tokens per step" in panel.speed.text()
    assert panel.drafts.text() == "Prompt lookup: 20 of 30 drafted tokens accepted"
    assert panel.now.accessibleDescription().startswith("Engine 42 MB")


def test_what_was_decided_about_graphics_processors_stands_above_the_speeds(chickadee: Chickadee) -> None:
    monitor = chickadee.chats.engine_monitor
    monitor.panel.setVisible(True)
    assert monitor.samples.model
    reason = Sentence.of("device.untimed_prompts", device="Iris Xe", layers=0, of=32)
    monitor.samples.model = replace(
        monitor.samples.model, devices=DeviceUse(reason, ("Iris Xe",), "Iris Xe", "prompts")
    )
    monitor.panel.show_numbers()
    assert monitor.panel.speed.text().startswith("Prompts: Iris Xe, which was not timed yet; writing: processor.\n")


def test_the_local_api_is_a_part_of_the_memory_while_it_is_on(chickadee: Chickadee, qtbot: QtBot) -> None:
    monitor = chickadee.chats.engine_monitor
    chickadee.window.commands.run("engine")
    qtbot.waitUntil(lambda: bool(monitor.panel.now.segments))
    assert "Local API" not in [part.name for part in (*monitor.panel.now.segments, *monitor.panel.planned.segments)]
    port = free_port()
    chickadee.settings.change({"api.enabled": "on", "api.port": port})
    qtbot.waitUntil(lambda: bool(chickadee.api._address))
    assert monitor.samples.model
    assert monitor.samples.pulse
    plan = monitor.samples.model.plan | {"api": 30_000_000, "grammars": 4_000_000}
    monitor.samples.model = replace(monitor.samples.model, plan=plan)
    monitor.panel.show_numbers()
    assert [part.text for part in monitor.panel.planned.segments if part.name == "Local API"] == ["34 MB"]
    [front] = [part for part in monitor.panel.now.segments if part.name == "Local API"]
    assert 10_000_000 < front.amount < 458_000_000
    chickadee.settings.change({"api.enabled": "off"})
    qtbot.waitUntil(lambda: not chickadee.api.front.memory_bytes)
    monitor.panel.show_numbers()
    assert "Local API" not in [part.name for part in monitor.panel.now.segments]


def test_closed_again_it_is_told_nothing_more(chickadee: Chickadee, qtbot: QtBot, requests: Requests) -> None:
    chickadee.window.commands.run("engine")
    qtbot.waitUntil(lambda: chickadee.chats.engine_monitor.samples.pulse is not None)
    chickadee.chats.engine_monitor.panel.close_button.click()
    assert chickadee.chats.engine_monitor.panel.isHidden()
    qtbot.waitUntil(lambda: [request.on for request in requests() if isinstance(request, Watch)] == [True, False])


def test_a_new_engine_is_watched_too(chickadee: Chickadee, qtbot: QtBot, ask: Ask, requests: Requests) -> None:
    chickadee.window.commands.run("engine")
    qtbot.waitUntil(lambda: chickadee.chats.engine_monitor.samples.pulse is not None)
    ask(chickadee, "die")
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "off")
    ask(chickadee, "hello")
    qtbot.waitUntil(lambda: len([request for request in requests() if isinstance(request, Watch)]) == 2)


def has_messages(chickadee: Chickadee, count: int) -> bool:
    return len(chickadee.open_chats.current.messages) == count and not chickadee.open_chats.current.busy


def test_the_time_a_chat_was_saved_is_that_of_its_answers(chickadee: Chickadee, qtbot: QtBot, ask: Ask) -> None:
    chickadee.window.commands.run("engine")
    for count in (2, 4, 6):
        ask(chickadee, "hello")
        qtbot.waitUntil(partial(has_messages, chickadee, count))
    # The scripted engine reports for each answer: 5 of 20 prompt tokens re-used, 15 read in 0.1 s.
    qtbot.waitUntil(lambda: chickadee.chats.engine_monitor.panel.saved.text() == "About 0.1 s in this chat")


def test_what_is_left_out_is_told_in_tokens(chickadee: Chickadee, qtbot: QtBot, ask: Ask) -> None:
    for count in (2, 4):
        ask(chickadee, "hello")
        qtbot.waitUntil(partial(has_messages, chickadee, count))
    chickadee.open_chats.current.forget_oldest(1)
    chickadee.window.commands.run("engine")
    panel = chickadee.chats.engine_monitor.panel
    # The scripted engine counts a token for each four characters of "hello" and "echo: hello".
    qtbot.waitUntil(lambda: "Left out" in [part.name for part in panel.cache.segments])
    assert panel.cache.segments[0].text == str(len("hello\n\necho: hello") // 4)
    chickadee.open_chats.current.forget_oldest(-1)
    qtbot.waitUntil(lambda: "Left out" not in [part.name for part in panel.cache.segments])


def test_groups_of_heads_are_told_where_there_are_such(chickadee: Chickadee, qtbot: QtBot) -> None:
    chickadee.window.commands.run("engine")
    samples, panel = chickadee.chats.engine_monitor.samples, chickadee.chats.engine_monitor.panel
    qtbot.waitUntil(lambda: samples.pulse is not None)
    assert panel.groups.isHidden()
    assert samples.pulse
    groups = (HeadGroup("exact", 67, 300, 512, 3_000_000), HeadGroup("merged", 23, 81, 512, 1_000_000))
    samples.add_pulse(replace(samples.pulse, head_groups=groups))
    qtbot.waitUntil(panel.groups.isVisible)
    assert [part.text for part in panel.groups.segments] == [
        "67 heads, 300 of 512 entries, 3 MB",
        "23 heads, 81 of 512 entries, 1 MB",
    ]
    assert panel.groups.segments[1].name == "Merged tokens (lossy)"


def test_saving_power_is_told_with_the_reason_and_the_threads(chickadee: Chickadee, qtbot: QtBot) -> None:
    chickadee.window.commands.run("engine")
    samples, panel = chickadee.chats.engine_monitor.samples, chickadee.chats.engine_monitor.panel
    qtbot.waitUntil(lambda: samples.pulse is not None)
    assert samples.pulse
    assert "Saving power" not in panel.speed.text()
    samples.add_pulse(replace(samples.pulse, saving_power="battery", threads=2, prompt_threads=4))
    words = "Saving power (on battery). Threads: 2 for writing, 4 for reading"
    qtbot.waitUntil(lambda: words in panel.speed.text())


def test_curves_are_drawn_in_the_colours_of_the_theme(chickadee: Chickadee, qtbot: QtBot) -> None:
    chickadee.window.commands.run("engine")
    panel = chickadee.chats.engine_monitor.panel
    qtbot.waitUntil(lambda: panel.costs is not None)
    assert panel.costs
    for name, colours in (("light", LIGHT), ("dark", DARK)):
        chickadee.settings.change({"window.theme": name})
        assert panel.costs._point.opts["symbolBrush"].color().name() == colours.danger
        assert panel.costs.plot.getAxis("bottom").labelStyle["color"] == colours.soft
