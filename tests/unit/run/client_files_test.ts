import type { Chunk, Event } from "../../../src/core/mod.ts";
import { assemble } from "../../../src/features/mod.ts";
import { loadTrustedConfig } from "../../../src/run/mod.ts";
import { call, say, scriptedProvider } from "../../support/agent_fixture.ts";
import { assertEquals, assertMatch } from "../../support/assert.ts";
import { FakeEditor } from "../../support/fake_editor.ts";
import { makeTempDir } from "../../support/tool_context.ts";

const calls = (...chunks: Chunk[]): Chunk[] => [...chunks, { type: "done", reason: "tool_calls" }];

Deno.test("a run, its agents and its approvals use the files of an editor, and a rewind restores the disk", async () => {
  await using temp = await makeTempDir();
  const paths = {
    cwd: `${temp.path}/work`,
    home: `${temp.path}/home`,
    env: (name: string) => Deno.env.get(name),
  };
  await Promise.all([Deno.mkdir(paths.cwd), Deno.mkdir(paths.home)]);
  const [open, secret] = [`${paths.cwd}/open.txt`, `${paths.cwd}/secret.txt`];
  await Deno.writeTextFile(open, "one\n");
  await Deno.writeTextFile(secret, "key\n");
  const editor = new FakeEditor(paths.cwd);
  editor.buffers.set(open, "one, unsaved\n");
  const edit = { path: "open.txt", old_string: "unsaved", new_string: "edited" };
  const provider = scriptedProvider([
    say("seen"),
    calls(call("1", "read_file", { path: "open.txt" }), call("2", "read_file", { path: "secret.txt" })),
    calls(call("3", "edit_file", edit)),
    calls(call("4", "task", { prompt: "write" })),
    calls(call("5", "write_file", { path: "agent.txt", content: "by an agent\n" })),
    say("written"),
    calls(call("6", "write_file", { path: "no.txt", content: "no\n" })),
    calls(call("7", "bash", { command: "cat open.txt" })),
    say("ok"),
  ]);
  const flags = {
    sandbox: { bash: "off" as const, forbid_read: ["secret.txt"] },
    permissions: { allow: ["Bash(cat:*)", "Task"], deny: ["Edit(no.txt)"] },
  };
  const asked: string[] = [];
  await using assembly = await assemble({
    paths,
    loaded: await loadTrustedConfig({ ...paths, flags, noFiles: true }, {}),
    provider,
    files: editor,
    approver: {
      ask({ subject, changes }) {
        const lines = changes?.[0]?.diff?.split("\n").filter((line) => /^[+-]\w/.test(line));
        asked.push(`${subject} ${lines}`);
        return Promise.resolve({ allow: true, scope: "once" });
      },
    },
  });
  const ends: Extract<Event, { type: "tool.end" }>[] = [];
  assembly.controller.subscribe((event) => {
    if (event.type === "tool.end") ends.push(event);
  });
  await assembly.run("look at @open.txt:1-1 and @secret.txt");
  assertMatch(JSON.stringify(provider.requests[0]), /<file path=.{1,3}open\.txt.*one, unsaved/);
  await assembly.run("go");
  assertEquals(ends.map(({ callId, outcome }) => `${callId} ${outcome}`), [
    ...["1 ok", "2 blocked", "3 ok", "4 ok", "6 blocked", "7 ok"],
  ]);
  assertMatch(ends[0]?.content ?? "", /1→one, unsaved\n\[text of the editor, not saved/);
  assertMatch(ends.at(-1)?.content ?? "", /one, edited/);
  assertEquals(asked, ["open.txt -one, unsaved,+one, edited", "agent.txt +by an agent"]);
  const writes = editor.requests.filter((each) => each.startsWith("write"));
  assertEquals([writes, editor.requests.some((each) => each.includes("secret"))], [
    ["write open.txt", "write agent.txt"],
    false,
  ]);
  const { restored } = await assembly.rewind(0, "code");
  assertEquals(restored.map(({ path, action }) => `${action} ${path}`).sort(), [
    "delete agent.txt",
    "update open.txt",
  ]);
  assertEquals(await Deno.readTextFile(open), "one\n");
});
