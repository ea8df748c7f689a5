"""The conformance kit: every promise of the contract as a rule that any adapter can be held to.

`AdapterConformance` runs the rules under pytest, one item a rule (extra `conformance`).
`run_conformance` runs them on a store in use, without pytest, and tidies up. `rule` makes a rule of
an async function of one `Context`, for promises of your own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memhub.conformance.clock import Clock
from memhub.conformance.context import Context
from memhub.conformance.definition import rule
from memhub.conformance.report import Report, Result
from memhub.conformance.runner import run_conformance
from memhub.conformance.settled import Patience

if TYPE_CHECKING:
    from memhub.conformance.suite import AdapterConformance

__all__ = [
    "AdapterConformance",
    "Clock",
    "Context",
    "Patience",
    "Report",
    "Result",
    "rule",
    "run_conformance",
]


def __getattr__(name: str) -> object:
    """AdapterConformance on first use: it alone needs pytest."""
    if name != "AdapterConformance":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from memhub.conformance.suite import AdapterConformance

    return AdapterConformance
