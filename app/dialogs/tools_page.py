"""The part of the settings about tools that is no setting: the MCP servers with their state, tools, costs and logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QFrame, QHBoxLayout, QVBoxLayout, QWidget

from app.dialogs.dialog import Section
from app.look.live import Live
from app.look.sheet import Button, PathLabel, discard, fill, has_words, label
from app.look.theme import SIZES
from app.tools.mcp.configuration import ToolServer
from app.tools.mcp.life import State
from app.words import UiText, escaped_html, listed, mark, tr, tr_n, worded
from common.sentences import Sentence

Action = Literal[
    "test", "tools", "log", "edit", "remove", "anyway", "on", "off", "tool_on", "tool_off", "reads", "asks"
]  # fmt: skip
BUTTONS: dict[Action, str] = {
    "test": mark("Test"),
    "anyway": mark("Start anyway"),
    "tools": mark("Tools"),
    "log": mark("Log"),
    "edit": mark("Edit…"),
    "remove": mark("Remove"),
}
ABOUT = mark(
    "Servers give a model more tools. Each runs only while a chat uses it, may open only the folders "
    "that you name, and has no network unless you allow it. What it says is a stranger's text. You are asked before a "
    "tool acts."
)
COST = mark("Its tools take {tokens:,} tokens of your {n_ctx:,} in each chat that uses it.")
UNCONFINED = "tool_server.unconfined"
SHOWN_LOG = 40  # lines
SHOWN_DESCRIPTION = 500  # characters


@dataclass(frozen=True, slots=True)
class ServerRow:
    """A server as the page shows it. `tokens`: what its tools' descriptions cost, of `n_ctx`; None if not counted."""

    server: ToolServer
    state: State
    problem: Sentence | None = None
    log: tuple[str, ...] = ()
    tokens: int | None = None
    n_ctx: int = 0


@dataclass(slots=True)
class _Unfolded:
    """Parts of a row that are shown only when the user asks for them."""

    tools: bool = False
    log: bool = False
    boxes: dict[str, QCheckBox] = field(default_factory=dict)


