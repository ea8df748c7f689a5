"""`memhub mcp`: the official client, over both transports, with the server as a process of its own."""

import asyncio
import json
import subprocess
import sys
from contextlib import asynccontextmanager

import httpx2
import pytest
from mcp.shared.exceptions import MCPError

from command import Command
from mcp_servers import CONFIG, MEMHUB, environ, http_server, over_http, over_stdio
from memhub import Fact, Observation, Query, Scope
from memhub_config import open_blocking_hub

NAMES = ["memory_save", "memory_search", "memory_list", "memory_invalidate"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "memhub.yaml").write_text(CONFIG)
    return tmp_path


@pytest.fixture(params=["stdio", "http"])
def connect(request, folder):
    """A function that connects a client with a server for the scope `me`, over one of the transports."""
    if request.param == "stdio":
        yield lambda mode="auto": over_stdio(folder, "--scope", "me", "--read", "team", mode=mode)
    else:
        with http_server(folder, "--scope", "me", "--read", "team") as url:
            yield lambda mode="auto": over_http(url, mode=mode)


def contents(folder, scope="me"):
    with open_blocking_hub(folder / "memhub.yaml") as hub:
        return sorted(hit.record.content for hit in hub["main"].recall(Query(Scope(scope), limit=1_000)).hits)


async def data(client, name, **arguments):
    """What a call that succeeds answers, the same as text and as data."""
    answer = await client.call_tool(name, arguments)
    assert not answer.is_error
    [part] = answer.content
    assert json.loads(part.text) == answer.structured_content
    return answer.structured_content


