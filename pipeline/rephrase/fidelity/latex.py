"""LaTeX expressions as numbers: a small parser that evaluates at a probe point.

Two expressions with equal values at random points are equal with near certainty (Schwartz 1980, Zippel 1979). What the
parser does not know (integrals, matrices, sums with dots) raises `Unreadable`, and the caller compares text instead.
Symbols are case-sensitive.
"""

from __future__ import annotations

import cmath
import hashlib
import math
import re
from collections.abc import Callable
from functools import lru_cache

_DROP = re.compile(
    r"\\(?:left|right|big|Big|bigl|bigr|Bigl|Bigr|displaystyle|textstyle|quad|qquad|limits)(?![a-zA-Z])|(?<!\\)\\[,;!: ]|~|\s+"
)
_ALIKE = (
    ("\\dfrac", "\\frac"),
    ("\\tfrac", "\\frac"),
    ("\\cdot", "*"),
    ("\\times", "*"),
    ("×", "*"),
    ("·", "*"),
    ("⋅", "*"),
    ("÷", "/"),
    ("\\div", "/"),
    ("−", "-"),
    ("\\leq", "\\le"),
    ("\\geq", "\\ge"),
    ("≤", "\\le"),
    ("≥", "\\ge"),
    ("\\neq", "\\ne"),
    ("≠", "\\ne"),
    ("≈", "\\approx"),
    ("π", "\\pi"),
    ("\\lt", "<"),
    ("\\gt", ">"),
    ("\\dots", "…"),
    ("\\ldots", "…"),
    ("\\cdots", "…"),
    ("\\%", "%"),
    ("\\mathrm", ""),
    ("\\text", ""),
    ("\\operatorname", ""),
)
_BOXED = re.compile(r"\\boxed\{((?:[^{}]|\{[^{}]*\})*)\}")
_TOKEN = re.compile(r"\d+(?:\.\d+)?|\\[a-zA-Z]+|\\[{}|]|[a-zA-Z]|[\u0370-\u03ff]|\S")
_FUNCTIONS: dict[str, Callable[[complex], complex]] = {
    "\\sin": cmath.sin,
    "\\cos": cmath.cos,
    "\\tan": cmath.tan,
    "\\ln": cmath.log,
    "\\log": cmath.log,
    "\\lg": cmath.log10,
    "\\exp": cmath.exp,
    "\\arctan": cmath.atan,
    "\\arcsin": cmath.asin,
    "\\arccos": cmath.acos,
    "\\sinh": cmath.sinh,
    "\\cosh": cmath.cosh,
}
_CLOSING = {"(": ")", "[": "]", "\\{": "\\}", "{": "}"}
_DEEPEST = 40


class Unreadable(Exception):
    """An expression that the parser does not know."""


def tidy(body: str) -> str:
    """The formula without spacing and with one spelling of equal commands; for comparison as text."""
    body = _BOXED.sub(r"\1", body)
    for old, new in _ALIKE:
        pattern = re.escape(old) + r"(?![a-zA-Z])" if old[-1].isalpha() else re.escape(old)
        body = re.sub(pattern, new.replace("\\", "\\\\"), body)
    body = _DROP.sub(" ", body)
    body = re.sub(r"(\\[a-zA-Z]+) (?=[a-zA-Z])", "\\1\0", body)
    body = body.replace(" ", "").replace("\0", " ").rstrip(".,;:")
    body = re.sub(r"(?<=\d):(?=\d)", "/", body)
    body = re.sub(r"\\frac(\d)(\d)", r"\\frac{\1}{\2}", body)
    body = re.sub(r"\\sqrt(\w)", r"\\sqrt{\1}", body)
    return re.sub(r"([_^])\{(\w)\}", r"\1\2", body)


@lru_cache(maxsize=50_000)
def value(body: str) -> tuple[complex, ...]:
    """The values of a tidied expression at two probe points. Raises Unreadable."""
    return tuple(_Parser(_TOKEN.findall(body), probe).whole() for probe in (0, 1))


def is_number(body: str) -> bool:
    """Whether a tidied expression has no symbols but constants."""
    names = re.findall(r"\\?[a-zA-Z]+", body.replace("\\pi", ""))
    return all(name == "\\frac" or name == "\\sqrt" or name in _FUNCTIONS for name in names)


@lru_cache(maxsize=10_000)
def _symbol(name: str, probe: int) -> complex:
    """The value of a symbol at a probe point: 0.3 … 2.3, fixed by its name."""
    digest = hashlib.blake2b(f"{probe} {name}".encode(), digest_size=6).digest()
    return 0.3 + 2 * int.from_bytes(digest, "big") / 2**48


