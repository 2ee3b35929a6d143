"""The dialog that adds or changes an MCP server: its command, address or JSON, and what its program may do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QGridLayout, QLineEdit, QPlainTextEdit, QWidget

from app.look.sheet import Button, Sheet, label
from app.look.theme import SIZES
from app.tools.mcp.configuration import (
    KEY,
    MOST_NAME,
    ToolServer,
    command_from,
    downloads,
    new_id,
    servers_in,
    variables_from,
)  # fmt: skip
from app.tools.mcp.limits import cut_line
from app.tools.mcp.program_folders import named_folders
from app.words import UiText, mark, tr
from common.failures import Failure
from models.servers import base_url, host_of

ABOUT = mark(
    "A server of tools (MCP) is a program that you have installed, or an address. Enter the command that starts it, "
    "its address, or the JSON that its instructions give (“mcpServers”)."
)
EXAMPLE = "uvx mcp-server-time"
MASK = "•" * 8  # stands for a saved value
STRANGER = mark("What it is asked, and what the model sends it, goes to {host}.")
DOWNLOADS = mark("This command downloads the server when it starts, so that it needs the network.")


@dataclass(frozen=True, slots=True)
class Entered:
    """A server, and its secrets; a value of None stays as it is saved."""

    server: ToolServer
    secrets: dict[str, str | None]


class ToolServerDialog(Sheet):
    """Dialog of one server, or of new ones if `server` is None. `saved` carries a list of Entered."""

    saved = Signal(object)

    def __init__(self, server: ToolServer | None, parent: QWidget) -> None:
        super().__init__(parent)
        self.server = server
        self.about, self.note, self.problem = label("settingHelp", self), label("verdict", self), label("problem", self)
        self.name = QLineEdit(self)
        self.name.setMaxLength(MOST_NAME)
        self.where, self.read, self.write, self.variables = (QPlainTextEdit(self) for _ in range(4))
        self.network = QCheckBox(self)
        self.titles = [label("settingTitle", self) for _ in range(5)]
        self.save_button = Button(self, mark("Save"), self._save)
        self.cancel_button = Button(self, mark("Cancel"), self.reject)
        self._layout()
        self._fill()
        self.where.textChanged.connect(self._update)
        self.apply_look()
        self.where.setFocus()

    def show_problem(self, words: UiText) -> None:
        self.problem.say(words)

    def retranslate(self) -> None:
        self.setWindowTitle(tr("Edit tool server") if self.server else tr("Add a tool server"))
        self.about.setText(tr(ABOUT))
        words = (
            tr("Command, address or JSON"), tr("Name"), tr("Folders that it may read, one per line"),
            tr("Folders that it may also change"), tr("Variables or key, one NAME=value per line"),
        )  # fmt: skip
        for title, field, text in zip(self.titles, self._fields, words, strict=True):
            title.setText(text)
            field.setAccessibleName(text)
        self.where.setPlaceholderText(EXAMPLE)
        self.name.setPlaceholderText(tr("for example: Clock"))
        self.network.setText(tr("May use the network"))
        self._update()

    def restyle(self) -> None:
        line = self.fontMetrics().lineSpacing()
        for field, lines in ((self.where, 3), (self.read, 2), (self.write, 2), (self.variables, 2)):
            field.setFixedHeight(lines * line + 2 * SIZES.gap)
        super().restyle()

    # --- inside -----------------------------------------------------------------------------------------------------

    @property
    def _fields(self) -> tuple[QWidget, ...]:
        return self.where, self.name, self.read, self.write, self.variables

    def _fill(self) -> None:
        server = self.server
        if server is None:
            return
        self.where.setPlainText(server.where)
        self.name.setText(server.name)
        self.read.setPlainText("\n".join(server.read))
        self.write.setPlainText("\n".join(server.write))
        self.variables.setPlainText("\n".join(f"{name}={MASK}" for name in server.variables))
        self.network.setChecked(server.connects)

    def _update(self) -> None:
        """Show the fields that what is entered has, and what follows from it."""
        text = self.where.toPlainText().strip()
        is_json, is_address = text.startswith("{"), "://" in text.split(" ", 1)[0]
        for title, field in zip(self.titles[1:], self._fields[1:], strict=True):
            shown = not is_json and not (is_address and field in (self.read, self.write))
            title.setVisible(shown)
            field.setVisible(shown)
        self.network.setVisible(not is_json and not is_address)
        self.problem.say("")
        self.note.say("")
        if is_address:
            self.note.say(lambda: tr(STRANGER, host=host_of(text)))
        elif text and not is_json and downloads(tuple(text.split()[:1])):
            self.note.say(lambda: tr(DOWNLOADS))

    def _save(self) -> None:
        try:
            entered = self._entered()
        except Failure as failure:
            self.problem.say(failure.sentence)
        else:
            self.saved.emit(entered)

    def _entered(self) -> list[Entered]:
        """Return what was entered. Raises Failure."""
        text = self.where.toPlainText().strip()
        if text.startswith("{"):
            return [Entered(server, dict(secrets)) for server, secrets in servers_in(text)]
        server = self._addressed(text) if "://" in text.split(" ", 1)[0] else self._commanded(text)
        secrets = variables_from(server.name, self.variables.toPlainText(), KEY if server.url else "")
        kept = {name: None if value == MASK else value for name, value in secrets.items()}
        return [Entered(msgspec.structs.replace(server, variables=tuple(kept)), kept)]

    def _addressed(self, text: str) -> ToolServer:
        url = base_url(text)
        return self._changed(url=url, command=(), name=self._name(host_of(url)), read=(), write=(), connects=False)

    def _commanded(self, text: str) -> ToolServer:
        command = command_from(text)
        read = _lines(self.read.toPlainText())
        if self.server is None and not read:
            read = tuple(map(str, named_folders(command[1:])))
        return self._changed(
            url="",
            command=command,
            name=self._name(Path(command[0]).name),
            read=read,
            write=_lines(self.write.toPlainText()),
            connects=self.network.isChecked(),
        )

    def _changed(self, **values: object) -> ToolServer:
        """Return the server with other values. That it may run unconfined was said of the command of before."""
        before = self.server or ToolServer(id=new_id(), name="")
        changed = msgspec.structs.replace(before, **values)
        return changed if changed.command == before.command else msgspec.structs.replace(changed, unconfined=False)

    def _name(self, otherwise: str) -> str:
        return cut_line(self.name.text(), MOST_NAME) or cut_line(otherwise, MOST_NAME)

    def _layout(self) -> None:
        grid = QGridLayout()
        grid.setContentsMargins(SIZES.gap_xl, 0, SIZES.gap_xl, 0)
        grid.setHorizontalSpacing(SIZES.gap_m)
        grid.setVerticalSpacing(SIZES.gap)
        for row, (title, field) in enumerate(zip(self.titles, self._fields, strict=True)):
            title.setBuddy(field)
            if isinstance(field, QPlainTextEdit):
                field.setTabChangesFocus(True)
                field.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
            grid.addWidget(title, row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(field, row, 1)
        grid.addWidget(self.network, len(self.titles), 1)
        grid.setColumnStretch(1, 1)
        self.lay_out(self.about, grid, self.note, self.problem, (None, self.cancel_button, self.save_button))


def _lines(text: str) -> tuple[str, ...]:
    """Return the folders that stand in the lines."""
    return tuple(str(Path(line.strip()).expanduser()) for line in text.splitlines() if line.strip())
