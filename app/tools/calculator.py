"""A calculator for the model: decimal numbers, functions and units; only what is listed here is ever computed."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable
from decimal import Context, Decimal, DecimalException, localcontext

LONGEST = 500  # characters
MOST_EXPONENT, MOST_FACTORIAL = 10_000, 500
DIGITS = 40  # that are computed; SHOWN of them are right after a few hundred steps
SHOWN = 15
OPERATORS: dict[type[ast.operator], Callable[[Decimal, Decimal], Decimal]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
}  # fmt: skip
NAMES = {"pi": Decimal("3.141592653589793238462643383279502884197"), "e": Decimal(1).exp(Context(prec=DIGITS))}
FUNCTIONS: dict[str, Callable[..., Decimal]] = {
    "sqrt": Decimal.sqrt, "exp": Decimal.exp, "ln": Decimal.ln, "log": Decimal.ln, "log10": Decimal.log10,
    "abs": abs, "min": min, "max": max, "round": lambda value, digits=Decimal(0): round(value, int(digits)),
    "floor": lambda value: Decimal(math.floor(value)), "ceil": lambda value: Decimal(math.ceil(value)),
    "factorial": lambda value: _factorial(value),
    **{name: lambda value, name=name: Decimal(repr(getattr(math, name)(float(value))))
       for name in ("sin", "cos", "tan", "asin", "acos", "atan", "radians", "degrees")},
}  # fmt: skip
# Units by what they measure: how much of the first one each is.
UNITS: tuple[dict[str, str], ...] = (
    {"m": "1", "km": "1000", "cm": "0.01", "mm": "0.001", "in": "0.0254", "inch": "0.0254", "ft": "0.3048",
     "foot": "0.3048", "feet": "0.3048", "yd": "0.9144", "mi": "1609.344", "mile": "1609.344", "nmi": "1852"},
    {"kg": "1", "g": "0.001", "mg": "0.000001", "t": "1000", "lb": "0.45359237", "pound": "0.45359237",
     "oz": "0.028349523125", "ounce": "0.028349523125", "st": "6.35029318"},
    {"s": "1", "sec": "1", "second": "1", "ms": "0.001", "min": "60", "minute": "60", "h": "3600", "hour": "3600",
     "day": "86400", "week": "604800", "year": "31557600"},
    {"l": "1", "ml": "0.001", "m3": "1000", "cup": "0.2365882365", "tbsp": "0.01478676478125",
     "tsp": "0.00492892159375", "gal": "3.785411784", "gallon": "3.785411784", "pint": "0.473176473"},
    {"m2": "1", "km2": "1000000", "ha": "10000", "acre": "4046.8564224", "ft2": "0.09290304"},
    {"m/s": "1", "km/h": "0.27777777777777777777777777777777777778", "kmh": "0.27777777777777777777777777777777777778",
     "mph": "0.44704", "knot": "0.51444444444444444444444444444444444444"},
    {"b": "1", "byte": "1", "kb": "1000", "mb": "1000000", "gb": "1000000000", "tb": "1000000000000", "kib": "1024",
     "mib": "1048576", "gib": "1073741824", "tib": "1099511627776"},
    {"j": "1", "kj": "1000", "cal": "4.184", "kcal": "4184", "wh": "3600", "kwh": "3600000"},
)  # fmt: skip
DEGREES = {"c": "c", "°c": "c", "celsius": "c", "f": "f", "°f": "f", "fahrenheit": "f", "k": "k", "kelvin": "k"}
CONVERSION = re.compile(r"(.+?)\s*(°?[a-zA-Z][a-zA-Z/]*[23²³]?)\s+(?:in|to|into|as)\s+(°?[a-zA-Z][a-zA-Z/]*[23²³]?)")
# What people and models write, and what it means.
WRITTEN = (("×", "*"), ("·", "*"), ("÷", "/"), ("−", "-"), ("^", "**"), ("²", "2"), ("³", "3"))
PERCENT_OF, PERCENT = re.compile(r"([\d.]+)\s*%\s*of\b"), re.compile(r"([\d.]+)\s*%(?!\s*[\w(])")
THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


def calculate(expression: str) -> str:
    """Return the value of an expression such as "(3 + 4) * 2.5" or "5 miles in km"; raise ValueError if it has none."""
    text = expression.strip().rstrip("=? ")
    if not text or len(text) > LONGEST:
        raise ValueError(f"an expression has 1 to {LONGEST} characters")
    text = THOUSANDS.sub("", text)
    with localcontext(Context(prec=DIGITS, Emax=MOST_EXPONENT, Emin=-MOST_EXPONENT)):
        try:
            if conversion := CONVERSION.fullmatch(text):
                amount, unit, wanted = conversion.groups()
                return f"{_shown(_converted(_value(amount), unit, wanted))} {wanted}"
            return _shown(_value(text))
        except DecimalException as error:
            raise ValueError(f"it cannot be computed ({type(error).__name__})") from error
        except (SyntaxError, RecursionError, MemoryError, TypeError, OverflowError) as error:
            raise ValueError("it is no arithmetic expression") from error


def _value(text: str) -> Decimal:
    for written, meant in WRITTEN:
        text = text.replace(written, meant)
    text = PERCENT.sub(r"(\1/100)", PERCENT_OF.sub(r"\1/100*", text)).strip()
    return _computed(ast.parse(text, mode="eval").body, text)


def _computed(node: ast.expr, text: str) -> Decimal:
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            return Decimal((ast.get_source_segment(text, node) or "").replace("_", ""))
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            value = _computed(operand, text)
            return -value if isinstance(node.op, ast.USub) else value
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in OPERATORS:
            return OPERATORS[type(sign)](_computed(left, text), _computed(right, text))
        case ast.Name(id=name) if name in NAMES:
            return NAMES[name]
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            return Decimal(FUNCTIONS[name](*(_computed(each, text) for each in args)))
    raise SyntaxError(ast.unparse(node))


def _factorial(value: Decimal) -> Decimal:
    if value != int(value) or not 0 <= value <= MOST_FACTORIAL:
        raise ValueError(f"a factorial is of a whole number from 0 to {MOST_FACTORIAL}")
    return Decimal(math.factorial(int(value)))


def _converted(amount: Decimal, unit: str, wanted: str) -> Decimal:
    """Return the amount of one unit in another; raise ValueError for units that do not measure the same."""
    if (degree := DEGREES.get(unit.lower())) and (other := DEGREES.get(wanted.lower())):
        return _degrees(amount, degree, other)
    one, two = _name(unit), _name(wanted)
    for units in UNITS:
        if one in units and two in units:
            return amount * Decimal(units[one]) / Decimal(units[two])
    raise ValueError(f"{unit} cannot be converted into {wanted}")


def _name(unit: str) -> str:
    name = unit.lower().replace("²", "2").replace("³", "3")
    known = {each for units in UNITS for each in units}
    return name if name in known else name.removesuffix("s") if name.removesuffix("s") in known else name[:-2]


def _degrees(amount: Decimal, degree: str, other: str) -> Decimal:
    zero, factor = Decimal("273.15"), Decimal(5) / 9
    kelvin = {"k": amount, "c": amount + zero, "f": (amount - 32) * factor + zero}[degree]
    return {"k": kelvin, "c": kelvin - zero, "f": (kelvin - zero) / factor + 32}[other]


def _shown(value: Decimal) -> str:
    """Return a number as people write it: whole numbers in full, others with 15 digits."""
    if not value.is_finite():
        raise ValueError("it has no finite value")
    if value == value.to_integral_value() and abs(value) < Decimal(10) ** DIGITS:
        return f"{value.quantize(Decimal(1)):f}" if abs(value) < Decimal(10) ** (DIGITS - 1) else f"{value:E}"
    rounded = Context(prec=SHOWN).plus(value).normalize()
    return f"{rounded:f}" if -SHOWN < rounded.adjusted() < SHOWN else f"{rounded:E}"
