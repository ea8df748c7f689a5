"""The toolbox: what models send is read kindly, what they must not send is refused, nothing raises."""

import asyncio
import json
from dataclasses import replace

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memhub import (
    Closed,
    Fact,
    InvalidInput,
    MemoryStore,
    Observation,
    Provenance,
    Query,
    Scope,
    Toolbox,
    Turn,
    Unavailable,
)
from memhub.recall import recall_block
from memhub_adapters.in_memory import InMemoryAdapter
from memhub_adapters.none import NoneAdapter

ME, TEAM = Scope("me"), Scope("team")
NAMES = ["memory_save", "memory_search", "memory_list", "memory_invalidate"]


class Desk:
    """A store, one binding of it, and the tools of that binding."""

    def __init__(self, adapter=None, **binding):
        self.store = MemoryStore(adapter or InMemoryAdapter())
        self.memory = self.store.bind(ME, **binding)
        self.toolbox = Toolbox(self.memory)

    def call(self, name, given=None):
        return asyncio.run(self.toolbox.call(name, given))

    def data(self, name, given=None):
        """The data of a call that succeeds."""
        answer = self.call(name, given)
        assert answer.ok, answer.text
        assert json.loads(answer.text) == answer.data
        return answer.data

    def error(self, name, given=None):
        """The error of a call that is refused, and that changes nothing."""
        before = self.records()
        answer = self.call(name, given)
        assert not answer.ok
        assert self.records() == before
        return answer.data["error"]

    def records(self):
        return [hit.record for hit in asyncio.run(self.store.recall(Query([ME, TEAM], limit=100))).hits]


@pytest.fixture
def desk():
    return Desk()


def test_a_memory_is_saved_found_corrected_and_ended(desk):
    old = desk.data(
        "memory_save", {"content": "Prefers jasmine tea", "kind": "preference", "tags": ["drinks"]}
    )
    assert old.keys() == {"saved", "kind", "date"}
    new = desk.data("memory_save", {"content": "Prefers oolong tea", "supersedes": old["saved"]})
    assert new["superseded"] == old["saved"]
    [found] = desk.data("memory_search", {"query": "tea"})["memories"]
    assert found == {
        "id": new["saved"],
        "date": new["date"],
        "kind": "fact",
        "content": "Prefers oolong tea",
        "replaces": old["saved"],
    }
    ended = desk.data("memory_invalidate", {"id": new["saved"], "reason": "stopped"})
    assert ended == {"invalidated": new["saved"], "reason": "stopped"}
    assert desk.data("memory_list") == {"memories": [], "note": "Nothing found."}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ('{"content": "tea"}', {}),
        (json.dumps('{"content": "tea"}'), {}),
        ({"content": "tea", "kind": None, "tags": None, "supersedes": None}, {}),
        ({"content": "tea", "kind": "", "tags": "", "supersedes": " "}, {}),
        ({"content": "tea", "supersedes": "null", "tags": "None"}, {}),
        ({"content": "tea", "kind": " Preference "}, {"kind": "preference"}),
        ({"content": "tea", "tags": '["a", "b"]'}, {"tags": ("a", "b")}),
        ({"content": "tea", "tags": "a"}, {"tags": ("a",)}),
        ({"content": "tea", "tags": ["a", "", None, 7]}, {"tags": ("a", "7")}),
        ({"content": "tea", "tags": []}, {}),
        ({"content": 42}, {"content": "42"}),
    ],
)
def test_what_models_send_is_read_kindly(desk, given, kept):
    desk.data("memory_save", given)
    [record] = desk.records()
    expected = {"content": "tea", "kind": "fact", "tags": (), "supersedes": None} | kept
    assert {name: getattr(record, name) for name in expected} == expected


@pytest.mark.parametrize("limit", [3, "3", 3.0, "3.0", " 3 "])
def test_a_number_may_come_as_text(desk, limit):
    for n in range(5):
        desk.data("memory_save", {"content": f"Tea {n}"})
    assert len(desk.data("memory_search", {"query": "tea", "limit": limit})["memories"]) == 3
    listed = desk.data("memory_list", {"limit": limit})
    assert [one["content"] for one in listed["memories"]] == ["Tea 4", "Tea 3", "Tea 2"]
    assert listed["note"] == "There are more; search, or narrow by kinds or tags."


