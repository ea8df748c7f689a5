"""2,000 hostile calls, by what an agent can reach: nothing of another scope is seen or changed."""

import asyncio
import random
from datetime import UTC, datetime

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from memhub import Fact, HubError, MemoryStore, Observation, Patch, Provenance, Query, Scope, Toolbox, Turn
from memhub.interchange import record_to_json
from memhub_adapters.sqlite import SqliteAdapter
from memhub_config.serve.mcp_server import mcp_server

MINE, TEAM = Scope(tenant="acme", user="u1"), Scope("team")
OTHERS = [
    Scope(tenant="acme", user="u2"),
    Scope(tenant="acme"),
    Scope(user="u1"),
    Scope(tenant="acme", user="u1", device="phone"),
    Scope("u1"),
    Scope("acme/u1"),
    Scope('{"tenant":"acme","user":"u1"}'),
    Scope("%"),
]
MARK = "HIDDEN"
WORDS = [
    "tea",
    "HIDDEN tea",
    "*",
    "",
    " ",
    "%",
    "' OR 1=1 --",
    '"; DROP TABLE records; --',
    "u2",
    "acme/*",
    "../..",
]


class World:
    """A store where others keep memories, one binding of it, and hostile values to call it with."""

    def __init__(self, store, seed):
        self.store = store
        self.random = random.Random(seed)
        self.memory = store.bind(MINE, read=[TEAM])

    async def fill(self):
        self.ids, self.cursors = ["nowhere", "", "%", "*"], ["", "x", None, "0.x"]
        for scope in OTHERS:
            said = await self.store.observe(
                Observation(
                    scope,
                    facts=[Fact(f"{MARK} tea {n}", tags=["drinks"], attributes={"n": n}) for n in range(3)],
                    idempotency_key="key",
                )
            )
            self.ids += [record.id for record in said.records]
            self.cursors.append((await self.store.recall(Query(scope, limit=1))).cursor)
        for scope in (MINE, TEAM):
            said = await self.store.observe(Observation(scope, facts=[Fact("Shared tea"), Fact("More tea")]))
            self.ids += [record.id for record in said.records]
        self.before = await self.kept()

    async def kept(self):
        """Everything that is not ours, as it is."""
        found, cursor = [], None
        while True:
            page = await self.store.scan(cursor)
            found += [record_to_json(record) for record in page.records if record.scope != MINE]
            cursor = page.cursor
            if cursor is None:
                return found

    def any(self, *choices):
        return self.random.choice(choices)

    def scopes(self):
        """Whose memory a call asks for: mostly others', at times what is no scope at all."""
        every = [MINE, TEAM, *OTHERS]
        wrong = self.any("team", [{"tenant": "acme"}], [], None)
        return self.any(self.random.choice(every), self.random.choices(every, k=4), every, every, wrong)

    def value(self):
        """A hostile value for an argument."""
        return self.random.choice(
            [
                self.random.choice(self.ids),
                self.random.choices(self.ids, k=3),
                self.random.choice(OTHERS).canonical,
                str(self.random.choice(OTHERS)),
                self.random.choice(WORDS),
                {"tenant": "acme"},
                [],
                None,
                True,
                -1,
                10**9,
                "50",
            ]
        )

    async def verb(self):
        """One call of a verb of the bound memory."""
        id = self.random.choice(self.ids)
        several = self.random.choices(self.ids, k=3)
        memory, at = self.memory, datetime(2027, 1, 1, tzinfo=UTC)
        query = Query(
            self.scopes(),
            text=self.any(None, "tea", MARK, self.random.choice(WORDS)),
            limit=self.any(5, 1_000, 1_000, 10**6),
            tags=self.any((), (), ["drinks"]),
            where=self.any({}, {}, {"n": {"gte": 0}}),
            as_of=self.any(None, None, at),
            include_invalidated=self.any(False, False, True),
            exact=self.any(False, True),
            cursor=self.any(None, None, None, self.random.choice(self.cursors)),
            explain=True,
        )
        fact = Fact("mine now", supersedes=self.any(None, id), supports=[id])
        said = self.any({"facts": [fact]}, {"turns": [Turn("user", "hi", speaker="u2")]})
        key = self.any(None, "key")
        observation = Observation(
            self.any(MINE, self.scopes()),
            **said,
            idempotency_key=key,
            provenance=Provenance(conversation_id=self.any(None, id) or None),
        )
        calls = [
            *[lambda: memory.recall(query)] * 4,
            *[lambda: memory.observe(observation)] * 3,
            lambda: memory.get(self.any(id, several)),
            lambda: memory.update(id, Patch(content="mine now")),
            lambda: memory.invalidate(id, "mine now"),
            lambda: memory.delete(id),
            lambda: memory.wait(id),
        ]
        return repr(await self.random.choice(calls)())

    def tool_call(self):
        """The name of a tool, and arguments that it may or may not have."""
        name = self.any("memory_save", "memory_search", "memory_list", "memory_invalidate", "memory_delete")
        own = {
            "memory_save": {"content": "mine now", "supersedes": self.random.choice(self.ids)},
            "memory_search": {"query": self.random.choice(WORDS)},
            "memory_invalidate": {"id": self.random.choice(self.ids)},
        }
        given = dict(own.get(name, {}))
        hostile = [
            "scope",
            "scopes",
            "user_id",
            "where",
            "exact",
            "cursor",
            "store",
            "read",
            "limit",
            "kinds",
            "tags",
        ]
        for extra in self.random.sample([*hostile, *given], k=self.random.randrange(3)):
            given[extra] = self.value()
        return name, given


async def bound(world):
    try:
        return await world.verb()
    except HubError as error:
        return f"{error!r} {error.__cause__!r}"


async def tools(world):
    return (await Toolbox(world.memory).call(*world.tool_call())).text


def rounds(tmp_path, seed, count, call):
    """`count` calls on a world of its own; what was heard of any, and what is left of others."""

    async def run():
        async with MemoryStore(SqliteAdapter(tmp_path / "m.db", durability="normal")) as store:
            world = World(store, seed)
            await world.fill()
            heard = [await call(world) for _ in range(count)]
            assert await world.kept() == world.before
            return heard

    return asyncio.run(run())


@pytest.mark.parametrize("call", [bound, tools])
def test_nothing_crosses_by_verbs_or_tools(tmp_path, call):
    heard = rounds(tmp_path, 7, 700, call)
    assert not [text for text in heard if MARK in text]
    assert len([text for text in heard if "Shared tea" in text]) > 20
    assert len([text for text in heard if "mine now" in text]) > 5


def test_nothing_crosses_over_mcp(tmp_path):
    async def run():
        async with MemoryStore(SqliteAdapter(tmp_path / "m.db", durability="normal")) as store:
            world = World(store, 11)
            await world.fill()
            heard = []
            async with Client(mcp_server(world.memory)) as client:
                for _ in range(500):
                    answer = await client.call_tool(*world.tool_call())
                    heard.append(repr(answer))
                for _ in range(100):
                    uri = f"memhub://{world.any('records/', 'profile/', 'scopes/', '')}{world.value()}"
                    try:
                        heard.append(repr(await client.read_resource(uri)))
                    except MCPError as error:
                        heard.append(repr(error))
            assert await world.kept() == world.before
            return heard

    heard = asyncio.run(run())
    assert len(heard) == 600
    assert not [text for text in heard if MARK in text]
    assert len([text for text in heard if "Shared tea" in text]) > 20
