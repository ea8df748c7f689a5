"""What callers may give, as hypothesis strategies."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import strategies as st

from memhub import Provenance, Record, Scope
from memhub.records import KINDS

characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
labels = st.text(characters, min_size=1, max_size=12)
texts = st.text(characters, min_size=1, max_size=60).filter(lambda text: not text.isspace())
pairs = st.dictionaries(labels, labels, min_size=1, max_size=4)
scopes = st.one_of(labels, pairs).map(Scope)
numbers = st.one_of(st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False, width=32))
scalars = st.one_of(st.text(characters, max_size=8), numbers, st.booleans())
attributes = st.dictionaries(
    texts.map(lambda text: text[:20]), scalars | st.lists(scalars, max_size=3), max_size=4
).filter(lambda given: all(not key.isspace() for key in given))
moments = st.datetimes(
    datetime(1970, 1, 2),  # noqa: DTZ001 - hypothesis adds the time zone
    datetime(2200, 1, 1),  # noqa: DTZ001 - hypothesis adds the time zone
    timezones=st.just(UTC) | st.just(timezone(timedelta(hours=5, minutes=45))),
)
identifiers = (
    st.text("abcdef0123456789-", min_size=1, max_size=12)
    | st.uuids().flatmap(lambda it: st.sampled_from([str(it), str(it).upper(), it.hex, it.urn]))
    | st.text(st.characters(exclude_categories=["C", "Z"]) | st.just(" "), min_size=1, max_size=20)
)
utc_moments = moments.map(lambda moment: moment.astimezone(UTC))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text("añ中🫖 ", max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
records = st.builds(
    Record,
    id=identifiers,
    scope=scopes,
    kind=st.sampled_from(KINDS),
    content=texts,
    tags=st.lists(texts, max_size=3, unique=True).map(tuple),
    attributes=attributes,
    provenance=st.builds(
        Provenance,
        conversation_id=st.none() | texts,
        run_id=st.none() | texts,
        author=st.none() | texts,
        role=st.none() | st.sampled_from(["user", "assistant"]),
    ),
    created_at=utc_moments,
    updated_at=utc_moments,
    observed_at=utc_moments,
    invalid_at=st.none() | utc_moments,
    invalid_reason=st.none() | texts,
    supersedes=st.none() | identifiers,
    superseded_by=st.none() | identifiers,
    expires_at=st.none() | utc_moments,
    revision=identifiers,
    position=st.integers(0, 999),
    target=st.none() | texts,
    payload=json_values,
    supports=st.lists(identifiers, max_size=3).map(tuple),
)
