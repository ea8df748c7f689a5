"""What callers may give, as hypothesis strategies."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import strategies as st

from memhub import Scope

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