class ToolServerView(Live, QFrame):
    """Row of one server."""

    def __init__(self, row: ServerRow, page: ToolsPage) -> None:
        super().__init__(page)
        self.setObjectName("settingRow")
        self.row, self._page = row, page
        self._unfolded = _Unfolded()
        self.title, self.status, self.rights, self.cost, self.log = (
            label(name, self) for name in ("settingTitle", "settingHelp", "settingHelp", "settingHelp", "settingHelp")
        )
        self.problem = label("problem", self)
        self.where = PathLabel(row.server.where, "settingHelp", self)
        self.switch = QCheckBox(self)
        self.switch.toggled.connect(lambda on: self._ask("on" if on else "off"))
        self.buttons = {action: Button(self, words, partial(self._press, action)) for action, words in BUTTONS.items()}
        self.tools = QVBoxLayout()
        self._layout()
        self.show_row(row)
        self.apply_look()

    def show_row(self, row: ServerRow) -> None:
        before, self.row = self.row, row
        if before.server.tools != row.server.tools or len(self._unfolded.boxes) != 2 * len(row.server.tools):
            self._show_tools()
        self.retranslate()

    def retranslate(self) -> None:
        server, row = self.row.server, self.row
        self.title.setText(server.name)
        self.switch.setText(tr("On"))
        self.switch.setAccessibleName(tr("Use {name}", name=server.name))
        self.switch.blockSignals(True)
        self.switch.setChecked(server.on)
        self.switch.blockSignals(False)
        self.status.setText(state_words(row))
        self.rights.say(rights_words(server))
        self.problem.say(worded(row.problem) if row.problem else "")
        self.cost.say(cost_words(row))
        self.log.say("\n".join(row.log[-SHOWN_LOG:]) or tr("The log is empty.") if self._unfolded.log else "")
        shown = {"tools": bool(server.tools), "anyway": row.problem is not None and row.problem.id == UNCONFINED}
        for action, button in self.buttons.items():
            button.setAccessibleName(tr("{action}: {name}", action=tr(BUTTONS[action]), name=server.name))
            button.setVisible(shown.get(action, True))
        for known in server.tools:
            on, reads = (self._unfolded.boxes[f"{kind} {known.tool.name}"] for kind in ("on", "reads"))
            description = known.tool.description.splitlines()
            words = f"{known.tool.name} · {description[0][:100]}" if description else known.tool.name
            on.setText(words.replace("&", "&&"))
            on.setToolTip(escaped_html(known.tool.description[:SHOWN_DESCRIPTION]))
            reads.setText(tr("only reads"))
            reads.setAccessibleName(tr("{name} only reads: do not ask me", name=known.tool.name))
            for box in (on, reads):
                box.setVisible(self._unfolded.tools)

    @property
    def searched_text(self) -> str:
        """The text that a search looks through."""
        return " ".join(
            (self.row.server.name, self.row.server.where, *(each.tool.name for each in self.row.server.tools))
        )

    def _press(self, action: Action) -> None:
        if action == "tools":
            self._unfolded.tools = not self._unfolded.tools
        if action == "log":
            self._unfolded.log = not self._unfolded.log
        if action in ("tools", "log"):
            self.retranslate()
        else:
            self._ask(action)

    def _ask(self, action: Action, value: str = "") -> None:
        self._page.action_requested.emit(self.row.server.id, action, value)

    def _show_tools(self) -> None:
        for box in self._unfolded.boxes.values():
            discard(box)
        self._unfolded.boxes = {}
        for known in self.row.server.tools:
            name = known.tool.name
            on = self._box(f"on {name}", known.on, ("tool_on", "tool_off"), name)
            reads = self._box(f"reads {name}", known.reads, ("reads", "asks"), name)
            self.tools.addLayout(fill(QHBoxLayout(), (on, 1), reads, gap=SIZES.gap))

    def _box(self, key: str, checked: bool, actions: tuple[Action, Action], name: str) -> QCheckBox:
        box = self._unfolded.boxes[key] = QCheckBox(self)
        box.setChecked(checked)
        box.toggled.connect(lambda on: self._ask(actions[0] if on else actions[1], name))
        return box

    def _layout(self) -> None:
        top = fill(QHBoxLayout(), (self.title, 1), self.switch, gap=SIZES.gap)
        *others, remove = self.buttons.values()
        buttons = fill(QHBoxLayout(), *others, None, remove, gap=SIZES.gap)
        parts = (
            top, self.where, self.rights, self.status, self.problem, self.cost, self.tools, self.log, buttons,
        )  # fmt: skip
        fill(QVBoxLayout(self), *parts, gap=SIZES.gap_s, margins=(0, SIZES.gap_m, 0, SIZES.gap_m))


def state_words(row: ServerRow) -> str:
    """Return what the server does at the moment."""
    count = len(row.server.tools)
    tools = tr_n("{n} tool", "{n} tools", count) if count else ""
    if not row.server.on:
        state = tr("Off")
    elif row.state == "starting":
        state = tr("Starting…")
    elif row.state == "resting":
        state = tr("It has ended, and is started again in a moment")
    elif row.state == "ready":
        state = tr("Running")
    else:
        state = tr("Starts when a chat needs it") if count else tr("Press Test to see its tools")
    words = " · ".join(filter(None, (state, tools)))
    left_out = row.server.left_out
    return f"{words} · {tr_n('{n} cannot be used', '{n} cannot be used', len(left_out))}" if left_out else words


def rights_words(server: ToolServer) -> str:
    """Return what the server's program may do; "" for an address."""
    if server.url:
        return ""
    read = [*server.read, *server.write]
    files = tr("May read {folders}", folders=listed(read)) if read else tr("Has no folders")
    changes = tr("may change {folders}", folders=listed(server.write)) if server.write else ""
    network = tr("may use the network") if server.connects else tr("no network")
    return " · ".join(filter(None, (files, changes, network)))


