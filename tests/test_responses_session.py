"""A whole session on the Responses API: the same turn loop, fork, compaction and resume."""

import json
from pathlib import Path

from tests.fakes.apis import RESPONSES
from tests.fakes.chat_script import call, parent, say, status, subagent
from tests.fakes.fido import Finished, Home, Run, home, openai_environment
from tests.fakes.responses_rules import SEAL
from tests.fakes.scripted_server import ScriptedServer

FOUND = json.dumps({"status": "completed", "summary": "It says little.", "findings": []})
TOO_LONG = {"error": {"message": "Your input exceeds the context window.", "code": "context_length_exceeded"}}
READS = call("read_file", {"path": "big.txt"}).calls
DELEGATES = call("delegate", {"task": "What does big.txt say?"}).calls


def run(at: Home, workspace: Path, server: ScriptedServer, prompt: str) -> Finished:
    arguments = (prompt, "--session", "s-1", "--output-format", "stream-json")
    done = Run(at, workspace, *arguments, **openai_environment(server.base_url)).finish()
    assert done.status == 0, done
    return done


def sealed(items: list[dict[str, object]]) -> list[object]:
    return [item["encrypted_content"] for item in items if item["type"] == "reasoning"]


def test_a_session_forks_compacts_and_resumes_as_with_chat(tmp_path: Path) -> None:
    (tmp_path / "big.txt").write_text("a line of a long file that says little\n" * 500, encoding="utf-8")
    with home() as at, ScriptedServer(api=RESPONSES) as server:
        (at.folder / "config" / "fido").mkdir()
        (at.folder / "config" / "fido" / "config.toml").write_text('wire_api = "responses"', encoding="utf-8")
        server.add(
            say("I look.", reasoning="hm", calls=READS, when=parent),
            say("I have it looked at.", reasoning="well", calls=DELEGATES, when=parent),
            say("Let me see.", reasoning="so", calls=READS, when=subagent),
            say(FOUND, when=subagent),
            status(400, body=TOO_LONG, when=parent),
            say("It says little.", when=parent),
        )
        assert run(at, tmp_path, server, "What is in it?").events("turn_finished")[0]["final_text"]
        server.add(say("As I said."))
        run(at, tmp_path, server, "And again?")
        server.assert_done()
    first, second, asked, told, refused, compacted, resumed = server.requests
    for earlier, later in ((first, second), (second, asked), (asked, told), (second, refused)):
        assert later.extends(earlier)
    assert resumed.extends(compacted)
    assert len(compacted.body) < len(refused.body)
    # Each request has the reasoning in front of its calls, also the subagent's, and none is ever doubled.
    assert [len(sealed(request.data["input"])) for request in (first, second, asked, told)] == [0, 1, 2, 3]
    assert all(str(one).startswith(SEAL) for one in sealed(told.data["input"]))
