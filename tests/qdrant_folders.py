"""Where embedded collections of the tests live: in memory where the system has such a folder.

Making a collection syncs a hundred files, which takes seconds on a busy disk and proves nothing here.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

SHARED_MEMORY = Path("/dev/shm")


@contextmanager
def quick_folder() -> Iterator[Path]:
    """A folder that is gone afterwards."""
    place = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
    with TemporaryDirectory(prefix="memhub-", dir=place) as folder:
        yield Path(folder)
