"""How numbers are written, in tables and pages alike."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def number(value: float, unit: str = "") -> str:
    """A figure with as many digits as a reader can use, and a real minus sign."""
    if unit == "" and float(value).is_integer() and abs(value) >= 2:
        text = f"{value:,.0f}"
    elif unit in ("", "×") or (unit == "USD" and abs(value) < 1000):
        text = f"{value:.3f}"
    elif abs(value) >= 1000:
        text = f"{value:,.0f}"
    else:
        text = f"{value:.1f}"
    if not text.strip("-0.,"):
        text = text.removeprefix("-")  # what rounds to 0 has no sign
    return text.replace("-", "−")


def interval(low: float, high: float, unit: str = "") -> str:
    """Both ends of an interval."""
    return f"[{number(low, unit)}, {number(high, unit)}]"


def whole_percent(share: float | None) -> str:
    """A share in whole percent; a dash if there is none."""
    return "–" if share is None else f"{100 * share:.0f} %"


def spelled_out(settings: Mapping[str, Any], within: str = "") -> dict[str, str]:
    """Settings with the names of nested ones joined, for tables: 'encoding time_bases' as '16, 10, 10'."""
    shown: dict[str, str] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            shown |= spelled_out(value, f"{within}{name} ")
        else:
            shown[within + name] = ", ".join(map(_plain, value)) if isinstance(value, list) else _plain(value)
    return shown


def _plain(value: Any) -> str:
    """A setting as text, without Python's own notation."""
    if value is None or isinstance(value, bool):
        return {None: "–", True: "yes", False: "no"}[value]
    if isinstance(value, float):
        return f"{value:.12g}"
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, Mapping | list) else str(value)