async def error(client, name, **arguments):
    answer = await client.call_tool(name, arguments)
    assert answer.is_error
    return answer.structured_content["error"]["message"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_tools_save_find_correct_and_end(connect, folder, mode):
    async def run():
        async with connect(mode) as client:
            tools = (await client.list_tools()).tools
            assert [tool.name for tool in tools] == NAMES
            assert all(tool.input_schema["additionalProperties"] is False for tool in tools)
            assert [tool.annotations.read_only_hint for tool in tools] == [False, True, True, False]
            old = await data(client, "memory_save", content="Prefers jasmine tea", tags='["drinks"]')
            new = await data(client, "memory_save", content="Prefers oolong tea", supersedes=old["saved"])
            found = await data(client, "memory_search", query="tea", limit="5")
            assert [one["content"] for one in found["memories"]] == ["Prefers oolong tea"]
            await data(client, "memory_invalidate", id=new["saved"], reason="stopped")
            assert (await data(client, "memory_list"))["memories"] == []
            assert "no argument 'scope'" in await error(client, "memory_save", content="x", scope="other")
            assert "no argument 'user_id'" in await error(client, "memory_search", query="x", user_id="u")
            assert "limit: must be a whole number" in await error(client, "memory_list", limit=5_000)
            assert "there is no tool 'memory_delete'" in await error(client, "memory_delete", id="x")

    asyncio.run(run())
    assert contents(folder) == []


def test_resources_and_the_prompt(connect, folder):
    with open_blocking_hub(folder / "memhub.yaml") as hub:
        for scope in ("team", "other"):
            said = hub["main"].observe(
                Observation(Scope(scope), facts=[Fact(f"Of {scope} é", kind="profile")])
            )
            if scope == "other":
                hidden = said.records[0].id

    async def run():
        async with connect() as client:
            assert [one.uri for one in (await client.list_resources()).resources] == ["memhub://profile"]
            [template] = (await client.list_resource_templates()).resource_templates
            assert template.uri_template == "memhub://records/{id}"
            [profile] = (await client.read_resource("memhub://profile")).contents
            assert profile.text.startswith("<memories check=")
            assert "Of team é" in profile.text
            assert "Of other" not in profile.text
            saved = await data(client, "memory_save", content="Works nights", kind="profile")
            assert "Works nights" in (await client.read_resource("memhub://profile")).contents[0].text
            [record] = (await client.read_resource(f"memhub://records/{saved['saved']}")).contents
            shown = json.loads(record.text)
            assert (shown["content"], shown["kind"]) == ("Works nights", "profile")
            assert "scope" not in shown
            for id in (hidden, "no%20where"):
                with pytest.raises(MCPError, match="^no record '(" + hidden + "|no where)'$"):
                    await client.read_resource(f"memhub://records/{id}")
            with pytest.raises(MCPError, match="no such resource; there are memhub://profile and"):
                await client.read_resource("memhub://other")
            [prompt] = (await client.list_prompts()).prompts
            [message] = (await client.get_prompt(prompt.name)).messages
            assert "never instructions" in message.content.text
            assert client.instructions == message.content.text
            with pytest.raises(MCPError, match="no such prompt; there is memory-manual"):
                await client.get_prompt("other")

    asyncio.run(run())


@asynccontextmanager
async def several(folder, url):
    """Clients of three servers: two of stdio, and two clients of the one over HTTP."""
    async with (
        over_stdio(folder, "--scope", "me") as first,
        over_stdio(folder, "--scope", "me") as second,
        over_http(url) as third,
        over_http(url) as fourth,
    ):
        yield first, second, third, fourth


def test_several_servers_and_clients_write_one_store_at_once(folder):
    async def run(url):
        async def write(client, number):
            for n in range(25):
                await data(client, "memory_save", content=f"Fact {number}-{n}")

        async with several(folder, url) as clients:
            await asyncio.gather(*(write(client, number) for number, client in enumerate(clients)))
            for client in clients:
                assert len((await data(client, "memory_list", limit=50))["memories"]) == 50

    with http_server(folder, "--scope", "me") as url:
        asyncio.run(run(url))
    assert contents(folder) == sorted(f"Fact {number}-{n}" for number in range(4) for n in range(25))


def test_clients_of_other_scopes_do_not_meet(folder):
    async def run():
        async with over_stdio(folder, "--scope", "a") as one, over_stdio(folder, "--scope", "b") as other:
            mine = await data(one, "memory_save", content="Tea of a")
            assert (await data(other, "memory_search", query="tea"))["memories"] == []
            assert "no record" in await error(other, "memory_invalidate", id=mine["saved"])
            assert "no record" in await error(other, "memory_save", content="x", supersedes=mine["saved"])

    asyncio.run(run())
    assert contents(folder, "a") == ["Tea of a"]
    assert contents(folder, "b") == []


def test_a_binding_says_scope_and_read_list(folder):
    text = CONFIG + "bindings:\n  team: {scope: team}\n  player: {scope: 'player:{id}', read: [team]}\n"
    (folder / "memhub.yaml").write_text(text)
    with open_blocking_hub(folder / "memhub.yaml") as hub:
        hub.bind("team").observe(Observation(Scope("team"), facts=[Fact("Tea at four")]))

    async def run():
        async with over_stdio(folder, "--binding", "player", "--value", "id=42") as client:
            await data(client, "memory_save", content="Likes tea")
            found = (await data(client, "memory_search", query="tea"))["memories"]
            assert {one["content"]: one.get("shared", False) for one in found} == {
                "Tea at four": True,
                "Likes tea": False,
            }

    asyncio.run(run())
    assert contents(folder, "player:42") == ["Likes tea"]


def test_reading_alone(folder):
    async def run():
        async with over_stdio(folder, "--label", "user=me", "--readonly") as client:
            assert (await client.read_resource("memhub://profile")).contents[
                0
            ].text == "Nothing is known yet."
            assert [tool.name for tool in (await client.list_tools()).tools] == NAMES[1:3]
            assert "there is no tool 'memory_save'" in await error(client, "memory_save", content="x")

    asyncio.run(run())


def test_a_token_keeps_others_out(folder):
    async def run(url):
        async with httpx2.AsyncClient() as http:
            for given in (None, "Bearer wrong", "s3cret", "Basic s3cret", "Bearer s3cret x", "Bearer"):
                headers = {} if given is None else {"Authorization": given}
                answer = await http.post(url, json={}, headers=headers)
                assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
            answer = await http.post(url, json={}, headers={"Authorization": "bearer  s3cret"})
            assert answer.status_code != 401
        async with over_http(url, token="s3cret") as client:
            await data(client, "memory_save", content="x")

    with http_server(folder, "--scope", "me", MEMHUB_MCP_TOKEN="s3cret") as url:
        asyncio.run(run(url))


def test_a_page_of_another_site_is_refused(folder):
    async def run(url):
        async with httpx2.AsyncClient() as http:
            for headers in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}):
                assert (await http.post(url, json={}, headers=headers)).status_code in (403, 421)
            for named in ("127.0.0.1", "localhost", "[::1]", "localhost:8321"):
                headers = {"Host": named, "Origin": f"http://{named}"}
                assert (await http.post(url, json={}, headers=headers)).status_code not in (403, 421)

    with http_server(folder, "--scope", "me") as url:
        asyncio.run(run(url))


@pytest.mark.parametrize("end", ["\n", ""])
def test_stdin_that_ends_ends_the_server_and_stdout_holds_the_protocol_alone(folder, end):
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    done = subprocess.run(
        [MEMHUB, "mcp", "--scope", "me"],
        cwd=folder,
        env=environ(MEMHUB_LOG_LEVEL="debug"),
        input=json.dumps(hello) + end,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    [answer] = [json.loads(line) for line in done.stdout.splitlines()]
    assert answer["result"]["serverInfo"]["name"] == "memhub"


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_without_pipes_it_says_so_and_ends(folder, closed):
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" mcp --scope me {closed}', MEMHUB],
        cwd=folder,
        env=environ(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == (
        "error [invalid_input] stdin or stdout is closed; an agent starts this command with pipes on both\n"
    )


def test_half_an_emoji_is_answered_and_kept_as_what_it_is(folder):
    said = [r"cut \ud83d", r"\ude00\ud83d cut", r"whole \ud83d\ude00 \\ud83d", r"\uD83D\uDE00"]
    call = '{"jsonrpc": "2.0", "id": %d, "method": "tools/call", "params": {"name": "memory_save", "arguments": {"content": "%s"}}}'
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    first = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})
    pipes = dict.fromkeys(("stdin", "stdout"), subprocess.PIPE)
    with subprocess.Popen(
        [MEMHUB, "mcp", "--scope", "me"], cwd=folder, env=environ(), text=True, **pipes
    ) as process:
        lines = [first, *(call % (number, text) for number, text in enumerate(said, 1))]
        process.stdin.write("\n".join(lines) + "\n")
        process.stdin.flush()
        heard = sorted(json.loads(process.stdout.readline())["id"] for _ in lines)
        process.stdin.close()
    assert heard == [0, 1, 2, 3, 4]
    assert contents(folder) == sorted(
        ["cut \ufffd", "\ufffd\ufffd cut", "whole \U0001f600 \\ud83d", "\U0001f600"]
    )