class _Parser:
    """Recursive descent over tokens; values are computed on the way."""

    def __init__(self, tokens: list[str], probe: int) -> None:
        self.tokens, self.at, self.probe, self.depth = tokens, 0, probe, 0

    def whole(self) -> complex:
        if not self.tokens:
            raise Unreadable("empty")
        try:
            result = self.listed(None)
        except (ZeroDivisionError, OverflowError, ValueError, IndexError, TypeError) as error:
            raise Unreadable(str(error)) from error
        if self.at < len(self.tokens):
            raise Unreadable(self.tokens[self.at])
        return result

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.tokens[self.at]
        self.at += 1
        return token

    def listed(self, closing: str | None) -> complex:
        """Expressions between commas; several make one value that knows their order."""
        result, place = self.sum(), 1
        while self.peek() == ",":
            self.take()
            place += 1
            result = result + _symbol(f"place {place}", self.probe) * (self.sum() + 7)
        if closing is not None and self.take() != closing:
            raise Unreadable("bracket")
        return result

    def sum(self) -> complex:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise Unreadable("too deep")
        sign = 1
        while self.peek() in ("+", "-"):
            sign *= -1 if self.take() == "-" else 1
        result = sign * self.product()
        while self.peek() in ("+", "-"):
            result = result + self.product() if self.take() == "+" else result - self.product()
        self.depth -= 1
        return result

    def product(self) -> complex:
        result = self.power()
        while True:
            token = self.peek()
            if token == "*":
                self.take()
                result *= self.signed()
            elif token == "/":
                self.take()
                result /= self.signed()
            elif token and (
                token[0].isalnum()
                or token in ("(", "[", "{", "\\{", "\\frac", "\\sqrt", "\\pi")
                or token in _FUNCTIONS
                or (token.startswith("\\") and token[1:].isalpha() and token not in _RELATIONAL)
            ):
                result *= self.power()
            else:
                return result

    def signed(self) -> complex:
        if self.peek() == "-":
            self.take()
            return -self.power()
        return self.power()

    def power(self) -> complex:
        base = self.atom()
        while self.peek() in ("^", "!", "'", "%"):
            mark = self.take()
            if mark == "^":
                exponent = self.group()
                if abs(exponent) > 60:
                    raise Unreadable("huge power")
                base = base**exponent
            elif mark == "!":
                if base.imag or base.real != int(base.real) or not 0 <= base.real <= 100:
                    base = base * _symbol("!", self.probe)
                else:
                    base = complex(math.factorial(int(base.real)))
            elif mark == "'":
                base = base * _symbol("'", self.probe)
            else:
                base = base / 100
        return base

    def group(self) -> complex:
        """What `^`, `_` and the like take: braces, or one token, perhaps signed."""
        if self.peek() == "{":
            self.take()
            return self.listed("}")
        if self.peek() in ("+", "-"):
            return -self.atom() if self.take() == "-" else self.atom()
        token = self.peek()
        if token.isdigit() and len(token) > 1:
            self.tokens[self.at] = token[1:]
            return complex(int(token[0]))
        return self.atom()

    def atom(self) -> complex:
        token = self.take()
        if token[0].isdigit():
            return complex(float(token))
        if token in _CLOSING:
            return self.listed(_CLOSING[token])
        if token == "|":
            inner = self.sum()
            if self.take() != "|":
                raise Unreadable("bar")
            return complex(abs(inner))
        if token == "\\frac":
            top = self.group()
            return top / self.group()
        if token == "\\sqrt":
            degree: complex = 2
            if self.peek() == "[":
                self.take()
                degree = self.listed("]")
            return self.group() ** (1 / degree)
        if token in _FUNCTIONS:
            return self.function(_FUNCTIONS[token])
        if token == "\\pi":
            return complex(math.pi)
        if token.isalpha() or (
            token.startswith("\\")
            and token[1:].isalpha()
            and token not in _UNKNOWN
            and token not in _RELATIONAL
        ):
            return self.named(token)
        raise Unreadable(token)

    def named(self, token: str) -> complex:
        if token == "e":
            return complex(math.e)
        if self.peek() == "_":
            self.take()
            start = self.at
            depth = 0
            while True:
                taken = self.take()
                depth += (taken == "{") - (taken == "}")
                if depth == 0:
                    break
            token += "".join(self.tokens[start : self.at]).strip("{}")
        return _symbol(token, self.probe)

    def function(self, apply: Callable[[complex], complex]) -> complex:
        exponent: complex = 1
        if self.peek() == "^":
            self.take()
            exponent = self.group()
        if self.peek() in ("(", "{"):
            argument = self.listed(_CLOSING[self.take()])
        else:
            argument = self.power()
            while self.peek() and (self.peek()[0].isalnum() or self.peek() == "\\pi"):
                argument *= self.power()
        return apply(argument) ** exponent


_RELATIONAL = frozenset(
    "\\le \\ge \\ne \\approx \\to \\in \\equiv \\sim \\mid \\iff \\implies \\Rightarrow \\Leftrightarrow \\subset \\notin".split()
)
_UNKNOWN = frozenset(
    "\\int \\sum \\prod \\lim \\begin \\end \\pm \\mp \\infty \\dots \\binom \\forall \\exists \\nabla \\partial \\over".split()
)
