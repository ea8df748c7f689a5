"""Exports as JSON Lines: lossless, and told by line and field what is wrong with them."""

import asyncio
import json
import re
from dataclasses import fields
from pathlib import Path

import pytest

from exports import exported, imported, lines_of, record
from memhub import Conflict, InvalidInput, MemoryStore, Record, Scope, Unsupported
from memhub.export import is_export
from memhub.interchange import record_to_json
from memhub.migration import sources
from memhub_adapters.in_memory import InMemoryAdapter
from memhub_adapters.none import NoneAdapter
from moving import ANN, NOON, Renaming, everything, lacking, on_two, renamed


def refused(data):
    """What is told of a file that cannot be imported, and what was written of it."""

    async def work():
        async with MemoryStore(InMemoryAdapter()) as store:
            with pytest.raises(InvalidInput) as caught:
                await imported(store, data)
            held = await everything(store)
        return str(caught.value), held

    return asyncio.run(work())


def test_the_format_is_what_is_documented():
    async def work():
        async with MemoryStore(InMemoryAdapter()) as store:
            await store.restore(
                [record(1, scope=Scope(tenant="acme"), content="Tea \u2028 or \x85 oolong 🫖")]
            )
            return await exported(store)

    assert asyncio.run(work()) == (
        '{"memhub_export": 1}\n'
        '{"id": "r00001", "scope": {"tenant": "acme"}, "kind": "fact", "content": "Tea \\u2028 or \\u0085 oolong 🫖",'
        ' "tags": [], "attributes": {}, "provenance": {"conversation_id": null, "run_id": null,'
        ' "author": null, "role": null}, "created_at": "2026-03-01T12:00:00.000000Z",'
        ' "updated_at": "2026-03-01T12:00:00.000000Z", "observed_at": "2026-03-01T12:00:00.000000Z",'
        ' "invalid_at": null, "invalid_reason": null, "supersedes": null, "superseded_by": null,'
        ' "expires_at": null, "revision": "r", "position": 0, "target": null, "payload": null,'
        ' "supports": []}\n'
    )


def test_the_file_of_the_page_is_an_export():
    page = (Path(__file__).parent.parent / "docs/export-format.md").read_text("utf-8")
    data = page.partition("```json\n")[2].partition("```")[0]

    async def work():
        async with MemoryStore(InMemoryAdapter()) as store:
            await imported(store, data.encode())
            return await exported(store)

    assert asyncio.run(work()) == data
    assert {f"`{field.name}`" for field in fields(Record)} <= set(re.findall(r"`\w+`", page))


def test_an_export_holds_history_and_what_has_expired():
    async def work(source, target, clock):
        data = (await exported(source)).encode()
        done = await imported(target, data, clock=clock)
        assert await everything(target) == await everything(source)
        assert await imported(target, data, clock=clock) == done
        return await everything(target), done.moved

    held, moved = on_two(work)
    assert len(held) == moved == 12


def test_an_export_of_scopes_holds_what_they_cover():
    async def work(source, target, clock):
        await imported(target, (await exported(source, scope=Scope(tenant="acme"))).encode())
        return {one.scope for one in await everything(target)}

    assert on_two(work) == {ANN}


def test_chains_far_apart_in_the_file_are_linked_in_a_target_with_ids_of_its_own(monkeypatch):
    monkeypatch.setattr(sources, "PAGE", 2)
    monkeypatch.setattr("memhub.export.PAGE", 2)
    old = record(0, superseded_by="r00009", invalid_at=NOON)
    new = record(9, supersedes="r00000")
    data = lines_of(old, *(record(number) for number in range(1, 9)), new)

    async def work():
        async with MemoryStore(Renaming()) as store:
            await imported(store, data)
            return await everything(store)

    held = asyncio.run(work())
    names = {f"r{number:05}": f"here:r{number:05}" for number in range(10)}
    assert renamed(old, names) in held
    assert renamed(new, names) in held
    assert len(held) == 10


GOOD = json.dumps(record_to_json(record(1)))


MORE = [json.dumps(record_to_json(record(number))) for number in range(2, sources.PAGE + 2)]


