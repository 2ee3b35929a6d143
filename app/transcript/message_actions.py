"""What can be done with a message: its actions, the row of buttons below it, its menu, and what helps where the
context is full."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QActionGroup, QCursor, QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QLabel, QMenu, QPushButton, QWidget

from app.commands.commands import ActionButton, keys_in
from app.look.live import Live, LiveAction
from app.look.theme import SIZES, icon, theme
from app.markdown.blocks import code_of
from app.markdown.prose_view import ProseView
from app.markdown.selection import scope_of
from app.state.answer_facts import facts_of
from app.store.chat import ChatMessage
from app.words import mark, tr, tr_n
from engine.protocol import Remedy

INSIDE_TOO = ("previous", "next")  # their keys are heard in the message's own texts too
REMEDIES = ("forget_turns", "larger_context", "smaller_kv")  # a newer engine may know more


@dataclass(frozen=True, slots=True)
class Place:
    """Where a message stands: `last` of the branch, number `at` of `of` siblings (from 1), its chat `busy` or not.

    `remedies`: is there a question to answer before it could go on? `deleted`: messages behind it were deleted."""

    last: bool = False
    at: int = 1
    of: int = 1
    busy: bool = False
    remedies: bool = False
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class Action:
    """`icon` of assets/icons; `label` is marked for translation. The `main` ones are always there, with their words.

    One that does not work `while_busy` waits for the end of the answer under way."""

    name: str
    icon: str
    label: str
    main: bool = False
    while_busy: bool = False


MORE = Action("more", "more", mark("More"), while_busy=True)
PREVIOUS = Action("previous", "previous", mark("Previous version"))
NEXT = Action("next", "next", mark("Next version"))
RESTORE = Action("restore", "again", mark("Restore deleted messages below"), while_busy=True)
DETAILS = Action("details", "chevron", mark("Details"), while_busy=True)


def actions_of(message: ChatMessage, place: Place) -> tuple[Action, ...]:
    """Main ones first, then the others in the order of their use; none while the message is being written."""
    if place.busy and place.last and message.role == "assistant":
        return ()
    return (*_main(message, place), *_others(message, place))


def _main(message: ChatMessage, place: Place) -> list[Action]:
    if place.busy or not place.last:
        return []
    if message.role == "user":
        return [Action("again", "again", mark("Answer"), main=True)]
    if message.unfinished and not place.remedies:
        again = [_again(main=True)] if message.stop_reason in ("failed", "engine") else []
        return [Action("continue", "continue", mark("Continue"), main=True), *again, *_details(message)]
    failed = message.stop_reason == "failed" or not message.content
    return [*([_again(main=True)] if failed else []), *_details(message)]


def _details(message: ChatMessage) -> list[Action]:
    """What went wrong, for the curious."""
    known = message.stop_reason in ("failed", "engine") and (message.detail or message.stop_reason == "engine")
    return [replace(DETAILS, main=True)] if known else []


def _others(message: ChatMessage, place: Place) -> list[Action]:
    found = [Action("copy", "copy", mark("Copy message"), while_busy=True)] if message.content else []
    if message.role == "user":
        found.append(Action("edit", "edit", mark("Edit message")))
    elif all(action.name != "again" for action in _main(message, place)):
        found.append(_again())
    return [*found, Action("delete", "delete", mark("Delete message"))]


def _again(main: bool = False) -> Action:
    return Action("again", "again", mark("Try again" if main else "Regenerate"), main)


class MessageActions(QActionGroup):
    """What row, menu and keys of a message have in common: its actions, with their words, icons and keys, and whether
    they can be done now. `triggered` carries one, its `data()` is the name."""

    def __init__(self, message: QWidget) -> None:
        super().__init__(message)
        self.setExclusionPolicy(QActionGroup.ExclusionPolicy.None_)
        self._message = message
        self.place = Place()
        self.offered: tuple[Action, ...] = ()
        self._made: dict[str, LiveAction] = {}  # when they are first to be seen: most messages are only read

    def offer(self, actions: tuple[Action, ...], place: Place) -> bool:
        """From now on these can be done, where the message stands now. Is that another answer than before?"""
        if (actions, place) == (self.offered, self.place):
            return False
        self.offered, self.place = actions, place
        names = {action.name for action in actions}
        for name, made in self._made.items():
            made.setEnabled(name in names)
        for action in actions:
            if action.name in self._made:
                self.action(action)
        return True

    def action(self, of: Action) -> LiveAction:
        made = self._made.get(of.name) or self._make(of)
        made.set_title(of.label)
        made.setEnabled(self._possible(of))
        return made

    def versions(self) -> tuple[Action, ...]:
        """What leads to the message's siblings, if it has any."""
        return (PREVIOUS, NEXT) if self.place.of > 1 else ()

    def _possible(self, of: Action) -> bool:
        place = self.place
        if (of is PREVIOUS and place.at < 2) or (of is NEXT and place.at >= place.of):
            return False
        return of.while_busy or not place.busy

    def _make(self, of: Action) -> LiveAction:
        made = self._made[of.name] = LiveAction(self._message, of.label, of.icon, keys_in("message", of.name))
        inside = Qt.ShortcutContext.WidgetWithChildrenShortcut
        made.setShortcutContext(inside if of.name in INSIDE_TOO else Qt.ShortcutContext.WidgetShortcut)
        made.setShortcutVisibleInContextMenu(True)
        made.setData(of.name)
        self.addAction(made)
        self._message.addAction(made)
        return made


