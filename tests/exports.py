"""Exports made and read by the tests."""

import io
import json

from memhub import Record
from memhub.export import ExportFile, export_lines
from memhub.interchange import record_to_json
from memhub.migration import move
from moving import BOB, NOON


def record(number, **more):
    times = dict.fromkeys(("created_at", "updated_at", "observed_at"), NOON)
    plain = {"scope": BOB, "kind": "fact", "content": f"Number {number}", "revision": "r"}
    return Record(id=f"r{number:05}", **{**times, **plain, **more})


def lines_of(*given, header='{"memhub_export": 1}'):
    """An export of these records, or lines."""
    texts = [one if isinstance(one, str) else json.dumps(record_to_json(one)) for one in given]
    return "".join(f"{line}\n" for line in (header, *texts)).encode()


async def exported(store, **options):
    return "".join([line async for line in export_lines(store, **options)])


async def imported(store, data, **options):
    return await move(ExportFile(io.BytesIO(data), "export.jsonl"), store, **options)
