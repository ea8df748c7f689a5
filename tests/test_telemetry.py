"""Spans and metrics by the GenAI conventions for memory, through the real SDK."""

import asyncio
import json
import sys

import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from fakes import Faulty, SetClock
from memhub import Fact, InvalidConfig, MemoryStore, Observation, Patch, Query, Retry, Scope, Unavailable
from memhub.recall import recall_block
from memhub.telemetry import OpenTelemetryObserver
from memhub_config import open_hub

ME = Scope("me")
SECRET = "planted-text"


class Watched:
    """A store that is watched, and what the exporters have seen of it."""

    def __init__(self, adapter=None, *, content=False):
        self.spans_seen, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self.spans_seen))
        meters = MeterProvider([self.reader])
        self.adapter = adapter or Faulty()
        self.store = MemoryStore(self.adapter, name="notes", clock=SetClock(), retry=Retry(attempts=2))
        self.store._calls.sleep = self.adapter.sleep
        observer = OpenTelemetryObserver(tracer_provider=self.tracers, meter_provider=meters)
        self.store.subscribe(observer, content=content)

    def run(self, work):
        async def whole():
            async with self.store:
                return await work(self.store)

        return asyncio.run(whole())

    @property
    def spans(self):
        return self.spans_seen.get_finished_spans()

    def points(self, name):
        """The attributes and values of a metric."""
        [resource] = self.reader.get_metrics_data().resource_metrics
        [scope] = resource.scope_metrics
        return [point for metric in scope.metrics if metric.name == name for point in metric.data.data_points]


async def everything(memory):
    said = await memory.observe(Observation(ME, facts=[Fact(SECRET), Fact("b")]))
    first, second = said.records
    await memory.observe(Observation(ME, facts=[Fact("c", supersedes=second.id)]))
    await memory.recall(Query(ME, text=SECRET))
    await memory.update(first.id, Patch(content="d"))
    await memory.invalidate(first.id, SECRET)
    await memory.delete(first.id)
    await memory.purge(ME)
    return first.id


def test_each_verb_is_a_span_by_the_conventions():
    watched = Watched()
    first = watched.run(everything)
    told = [(span.name, dict(span.attributes)) for span in watched.spans]
    place = {"gen_ai.memory.store.id": "notes", "gen_ai.provider.name": "in_memory"}
    expected = [
        ("create_memory", 2, None),
        ("create_memory", 1, told[1][1]["gen_ai.memory.record.id"]),
        ("search_memory", 1, None),
        ("update_memory", 1, first),
        ("update_memory", 1, first),
        ("delete_memory", 1, first),
        ("delete_memory", 2, None),
    ]
    assert told == [
        (
            name,
            {"gen_ai.operation.name": name, **place, "gen_ai.memory.record.count": count}
            | ({"gen_ai.memory.record.id": id} if id else {}),
        )
        for name, count, id in expected
    ]
    for span in watched.spans:
        assert span.kind is trace.SpanKind.CLIENT
        assert span.status.is_ok or span.status.is_unset
        assert span.end_time == int(SetClock()().timestamp()) * 10**9
        assert 0 < span.end_time - span.start_time < 60 * 10**9
        assert span.instrumentation_scope.name == "memhub"
    assert SECRET not in "".join(span.to_json() for span in watched.spans)


def test_texts_are_there_when_they_were_asked_for():
    watched = Watched(content=True)
    watched.run(everything)
    by_name = {span.name: span.attributes for span in reversed(watched.spans)}
    assert by_name["search_memory"]["gen_ai.memory.query.text"] == SECRET
    for name in ("create_memory", "search_memory"):
        [record, *_] = json.loads(by_name[name]["gen_ai.memory.records"])
        assert record.keys() == {"id", "content", "metadata"}
        assert record["content"] == SECRET


def test_a_span_is_a_child_of_the_one_that_was_current():
    watched = Watched()

    async def work(memory):
        with watched.tracers.get_tracer("product").start_as_current_span("turn") as turn:
            await memory.observe(Observation(ME, facts=[Fact("tea")]))
            await recall_block(memory.bind(ME), "tea")
        return turn.get_span_context()

    parent = watched.run(work)
    ours = [span for span in watched.spans if span.instrumentation_scope.name == "memhub"]
    assert [span.name for span in ours] == ["create_memory", "search_memory", "search_memory"]
    assert {span.parent.span_id for span in ours} == {parent.span_id}
    assert {span.context.trace_id for span in ours} == {parent.trace_id}


def test_a_call_that_fails_is_a_span_with_its_error():
    watched = Watched(Faulty(Unavailable(SECRET)))

    async def work(memory):
        with pytest.raises(Unavailable):
            await memory.observe(Observation(ME, facts=[Fact("tea")]))

    watched.run(work)
    [span] = watched.spans
    assert (span.name, span.attributes["error.type"]) == ("create_memory", "unavailable")
    assert span.status.status_code is trace.StatusCode.ERROR
    assert SECRET not in span.to_json()


def test_durations_and_retries_are_counted():
    watched = Watched(Faulty(Unavailable("busy", retryable=True)))

    async def work(memory):
        await memory.recall(Query(ME))
        await memory.observe(Observation(ME, facts=[Fact("tea")]))
        await memory.recall(Query(ME))

    watched.run(work)
    durations = {
        point.attributes["gen_ai.operation.name"]: point
        for point in watched.points("gen_ai.client.operation.duration")
    }
    assert {name: point.count for name, point in durations.items()} == {
        "search_memory": 2,
        "create_memory": 1,
    }
    assert durations["search_memory"].explicit_bounds[0] == 0.01
    assert dict(durations["create_memory"].attributes) == {
        "gen_ai.operation.name": "create_memory",
        "gen_ai.memory.store.id": "notes",
        "gen_ai.provider.name": "in_memory",
    }
    [retries] = watched.points("memhub.retries")
    assert (retries.value, retries.attributes["error.type"]) == (1, "unavailable")


def test_without_the_extra_a_configuration_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "memhub.telemetry", None)

    async def run():
        async with open_hub({"stores": {"main": {"in_memory": {}}}, "events": {"otel": True}}):
            pass

    with pytest.raises(
        InvalidConfig, match=r"events\.otel: needs OpenTelemetry.*; pip install 'memhub\[otel\]'"
    ):
        asyncio.run(run())


def test_a_configuration_turns_it_on():
    seen = InMemorySpanExporter()
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(seen))
    trace.set_tracer_provider(tracers)

    async def run():
        async with open_hub({"stores": {"main": {"in_memory": {}}}, "events": {"otel": True}}) as hub:
            await hub["main"].observe(Observation(ME, facts=[Fact("tea")]))

    asyncio.run(run())
    assert [span.name for span in seen.get_finished_spans()] == ["create_memory"]
