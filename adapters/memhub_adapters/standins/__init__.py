"""Stand-ins for remote providers: real HTTP on a loopback socket, in this process, with faults to order.

They speak a provider's protocol as it was seen or documented, so that tests, examples and benchmarks
need no account. They hold everything in memory and are no place for memories.
"""

from __future__ import annotations

from memhub_adapters.standins.faults import Fault, Faults
from memhub_adapters.standins.messages import Request, Response
from memhub_adapters.standins.server import Server

__all__ = ["Fault", "Faults", "Request", "Response", "Server"]
