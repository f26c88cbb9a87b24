/** docs/subagents.md: its example runs as it is printed there, and its agent file loads. */
import { startAgentServer } from "../support/agents_stage.ts";
import { assert, assertEquals } from "../support/assert.ts";
import { makeWorld, mockConfig, withoutTimes } from "../support/program.ts";

const PAGE = await Deno.readTextFile(new URL("../../docs/subagents.md", import.meta.url));

/** Removes text that differs from run to run: times and ids. */
function plain(line: string): string {
  return withoutTimes(line).replace(/\d+\.\d s/, "0.0 s").replace(/id [\w-]+$/, "id x");
}

Deno.test("the example of docs/subagents.md runs as it is printed", async () => {
  const [command = "", ...lines] = (/```console\n\$ (.*?)\n```/s.exec(PAGE)?.[1] ?? "").split("\n");
  const task = /"(.*)"/.exec(command)?.[1] ?? "";
  const gate = Promise.withResolvers<void>();
  await using server = startAgentServer({
    main: [
      {
        calls: [
          {
            name: "task",
            args: { agent: "explore", prompt: "Who calls it?", description: "find callers of parseDate" },
          },
          { name: "task", args: { agent: "review", prompt: "Judge it.", description: "judge the diff" } },
        ],
      },
      { text: "Two callers, both in src/report.ts; the change is safe." },
    ],
    "Who calls": [{ calls: [{ name: "grep", args: { pattern: "parseDate" } }] }, () => {
      setTimeout(gate.resolve, 300);
      return { text: "two" };
    }],
    "Judge it": [
      { calls: [{ name: "bash", args: { command: "git status --short" } }] },
      { before: gate.promise, text: "safe" },
    ],
  });
  await using world = await makeWorld(mockConfig(server.url));
  const { stdout, stderr } = await world.run(["run", task]);
  const shown = [...stderr.split("\n"), ...stdout.split("\n")].map(plain);
  const missing = lines.map(plain).filter((line) => !shown.includes(line));
  assertEquals(missing, [], stderr);
});

Deno.test("the agent file of docs/subagents.md works as described once it is trusted", async () => {
  const [, path = "", text = ""] = /<!-- file: (.*?) -->\n\n```markdown\n(.*?)\n```/s.exec(PAGE) ?? [];
  await using world = await makeWorld(mockConfig("http://127.0.0.1:9/v1"));
  await world.write(path, text);
  const before = await world.run(["agents", "list"]);
  assert(/translator[\s\S]*not trusted \(reasonix trust\)/.test(before.stdout), before.stdout);
  const trust = await world.run(["trust", "--yes"]);
  assert(trust.stdout.includes("agent translator"), trust.stdout);
  const { stdout } = await world.run(["agents", "show", "translator"]);
  assert(/^tools +read_file, grep, glob$/m.test(stdout), stdout);
  assert(/^steps +at most 30$/m.test(stdout), stdout);
  assert(stdout.includes("Compare every text with the English one."), stdout);
});