class WordButton(QPushButton):
    """An action with its words."""

    def __init__(self, action: LiveAction, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("kind", "step")
        self._action = action
        self.clicked.connect(action.trigger)
        action.changed.connect(self._follow)
        self._follow()

    def _follow(self) -> None:
        self.setText(self._action.text())
        self.setAccessibleName(self._action.text())
        self.setIcon(self._action.icon())
        self.setEnabled(self._action.isEnabled())


Button = WordButton | ActionButton


class ActionRow(Live, QWidget):
    """The buttons below a message, and which of its siblings it is.

    What is always there stands at the message's own side, so that nothing moves when the rest appears beside it."""

    def __init__(self, actions: MessageActions, parent: QWidget, right: bool) -> None:
        super().__init__(parent)
        self.setObjectName("actions")
        self._actions, self._right = actions, right
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(2)
        self._open = False
        self._building = self._stale = False
        self.buttons: dict[str, Button] = {}
        self._number: QLabel | None = None
        self.apply_look()

    def offer(self, actions: tuple[Action, ...], place: Place) -> None:
        """Show these; the same ones again cost nothing."""
        if self._actions.offer(actions, place):
            self._build()

    def open(self, shown: bool) -> None:
        """Show or hide what is not always there."""
        if shown != self._open:
            self._open = shown
            self._build()

    def restyle(self) -> None:
        for button in self.buttons.values():
            if isinstance(button, ActionButton):
                button.setIconSize(QSize(SIZES.icon, SIZES.icon))

    def retranslate(self) -> None:
        if self._number is not None:
            place = self._actions.place
            self._number.setAccessibleName(tr("Version {at} of {of}", at=place.at, of=place.of))

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
        wanted = [action for action in self._actions.offered if action.main or self._open]
        if self._open and self._actions.offered:
            wanted.append(MORE)
        names = {action.name for action in (*self._actions.versions(), *wanted)}
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
        place = self._actions.place
        if self._number is not None:
            self._number.setVisible(place.of > 1)
        if place.of < 2:
            return []
        if self._number is None:
            self._number = QLabel(self)
            self._number.setObjectName("aside")
        self._number.setText(f"{place.at}/{place.of}")
        self.retranslate()
        return [self._button(PREVIOUS), self._number, self._button(NEXT)]

    def _button(self, of: Action) -> Button:
        action, button = self._actions.action(of), self.buttons.get(of.name)
        if not isinstance(button, WordButton if of.main else ActionButton):
            if button is not None:
                _drop(button)
            button = self.buttons[of.name] = WordButton(action, self) if of.main else self._icon_button(action)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # a click leaves the focus where it is
        return button

    def _icon_button(self, action: LiveAction) -> ActionButton:
        button = ActionButton(action, self)
        button.setProperty("kind", "small")
        button.setIconSize(QSize(SIZES.icon, SIZES.icon))
        return button


def _drop(button: Button) -> None:
    button.hide()
    button.deleteLater()


class MessageMenu(QMenu):
    """What the row offers, what is selected or pointed at in the message's `view`, and facts. Gone when closed."""

    def __init__(
        self, view: QWidget, verbs: MessageActions, message: ChatMessage, place: Place, has_details: bool
    ) -> None:
        super().__init__(view)
        self.aboutToHide.connect(self.deleteLater)
        self._view, self._verbs, self._message = view, verbs, message
        self._add_pointed_at()
        for action in actions_of(message, place):
            self._add(action)
            if action.name == "copy":
                self._add_code()
        if place.of > 1:
            self.addSeparator()
            self._add(PREVIOUS)
            self._add(NEXT)
        if place.deleted:
            self._add(RESTORE)
        if has_details:
            self._add(DETAILS)
        self.addSeparator()
        for line in facts_of(message):
            self.addAction(line.replace("&", "&&")).setEnabled(False)

    def _add(self, action: Action) -> None:
        self.addAction(self._verbs.action(action))

    def _add_code(self) -> None:
        blocks = code_of(self._message.content)
        if blocks and self._message.role == "assistant":
            self._copying(tr("Copy code"), "\n\n".join(blocks))

    def _add_pointed_at(self) -> None:
        """The selection and the link under the pointer come first: they are what the menu was opened for."""
        scope = scope_of(self._view)
        selected = scope.selected_text() if scope is not None else ""
        if selected:
            self._copying(tr("Copy selection"), selected)
        for part in self._view.findChildren(ProseView):
            link = part.anchorAt(part.viewport().mapFromGlobal(QCursor.pos())) if part.underMouse() else ""
            if link:
                self._copying(tr("Copy link address"), link)
        if self.actions():
            self.addSeparator()

    def _copying(self, label: str, text: str) -> None:
        entry = self.addAction(icon("copy", theme().soft), label)
        entry.triggered.connect(lambda: QGuiApplication.clipboard().setText(text))


class RemedyButtons(Live, QWidget):
    """What the user may do when a chat has outgrown the context: one button a remedy, as many in a row as fit.

    `chosen` carries the Remedy. Hidden while there is nothing to choose."""

    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.buttons: list[QPushButton] = []
        self._remedies: tuple[Remedy, ...] = ()
        self.apply_look()
        self.hide()

    def offer(self, remedies: Iterable[Remedy]) -> None:
        for button in self.buttons:
            button.hide()
            button.deleteLater()
        self._remedies = tuple(remedy for remedy in remedies if remedy.kind in REMEDIES)
        self.buttons = [self._button(remedy) for remedy in self._remedies]
        self.setVisible(bool(self.buttons))
        self._place(self.width())

    def retranslate(self) -> None:
        for button, remedy in zip(self.buttons, self._remedies, strict=True):
            button.setText(words_of(remedy))
        self._place(self.width())

    def heightForWidth(self, width: int) -> int:
        return self._place(width)

    def resizeEvent(self, _event: object) -> None:
        self._place(self.width())

    def _button(self, remedy: Remedy) -> QPushButton:
        button = QPushButton(words_of(remedy), self)
        button.setAutoDefault(True)  # Return presses it, as Space does
        button.setProperty("kind", "step")
        button.clicked.connect(lambda: self.chosen.emit(remedy))
        button.show()
        return button

    def _place(self, width: int) -> int:
        """Put the buttons in rows of `width` pixels; the rows' height."""
        left = top = bottom = 0
        for button in self.buttons:
            size = button.sizeHint()
            if left and left + size.width() > width:
                left, top = 0, bottom + SIZES.gap
            button.setGeometry(left, top, min(size.width(), width), size.height())
            left += size.width() + SIZES.gap
            bottom = top + size.height()
        return bottom


def words_of(remedy: Remedy) -> str:
    if remedy.kind == "forget_turns":
        return tr_n("Leave out the oldest turn", "Leave out the oldest {n} turns", remedy.turns)
    if remedy.kind == "larger_context":
        return tr("Use a context of {n_ctx:,} tokens", n_ctx=remedy.n_ctx)
    return tr("Use a context of {n_ctx:,} tokens, stored in less memory", n_ctx=remedy.n_ctx)


def forgotten_line(turns: int) -> str:
    return tr_n(
        "The oldest turn is left out starting with your next message.",
        "The oldest {n} turns are left out starting with your next message.",
        turns,
    )