@pytest.mark.parametrize("query", ["*", "", "  ", "?", "...", None, '"'])
def test_a_query_without_a_word_lists(desk, query):
    desk.data("memory_save", {"content": "Tea"})
    found = desk.data("memory_search", {"query": query})
    assert [one["content"] for one in found["memories"]] == ["Tea"]
    assert found["note"] == "The query held no word, so these are the newest memories."
    assert desk.data("memory_search", {}) == found


def test_filters_narrow(desk):
    desk.data("memory_save", {"content": "Tea at home", "kind": "preference", "tags": ["a", "b"]})
    desk.data("memory_save", {"content": "Tea at work", "tags": ["a"]})
    for name, query in (("memory_search", {"query": "tea"}), ("memory_list", {})):
        for narrow in (
            {"kinds": ["preference"]},
            {"kinds": "PREFERENCE"},
            {"tags": '["a","b"]'},
            {"tags": "b"},
        ):
            found = desk.data(name, query | narrow)["memories"]
            assert [one["content"] for one in found] == ["Tea at home"]


WRONG = [
    (
        "memory_save",
        {},
        "content: is required; it takes content, kind, tags, supersedes; nothing was changed",
    ),
    ("memory_save", None, "content: is required"),
    ("memory_save", {"content": "  "}, "content: is blank; give some text"),
    ("memory_save", {"content": {"a": 1}}, "content: must be text, not an object"),
    ("memory_save", {"content": ["a"]}, "content: must be text, not a list"),
    ("memory_save", {"content": 10**5_000}, "content: must be text, not a number"),
    ("memory_save", '{"content": NaN}', "content: must be text, not a number"),
    ("memory_save", {"content": "x", "tags": [10**5_000]}, "tags: must be text, not a number"),
    ("memory_save", {"content": True}, "content: must be text, not true or false"),
    ("memory_save", {"content": "x" * 70_000}, "content: has 70,000 characters, more than 65,536; split it"),
    ("memory_save", {"content": "a\0b"}, "content: holds a NUL character"),
    ("memory_save", '{"content": "\\ud800"}', "content: holds a lone surrogate"),
    (
        "memory_save",
        {"content": "x", "kind": "note"},
        "kind: is not one of fact, preference, episode, profile",
    ),
    ("memory_save", {"content": "x", "tags": {"a": 1}}, "tags: must be a list of text, not an object"),
    ("memory_save", {"content": "x", "tags": "[a"}, "tags: is not valid JSON; send it again"),
    ("memory_save", {"content": "x", "tags": ["a" * 200]}, "tags[0]: has 200 characters, more than 128"),
    (
        "memory_save",
        {"content": "x", "scope": "other"},
        "memory_save has no argument 'scope'; it takes content",
    ),
    ("memory_save", {"content": "x", "user_id": "u"}, "has no argument 'user_id'"),
    ("memory_save", {"content": "x", "superseeds": "u"}, "'superseeds', did you mean supersedes?"),
    (
        "memory_save",
        {"content": "x", "supersedes": "gone"},
        "no record 'gone' in this scope; take the id from",
    ),
    ("memory_save", '{"content": "x"', "arguments: is not valid JSON; send it again"),
    ("memory_save", "[" * 100_000, "arguments: is nested too deeply"),
    ("memory_save", '["x"]', "arguments: must be one JSON object, not a list"),
    ("memory_search", {"query": "x", "limit": 0}, "limit: must be a whole number from 1 to 50"),
    ("memory_search", {"query": "x", "limit": 5_000}, "limit: must be a whole number from 1 to 50"),
    ("memory_search", {"query": "x", "limit": "many"}, "limit: must be a whole number from 1 to 50"),
    ("memory_search", {"query": "x", "limit": True}, "limit: must be a whole number from 1 to 50"),
    ("memory_search", {"query": "x", "limit": 1.5}, "limit: must be a whole number from 1 to 50"),
    ("memory_search", {"query": "x", "limit": 10**400}, "limit: must be a whole number from 1 to 50"),
    ("memory_search", {"query": "x", "limit": [3]}, "limit: must be a whole number from 1 to 50"),
    ("memory_search", {"query": "x", "scope": "other"}, "it takes query, limit, kinds, tags"),
    ("memory_list", {"query": "x"}, "memory_list has no argument 'query'; it takes limit, kinds, tags"),
    ("memory_list", {"kinds": ["note"]}, "kinds: is not one of fact, preference, episode, profile"),
    ("memory_invalidate", {}, "id: is required"),
    ("memory_invalidate", {"id": ""}, "id: must be 1 to 512 printable characters"),
    ("memory_invalidate", {"id": "nowhere"}, "no record 'nowhere'; take the id from memory_search"),
    (
        "memory_delete",
        {"id": "x"},
        "there is no tool 'memory_delete'; the tools are memory_save, memory_search",
    ),
    (["x"], {}, "there is no tool"),
]


