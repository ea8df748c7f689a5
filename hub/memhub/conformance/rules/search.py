"""Search: no text is a syntax error, and by words what is found and in which order."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from memhub.conformance.context import Context
from memhub.conformance.definition import rule
from memhub.conformance.expect import equal, true
from memhub.conformance.rules.texts import HOSTILE, SCRIPTS, WORDLESS
from memhub.records import Fact, Patch, Provenance, Query


@rule(needs=["verbatim", "search"], tier=1)
async def no_text_is_a_syntax_error(ctx: Context) -> None:
    """Whatever a question holds, each declared mode answers it."""
    await ctx.keep("a memory of tea")
    for mode in ctx.caps.modes:
        for text in HOSTILE:
            found = await ctx.texts(Query(ctx.scope(), text=text, mode=mode))
            true(set(found) <= {"a memory of tea"}, f"question {text!r}: finds {found}")


@rule(needs=["search"], tier=1)
async def text_without_a_word_finds_nothing(ctx: Context) -> None:
    """A question without a single word finds nothing, and is decided before any I/O."""
    if ctx.caps.persistent:
        await ctx.keep("a memory of tea ?")
    before = ctx.notes.calls
    for text in WORDLESS:
        equal(await ctx.texts(Query(ctx.scope(), text=text)), [], f"contents found for {text!r}")
    equal(ctx.notes.calls, before, "calls that reached the adapter")


@rule(needs=["verbatim", "search"], tier=1)
async def a_search_has_one_page(ctx: Context) -> None:
    """A search obeys its limit and gives no cursor."""
    for n in range(3):
        await ctx.keep(f"memory {n}")
    for limit in (1, 10):
        found = await ctx.store.recall(Query(ctx.scope(), text="memory", limit=limit))
        equal((len(found.hits), found.cursor), (min(limit, 3), None), f"hits and cursor under limit={limit}")


@rule(needs=["verbatim", "search"], tier=1)
async def every_declared_mode_finds(ctx: Context) -> None:
    """Each declared mode, and the default one, finds a text by its own words, and puts it first."""
    await ctx.keep("the kettle whistles at noon")
    await ctx.keep("my bicycle has a flat tyre")
    for mode in (None, *ctx.caps.modes):
        found = await ctx.texts(Query(ctx.scope(), text="the kettle whistles at noon", mode=mode))
        equal(found[:1], ["the kettle whistles at noon"], f"first hit in mode {mode}")


@rule(needs=["verbatim", "semantic"], fresh=True)
async def reembedding_changes_nothing(ctx: Context) -> None:
    """Making every vector anew counts the records, and they are found as before."""
    record = await ctx.keep("the kettle whistles at noon")
    await ctx.store.reembed()
    query = Query(ctx.scope(), text="the kettle whistles at noon", mode="semantic")
    equal([one.id for one in await ctx.listed(query)], [record.id], "ids found after reembed")
    equal(await ctx.store.get(record.id), record, "the record after reembed")


@rule(tier=1)
async def the_default_mode_is_a_declared_one(ctx: Context) -> None:
    """A store that searches declares which of its modes is the default."""
    wanted = ctx.caps.default_mode in ctx.caps.modes if ctx.caps.modes else ctx.caps.default_mode is None
    true(wanted, f"default_mode: {ctx.caps.default_mode!r} is not among the modes {ctx.caps.modes}")


@rule(needs=["verbatim", "keyword"])
async def a_word_finds_the_texts_that_hold_it(ctx: Context) -> None:
    """A word finds every text that holds it, and no other."""
    for text in ("jasmine tea in the morning", "green tea", "black coffee", "a team of teachers"):
        await ctx.keep(text)
    equal(sorted(await ctx.search("tea")), ["green tea", "jasmine tea in the morning"], "contents with tea")
    equal(await ctx.search("cocoa"), [], "contents with cocoa")


@rule(needs=["verbatim", "keyword"])
async def several_words_are_any_of_them(ctx: Context) -> None:
    """A question of several words finds texts with any of them, those with more of them first."""
    for text in ("green tea leaves", "green paint", "tea leaves", "black coffee"):
        await ctx.keep(text)
        ctx.clock.advance(seconds=1)
    found = await ctx.search("green tea leaves")
    equal(found[:1], ["green tea leaves"], "first hit")
    equal(sorted(found), ["green paint", "green tea leaves", "tea leaves"], "contents found")


@rule(needs=["verbatim", "keyword"])
async def rarer_words_rank_higher(ctx: Context) -> None:
    """Of two texts with one word of the question each, the one with the rarer word comes first."""
    for text in ("tea one", "tea two", "tea three", "tea four", "saffron five", "tea six"):
        await ctx.keep(text)
        ctx.clock.advance(seconds=1)
    found = await ctx.search("tea saffron")
    equal((found[0], len(found)), ("saffron five", 6), "first hit, and how many")


@rule(needs=["verbatim", "distinct", "keyword"])
async def equal_scores_go_by_newest_first(ctx: Context) -> None:
    """Texts that match alike come in the order of a listing."""
    records = []
    for _ in range(3):
        records.append(await ctx.keep("jasmine tea"))
        ctx.clock.advance(seconds=1)
    found = await ctx.listed(Query(ctx.scope(), text="tea", mode="keyword"))
    equal([record.id for record in found], [record.id for record in records[::-1]], "ids, newest first")


@rule(needs=["verbatim", "keyword"])
async def case_and_accents_fold(ctx: Context) -> None:
    """A word is found in any case, with and without its accents."""
    await ctx.keep("Café CRÈME with Zoë")
    for text in ("café", "CAFE", "cafe\u0301", "creme", "Crème", "zoe"):
        equal(await ctx.search(text), ["Café CRÈME with Zoë"], f"contents found for {text!r}")


@rule(needs=["verbatim", "keyword"])
async def every_script_is_found(ctx: Context) -> None:
    """A word is found first in Chinese, Japanese, Korean, Thai and every other script."""
    for text in SCRIPTS:
        await ctx.keep(text)
    for text, word in SCRIPTS.items():
        equal((await ctx.search(word))[:1], [text], f"first hit for {word}")


@rule(needs=["verbatim", "keyword"])
async def an_emoji_is_a_word(ctx: Context) -> None:
    """An emoji is found where it stands, also between letters."""
    for text in ("party tonight 🎉", "so🐙cute", "plain text"):
        await ctx.keep(text)
    equal(await ctx.search("🎉"), ["party tonight 🎉"], "contents with 🎉")
    equal(await ctx.search("🐙"), ["so🐙cute"], "contents with 🐙")


@rule(needs=["verbatim", "keyword"])
async def words_are_found_as_they_are_written(ctx: Context) -> None:
    """Hyphens, apostrophes, slashes and very long words find the texts that hold them."""
    texts = (
        "a multi-agent setup",
        "I don't know",
        "see docs/readme",
        "written in C++",
        "x" * 5_000,
        "v1.2.3 is out",
    )
    for text in texts:
        await ctx.keep(text)
    for word, text in zip(
        ("multi-agent", "don't know", "docs/readme", "C++", "x" * 5_000, "v1.2.3"), texts, strict=True
    ):
        equal((await ctx.search(word))[:1], [text], f"first hit for {word[:20]!r}")


@rule(needs=["verbatim", "keyword"])
async def stop_words_count_when_alone(ctx: Context) -> None:
    """A question of common words alone finds the texts that hold them."""
    await ctx.keep("to be or not to be")
    await ctx.keep("jasmine tea")
    equal(await ctx.search("to be or not to be"), ["to be or not to be"], "contents found")


@rule(needs=["facts.tags", "keyword"])
async def tags_are_searched(ctx: Context) -> None:
    """A word of a tag finds the record."""
    await ctx.keep(Fact("likes it hot", tags=["drinks", "jasmine"]))
    equal(await ctx.search("jasmine"), ["likes it hot"], "contents found")


@rule(needs=["facts.provenance", "keyword"])
async def authors_are_searched(ctx: Context) -> None:
    """The name of the author finds the record."""
    await ctx.keep("likes it hot", provenance=Provenance(author="Marguerite"))
    await ctx.keep("likes it cold", provenance=Provenance(author="Ann"))
    equal(await ctx.search("marguerite"), ["likes it hot"], "contents found")


@rule(needs=["facts.observed_at", "keyword"])
async def dates_are_searched(ctx: Context) -> None:
    """Day, month and year of observed_at find the record."""
    await ctx.keep(Fact("went to the lake"), at=datetime(2023, 5, 17, 9, tzinfo=UTC))
    await ctx.keep(Fact("stayed at home"), at=datetime(2024, 11, 2, 9, tzinfo=UTC))
    for text in ("May", "2023", "17 May 2023"):
        equal(await ctx.search(text), ["went to the lake"], f"contents found for {text!r}")


@rule(needs=["verbatim", "keyword", "patch.content"])
async def an_updated_text_is_found_by_its_new_words(ctx: Context) -> None:
    """After an update the new words find the record, and the old ones do not."""
    record = await ctx.keep("a zebra in the garden")
    await ctx.store.update(record.id, Patch(content="a dog in the kitchen"))
    equal([await ctx.search(word) for word in ("zebra", "dog")], [[], ["a dog in the kitchen"]], "contents")


@rule(needs=["verbatim", "keyword"])
async def explain_says_which_words_matched(ctx: Context) -> None:
    """With `explain` each hit names the words of the question that it holds; without it, nothing."""
    await ctx.keep("jasmine tea in the morning")
    query = Query(ctx.scope(), text="morning jasmine cocoa", mode="keyword")
    plain = (await ctx.store.recall(query)).hits[0]
    equal(plain.why, None, "why, when not asked for")
    hit = (await ctx.store.recall(replace(query, explain=True))).hits[0]
    equal(set(hit.why.words) if hit.why else None, {"morning", "jasmine"}, "words that matched")
    true(hit.why and all(weight > 0 for weight in hit.why.words.values()), "words: each adds to the score")
    equal(hit.record, plain.record, "the record, explained or not")
