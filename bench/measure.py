"""Timing side by side: what is compared runs in turn, so that a drifting machine slows both."""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Pair:
    """Seconds of the same work by hand and by Memhub, call by call."""

    name: str
    raw: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)

    def row(self) -> dict[str, Any]:
        ratio = statistics.median(self.ours) / statistics.median(self.raw) if self.raw else None
        return {
            "what": self.name,
            "raw_ms": _ms(self.raw),
            "memhub_ms": _ms(self.ours),
            "memhub_p95_ms": _ms(self.ours, 0.95),
            "ratio": None if ratio is None else round(ratio, 2),
            "calls": len(self.ours),
        }


async def side_by_side(
    name: str,
    items: Iterable[Any],
    raw: Callable[[Any], object] | None,
    ours: Callable[[Any], Awaitable[object]],
) -> dict[str, Any]:
    """Do each item by hand and by Memhub, in turn; the medians and their ratio."""
    pair = Pair(name)
    for item in items:
        if raw is not None:
            began = time.perf_counter()
            done = raw(item)
            if isinstance(done, Awaitable):
                await done
            pair.raw.append(time.perf_counter() - began)
        began = time.perf_counter()
        await ours(item)
        pair.ours.append(time.perf_counter() - began)
    return pair.row()


async def seconds(work: Awaitable[object]) -> float:
    """How long it takes to await this."""
    began = time.perf_counter()
    await work
    return time.perf_counter() - began


def _ms(values: list[float], share: float = 0.5) -> float | None:
    if not values:
        return None
    return round(1000 * sorted(values)[min(len(values) - 1, int(share * len(values)))], 3)


def table(title: str, rows: list[dict[str, Any]]) -> str:
    """Rows as aligned text, a dash where there is nothing."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [names, *([_cell(row.get(name)) for name in names] for row in rows)]
    widths = [max(len(row[n]) for row in cells) for n in range(len(names))]
    lines = [
        "  ".join(
            text.ljust(w) if n == 0 else text.rjust(w)
            for n, (text, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    ]
    return f"\n{title}\n" + "\n".join(lines)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else str(value)
