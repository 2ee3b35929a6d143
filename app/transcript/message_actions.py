"""What can be done with a message: its actions, their buttons and menu, and remedies for a full context."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QActionGroup, QCursor, QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QLabel, QMenu, QWidget

from app.commands.commands import ActionButton, keys_in
from app.look.flow import Flow
from app.look.live import Live, LiveAction
from app.look.sheet import Button, discard, fill
from app.look.theme import SIZES, icon, theme
from app.markdown.blocks import code_of
from app.markdown.prose_view import ProseView
from app.markdown.selection import scope_of
from app.state.answer_facts import facts_of
from app.store.chat import ChatMessage
from app.words import mark, tr, tr_n
from common.paths import path_of
from engine.protocol.events import Remedy
from models.titles import title_of

KEYS_IN_TEXTS = ("previous", "next")  # their keys work with the focus in one of the message's texts too
# Those known here; a newer engine may send others.
REMEDIES = ("sum_up", "forget_turns", "larger_context", "smaller_kv", "other_model")


@dataclass(frozen=True, slots=True)
class MessagePosition:
    """A message's position in its chat, as far as its actions depend on that.

    `is_last`: it is the last message of the shown branch. It is number `version` (from 1) of `versions` siblings.
    `busy`: its chat is being answered. `has_remedies`: the user must choose a remedy before the answer can go on.
    `has_deleted`: messages behind it were deleted.
    """

    is_last: bool = False
    version: int = 1
    versions: int = 1
    busy: bool = False
    has_remedies: bool = False
    has_deleted: bool = False


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that can be done with a message.

    `icon` names a file of assets/icons; `label` is marked for translation. A `main` action is always visible, with its
    label. An action that does not work `while_busy` waits until the chat's answer has ended. One that is not `in_row`
    is in the menu alone.
    """

    name: str
    icon: str
    label: str
    main: bool = False
    while_busy: bool = False
    in_row: bool = True


MORE = Action("more", "more", mark("More"), while_busy=True)
PREVIOUS = Action("previous", "previous", mark("Previous version"))
NEXT = Action("next", "next", mark("Next version"))
RESTORE = Action("restore", "again", mark("Restore deleted messages below"), while_busy=True)
WITH = Action("again_with", "chevron", mark("Try again with…"))
BRANCH_OFF = Action("branch_off", "branch", mark("Branch into a new chat"), while_busy=True, in_row=False)
DETAILS = Action("details", "chevron", mark("Details"), while_busy=True)


def actions_of(message: ChatMessage, position: MessagePosition) -> tuple[Action, ...]:
    """Return the message's actions, main ones first, then by use; none while the message is being written."""
    if position.busy and position.is_last and message.role == "assistant":
        return ()
    return (*_main_actions(message, position), *_other_actions(message, position))


def _main_actions(message: ChatMessage, position: MessagePosition) -> list[Action]:
    if position.busy or not position.is_last:
        return []
    if message.role in ("user", "tool"):
        return [Action("again", "again", mark("Answer"), main=True)]
    if message.unfinished and not position.has_remedies:
        again = [_again_action(main=True)] if message.stop_reason in ("failed", "engine") else []
        return [Action("continue", "continue", mark("Continue"), main=True), *again, *_details_action(message)]
    failed = message.stop_reason == "failed" or not message.content
    return [*([_again_action(main=True)] if failed else []), *_details_action(message)]


def _details_action(message: ChatMessage) -> list[Action]:
    """Return the action that shows what went wrong, if that is known."""
    known = message.stop_reason in ("failed", "engine") and (message.detail or message.stop_reason == "engine")
    return [replace(DETAILS, main=True)] if known else []


def _other_actions(message: ChatMessage, position: MessagePosition) -> list[Action]:
    actions = [Action("copy", "copy", mark("Copy message"), while_busy=True)] if message.content else []
    if message.role == "user":
        actions.append(Action("edit", "edit", mark("Edit message")))
    elif message.role == "assistant":
        if message.content and not message.calls:
            actions.append(Action("edit", "edit", mark("Edit answer")))
        if all(action.name != "again" for action in _main_actions(message, position)):
            actions.append(_again_action())
        actions.append(WITH)
    return [*actions, BRANCH_OFF, Action("delete", "delete", mark("Delete message"))]


def _again_action(main: bool = False) -> Action:
    return Action("again", "again", mark("Try again" if main else "Regenerate"), main)