def changed(**fields):
    return json.dumps({**record_to_json(record(2)), **fields})


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([GOOD, changed(content="")], "line 3: content: is blank"),
        ([GOOD, "", changed(kind="rumour")], "line 4: kind: is not one of"),
        ([changed(contnet="x")], "line 2: contnet: no such field; did you mean content?"),
        ([changed(scope={})], "line 2: scope: is empty"),
        ([changed(observed_at="yesterday")], "line 2: observed_at: must be an RFC 3339 time"),
        ([changed(created_at="2026-03-01T12:00:00")], "line 2: created_at: has no time zone"),
        ([changed(id=None)], "line 2: id: is required"),
        ([changed(provenance={"role": "king"})], "line 2: provenance.role: is not one of"),
        ([changed(attributes={"a": [[1]]})], "line 2: attributes"),
        ([changed(content="\ud800")], "line 2: content: holds a lone surrogate"),
        ([GOOD[:-20]], "line 2: is not JSON"),
        ([GOOD.replace('"tags"', '"kind"', 1)], "line 2: kind: is given twice"),
        (["[1]"], "line 2: must be an object, not list"),
        (["{" * 100_000], "line 2: "),
        (["[" * 100_000], "line 2: is nested too deeply"),
        ([GOOD, GOOD.replace("Number", "Another")], "id: 'r00001' is given twice, with different content"),
        ([GOOD, *MORE, GOOD.replace("Number", "Another")], "id: 'r00001' is given twice, with different"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_by_line_and_field(lines, told):
    message, held = refused(lines_of(*lines))
    assert told in message
    assert message.startswith("export.jsonl")
    assert held == [] or "twice" in message


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "export.jsonl, line 1: is no header of an export"),
        (b"\n", "line 1: is no header"),
        (b'{"role": "user", "content": "x"}\n', "line 1: is no header"),
        (b'{"memhub_export": true}\n', "line 1: is no header"),
        (b'{"memhub_export": 0}\n', "line 1: is no header"),
        (b'{"memhub_export": 2}\n', "memhub_export: is version 2, and this release reads up to 1; upgrade Memhub"),
        (lines_of() + b'{"id": "\xff"}\n', "line 2: is not UTF-8 (byte 9)"),
        (lines_of() + b"x" * (17 * 1024 * 1024), "line 2: is longer than 16,777,216 bytes"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_export_is_refused(data, told):
    message, held = refused(data)
    assert told in message
    assert held == []


def test_other_keys_of_the_header_and_blank_lines_are_skipped():
    data = lines_of("", GOOD, "  ", header='\ufeff{"memhub_export": 1, "note": "by hand"}').replace(
        b"\n", b"\r\n"
    )

    async def work():
        async with MemoryStore(InMemoryAdapter()) as store:
            await imported(store, data)
            return await everything(store)

    assert asyncio.run(work()) == [record(1)]


def test_the_first_line_tells_an_export_from_a_conversation():
    assert is_export(b'{"memhub_export": 7}')
    assert is_export('\ufeff{"memhub_export": 1}\r\n'.encode())
    for line in (b'{"role": "user"}', b"[]", b"", b"not json", b"\xff", b"[" * 100_000):
        assert not is_export(line)


def test_a_record_that_is_held_and_differs_stays_as_it_is():
    async def work():
        async with MemoryStore(InMemoryAdapter(), name="new") as store:
            await store.restore([record(1, content="Mine")])
            with pytest.raises(Conflict, match="'r00001' is held already and differs"):
                await imported(store, lines_of(record(1)))
            return await everything(store)

    assert asyncio.run(work()) == [record(1, content="Mine")]


def test_what_a_store_cannot_hold_is_refused_until_it_is_accepted():
    async def work():
        target = lacking(fact_fields=frozenset({"kind"}))()
        async with MemoryStore(target, name="new") as store:
            data = lines_of(record(1, tags=("a",)))
            with pytest.raises(
                Unsupported, match=r"new cannot hold all of export.jsonl: 1 records lose their tags"
            ):
                await imported(store, data)
            await imported(store, data, accept_loss=True)
            return await everything(store)

    assert asyncio.run(work()) == [record(1)]


@pytest.mark.parametrize("adapter", [lacking(scan=False)(), NoneAdapter()], ids=["no scan", "none"])
def test_only_what_can_be_read_through_is_exported(adapter):
    async def work():
        async with MemoryStore(adapter) as store:
            return await exported(store)

    if adapter.capabilities.scan:
        assert asyncio.run(work()) == '{"memhub_export": 1}\n'
    else:
        with pytest.raises(Unsupported, match="cannot do export"):
            asyncio.run(work())
