"""Providers of other packages: real distributions, written to a folder and put on the path."""

from pathlib import Path

VAULT = '''
"""A provider with a secret, and a shared part."""

from contextlib import asynccontextmanager

from pydantic import Field, SecretStr

from memhub_adapters.in_memory import InMemoryAdapter
from memhub_config import Duration, Provider, Section

LOG = []


class Auth(Section):
    token: SecretStr
    audience: str | None = None


class VaultSettings(Section):
    endpoint: str
    api_key: SecretStr
    port: int = 443
    secure: bool = True
    weight: float = Field(default=1.0, gt=0)
    patience: Duration = 1.0
    labels: tuple[str, ...] = ()
    auth: Auth | None = None


class VaultAdapter(InMemoryAdapter):
    def __init__(self, name):
        super().__init__()
        self.name = name

    async def aclose(self):
        LOG.append(f"close {self.name}")
        if self.name == "unclosable":
            raise RuntimeError("does not close")


@asynccontextmanager
async def connection(endpoint):
    LOG.append(f"connect {endpoint}")
    yield object()
    LOG.append(f"disconnect {endpoint}")


async def build(settings, parts):
    await parts.share(("vault", settings.endpoint), lambda: connection(settings.endpoint))
    name = settings.labels[0] if settings.labels else settings.endpoint
    if name == "crashes":
        raise RuntimeError(f"wrong key {settings.api_key.get_secret_value()}")
    if name == "lacks":
        import a_module_that_is_not_there
    LOG.append(f"open {name}")
    return VaultAdapter(name)


PROVIDER = Provider("vault", VaultSettings, build, extra="vault")
'''


def install(
    folder: Path, *, distribution: str, source: str, entries: dict[str, str], module: str | None = None
) -> None:
    """Write a distribution with one module and these entry points into `folder`."""
    info = folder / f"{distribution.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
    lines = "\n".join(f"{name} = {target}" for name, target in entries.items())
    (info / "entry_points.txt").write_text(f"[memhub.providers]\n{lines}\n")
    (folder / f"{module or distribution.replace('-', '_')}.py").write_text(source)