@pytest.mark.parametrize(("name", "given", "told"), WRONG)
def test_a_mistake_is_answered_in_words_and_changes_nothing(desk, name, given, told):
    error = desk.error(name, given)
    assert told in error["message"]
    assert "facts[" not in error["message"]
    assert len(error["message"]) < 300
    assert error["code"] in ("invalid_input", "not_found")


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from(
    ["content", "kind", "tags", "supersedes", "query", "limit", "kinds", "id", "reason", "scope"]
)


@given(name=st.sampled_from(NAMES) | st.text(), given_=st.dictionaries(names, values, max_size=5) | values)
def test_no_call_raises(name, given_):
    answer = Desk().call(name, given_)
    assert answer.ok or answer.data["error"]["message"]
    assert answer.text.encode()


def test_an_outdated_memory_is_not_corrected_twice(desk):
    old = desk.data("memory_save", {"content": "a"})["saved"]
    desk.data("memory_save", {"content": "b", "supersedes": old})
    error = desk.error("memory_save", {"content": "c", "supersedes": old})
    assert error["code"] == "conflict"
    assert error["message"] == f"supersedes: record {old!r} is already superseded; correct its successor"


def test_shared_memories_are_marked_and_cannot_be_changed():
    desk = Desk(read=[TEAM])
    asyncio.run(desk.store.observe(Observation(TEAM, facts=[Fact("Tea at four")])))
    desk.data("memory_save", {"content": "Tea at five"})
    shown = {
        one["content"]: one.get("shared") for one in desk.data("memory_search", {"query": "tea"})["memories"]
    }
    assert shown == {"Tea at four": True, "Tea at five": None}
    theirs = next(record for record in desk.records() if record.scope == TEAM)
    for name, given_ in (
        ("memory_invalidate", {"id": theirs.id}),
        ("memory_save", {"content": "x", "supersedes": theirs.id}),
    ):
        assert desk.error(name, given_)["code"] == "not_found"
    assert "marked shared" in desk.toolbox.manual
    assert "marked shared" not in Desk().toolbox.manual


def test_what_was_shown_from_memory_is_not_saved_again(desk):
    desk.data("memory_save", {"content": "Tea"})
    block = asyncio.run(recall_block(desk.memory, "tea")).text
    answer = desk.data("memory_save", {"content": block})
    assert answer == {"saved": None, "note": "That is what you were shown from memory; it is kept already."}
    assert len(desk.records()) == 1


def test_turns_show_who_said_them(desk):
    turns = [Turn("user", "I like tea", speaker="Pell"), Turn("assistant", "So do I like tea")]
    asyncio.run(desk.store.observe(Observation(ME, turns=turns)))
    assert [one["by"] for one in desk.data("memory_search", {"query": "tea"})["memories"]] == [
        "Pell",
        "assistant",
    ]


def test_the_host_says_what_is_noted_on_each():
    store = MemoryStore(InMemoryAdapter())
    toolbox = Toolbox(store.bind(ME), provenance=Provenance(conversation_id="c1", author="helper"))
    saved = asyncio.run(toolbox.call("memory_save", {"content": "Tea"})).data["saved"]
    record = asyncio.run(store.get(saved))
    assert (record.provenance.conversation_id, record.provenance.author) == ("c1", "helper")


def test_a_memory_for_reading_offers_reading():
    toolbox = Desk(readonly=True).toolbox
    assert [tool.name for tool in toolbox.tools] == ["memory_search", "memory_list"]
    assert "memory_save" not in toolbox.manual
    answer = asyncio.run(toolbox.call("memory_save", {"content": "x"}))
    assert answer.data["error"]["message"].endswith("the tools are memory_search, memory_list")


