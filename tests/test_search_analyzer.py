"""Whatever people write in any script is found again by the words they would ask with."""

import asyncio
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memhub import Fact, MemoryStore, Observation, Query, Scope
from memhub.search import analyze, has_words, question
from memhub.search.analyzer import STOP_WORDS, TERM_CHARS, date_words, words
from memhub_adapters.in_memory import InMemoryAdapter
from strategies import texts

ME = Scope("me")
MEMORIES = {
    "chinese": {
        "我最喜欢的茉莉花茶在杭州买": ("茉莉花茶", "杭州"),
        "他妹妹在医院做护士": ("妹妹的工作", "护士"),
        "下个月搬到深圳": ("深圳", "搬到哪里"),
    },
    "japanese": {
        "妹は京都の大学で建築を学んでいます": ("京都", "建築", "妹の大学"),
        "土曜日にテニスをします": ("テニス", "土曜日"),
        "エビにアレルギーがあります": ("アレルギー", "エビ"),
        "ルイ・アームストロングを聴きます": ("アームストロング", "ルイ"),
    },
    "korean": {
        "동생은 대전에서 요리를 배웁니다": ("대전", "요리"),
        "저는 우유를 못 마십니다": ("우유", "우유는"),
        "주말마다 등산을 갑니다": ("등산",),
    },
    "thai": {
        "น้องสาวเรียนดนตรีที่ขอนแก่น": ("ดนตรี", "ขอนแก่น"),
        "ฉันแพ้ถั่วลิสง": ("ถั่วลิสง",),
        "พ่อขับรถไฟ": ("รถไฟ",),
    },
    "burmese and khmer": {
        "သူမ ရန်ကုန်မှာ နေသည်။": ("ရန်ကုန်",),
        "គាត់ចូលចិត្តកាហ្វេ។": ("កាហ្វេ",),
    },
    "accents": {
        "Zoë déménage à Besançon": ("zoe", "Besancon", "DÉMÉNAGE"),
        "Mein Großvater wohnt in Gießen": ("grossvater", "giessen"),
        "Nữ ca sĩ thích phở": ("pho", "thich"),
        "Şehri İzmir": ("izmir", "sehri"),
    },
    "other alphabets": {
        "Бабушка печёт пироги по воскресеньям": ("пироги", "бабушки"),
        "Η αδελφή μου ζει στην Πάτρα": ("αδελφη", "πατρα"),
        "أختي تعمل في الإسكندرية": ("الإسكندرية",),
        "मेरी बहन लखनऊ में रहती है": ("लखनऊ",),
        "אחותי גרה בחיפה": ("בחיפה",),
    },
    "emoji": {"Brunch was 🥐 and ☕": ("🥐", "☕"), "We saw 🦊🦉": ("🦊", "🦉"), "I ❤️ 🇯🇵": ("❤️", "❤")},
    "code": {
        "call load_user_by_id before retry": ("load_user_by_id", "user by id", "load_user"),
        "error E4012 in billing-worker": ("E4012", "billing-worker", "billing"),
        "host 192.168.7.9 runs node20": ("192.168.7.9", "node20"),
        "don't use C++ here": ("don't", "C++"),
    },
    "english": {
        "She was running two marathons": ("run", "marathon"),
        "He studies libraries": ("study", "library"),
        "Their ponies are lovely": ("pony",),
    },
}
CASES = [
    pytest.param(list(memories), memory, query, id=f"{script}-{query}")
    for script, memories in MEMORIES.items()
    for memory, queries in memories.items()
    for query in queries
]


@pytest.mark.parametrize(("memories", "memory", "query"), CASES)
def test_a_memory_is_found_first_by_its_words(memories: list[str], memory: str, query: str) -> None:
    async def run() -> list[str]:
        async with MemoryStore(InMemoryAdapter()) as store:
            await store.observe(Observation(ME, facts=[Fact(content) for content in memories]))
            found = await store.recall(Query(ME, text=query))
            return [hit.record.content for hit in found.hits]

    assert asyncio.run(run())[:1] == [memory]


@given(texts)
def test_a_text_is_found_by_itself_or_holds_no_word(text: str) -> None:
    asks = question(text)
    stored = analyze(text)
    assert set(asks.terms) <= set(stored.terms)
    assert set(asks.stops) <= stored.stops
    assert has_words(text) == bool(asks.terms or asks.stops)


@given(texts)
def test_case_does_not_matter(text: str) -> None:
    assert question(text.casefold()) == question(text)
    assert analyze(text.casefold()) == analyze(text)


signs = st.characters(categories=["P", "Sm", "Z", "Cc"], max_codepoint=0x22FF, exclude_characters="_\0")


@given(st.text(signs | st.sampled_from("฿๏။។・「」，。！？…")))
def test_text_of_signs_alone_holds_no_word(text: str) -> None:
    assert not has_words(text)


@pytest.mark.parametrize("text", ["?", "*", '""', "...", "- -", "(", "NEAR", "_", "__"])
def test_nothing_is_a_syntax_error(text: str) -> None:
    assert has_words(text) == (text == "NEAR")


def test_stop_words_are_looked_for_only_when_alone() -> None:
    assert question("who was she").stops.keys() == {STOP_WORDS.index(word) for word in ("who", "was", "she")}
    assert question("who was she").terms == {}
    mixed = question("who was Zoë")
    assert (mixed.terms, mixed.stops) == ({"zoe": "zoe"}, {})


@pytest.mark.parametrize(
    ("text", "plain"), [("ℌello", "hello"), ("Ｔｅａ", "tea"), ("ﬁsh", "fish"), ("①", "1")]
)
def test_letters_in_disguise_are_plain_letters(text: str, plain: str) -> None:
    assert question(text) == question(plain)


def test_a_word_of_the_query_counts_once() -> None:
    assert list(question("tea Tea teas TÉA").terms) == ["tea"]


def test_a_long_word_is_cut_alike_when_stored_and_asked() -> None:
    asks, stored = question("x" * 5_000 + " tea"), analyze("x" * 5_000 + " tea")
    assert asks.terms.keys() == stored.terms.keys() > {"tea"}
    assert max(map(len, stored.terms)) == TERM_CHARS


def test_snake_case_counts_whole_and_by_its_parts() -> None:
    assert list(words("get_user_id", stored=True)) == ["get_user_id", "get", "user", "id"]
    assert list(words("_private", stored=True)) == ["private"]


def test_scripts_without_spaces_give_pairs_and_single_characters_when_stored() -> None:
    assert list(words("杭州茶", stored=False)) == ["杭州", "州茶"]
    assert list(words("杭州茶", stored=True)) == ["杭州", "州茶", "杭", "州", "茶"]
    assert list(words("茶", stored=False)) == ["茶"]


def test_stop_words_are_numbered_for_good() -> None:
    assert (STOP_WORDS[0], STOP_WORDS[-1], len(STOP_WORDS)) == ("a", "yourselves", 134)
    assert len(set(STOP_WORDS)) == len(STOP_WORDS)


def test_a_date_is_written_as_people_say_it() -> None:
    assert date_words(datetime(2026, 3, 7, tzinfo=UTC)) == "7 march 2026"
