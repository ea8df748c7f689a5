"""There and back again through each adapter with ids, or limits, of its own."""

from contextlib import contextmanager
from dataclasses import replace

import pytest

from memhub.migration import migrate
from memhub_adapters.http import Http
from memhub_adapters.in_memory import InMemoryAdapter
from memhub_adapters.markdown import MarkdownAdapter
from memhub_adapters.mem0.adapter import CAPABILITIES, Mem0Adapter
from memhub_adapters.mem0.platform import PlatformDialect
from memhub_adapters.mem0.remote import FixedKey, RemoteGateway
from memhub_adapters.mem0.self_hosted import SelfHostedDialect
from memhub_adapters.standins import Server
from memhub_adapters.standins.mem0_platform import PlatformMem0
from memhub_adapters.standins.mem0_self_hosted import SelfHostedMem0
from moving import everything, on_two

KEY = "m0-key-of-the-tests"


@contextmanager
def markdown(folder):
    yield MarkdownAdapter(folder / "notes")


@contextmanager
def self_hosted(_folder):
    with Server(SelfHostedMem0(KEY)) as server:
        gateway = RemoteGateway(Http(server.url, timeout=10), SelfHostedDialect(), FixedKey(KEY))
        yield Mem0Adapter(gateway, CAPABILITIES["self_hosted"])


@contextmanager
def platform(_folder):
    with Server(PlatformMem0(KEY)) as server:
        gateway = RemoteGateway(Http(server.url, timeout=10), PlatformDialect(), FixedKey(KEY))
        yield Mem0Adapter(
            gateway, CAPABILITIES["platform"], most_found=PlatformDialect.most_found, poll=0.001
        )


def there_and_back(opened, folder):
    """The plan of the way there; each record by its first id, as it was and as it came back."""

    async def work(source, target, clock):
        away, home = {}, {}
        there = await migrate(source, target, accept_loss=True, on_moved=away.__setitem__, clock=clock)
        back = type(source)(InMemoryAdapter(), name="back", clock=clock)
        async with back:
            await migrate(target, back, on_moved=home.__setitem__, clock=clock)
            came = {record.id: record for record in await everything(back)}
            names = {home[there_id]: first for first, there_id in away.items()}
            before = {record.id: record for record in await everything(source)}
            return there, before, {names[id]: named(record, names) for id, record in came.items()}

    with opened(folder) as adapter:
        return on_two(work, target=adapter)


def named(record, names):
    """The record under the ids that it and its links had first."""
    links = {name: names.get(getattr(record, name) or "") for name in ("supersedes", "superseded_by")}
    return replace(record, id=names[record.id], **links)


@pytest.mark.parametrize("opened", [markdown, self_hosted])
def test_every_record_comes_back_as_it_was(opened, tmp_path):
    there, before, after = there_and_back(opened, tmp_path)
    assert {loss.name for loss in there.plan.losses} <= {"scopes"}
    assert there.moved == len(before) == 12
    assert {id: replace(record, revision="") for id, record in after.items()} == {
        id: replace(record, revision="") for id, record in before.items()
    }


def test_a_service_that_merges_equal_texts_holds_each_once(tmp_path):
    there, before, after = there_and_back(platform, tmp_path)
    assert {loss.name: loss.records for loss in there.plan.losses} == {"scopes": 3, "duplicates": 3}
    assert there.moved == len(after) == len(before) - 3
    assert {record.content for record in after.values()} == {record.content for record in before.values()}
    assert {id: replace(record, revision="") for id, record in after.items()} == {
        id: replace(before[id], revision="") for id in after
    }