def test_what_a_provider_cannot_honour_is_not_offered():
    adapter = InMemoryAdapter()
    declared = adapter.capabilities
    adapter.capabilities = replace(
        declared,
        fact_fields=frozenset(),
        supersede=False,
        invalidation=False,
        listing=0,
        filters=replace(declared.filters, kinds=False),
    )
    toolbox = Desk(adapter).toolbox
    schemas = toolbox.json_schemas()
    told = toolbox.manual + "".join(tool.description for tool in toolbox.tools)
    assert not any(word in told for word in ("supersedes", "memory_list", "memory_invalidate"))
    assert {name: list(schema["properties"]) for name, schema in schemas.items()} == {
        "memory_save": ["content"],
        "memory_search": ["query", "limit", "tags"],
    }


def test_a_store_that_keeps_nothing_says_so():
    answer = Desk(NoneAdapter()).call("memory_save", {"content": "x"})
    assert answer.data == {"saved": None, "note": "This memory keeps nothing: it is switched off."}


class Down(InMemoryAdapter):
    async def recall(self, read):
        raise Unavailable("http://10.0.0.7/ answered 503")


def test_a_memory_out_of_reach_is_answered_without_its_particulars():
    answer = Desk(Down()).call("memory_search", {"query": "tea"})
    assert answer.data["error"] == {
        "code": "unavailable",
        "message": "The memory cannot be reached now. Go on without it; try again later.",
    }


@pytest.mark.parametrize("bind", [{}, {"read": [TEAM]}, {"exact": False}, {"read": [TEAM], "exact": False}])
@pytest.mark.parametrize("scope", [Scope("me"), Scope(tenant="acme", user="u"), Scope({"a.b": "%"})])
def test_what_is_saved_is_found_however_it_is_bound(scope, bind):
    async def run():
        toolbox = Toolbox(MemoryStore(InMemoryAdapter()).bind(scope, **bind))
        saved = await toolbox.call("memory_save", {"content": "Tea"})
        found = [await toolbox.call("memory_search", arguments={"query": query}) for query in ("tea", "*")]
        assert [[one["id"] for one in answer.data["memories"]] for answer in found] == [
            [saved.data["saved"]]
        ] * 2

    asyncio.run(run())


def test_a_whole_store_is_no_bound_memory():
    store = MemoryStore(InMemoryAdapter())
    for call in (lambda: Toolbox(store), lambda: asyncio.run(recall_block(store, "tea"))):
        with pytest.raises(
            InvalidInput, match=r"memory: must be a BoundMemory, as store.bind\(scope\) gives"
        ):
            call()


def test_a_closed_store_is_the_hosts_mistake(desk):
    asyncio.run(desk.store.aclose())
    with pytest.raises(Closed):
        desk.call("memory_list")


def test_the_schemas_are_the_same_in_every_form(desk):
    schemas = desk.toolbox.json_schemas()
    assert list(schemas) == NAMES
    assert {one["name"]: one["input_schema"] for one in desk.toolbox.anthropic_tools()} == schemas
    openai = [one["function"] for one in desk.toolbox.openai_tools() if one["type"] == "function"]
    assert {one["name"]: one["parameters"] for one in openai} == schemas
    assert {one["name"]: one["description"] for one in openai} == {
        tool.name: tool.description for tool in desk.toolbox.tools
    }
    for schema in schemas.values():
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["additionalProperties"] is False
        assert all(value["description"] for value in schema["properties"].values())


def test_the_schemas_admit_what_the_tools_take_and_no_scope(desk):
    good = {
        "memory_save": {"content": "x", "kind": "profile", "tags": ["a"], "supersedes": "id"},
        "memory_search": {"query": "x", "limit": 3, "kinds": ["fact"], "tags": ["a"]},
        "memory_list": {},
        "memory_invalidate": {"id": "x", "reason": "y"},
    }
    for name, schema in desk.toolbox.json_schemas().items():
        jsonschema.validate(good[name], schema)
        for wrong in ({"scope": "x"}, {"limit": 0}, {"limit": 51}, {"kinds": ["x"]}):
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(good[name] | wrong, schema)


def test_the_manual_names_what_there_is(desk):
    for name in NAMES:
        assert name in desk.toolbox.manual
    for word in ("never instructions", "supersedes", "passwords"):
        assert word in desk.toolbox.manual
    assert len(desk.toolbox.manual) < 2_000
