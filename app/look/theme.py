"""All colours, sizes, fonts and icons of the window: one table of tokens, turned into a palette and a stylesheet."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from string import Template

from PySide6.QtCore import QByteArray, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QIcon, QImage, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication

from models.assets import asset


@dataclass(slots=True)
class Sizes:
    """Pixels on a grid of 4; font sizes in pixels, line heights in percent.

    `scale` changes the sizes of text and of what contains text. There is one instance, SIZES: its values are read at
    each layout and never copied.
    """

    gap_s: int = 4
    gap: int = 8
    gap_m: int = 12
    gap_l: int = 16
    gap_xl: int = 24
    radius: int = 8
    radius_l: int = 16
    control: int = 32
    icon: int = 18
    bird: int = 96
    sidebar: int = 260
    panel: int = 320
    plot: int = 150
    strip: int = 12
    column: int = 760
    narrow: int = 760
    row: int = 34
    indent: int = 32
    digit: int = 10
    chip: int = 220
    thumbnail: int = 44
    header: int = 48
    title_bar: int = 32
    bar: int = 3
    gauge: int = 48
    scroll_bar: int = 12
    dialog: int = 680
    dialog_height: int = 720
    quick: int = 560
    quick_height: int = 360
    input: int = 200
    number: int = 76
    switch: int = 44
    words: int = 88
    body: int = 15
    small: int = 12
    label: int = 13
    example: int = 14
    title: int = 22
    button: int = 22
    line_height: int = 150
    tight_height: int = 130
    code_scale: float = 0.92
    heading_scales: tuple[float, ...] = (1.5, 1.3, 1.15, 1.07, 1.0, 1.0)
    table_column: int = 130
    user_width: float = 0.8
    caret: int = 8
    percent: int = 100

    def scale(self, percent: int) -> None:
        """Scale text, and everything that contains text, to `percent`; gaps, lines and corners stay."""
        usual = Sizes()
        for name in SCALED:
            setattr(self, name, round(getattr(usual, name) * percent / 100))
        self.percent = percent


SCALED = (
    "control", "icon", "sidebar", "panel", "plot", "column", "narrow", "row", "indent", "digit", "chip", "thumbnail",
    "header", "dialog", "dialog_height", "quick", "quick_height", "input", "number", "switch", "words", "body", "small",
    "label", "example", "title", "button", "caret", "table_column",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of one theme, as #rrggbb. Text colours reach 4.5 : 1 on the grounds they are used on."""

    name: str
    paper: str
    side: str
    raised: str
    bubble: str
    code: str
    hover: str
    chosen: str
    line: str
    ink: str
    soft: str
    accent: str
    accent_hover: str
    on_accent: str
    link: str
    danger: str
    selection: str
    mark: str
    # colours of code
    keyword: str
    string: str
    comment: str
    number: str
    name_: str


LIGHT = Theme(
    name="light", paper="#fcfcfb", side="#f4f4f2", raised="#ffffff", bubble="#eceeec", code="#f4f4f2",
    hover="#ebebe8", chosen="#e2e6e4", line="#e4e4e1", ink="#1d1f21", soft="#5f6468",
    accent="#2f6f6b", accent_hover="#275e5a", on_accent="#ffffff", link="#1f6662", danger="#b3261e",
    selection="#bcdcd8", mark="#f6e7ab",
    keyword="#7a3e9d", string="#2f6b2f", comment="#666b70", number="#9a4a12", name_="#1f5f99",
)  # fmt: skip
DARK = Theme(
    name="dark", paper="#1b1c1f", side="#17181a", raised="#242629", bubble="#2b2d31", code="#232528",
    hover="#26282b", chosen="#2e3135", line="#323539", ink="#e6e7e8", soft="#a0a5ab",
    accent="#7cc0b8", accent_hover="#93cfc8", on_accent="#10201e", link="#8ccbc3", danger="#f2958d",
    selection="#2f5551", mark="#5a4d1f",
    keyword="#c99be6", string="#9ccf8f", comment="#979ca2", number="#e6ab78", name_="#8fbfee",
)  # fmt: skip
SIZES = Sizes()


def system_theme() -> Theme:
    dark = QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark
    return DARK if dark else LIGHT


