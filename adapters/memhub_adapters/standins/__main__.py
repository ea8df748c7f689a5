"""Runs a stand-in until it is interrupted: `python -m memhub_adapters.standins mem0_self_hosted --port 8888`.

Prints the lines of a `memhub.yaml` that name it. What it holds is gone when it ends.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Final

from memhub_adapters.standins.messages import Request, Response
from memhub_adapters.standins.server import Server

Handle = Callable[[Request], Response]

KEY: Final = "stand-in"
"""The key of those that ask for one; it protects nothing."""


def _mem0_platform() -> Handle:
    from memhub_adapters.standins.mem0_platform import PlatformMem0

    return PlatformMem0(KEY)


def _mem0_self_hosted() -> Handle:
    from memhub_adapters.standins.mem0_self_hosted import SelfHostedMem0

    return SelfHostedMem0()


def _qdrant() -> Handle:
    try:
        from memhub_adapters.standins.qdrant import Qdrant
    except ImportError as missing:
        sys.exit(f"{missing.name} is not installed; pip install 'memhub[qdrant]'")
    return Qdrant()


def _volc_mem0() -> Handle:
    from memhub_adapters.standins.volc_mem0 import VolcMem0

    return VolcMem0(KEY)


STANDINS: Final[Mapping[str, tuple[Callable[[], Handle], str]]] = {
    "mem0_platform": (_mem0_platform, f"mem0: {{endpoint: URL, api_key: {KEY}}}"),
    "mem0_self_hosted": (_mem0_self_hosted, "mem0: {flavor: self_hosted, endpoint: URL}"),
    "qdrant": (_qdrant, "qdrant: {url: URL}"),
    "volc_mem0": (_volc_mem0, f"volc_memory: {{mem0: {{endpoint: URL}}, api_key: {KEY}}}"),
}
"""By name: what makes it, and how a configuration names it."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m memhub_adapters.standins", description=__doc__)
    parser.add_argument("name", choices=sorted(STANDINS))
    parser.add_argument("--port", type=int, default=0, help="any free one, where it is left out")
    asked = parser.parse_args()
    make, section = STANDINS[asked.name]
    try:
        with Server(make(), port=asked.port) as server:
            named = section.replace("URL", f'"{server.url}"')
            print(f"stores:\n  memory:\n    {named}", flush=True)  # noqa: T201
            threading.Event().wait()
    except KeyboardInterrupt:
        pass
    except (OSError, OverflowError) as refused:
        sys.exit(f"port {asked.port}: {refused}")


if __name__ == "__main__":
    main()
