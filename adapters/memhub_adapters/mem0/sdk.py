"""`mem0ai` itself: imported with its telemetry off and its home in our folder, and opened with parts of ours.

Its log, which quotes memories, is silent unless the host has set a level for it. Everything here runs
on the one thread of an embedded gateway.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from memhub.embedding import Embedder
from memhub.errors import HubError
from memhub_adapters.failure import Failure
from memhub_adapters.mem0 import vectors
from memhub_adapters.mem0.ledger import LedgerFile
from memhub_adapters.mem0.model import Model

__all__ = ["opened", "ours"]

_STAND_IN: Final = {"provider": "openai", "config": {"api_key": "unused", "model": "unused"}}
"""What mem0ai insists on building; ours takes its place before anything is asked of it."""


class Opened:
    """An open mem0ai `Memory` with the parts of ours that it uses; attributes are the memory's."""

    def __init__(self, memory: Any, parts: Parts, ledger: LedgerFile) -> None:  # noqa: ANN401 - mem0ai has no types
        self._memory = memory
        self._parts = parts
        self.ledger = ledger

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - mem0ai has no types
        return getattr(self._memory, name)

    def add(self, *given: Any, **named: Any) -> Any:  # noqa: ANN401 - mem0ai has no types
        """What `Memory.add` returns. Raises what the embedder raised, which mem0ai passes over in silence."""
        self._parts.failed = None
        done = self._memory.add(*given, **named)
        if self._parts.failed is not None:
            raise self._parts.failed
        return done

    def close(self) -> None:
        """Close the history, the vectors, the ledger, and the loop that the parts ran on."""
        self._memory.close()
        self._memory.vector_store.client.close()
        self.ledger.close()
        self._parts.close()


class Parts:
    """Our embedder and model as mem0ai calls them: without await, on a loop of this thread."""

    def __init__(self, embedder: Embedder, model: Model | None) -> None:
        self._embedder = embedder
        self._model = model
        self._runner = asyncio.Runner()
        self.failed: Exception | None = None
        self.held: IO[bytes] | None = None

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """One vector."""
        return self.embed_batch([text])[0]

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = None) -> list[list[float]]:
        """A vector a text."""
        try:
            return self._runner.run(self._embedder.embed(list(texts)))
        except Exception as error:
            self.failed = error
            raise

    def generate_response(self, messages: Sequence[Mapping[str, str]], **_: object) -> str:
        """The model's answer, as JSON text."""
        if self._model is None:
            raise Failure("NoModel", "none")
        return self._runner.run(self._model.complete(messages))

    def close(self) -> None:
        """Close the model and the loop, which closes what belongs to it; let go of the folder."""
        if self._model is not None:
            self._runner.run(self._model.aclose())
        self._runner.close()
        if self.held is not None:
            self.held.close()


def opened(folder: Path, embedder: Embedder, model: Model | None, *, reembedding: bool) -> Opened:
    """The memory in a folder, made where there is none. Whatever fails, nothing stays open.

    Raises InvalidConfig where another embedder made what is there, unless `reembedding`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    maker = vectors.Maker.of(embedder)
    if not reembedding:
        vectors.checked(folder, maker)
    parts = Parts(embedder, model)
    try:
        parts.held = _locked(folder)
        memory = _imported(folder).from_config(_config(folder, maker))
        if vectors.kept(folder) is None:
            vectors.note(folder, maker)
    except BaseException:
        parts.close()
        raise
    memory.embedding_model = memory.llm = parts
    # Words are weighed by a model that fastembed would fetch; without it, search goes by meaning alone.
    memory.vector_store._bm25_encoder = False  # noqa: SLF001 - mem0ai has no setting for it
    return Opened(memory, parts, LedgerFile(folder / "ledger.db"))


def ours(error: Exception) -> Exception:
    """What an error of mem0ai is to us: one of ours that it wraps, else its name alone."""
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, HubError | Failure):
            return inner
        inner = inner.__cause__ or inner.__context__
    return Failure(type(error).__name__, "done")


def _locked(folder: Path) -> IO[bytes]:
    """The folder's lock, held until it is closed. Qdrant's own leaves a file open where it is refused."""
    import portalocker

    file = (folder / "lock").open("ab")
    try:
        portalocker.lock(file, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
    except portalocker.LockException:
        file.close()
    else:
        return file
    raise Failure("FolderInUse", "none")


def _config(folder: Path, maker: vectors.Maker) -> dict[str, Any]:
    store = {
        "collection_name": maker.collection,
        "embedding_model_dims": maker.dimensions,
        "path": str(folder / "vectors"),
        "on_disk": True,
    }
    return {
        "vector_store": {"provider": "qdrant", "config": store},
        "llm": _STAND_IN,
        "embedder": _STAND_IN,
        "history_db_path": str(folder / "history.db"),
    }


def _imported(folder: Path) -> Any:  # noqa: ANN401 - mem0ai has no types
    """`mem0.Memory`. Switches and home are read when it is first imported, from the environment alone."""
    log = logging.getLogger("mem0")
    if log.level == logging.NOTSET:
        log.setLevel(logging.CRITICAL + 1)
    with _environment(MEM0_TELEMETRY="false", MEM0_DIR=str(folder)), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of mem0ai's own dependencies, which nobody here can mend
        from mem0 import Memory
    for name in ("mem0.memory.telemetry", "mem0.memory.main"):
        # Where the host had imported it before us, its switch is off from here on.
        sys.modules[name].MEM0_TELEMETRY = False  # type: ignore[attr-defined]
    return Memory


@contextmanager
def _environment(**given: str) -> Iterator[None]:
    """These variables inside the block, and what was there before afterwards."""
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
