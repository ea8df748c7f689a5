"""A small model on this machine, through fastembed and ONNX Runtime."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from memhub.errors import InvalidConfig, NativeError, Unavailable
from memhub_adapters.embedders.vectors import batches, checked

__all__ = ["FastembedEmbedder"]


class FastembedEmbedder:
    """Loads `model` on first use, from `path` where given: then nothing is ever downloaded.

    Runs on a thread, one batch at a time. Raises ModuleNotFoundError where fastembed is not there.
    """

    def __init__(
        self,
        model: str,
        *,
        dimensions: int,
        path: Path | None = None,
        batch: int = 64,
        threads: int | None = None,
    ) -> None:
        from fastembed import TextEmbedding

        self.identity = f"fastembed:{model}"
        self.dimensions = dimensions
        self._name = model
        self._make = TextEmbedding
        self._path = path
        self._batch = batch
        self._threads = threads
        self._lock = Lock()
        self._model: Any = None

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        vectors = [
            one for some in batches(texts, self._batch) for one in await asyncio.to_thread(self._run, some)
        ]
        return checked(vectors, count=len(texts), dimensions=self.dimensions, provider="fastembed")

    def _run(self, texts: Sequence[str]) -> list[object]:
        with self._lock:
            try:
                self._model = self._model or self._loaded()
                return [vector.tolist() for vector in self._model.embed(list(texts))]
            except InvalidConfig:
                raise
            except Exception as error:  # noqa: BLE001 - a model may fail in any way, and quote a text in it
                kind, trace = type(error).__name__, error.__traceback__
        failed = Unavailable(f"the model {self._name} failed with {kind}", provider="fastembed")
        failed.__cause__ = NativeError(kind).with_traceback(trace)
        raise failed

    def _loaded(self) -> Any:  # noqa: ANN401 - fastembed's own
        if self._path is None:
            return self._make(self._name, threads=self._threads)
        if not self._path.is_dir():
            raise InvalidConfig(f"embedders: there is no folder {self._path}", provider="fastembed")
        return self._make(
            self._name, threads=self._threads, specific_model_path=str(self._path), local_files_only=True
        )

    def __repr__(self) -> str:
        return f"<FastembedEmbedder {self._name!r} of {self.dimensions} dimensions>"