def test_a_client_that_stops_listening_ends_it_without_a_word(folder):
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    command = [MEMHUB, "mcp", "--scope", "me"]
    with subprocess.Popen(command, cwd=folder, env=environ(), text=True, **pipes) as process:
        process.stdout.close()
        process.stdin.write('{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        process.stdin.flush()
        assert process.wait(60) == 0
        assert process.stderr.read() == ""


@pytest.fixture
def memhub(tmp_path, capsys, monkeypatch):
    return Command(tmp_path, capsys, monkeypatch)


MARK = "planted-text"
NOISE = [
    {"id": 2, "method": "tools/call", "params": {"name": "memory_save", "arguments": {"content": MARK}}},
    {"id": 3, "method": "tools/call", "params": {"name": "memory_save", "arguments": [MARK]}},
    {"id": 4, "method": "tools/call", "params": {"name": MARK, "arguments": {MARK: MARK}}},
    {"id": 5, "method": MARK, "params": {"x": MARK}},
    {"method": f"notifications/{MARK}", "params": {"x": MARK}},
    {"id": 99, "result": {"x": MARK}},
    {"id": 6, "method": "resources/read", "params": {"uri": f"memhub://records/{MARK}"}},
]


def test_what_is_remembered_or_sent_is_in_no_log(folder):
    hello = [
        "initialize",
        {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    ]
    first = {"id": 1, "method": hello[0], "params": hello[1]}
    lines = [json.dumps({"jsonrpc": "2.0", **message}) for message in [first, *NOISE]]
    command = [MEMHUB, "mcp", "--scope", "me"]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    loud = environ(MEMHUB_LOG_LEVEL="debug")
    with subprocess.Popen(command, cwd=folder, env=loud, text=True, **pipes) as process:
        process.stdin.write("\n".join([*lines[:-1], f'{{"{MARK}', f'"{MARK}"', lines[-1]]) + "\n")
        process.stdin.flush()
        heard = {json.loads(process.stdout.readline())["id"] for _ in range(6)}
        process.stdin.close()
        assert MARK not in process.stderr.read()
    assert heard == {1, 2, 3, 4, 5, 6}
    assert contents(folder) == [MARK]


WRONG = [
    ([], 2, "no scope; give --scope NAME, or --label KEY=VALUE"),
    (["--scope", "a", "--label", "b=c"], 2, "two scopes; give --scope or --label, not both"),
    (["--scope", "a", "--value", "b=c"], 2, "--value belongs to --binding"),
    (["--binding", "a", "--scope", "b"], 2, "--binding says what --store, --scope"),
    (["--scope", "a", "--http", "--host", "0.0.0.0"], 2, "--host 0.0.0.0 lets others reach this memory; set"),
    (["--scope", "a", "--read", "a"], 1, "read[0]: names the bound scope itself; leave it out"),
    (["--scope", "a", "--store", "mian"], 1, "store: no 'mian' here; the stores are 'main'"),
    (["--binding", "a"], 1, "binding: no 'a' here; the bindings are none"),
    (["--scope", "a", "--http", "--host", "192.0.2.7"], 1, "cannot listen on 192.0.2.7, port 8321"),
    (
        ["--scope", "a", "--http", "--host", "ä..b"],
        1,
        "cannot listen on ä..b, port 8321: is no name of a host",
    ),
]


@pytest.mark.parametrize(("arguments", "code", "told"), WRONG)
def test_what_cannot_be_served_is_told(memhub, monkeypatch, arguments, code, told):
    if {"192.0.2.7", "ä..b"} & {*arguments}:
        monkeypatch.setenv("MEMHUB_MCP_TOKEN", "s3cret")
    ended = memhub("mcp", *arguments)
    assert ended.code == code
    assert told in ended.err
    assert "s3cret" not in ended.err
    assert ended.out == ""


def test_without_the_extra_it_says_what_to_install(memhub, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    monkeypatch.delitem(sys.modules, "memhub_config.serve.mcp_server", raising=False)
    ended = memhub("mcp", "--scope", "a")
    assert ended.code == 1
    assert "memhub mcp needs the module mcp_types; pip install 'memhub[mcp]'" in ended.err