class MessageActions(QActionGroup):
    """The QActions that a message's row, menu and keys share: words, icons, keys and whether each is possible now.

    `triggered` carries a QAction whose `data()` is the action's name.
    """

    def __init__(self, message: QWidget) -> None:
        super().__init__(message)
        self.setExclusionPolicy(QActionGroup.ExclusionPolicy.None_)
        self._message = message
        self.position = MessagePosition()
        self.offered: tuple[Action, ...] = ()
        self._qactions: dict[str, LiveAction] = {}  # made when first shown, because most messages are only read

    def offer(self, actions: tuple[Action, ...], position: MessagePosition) -> bool:
        """Set the possible actions and the message's position; return whether anything changed."""
        if (actions, position) == (self.offered, self.position):
            return False
        self.offered, self.position = actions, position
        names = {action.name for action in actions}
        for name, qaction in self._qactions.items():
            qaction.setEnabled(name in names)
        for action in actions:
            if action.name in self._qactions:
                self.qaction(action)
        return True

    def qaction(self, action: Action) -> LiveAction:
        qaction = self._qactions.get(action.name) or self._make_qaction(action)
        qaction.set_title(action.label)
        qaction.setEnabled(self._is_possible(action))
        return qaction

    def versions(self) -> tuple[Action, ...]:
        """Return the actions that lead to the message's siblings; none without siblings."""
        return (PREVIOUS, NEXT) if self.position.versions > 1 else ()

    def _is_possible(self, action: Action) -> bool:
        position = self.position
        if (action is PREVIOUS and position.version < 2) or (action is NEXT and position.version >= position.versions):
            return False
        return action.while_busy or not position.busy

    def _make_qaction(self, action: Action) -> LiveAction:
        qaction = self._qactions[action.name] = LiveAction(
            self._message, action.label, action.icon, keys_in("message", action.name)
        )
        inside = Qt.ShortcutContext.WidgetWithChildrenShortcut
        qaction.setShortcutContext(inside if action.name in KEYS_IN_TEXTS else Qt.ShortcutContext.WidgetShortcut)
        qaction.setShortcutVisibleInContextMenu(True)
        qaction.setData(action.name)
        self.addAction(qaction)
        self._message.addAction(qaction)
        return qaction


class WordButton(Button):
    """A button with an action's icon and label."""

    def __init__(self, action: LiveAction, parent: QWidget) -> None:
        super().__init__(parent, work=action.trigger)
        self._action = action
        action.changed.connect(self._follow)
        self._follow()

    def _follow(self) -> None:
        self.setText(self._action.text())
        self.setAccessibleName(self._action.text())
        self.setIcon(self._action.icon())
        self.setEnabled(self._action.isEnabled())


RowButton = WordButton | ActionButton