def cost_words(row: ServerRow) -> str:
    """Return what the descriptions of the tools that are on take of the context; "" if that is not known."""
    if row.tokens is None or not row.n_ctx:
        return ""
    return tr(COST, tokens=row.tokens, n_ctx=row.n_ctx)


class ToolsPage(Section):
    """Section of the MCP servers.

    Signals: `action_requested` carries a server's id, an Action and a tool's name; `add_requested` asks for the dialog;
    `found_requested` carries the name of a program whose servers are to be added; `undo_requested` asks for what was
    removed last.
    """

    action_requested = Signal(str, str, str)
    add_requested = Signal()
    found_requested = Signal(str)
    undo_requested = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.title = label("settingTitle", self, lambda: tr("Tool servers (MCP)"))
        self.about = label("settingHelp", self, lambda: tr(ABOUT))
        self.views: dict[str, ToolServerView] = {}
        self.found_buttons: dict[str, Button] = {}
        self._found: Mapping[str, int] = {}
        self.note = label("settingHelp", self)
        self.add_button = Button(self, mark("Add a tool server…"), self.add_requested.emit)
        self.undo_button = Button(self, mark("Undo"), self.undo_requested.emit)
        self._views = fill(QVBoxLayout(), gap=0)
        self._buttons = fill(QHBoxLayout(), self.add_button, None, gap=SIZES.gap)
        note = fill(QHBoxLayout(), (self.note, 1), self.undo_button, gap=SIZES.gap)
        fill(
            QVBoxLayout(self),
            SIZES.gap_m,
            self.title,
            SIZES.gap_s,
            self.about,
            SIZES.gap_m,
            self._views,
            note,
            SIZES.gap,
            self._buttons,
            gap=0,
        )
        self.show_note("", undo=False)
        self.apply_look()

    def show_rows(self, rows: Sequence[ServerRow]) -> None:
        """Show these servers; the view of one that is still there stays, with its focus."""
        wanted = [row.server.id for row in rows]
        for gone in [each for each in self.views if each not in wanted]:
            discard(self.views.pop(gone))
        for at, row in enumerate(rows):
            view = self.views.get(row.server.id)
            if view is not None and view.row.server.where != row.server.where:
                discard(self.views.pop(row.server.id))
                view = None
            if view is None:
                view = self.views[row.server.id] = ToolServerView(row, self)
            else:
                view.show_row(row)
            if self._views.indexOf(view) != at:
                self._views.insertWidget(at, view)

    def show_found(self, found: Mapping[str, int]) -> None:
        """Offer the servers of other programs, by the programs' names."""
        self._found = found
        for button in self.found_buttons.values():
            discard(button)
        self.found_buttons = {}
        for program in found:
            button = Button(self, work=partial(self.found_requested.emit, program))
            self.found_buttons[program] = button
            self._buttons.insertWidget(self._buttons.count() - 1, button)
        self.retranslate()

    def show_note(self, words: UiText, undo: bool) -> None:
        """Show a sentence below the rows, with an Undo button if `undo`."""
        self.note.say(words)
        self.undo_button.setVisible(undo)

    def retranslate(self) -> None:
        for program, button in self.found_buttons.items():
            count = self._found[program]
            words = tr_n("Add {n} server of {program}", "Add {n} servers of {program}", count, program=program)
            button.setText(words)
            button.setAccessibleName(words)

    def search(self, words: str, section: str) -> bool:
        own = has_words(words, f"{section} {self.title.text()} {self.about.text()}")
        for view in self.views.values():
            view.setVisible(own or has_words(words, f"{section} {view.searched_text}"))
        return own or any(not view.isHidden() for view in self.views.values())
