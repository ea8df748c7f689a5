"""A bound memory as an MCP server: the toolbox as tools, records as resources, the manual as a prompt.

It is the SDK's low-level `Server`, which hands over a call's arguments as they came. `MCPServer`
drops arguments that a tool does not have; the toolbox refuses them, since a client that names a
scope must not believe that it was heeded.
"""

from __future__ import annotations

import json
from typing import Any, Final
from urllib.parse import unquote

import mcp_types as types
from mcp.server import Server
from mcp.shared.exceptions import MCPError

from memhub import BoundMemory, HubError, Toolbox, Unavailable, __version__, recall_block
from memhub.interchange import record_to_json
from memhub.toolbox import ANSWER, Tool

__all__ = ["mcp_server"]

PROFILE: Final = "memhub://profile"
RECORDS: Final = "memhub://records/"
MANUAL: Final = "memory-manual"

_HIDDEN: Final = ("scope", "revision", "position")
_Context = Any


def mcp_server(memory: BoundMemory) -> Server[Any]:
    """The server of one bound memory, for any number of clients. Closing the store stays the caller's."""
    handlers = _Handlers(memory)
    return Server(
        "memhub",
        version=__version__,
        title="Memhub",
        instructions=handlers.toolbox.manual,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_resource_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )


class _Handlers:
    def __init__(self, memory: BoundMemory) -> None:
        self._memory = memory
        self.toolbox = Toolbox(memory)

    async def list_tools(self, _: _Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_tool(tool) for tool in self.toolbox.tools])

    async def call_tool(self, _: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        answer = await self.toolbox.call(params.name, params.arguments)
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=answer.text)],
            structured_content=dict(answer.data),
            is_error=not answer.ok,
        )

    async def list_resources(
        self, _: _Context, __: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[_PROFILE])

    async def list_resource_templates(
        self, _: _Context, __: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=[_RECORD])

    async def read_resource(
        self, _: _Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        try:
            if params.uri == PROFILE:
                return _contents(params.uri, "text/plain", await self._profile())
            if params.uri.startswith(RECORDS):
                id = unquote(params.uri.removeprefix(RECORDS))
                return _contents(params.uri, "application/json", await self._record(id))
        except Unavailable:
            refused = "the memory cannot be reached now; try again later"
        except HubError as error:
            refused = error.message
        else:
            refused = f"no such resource; there are {PROFILE} and {RECORDS}{{id}}"
        raise MCPError(types.INVALID_PARAMS, refused)

    async def list_prompts(
        self, _: _Context, __: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[_PROMPT])

    async def get_prompt(self, _: _Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if params.name != MANUAL:
            raise MCPError(types.INVALID_PARAMS, f"no such prompt; there is {MANUAL}")
        text = types.TextContent(type="text", text=self.toolbox.manual)
        return types.GetPromptResult(
            description=_PROMPT.description, messages=[types.PromptMessage(role="user", content=text)]
        )

    async def _profile(self) -> str:
        block = await recall_block(self._memory, limit=0, budget=ANSWER)
        return block.text or "Nothing is known yet."

    async def _record(self, id: str) -> str:
        record = record_to_json(await self._memory.get(id))
        shown = {name: value for name, value in record.items() if name not in _HIDDEN}
        return json.dumps(shown, ensure_ascii=False)


def _tool(tool: Tool) -> types.Tool:
    hints = types.ToolAnnotations(read_only_hint=tool.reads, destructive_hint=False, open_world_hint=False)
    return types.Tool(
        name=tool.name, description=tool.description, input_schema=tool.parameters, annotations=hints
    )


def _contents(uri: str, mime_type: str, text: str) -> types.ReadResourceResult:
    part = types.TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    return types.ReadResourceResult(contents=[part])


_PROFILE: Final = types.Resource(
    uri=PROFILE,
    name="profile",
    title="Profile",
    description="Who this memory is about: its profile records, as a block for a prompt.",
    mime_type="text/plain",
)
_RECORD: Final = types.ResourceTemplate(
    uri_template=f"{RECORDS}{{id}}",
    name="record",
    title="One memory",
    description="A memory by its id, complete, also when it is no longer valid.",
    mime_type="application/json",
)
_PROMPT: Final = types.Prompt(
    name=MANUAL,
    title="How to use the memory",
    description="When to look, what to save, how to correct. For the system prompt.",
)
