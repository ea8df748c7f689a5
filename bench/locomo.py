"""Evidence recall on LoCoMo through the public API, whole and with each part of the ranking taken away.

    python bench/locomo.py --data FOLDER [--half first|last] [--filler N] [--parts] [--json FILE]

FOLDER holds locomo10.json (Maharana et al., ACL 2024; CC BY-NC 4.0, never part of this
repository). Categories 1 to 4; one scope a conversation, one session a session, captions included.
R@k is the share of a question's evidence turns among the first k, averaged over questions.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

from memhub import MemoryStore, Observation, Provenance, Query, Scope, Turn
from memhub.search import documents, ranking, scores, scoring
from memhub_adapters.sqlite import SqliteAdapter

CUTS = (5, 10, 20)
CATEGORIES = (1, 2, 3, 4)


@dataclass(frozen=True)
class Said:
    """One turn of a conversation, with the id that evidence refers to."""

    id: str
    session: str
    speaker: str
    text: str
    at: datetime


@dataclass(frozen=True)
class Asked:
    text: str
    evidence: frozenset[str]
    category: int


@dataclass(frozen=True)
class Conversation:
    name: str
    turns: list[Said]
    questions: list[Asked]


def load(path: Path) -> list[Conversation]:
    """The ten conversations; malformed evidence repaired where it can be, else dropped."""
    return [_conversation(raw) for raw in json.loads(path.read_text(encoding="utf-8"))]


def _conversation(raw: dict) -> Conversation:
    talk = raw["conversation"]
    turns = [said for n in _sessions(talk) for said in _turns(talk, n)]
    known = {said.id for said in turns}
    questions = [_question(qa, known) for qa in raw["qa"]]
    return Conversation(raw["sample_id"], turns, [asked for asked in questions if asked.evidence])


def _sessions(talk: dict) -> list[int]:
    return sorted(int(found[1]) for key in talk if (found := re.fullmatch(r"session_(\d+)", key)))


def _turns(talk: dict, number: int) -> Iterator[Said]:
    at = datetime.strptime(talk[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    for turn in talk[f"session_{number}"]:
        caption = turn.get("blip_caption")
        text = f"{turn['text']} [shares {caption}]" if caption else turn["text"]
        yield Said(turn["dia_id"], f"session-{number}", turn["speaker"], text, at)


def _question(qa: dict, known: set[str]) -> Asked:
    named = (re.findall(r"D:?(\d+):(\d+)", text) for text in qa.get("evidence") or [])
    ids = {f"D{int(a)}:{int(b)}" for pairs in named for a, b in pairs}
    return Asked(qa["question"], frozenset(ids & known), qa["category"])


@dataclass
class Report:
    """Per question metrics, averaged; R@10 also by category."""

    rows: list[tuple[int, dict[str, float]]] = field(default_factory=list)

    def add(self, asked: Asked, found: Sequence[str]) -> None:
        hits = [id in asked.evidence for id in found]
        best = sum(1 / math.log2(n + 2) for n in range(min(len(asked.evidence), 10)))
        gain = sum(hit / math.log2(n + 2) for n, hit in enumerate(hits[:10]))
        row = {f"R@{k}": sum(hits[:k]) / len(asked.evidence) for k in CUTS}
        self.rows.append((asked.category, row | {"nDCG@10": gain / best}))

    def means(self) -> dict[str, float]:
        overall = [row for category, row in self.rows if category in CATEGORIES]
        found = {name: _mean(row[name] for row in overall) for name in (*(f"R@{k}" for k in CUTS), "nDCG@10")}
        for category in CATEGORIES:
            found[f"c{category} R@10"] = _mean(row["R@10"] for c, row in self.rows if c == category)
        return found


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return round(100 * sum(listed) / len(listed), 1) if listed else math.nan


async def remember(store: MemoryStore, talk: Conversation) -> dict[str, str]:
    """Store a conversation, one observation a session; returns turn ids by record id."""
    sessions: dict[str, list[Said]] = defaultdict(list)
    for said in talk.turns:
        sessions[said.session].append(said)
    ids = {}
    for name, turns in sessions.items():
        done = await store.observe(
            Observation(
                Scope(talk.name),
                turns=[Turn("user", said.text, speaker=said.speaker, at=said.at) for said in turns],
                provenance=Provenance(conversation_id=name),
            )
        )
        ids |= {record.id: said.id for record, said in zip(done.records, turns, strict=True)}
    return ids


async def fill(store: MemoryStore, talks: list[Conversation], count: int, scopes: int = 990) -> None:
    """Foreign records: turns of the conversations, in other scopes."""
    texts = [said.text for talk in talks for said in talk.turns]
    for number in range(scopes):
        some = [texts[(number * 7919 + n * 31) % len(texts)] for n in range(count // scopes + 1)]
        for at in range(0, len(some), 500):
            turns = [Turn("user", text) for text in some[at : at + 500]]
            await store.observe(Observation(Scope(f"foreign-{number}"), turns=turns))


async def measure(store: MemoryStore, talks: list[Conversation], ids: dict[str, dict[str, str]]) -> Report:
    report = Report()
    for talk in talks:
        for asked in talk.questions:
            if asked.category in CATEGORIES:
                found = await store.recall(Query(Scope(talk.name), text=asked.text, limit=max(CUTS)))
                report.add(asked, [ids[talk.name][hit.record.id] for hit in found.hits])
    return report


VARIANTS: dict[str, list[tuple[ModuleType, str, float]]] = {
    "without the previous turn": [(documents, "PREVIOUS", 0)],
    "without the following turn": [(ranking, "FOLLOWING", 0.0)],
    "without the speaker": [(ranking, "SPEAKER", 0.0), (scores, "SPEAKER", 0.0)],
    "without the session": [(ranking, "SESSION", 0.0)],
    "with k1 1.2 and b 0.75": [(scoring, "K1", 1.2), (scoring, "B", 0.75)],
}
"""The ranking with one part taken away or changed: module, name, value."""


@contextmanager
def variant(changes: list[tuple[ModuleType, str, float]]) -> Iterator[None]:
    saved = [(module, name, getattr(module, name)) for module, name, _ in changes]
    for module, name, value in changes:
        setattr(module, name, value)
    scoring._norms.cache_clear()  # noqa: SLF001 - it remembers what was just changed
    try:
        yield
    finally:
        for module, name, value in saved:
            setattr(module, name, value)
        scoring._norms.cache_clear()  # noqa: SLF001


async def measured(talks: list[Conversation], filler: int = 0) -> list[dict[str, float]]:
    """The means in a file of its own, and beside `filler` foreign records."""
    with tempfile.TemporaryDirectory() as folder:
        async with MemoryStore(SqliteAdapter(Path(folder, "locomo.db"), durability="normal")) as store:
            ids = {talk.name: await remember(store, talk) for talk in talks}
            found = [(await measure(store, talks, ids)).means()]
            if filler:
                await fill(store, talks, filler)
                found.append((await measure(store, talks, ids)).means())
            return found


async def run(args: argparse.Namespace) -> dict[str, dict[str, float]]:
    talks = load(args.data / "locomo10.json")
    talks = {"first": talks[:5], "last": talks[5:], "all": talks}[args.half]
    alone, *beside = await measured(talks, args.filler)
    rows = {"memhub, sqlite": alone}
    rows |= {f"  beside {args.filler:,} foreign records": means for means in beside}
    for label, changes in VARIANTS.items() if args.parts else ():
        with variant(changes):
            rows[f"  {label}"] = (await measured(talks))[0]
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--half", choices=("first", "last", "all"), default="all")
    parser.add_argument("--filler", type=int, default=0)
    parser.add_argument("--parts", action="store_true")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if not (args.data / "locomo10.json").exists():
        sys.exit(f"{args.data}: holds no locomo10.json; see the top of this file")
    rows = asyncio.run(run(args))
    names = list(next(iter(rows.values())))
    print(f"{'LoCoMo, ' + args.half:36}" + "".join(f"{name:>10}" for name in names))
    for label, row in rows.items():
        print(f"{label:36}" + "".join(f"{row[name]:10.1f}" for name in names))
    if args.json:
        args.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
