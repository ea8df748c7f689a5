"""Evidence recall on LoCoMo, where its file is at hand: MEMHUB_LOCOMO names the folder of locomo10.json."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from memhub import MemoryStore
from memhub_adapters.sqlite import SqliteAdapter

DATA = Path(os.environ.get("MEMHUB_LOCOMO", "."), "locomo10.json")
FLOORS = {"R@5": 67.0, "R@10": 74.5, "R@20": 80.0, "nDCG@10": 59.5}

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="MEMHUB_LOCOMO names no folder of locomo10.json")


def test_the_default_finds_what_it_is_meant_to_find_beside_foreign_records_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "bench"))
    import locomo

    talks = locomo.load(DATA)

    async def measured() -> tuple[dict[str, float], list, list]:
        async with MemoryStore(SqliteAdapter(tmp_path / "m.db", durability="normal")) as store:
            ids = {talk.name: await locomo.remember(store, talk) for talk in talks}
            alone = await locomo.measure(store, talks, ids)
            await locomo.fill(store, talks[:1], 5_000, scopes=50)
            beside = await locomo.measure(store, talks[:3], {talk.name: ids[talk.name] for talk in talks})
            return alone.means(), alone.rows, beside.rows

    means, alone, beside = asyncio.run(measured())
    assert {name: means[name] for name in FLOORS if means[name] < FLOORS[name]} == {}
    assert beside == alone[: len(beside)]
    sys.modules.pop("locomo", None)
