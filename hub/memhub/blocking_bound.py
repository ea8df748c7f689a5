"""The synchronous face of what an agent uses: a bound memory, its toolbox, the recall block."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, overload

from memhub.blocks import RecallBlock
from memhub.bound import BoundMemory
from memhub.portal import Portal
from memhub.recall import BUDGET, HITS
from memhub.recall import recall_block as assembled
from memhub.records import (
    UNSET,
    Observation,
    Observed,
    Patch,
    Provenance,
    Query,
    Recalled,
    Record,
    Unset,
)
from memhub.scope import Scope
from memhub.toolbox import ANSWER, Answer, Tool, Toolbox

if TYPE_CHECKING:
    from memhub.capabilities import Capabilities
    from memhub.records import Json

__all__ = ["BlockingBoundMemory", "BlockingToolbox", "recall_block"]

T = TypeVar("T")


class BlockingBoundMemory:
    """A BoundMemory without await; what `BlockingMemoryStore.bind` gives."""

    def __init__(self, memory: BoundMemory, portal: Portal) -> None:
        self._memory = memory
        self._portal = portal

    @property
    def name(self) -> str:
        """The store's name."""
        return self._memory.name

    @property
    def scope(self) -> Scope:
        """What is written to."""
        return self._memory.scope

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """What is read: `scope`, then those that it may also read."""
        return self._memory.scopes

    @property
    def readonly(self) -> bool:
        """Whether every change is Unsupported."""
        return self._memory.readonly

    @property
    def capabilities(self) -> Capabilities:
        """What the opened adapter declares."""
        return self._memory.capabilities

    def run(self, work: Callable[[BoundMemory], Coroutine[Any, Any, T]]) -> T:
        """What `work` comes to, given the bound memory to await, on the store's own event loop."""
        return self._portal.call(lambda: work(self._memory))

    def observe(self, observation: Observation) -> Observed:
        """Remember facts or turns in the bound scope."""
        return self.run(lambda memory: memory.observe(observation))

    def recall(self, query: Query) -> Recalled:
        """What the store finds in those scopes of the query that are within reach."""
        return self.run(lambda memory: memory.recall(query))

    @overload
    def get(self, id: str) -> Record: ...
    @overload
    def get(self, id: list[str] | tuple[str, ...]) -> list[Record]: ...
    def get(self, id: str | list[str] | tuple[str, ...]) -> Record | list[Record]:
        """One record by its id, or several in the order given."""
        if isinstance(id, str):
            return self.run(lambda memory: memory.get(id))
        return self.run(lambda memory: memory.get(id))

    def update(self, id: str, patch: Patch, *, revision: str | None = None) -> Record:
        """Change a record of the bound scope. Returns the new record."""
        return self.run(lambda memory: memory.update(id, patch, revision=revision))

    def invalidate(self, id: str, reason: str | None = None, *, revision: str | None = None) -> Record:
        """Hide a record of the bound scope and keep it as history. Returns the record."""
        return self.run(lambda memory: memory.invalidate(id, reason, revision=revision))

    def delete(self, id: str, *, revision: str | None = None) -> None:
        """Forget a record of the bound scope."""
        return self.run(lambda memory: memory.delete(id, revision=revision))

    def wait(self, operation_id: str, *, timeout: float | Unset | None = UNSET) -> Observed:
        """What a pending operation came to, if this very object began it. `timeout` is in seconds."""
        return self.run(lambda memory: memory.wait(operation_id, timeout=timeout))

    def __repr__(self) -> str:
        return f"<BlockingBoundMemory of {self.name!r} for {self.scope!r}>"


class BlockingToolbox:
    """A Toolbox without await."""

    def __init__(
        self, memory: BlockingBoundMemory, *, provenance: Provenance | None = None, budget: int = ANSWER
    ) -> None:
        self._memory = memory
        self._toolbox = memory.run(lambda bound: _toolbox(bound, provenance, budget))

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools: name, description, and JSON Schema of the arguments."""
        return self._toolbox.tools

    @property
    def manual(self) -> str:
        """For the system prompt: what the memory is for, when to save, how to correct."""
        return self._toolbox.manual

    def openai_tools(self) -> list[dict[str, Any]]:
        """The tools as OpenAI's chat completions take them."""
        return self._toolbox.openai_tools()

    def anthropic_tools(self) -> list[dict[str, Any]]:
        """The tools as Anthropic's messages take them."""
        return self._toolbox.anthropic_tools()

    def json_schemas(self) -> dict[str, dict[str, Any]]:
        """The JSON Schema of each tool's arguments, by name."""
        return self._toolbox.json_schemas()

    def call(self, name: str, arguments: Mapping[str, Json] | str | None = None) -> Answer:
        """What the tool answers; a model's mistake is answered too."""
        return self._memory.run(lambda _: self._toolbox.call(name, arguments))


def recall_block(
    memory: BlockingBoundMemory,
    text: str | None = None,
    *,
    budget: int = BUDGET,
    limit: int = HITS,
    explain: bool = False,
) -> RecallBlock:
    """`memhub.recall_block` without await."""
    return memory.run(lambda bound: assembled(bound, text, budget=budget, limit=limit, explain=explain))


async def _toolbox(memory: BoundMemory, provenance: Provenance | None, budget: int) -> Toolbox:
    return Toolbox(memory, provenance=provenance, budget=budget)
