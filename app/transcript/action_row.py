"""The row below a message: which of its siblings it is, and what can be done with it."""

from __future__ import annotations

from typing import TypeVar

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QToolButton, QWidget

from app.look.icons import icon
from app.look.theme import SIZES, theme
from app.state.message_actions import Action, Place
from app.words import mark, tr

MORE = Action("more", "more", mark("More"), while_busy=True)
Button = QPushButton | QToolButton
B = TypeVar("B", QPushButton, QToolButton)


class ActionRow(QWidget):
    """`asked` carries an action's name: those of app.state.message_actions, `previous`, `next`, `more`.

    What is always there stands at the message's own side, so that nothing moves when the rest appears beside it."""

    asked = Signal(str)

    def __init__(self, parent: QWidget, right: bool) -> None:
        super().__init__(parent)
        self.setObjectName("actions")
        self._right = right
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(2)
        self._actions: tuple[Action, ...] = ()
        self._place = Place()
        self._open = False
        self._building = self._stale = False
        self.buttons: dict[str, Button] = {}
        self._number: QLabel | None = None

    def offer(self, actions: tuple[Action, ...], place: Place) -> None:
        """Show these; the same ones again cost nothing."""
        if (actions, place) == (self._actions, self._place):
            return
        self._actions, self._place = actions, place
        self._build()

    def open(self, shown: bool) -> None:
        """Show or hide what is not always there."""
        if shown != self._open:
            self._open = shown
            self._build()

    def restyle(self) -> None:
        self._build()

    def focus(self, name: str) -> None:
        if name in self.buttons:
            self.buttons[name].setFocus()

    # --- inside -----------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        """Make the buttons that are wanted now.

        A button that is hidden lets go of mouse and focus, which opens or closes the row: built anew after this time,
        not within it."""
        self._stale = True
        if self._building:
            return
        self._building = True
        try:
            while self._stale:
                self._stale = False
                self._arrange()
        finally:
            self._building = False

    def _arrange(self) -> None:
        """A button that stays keeps the focus."""
        wanted = [action for action in self._actions if action.main or self._open]
        if self._open and self._actions:
            wanted.append(MORE)
        names = [*(("previous", "next") if self._place.of > 1 else ()), *(action.name for action in wanted)]
        for name in [name for name in self.buttons if name not in names]:
            _drop(self.buttons.pop(name))
        while self._row.count():
            self._row.takeAt(0)
        always = [self._button(action) for action in wanted if action.main]
        others = [self._button(action) for action in wanted if not action.main]
        parts = [*self._switcher(), *always, *others]
        if self._right:
            self._row.addStretch(1)
            parts = [*others, *always, *self._switcher()]
        for part in parts:
            self._row.addWidget(part, 0, Qt.AlignmentFlag.AlignVCenter)
            part.show()
        if not self._right:
            self._row.addStretch(1)
        self._row.activate()  # Tab goes by where they stand

    def _switcher(self) -> list[QWidget]:
        place = self._place
        if self._number is not None:
            self._number.setVisible(place.of > 1)
        if place.of < 2:
            return []
        if self._number is None:
            self._number = QLabel(self)
            self._number.setObjectName("aside")
        self._number.setText(f"{place.at}/{place.of}")
        self._number.setAccessibleName(tr("Version {at} of {of}", at=place.at, of=place.of))
        before = self._tool("previous", "previous", tr("Previous version (Alt+Left)"))
        after = self._tool("next", "next", tr("Next version (Alt+Right)"))
        before.setEnabled(place.at > 1 and not place.busy)
        after.setEnabled(place.at < place.of and not place.busy)
        return [before, self._number, after]

    def _button(self, action: Action) -> Button:
        label = tr(action.label)
        button = self._words(action, label) if action.main else self._tool(action.name, action.icon, label)
        button.setEnabled(action.while_busy or not self._place.busy)
        return button

    def _words(self, action: Action, label: str) -> Button:
        button = self.buttons.get(action.name)
        if not isinstance(button, QPushButton):
            button = self._new(action.name, QPushButton(self))
            button.setProperty("kind", "step")
        button.setText(label)
        button.setAccessibleName(label)
        button.setIcon(icon(action.icon, theme().soft))
        return button

    def _tool(self, name: str, drawing: str, tip: str) -> Button:
        button = self.buttons.get(name)
        if not isinstance(button, QToolButton):
            button = self._new(name, QToolButton(self))
            button.setProperty("kind", "small")
        button.setIconSize(QSize(SIZES.icon, SIZES.icon))
        button.setIcon(icon(drawing, theme().soft))
        button.setToolTip(tip)
        button.setAccessibleName(tip.partition(" (")[0])
        return button

    def _new(self, name: str, button: B) -> B:
        if name in self.buttons:
            _drop(self.buttons[name])
        self.buttons[name] = button
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # a click leaves the focus where it is
        button.clicked.connect(lambda: self.asked.emit(name))
        return button


def _drop(button: Button) -> None:
    button.hide()
    button.deleteLater()
