"""The table of all settings: those of requests and the window's own; and their forms for one model or one chat."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping
from dataclasses import replace

from app.words import mark, tr
from engine.protocol.settings import AUTO, OF_REQUESTS, Setting
from models.network import ALLOWED

SECTIONS = {
    "window": mark("General"),
    "answer": mark("Answers"),
    "engine": mark("Engine"),
    "cache": mark("Cached context"),
    "models": mark("Models"),
    "tools": mark("Tools"),
    "api": mark("Local API"),
}
ADVANCED = "advanced"
GROUPS = SECTIONS | {ADVANCED: mark("Advanced")}  # headings in the window's order
SAME = "settings"  # the value of a model's choice that stands for the global value
SAME_SHOWN = mark("Global setting")

WINDOW = (
    Setting(
        "window", "language", "choice", AUTO, mark("Language"),
        mark("The language of Chickadee's menus, buttons and messages. Models answer in the language you write in."),
        choices=((AUTO, mark("System default")), ("en", "English"), ("zh_CN", "简体中文")),
    ),
    Setting(
        "window", "theme", "choice", AUTO, mark("Theme"),
        mark("Light or dark. System default follows the system, also when it changes."),
        choices=((AUTO, mark("System default")), ("light", mark("Light")), ("dark", mark("Dark"))),
    ),
    Setting(
        "window", "text_size", "whole", 100, mark("Text size"),
        mark("In percent, from 80 to 200. Ctrl and + or - change it too; Ctrl+0 resets it."),
        low=80, high=200, slides=(80, 200, 10),
    ),
    Setting(
        "window", "notify", "choice", "on", mark("Notify when an answer ends"),
        mark(
            "If an answer took 20 seconds or more and the window is in the background, the desktop shows a "
            "notification."
        ),
        choices=(("on", mark("On")), ("off", mark("Off"))),
    ),
    Setting(
        "window", "tray", "choice", "off", mark("Icon in the tray"),
        mark("Click the icon to ask a quick question in a small window. With the icon, Chickadee keeps running when "
             "you close the window. Some desktops, such as GNOME, have no tray."),
        choices=(("off", mark("Off")), ("on", mark("On"))),
    ),
    Setting(
        "window", "titles", "choice", "off", mark("Titles by the model"),
        mark("When it has nothing else to do, the model gives a chat a short title in place of its first line. A "
             "title of your own stays. Models with fewer than 0.9 billion parameters are not asked, because their "
             "titles are poor."),
        choices=(("off", mark("Off")), ("on", mark("On"))),
    ),
    Setting(
        "window", "summaries", "choice", "ask", mark("Summaries of long chats"),
        mark("When a chat has nearly filled the context, the model sums up the oldest messages and goes on with the "
             "summary in their place. You can read, change and remove it; the messages stay."),
        choices=(("ask", mark("Ask me")), ("on", mark("By itself")), ("off", mark("Never"))),
    ),
    Setting(
        "window", "memory", "choice", "off", mark("Memory"),
        mark("After a chat, when it has nothing else to do, the model proposes facts about you. Under Edit → Memory… "
             "you approve each one or refuse it. Models with fewer than 0.9 billion parameters propose nothing."),
        choices=(("off", mark("Off")), ("on", mark("On"))),
    ),
    Setting(
        "window", "read_pages", "choice", "on", mark("Offer to read linked pages"),
        mark("A link in your message gets a button that reads the page and attaches its text. Chickadee connects "
             "only when you press the button."),
        choices=(("on", mark("On")), ("off", mark("Off"))),
    ),
    Setting(
        "window", "dictation_model", "choice", "base", mark("Speech model"),
        mark("Writes down what you dictate, on this computer. The accurate one takes 300 MB of memory and about twice "
             "as long."),
        choices=(("base", mark("Accurate")), ("tiny", mark("Fast"))),
    ),
    Setting(
        "window", "dictation_language", "choice", AUTO, mark("Language of dictation"),
        mark("Automatic recognises the language from the first half minute. In short dictations it may be wrong."),
        choices=((AUTO, mark("Automatic")), ("window", mark("The same as the window's"))),
    ),
    Setting(
        "window", "microphone", "text", "", mark("Microphone"),
        mark("A part of the microphone's name. Empty: the system's default."),
        high=200,
    ),
    Setting(
        "models", "folder", "folder", "", mark("Models folder"),
        mark("Models are downloaded into this folder. Those in the previous folder stay there and are still found."),
    ),
    Setting(
        "models", "network", "choice", ALLOWED, mark("Connections"),
        mark("Chickadee connects only when you search for models, download them, check for new ones, use one on a "
             "server, or have a web page read. “Never” forbids all of this."),
        choices=((ALLOWED, mark("When I ask for it")), ("forbidden", mark("Never"))),
    ),
    Setting(
        "models", "unload_after", "whole", AUTO, mark("Unload when idle"),
        mark("After this many minutes without use, the model is removed from memory; the next message loads it "
             "again. 0: never. Automatic: after 10 minutes where memory is short, otherwise never."),
        high=10_000, auto=True,
    ),
    Setting(
        "tools", "rounds", "whole", 5, mark("Rounds of tools"),
        mark("How many times in a row the model may use tools for one question, in chats where tools are switched "
             "on. Then it answers with what it has."),
        low=1, high=50,
    ),
    Setting(
        "tools", "search", "text", "", mark("Web search"),
        mark("Address of a search server that models may ask, after a question to you: a SearXNG server's, such as "
             "https://searx.example.org, or any other with {query} in the place of the words. Empty: no web search."),
        high=300,
    ),
    Setting(
        "api", "enabled", "choice", "off", mark("Local API"),
        mark("Other programs on this computer, such as editors and note apps, can ask the loaded model. Your own "
             "questions go first."),
        choices=(("off", mark("Off")), ("on", mark("On"))), fills="load.api",
    ),
    Setting(
        "api", "reach", "choice", "computer", mark("Who can connect"),
        mark("Other computers in your network need a key. Their questions and answers are not encrypted on the way."),
        choices=(("computer", mark("This computer only")), ("network", mark("Other computers too"))),
    ),
    Setting(
        "api", "port", "whole", 8765, mark("Port"), mark("The number at the end of the address."),
        low=1024, high=65_535,
    ),
    Setting(
        "api", "store", "choice", "off", mark("Keep other programs' context on disk"),
        mark("Keeps what the model has read for other programs in the cached context, so that their next requests "
             "are answered sooner. Off: only for requests that ask for it."),
        choices=(("off", mark("Off")), ("on", mark("On"))),
    ),
    Setting("api", "key", "text", "", mark("Key"), mark("Programs must send this key."), high=200, listed=False),
)  # fmt: skip
# Both tables as one, by the settings' names. A view, not a copy, so that a setting added to a table appears here.
SETTINGS: Mapping[str, Setting] = ChainMap(OF_REQUESTS, {setting.name: setting for setting in WINDOW})


def for_all() -> list[Setting]:
    """Return the settings that have a global value, in the order in which the window shows them."""
    shared = [setting for setting in SETTINGS.values() if setting.shared]
    return sorted(shared, key=lambda setting: list(GROUPS).index(group_of(setting)))


def for_chat() -> list[Setting]:
    """Return the settings that one chat may have a value of its own for."""
    return [_own(setting) for setting in SETTINGS.values() if setting.scope == "chat"]


def for_model(files: Iterable[tuple[str, str]] = ()) -> list[Setting]:
    """Return the settings that one model may have a value of its own for; their default stands for the global value.

    `files` are offered where the value is a file: paths with the words shown for them.
    """
    for_models = [setting for setting in SETTINGS.values() if setting.scope == "model"]
    for_both = [setting for setting in SETTINGS.values() if setting.per_model]
    return [_of_model(setting, tuple(files)) for setting in (*for_models, *for_both)]


def offered(settings: Iterable[Setting]) -> list[Setting]:
    """Return the settings that a dialog lists: without published methods, which are baselines for comparison."""
    return [_without_baselines(setting) for setting in settings if setting.listed and not setting.baseline]


def group_of(setting: Setting) -> str:
    """Return the key of the heading under which the window shows the setting."""
    return ADVANCED if setting.advanced else setting.section


def choice_words(key: str, value: str) -> str:
    """Return the words for a choice of an engine setting; one that only a newer engine knows is returned as it is."""
    words = dict(SETTINGS[f"engine.{key}"].choices).get(value)
    return value if words is None else tr(words)


def _without_baselines(setting: Setting) -> Setting:
    choices = tuple((value, words) for value, words in setting.choices if value not in setting.baselines)
    return replace(setting, choices=choices)


def _own(setting: Setting) -> Setting:
    return replace(setting, help=setting.own_help or setting.help)


def _of_model(setting: Setting, files: tuple[tuple[str, str], ...]) -> Setting:
    setting = _own(setting)
    if setting.kind == "file":
        return replace(setting, choices=(*setting.choices, *files))
    if setting.kind == "choice":
        return replace(setting, default=SAME, choices=((SAME, SAME_SHOWN), *setting.choices))
    if setting.kind == "text":
        return replace(setting, default="")
    return replace(setting, default=AUTO, auto=True)
