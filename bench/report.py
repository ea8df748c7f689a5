"""The figures of a run as Markdown tables, for docs/benchmarks.md.

python bench/sqlite_store.py --json results.json
python bench/report.py results.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

TITLES = {
    "writes": "Writes, durable, into a scope of 1,000",
    "verbs": "Verbs, all records in one scope",
    "files": "Files and processes, all records in one scope",
    "foreign_100": "Recall in a scope of 1,000 while 99 other scopes grow",
    "foreign_1000": "Recall in a scope of 1,000 while 999 other scopes grow",
    "many_scopes": "One record in each of 10,000 scopes",
    "overhead": "The way through the hub",
}


def table(rows: list[dict[str, Any]]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = ["| " + " | ".join(names) + " |", "|---" + "|---:" * (len(names) - 1) + "|"]
    lines += ["| " + " | ".join(_cell(row.get(name)) for name in names) + " |" for row in rows]
    return "\n".join(lines)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else str(value)


def main() -> None:
    found = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    print(", ".join(f"{name} {version}" for name, version in found["versions"].items()))
    for name, title in TITLES.items():
        if name in found:
            print(f"\n### {title}\n\n{table(found[name])}")


if __name__ == "__main__":
    main()