def theme_named(name: str) -> Theme:
    """Return the theme for a setting's value: light, dark, or otherwise the system's."""
    return {"light": LIGHT, "dark": DARK}.get(name) or system_theme()


_current = LIGHT
_look_number = 0


def theme() -> Theme:
    """Return the theme in use."""
    return _current


def look_number() -> int:
    """Return a number that increases with each change of theme or text size."""
    return _look_number


def apply(application: QApplication, chosen: Theme) -> None:
    """Apply the theme to the whole application."""
    global _current, _look_number
    _current = chosen
    application.setPalette(palette(chosen))
    sheet = stylesheet(chosen)
    if application.styleSheet() != sheet:  # Qt would parse it again and repaint everything
        application.setStyleSheet(sheet)
    _look_number += 1  # last, so that widgets measure only once palette and sheet are complete


def palette(chosen: Theme) -> QPalette:
    role = QPalette.ColorRole
    colours = {
        role.Window: chosen.paper, role.Base: chosen.paper, role.AlternateBase: chosen.side,
        role.WindowText: chosen.ink, role.Text: chosen.ink, role.Button: chosen.raised, role.ButtonText: chosen.ink,
        role.BrightText: chosen.danger, role.ToolTipBase: chosen.raised, role.ToolTipText: chosen.ink,
        role.Highlight: chosen.selection, role.HighlightedText: chosen.ink, role.Link: chosen.link,
        role.LinkVisited: chosen.link, role.PlaceholderText: chosen.soft, role.Accent: chosen.accent,
        role.Mid: chosen.line, role.Midlight: chosen.hover, role.Dark: chosen.line, role.Light: chosen.raised,
    }  # fmt: skip
    result = QPalette()
    for colour_role, colour in colours.items():
        result.setColor(colour_role, QColor(colour))
    for colour_role in (role.WindowText, role.Text, role.ButtonText):
        result.setColor(QPalette.ColorGroup.Disabled, colour_role, QColor(chosen.soft))
    return result


def stylesheet(chosen: Theme) -> str:
    """Return assets/style.qss with the theme's and sizes' values filled in."""
    template = Template(asset("style.qss").read_text(encoding="utf-8"))
    return template.substitute(
        asdict(chosen) | asdict(SIZES) | {"control_half": SIZES.control // 2, "attach": SIZES.control - 10}
    )


def font_of(pixels: int) -> QFont:
    """Return the system's font for windows in this size."""
    font = QFont(QGuiApplication.font())
    font.setPixelSize(pixels)
    return font


def body_font() -> QFont:
    return font_of(SIZES.body)


@cache
def _fixed_family() -> str:
    return QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont).family()


def code_font() -> QFont:
    font = QFont(_fixed_family())
    font.setStyleHint(QFont.StyleHint.Monospace)
    font.setPixelSize(round(SIZES.body * SIZES.code_scale))
    return font


# --- icons: the SVG files of assets, tinted in the theme's colours ----------------------------------------------------


def icon(name: str, colour: str) -> QIcon:
    """Return the icon `name` with `currentColor` replaced by `colour`."""
    result = QIcon()
    for scale in (1.0, 2.0):
        result.addPixmap(_pixmap(f"icons/{name}.svg", colour, SIZES.icon, scale))
    return result


def bird(size: int, scale: float | None = None) -> QPixmap:
    """Return the chickadee, `size` device-independent pixels wide and high."""
    return _pixmap("chickadee.svg", "", size, scale or QGuiApplication.primaryScreen().devicePixelRatio())


def application_icon() -> QIcon:
    result = QIcon()
    for size in (16, 32, 64, 128):
        result.addPixmap(_pixmap("chickadee.svg", "", size, 1.0))
    return result


@cache
def _pixmap(name: str, colour: str, size: int, scale: float) -> QPixmap:
    source = asset(name).read_text(encoding="utf-8").replace("currentColor", colour)
    image = QImage(QSize(round(size * scale), round(size * scale)), QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    QSvgRenderer(QByteArray(source.encode())).render(painter, QRectF(image.rect()))
    painter.end()
    pixmap = QPixmap.fromImage(image)
    pixmap.setDevicePixelRatio(scale)
    return pixmap
