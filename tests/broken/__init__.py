"""A shelf of adapters and stores that each break the contract in one way."""

from broken import (
    changes,
    expiries,
    filtering,
    forgetting,
    histories,
    hosting,
    keys,
    listings,
    lives,
    neighbours,
    records,
    scopes,
    searching,
    stores,
    together,
)
from broken.fault import FAULTS, Fault

__all__ = [
    "FAULTS",
    "Fault",
    "changes",
    "expiries",
    "filtering",
    "forgetting",
    "histories",
    "hosting",
    "keys",
    "listings",
    "lives",
    "neighbours",
    "records",
    "scopes",
    "searching",
    "stores",
    "together",
]
