"""The contract's limits, one name each. `validation` enforces them; nobody else does."""

from __future__ import annotations

from typing import Final

CONTENT_CHARS: Final = 65_536
"""Longest content of a fact or turn, in characters. Content is never shortened."""

QUERY_CHARS: Final = 65_536
"""Longest query text, in characters."""

SCOPE_BYTES: Final = 512
"""Longest canonical text of a scope, in UTF-8 bytes."""

TAGS: Final = 64
"""Most tags on one record."""

TAG_CHARS: Final = 128
"""Longest tag, in characters."""

ATTRIBUTE_KEYS: Final = 64
"""Most attributes on one record."""

ATTRIBUTE_BYTES: Final = 16_384
"""Largest attributes object, and largest `payload`, as UTF-8 JSON, in bytes."""

DEPTH: Final = 64
"""Deepest nesting of lists and objects in a `payload`, in levels."""

INTEGER: Final = 2**53
"""Integers of attributes lie within plus and minus this, so that every JSON reader keeps them."""

ITEMS: Final = 1_000
"""Most facts or turns in one observation, records in one `restore`, ids in one `get`."""

LIMIT: Final = 1_000
"""Largest `limit` of a query or a scan."""

DEFAULT_LIMIT: Final = 10
"""`limit` of a query that does not say."""

SCOPES: Final = 100
"""Most scopes in one query."""

ID_CHARS: Final = 512
"""Longest record id, idempotency key, revision or operation id, in characters."""

NAME_CHARS: Final = 512
"""Longest speaker, author, conversation id, run id, target or reason, in characters."""

CONDITIONS: Final = 64
"""Most keys in `where`, and most values in one `in` or `not_in`."""

TIMEOUT: Final = 30.0
"""Deadline of one call, in seconds, where the store's configuration does not say."""
