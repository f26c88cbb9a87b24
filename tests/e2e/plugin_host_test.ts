/** Plugins of the program in real runs: rules about files, plan mode, and settings that are wrong. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { pluginToml } from "../support/mcp/config.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";

const PLUGINS = `
[tools]
mcp_startup_wait_seconds = 60
[permissions]
deny = ["Read(secret/**)"]
[[plugins]]
name = "map"
command = "reasonix"
args = ["plugin", "map"]
[[plugins]]
name = "wrong"
command = "reasonix"
args = ["plugin", "web"]
[plugins.settings]
allow_private = ["10.0.0.0/8", "home"]
[[plugins]]
name = "unknown"
command = "reasonix"
args = ["plugin", "web"]
[plugins.settings]
serach = "brave"
`;

Deno.test("a plugin reads what rules allow without a prompt, also in plan mode; wrong settings are one line", async () => {
  const outline = (path: string) => ({ name: "mcp__map__outline", args: { path } });
  const calls = [
    outline("src/a.ts"),
    outline("secret/b.ts"),
    outline("src/link.ts"),
    { name: "mcp__other__of_path", args: { path: "src/../secret/b.ts" } },
    { name: "mcp__other__of_path", args: { path: "src/a.ts" } },
  ];
  await using server = startModelServer([{ calls }, { text: "Done." }], { check: { prefix: false } });
  const config = mockConfig(server.url) + PLUGINS + pluginToml("other", { tools: "subjects" });
  await using world = await makeWorld(config);
  await world.write("src/a.ts", "export function visible() {}\n");
  await world.write("secret/b.ts", "export function hidden() {}\n");
  await Deno.symlink("../secret/b.ts", `${world.dir}/src/link.ts`);
  const done = await world.run(["run", "--permission-mode", "plan", "--on-ask", "deny", "look"]);
  assertEquals([done.code, done.stdout], [0, "Done.\n"], done.stderr);
  const lines = done.stderr.split("\n").filter((line) => line.startsWith("! MCP server")).toSorted();
  assertEquals(lines.length, 2, done.stderr);
  const line = config.split("\n").findIndex((text) => text.startsWith("allow_private")) + 1;
  assertStringIncludes(
    lines[1] ?? "",
    `MCP server wrong cannot be used: ${world.home}/config.toml:${line}:32: Cannot use allow_private.1 = "home"`,
  );
  assertStringIncludes(
    lines[0] ?? "",
    `MCP server unknown cannot be used: ${world.home}/config.toml:${
      line + 6
    }:10: Cannot use serach = "brave" for the plugin web: there is no such setting`,
  );
  const results: string[] = server.requests.at(-1)?.json.messages
    .filter(({ role }: { role: string }) => role === "tool").map(({ content }: { content: string }) =>
      content
    );
  assertStringIncludes(results[0] ?? "", "visible");
  for (const refused of results.slice(1, 4)) assertMatch(refused, /deny Read\(secret\/\*\*\)/);
  assertMatch(results[4] ?? "", /plan mode does not trust mcp__other__of_path/);
  assert(!results.join().includes("hidden()"), results.join("\n"));
});
