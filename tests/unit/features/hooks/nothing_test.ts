import { thisProject } from "../../../house/project.ts";
import { agentFixture, call, say, scriptedProvider, tool } from "../../../support/agent_fixture.ts";
import { assertEquals } from "../../../support/assert.ts";

Deno.test("without hooks no hook module is loaded at the start of a run", () => {
  const { sources } = thisProject();
  const found = new Set<string>();
  const pending = ["cli/main.ts", "cli/commands/run/run.ts", "src/run/assembly.ts", "src/agent/loop.ts"];
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    if (found.has(path)) continue;
    found.add(path);
    for (const { to, kind, typeOnly } of sources.get(path)?.edges ?? []) {
      if (kind !== "lazy" && !typeOnly) pending.push(to);
    }
  }
  assertEquals([...found].filter((path) => /^src\/(?:hook|config\/hooks|features\/hooks)\//.test(path)), []);
});

Deno.test("hooks of calls run once before and once after each call that runs", async () => {
  const seen: string[] = [];
  const provider = scriptedProvider([[call("1", "look"), call("2", "look"), {
    type: "done",
    reason: "tool_calls",
  }], say("ok")]);
  const look = tool("look", true, () => Promise.resolve({ content: "found", summary: "" }));
  const fixture = await agentFixture(provider, [look], {
    beforeCall: ({ call: { id } }) => {
      seen.push(`before ${id}`);
      return Promise.resolve(id === "2" ? { deny: "not this", notes: ["note"] } : undefined);
    },
    afterCall: ({ call: { id } }) => {
      seen.push(`after ${id}`);
      return Promise.resolve({ notes: ["behind"] });
    },
  });
  assertEquals((await fixture.run("go")).reason, "done");
  assertEquals(seen.toSorted(), ["after 1", "before 1", "before 2"]);
  const results = fixture.recorder.messages.filter(({ role }) => role === "tool").map(({ content }) =>
    content
  );
  assertEquals(results, ["found\n\nbehind", "blocked: not this\n\nnote"]);
});