class ActionRow(Live, QWidget):
    """The buttons below a message, and the number of its version.

    Buttons that are always visible are at the message's own side, so that nothing moves when the others appear.
    """

    def __init__(self, actions: MessageActions, parent: QWidget, right: bool) -> None:
        super().__init__(parent)
        self.setObjectName("actions")
        self._actions, self._right = actions, right
        self._row = fill(QHBoxLayout(self), gap=2)
        self._open = False
        self._building = self._stale = False
        self.buttons: dict[str, RowButton] = {}
        self._number: QLabel | None = None
        self.apply_look()

    def offer(self, actions: tuple[Action, ...], position: MessagePosition) -> None:
        """Show these actions; showing the same ones again costs nothing."""
        if self._actions.offer(actions, position):
            self._build()

    def open(self, shown: bool) -> None:
        """Show or hide the buttons that are not always visible."""
        if shown != self._open:
            self._open = shown
            self._build()

    def restyle(self) -> None:
        for button in self.buttons.values():
            if isinstance(button, ActionButton):
                button.setIconSize(QSize(SIZES.icon, SIZES.icon))

    def retranslate(self) -> None:
        if self._number is not None:
            position = self._actions.position
            self._number.setAccessibleName(tr("Version {at} of {of}", at=position.version, of=position.versions))

    # --- inside -----------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        """Make the buttons that are wanted now.

        Hiding a button moves mouse and focus away, which opens or closes the row. Such a call is therefore done after
        the present one, not within it.
        """
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
        """Put the wanted buttons into the row; a button that stays keeps the focus."""
        offered = self._actions.offered
        wanted = [action for action in offered if action.main or (self._open and action.in_row)]
        if self._open and self._actions.offered:
            wanted.append(MORE)
        names = {action.name for action in (*self._actions.versions(), *wanted)}
        for name in [name for name in self.buttons if name not in names]:
            discard(self.buttons.pop(name))
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
        self._row.activate()  # Tab follows the buttons' positions

    def _switcher(self) -> list[QWidget]:
        position = self._actions.position
        if self._number is not None:
            self._number.setVisible(position.versions > 1)
        if position.versions < 2:
            return []
        if self._number is None:
            self._number = QLabel(self)
            self._number.setObjectName("aside")
        self._number.setText(f"{position.version}/{position.versions}")
        self.retranslate()
        return [self._button(PREVIOUS), self._number, self._button(NEXT)]

    def _button(self, action: Action) -> RowButton:
        qaction, button = self._actions.qaction(action), self.buttons.get(action.name)
        if not isinstance(button, WordButton if action.main else ActionButton):
            if button is not None:
                discard(button)
            button = self.buttons[action.name] = (
                WordButton(qaction, self) if action.main else self._icon_button(qaction)
            )
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # a click leaves the focus where it is
        return button

    def _icon_button(self, qaction: LiveAction) -> ActionButton:
        button = ActionButton(qaction, self)
        button.setProperty("kind", "small")
        button.setIconSize(QSize(SIZES.icon, SIZES.icon))
        return button


class MessageMenu(QMenu):
    """A message's menu: its actions, its selected text, the link under the pointer, and facts. Deleted when closed.

    `models_requested` carries the submenu of models, to be filled when it is about to be shown.
    """

    models_requested = Signal(object)

    def __init__(
        self,
        view: QWidget,
        message_actions: MessageActions,
        message: ChatMessage,
        position: MessagePosition,
        has_details: bool,
    ) -> None:
        super().__init__(view)
        self.aboutToHide.connect(self.deleteLater)
        self._view, self._message_actions, self._message = view, message_actions, message
        self._add_pointed_at()
        for action in actions_of(message, position):
            if action is WITH:
                self._add_models()
            else:
                self._add(action)
            if action.name == "copy":
                self._add_code()
        if position.versions > 1:
            self.addSeparator()
            self._add(PREVIOUS)
            self._add(NEXT)
        if position.has_deleted:
            self._add(RESTORE)
        if has_details:
            self._add(DETAILS)
        self.addSeparator()
        for line in facts_of(message):
            self.addAction(line.replace("&", "&&")).setEnabled(False)

    def _add(self, action: Action) -> None:
        self.addAction(self._message_actions.qaction(action))

    def _add_models(self) -> None:
        action = self._message_actions.qaction(WITH)
        models = self.addMenu(action.icon(), action.text())
        models.setEnabled(action.isEnabled())
        models.aboutToShow.connect(lambda: self.models_requested.emit(models))

    def _add_code(self) -> None:
        blocks = code_of(self._message.content)
        if blocks and self._message.role == "assistant":
            self._add_copying(tr("Copy code"), "\n\n".join(blocks))

    def _add_pointed_at(self) -> None:
        """Add entries for the selection and the link under the pointer, first because the menu was opened for them."""
        scope = scope_of(self._view)
        selected = scope.selected_text() if scope is not None else ""
        if selected:
            self._add_copying(tr("Copy selection"), selected)
        for part in self._view.findChildren(ProseView):
            link = part.anchorAt(part.viewport().mapFromGlobal(QCursor.pos())) if part.underMouse() else ""
            if link:
                self._add_copying(tr("Copy link address"), link)
        if self.actions():
            self.addSeparator()

    def _add_copying(self, label: str, text: str) -> None:
        entry = self.addAction(icon("copy", theme().soft), label)
        entry.triggered.connect(lambda: QGuiApplication.clipboard().setText(text))


class RemedyButtons(Live, Flow):
    """The remedies of a chat that has outgrown the context: one button each, wrapped into rows.

    `chosen` carries the Remedy. The widget is hidden while there are no remedies.
    """

    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.buttons: list[Button] = []
        self._remedies: tuple[Remedy, ...] = ()
        self.apply_look()
        self.hide()

    def offer(self, remedies: Iterable[Remedy]) -> None:
        self._remedies = tuple(remedy for remedy in remedies if remedy.kind in REMEDIES)
        self.buttons = [Button(self, work=partial(self.chosen.emit, remedy)) for remedy in self._remedies]
        self.retranslate()
        self.set_widgets(self.buttons)
        self.setVisible(bool(self.buttons))

    def retranslate(self) -> None:
        for button, remedy in zip(self.buttons, self._remedies, strict=True):
            button.setText(remedy_label(remedy))


def remedy_label(remedy: Remedy) -> str:
    if remedy.kind == "sum_up":
        return tr("Sum up the oldest messages")
    if remedy.kind == "forget_turns":
        return tr_n("Leave out the oldest turn", "Leave out the oldest {n} turns", remedy.turns)
    if remedy.kind == "other_model":
        return tr("Use {model}, which has room", model=title_of(path_of(remedy.path)))
    if remedy.kind == "larger_context":
        return tr("Use a context of {n_ctx:,} tokens", n_ctx=remedy.n_ctx)
    return tr("Use a context of {n_ctx:,} tokens, stored in less memory", n_ctx=remedy.n_ctx)


def forgotten_line(turns: int) -> str:
    return tr_n(
        "The oldest turn is left out starting with your next message.",
        "The oldest {n} turns are left out starting with your next message.",
        turns,
    )
