/** Commands that fail in several turns are listed for the model until they succeed. */
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { type ModelServer, startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig, type World } from "../support/program.ts";

const SECRET = "ghp-4711abcdefgh4712";

/** Runs a model with these calls; returns the note about earlier failures in its first request. */
async function heard(world: World, server: ModelServer, ...commands: string[]): Promise<string | undefined> {
  const from = server.requests.length;
  server.push(...commands.map((command) => ({ calls: [{ name: "bash", args: { command } }] })), {
    text: "done",
  });
  const done = await world.run(["run", "--permission-mode", "workspace-write", "go"], {
    env: { GITHUB_TOKEN: SECRET },
  });
  assertEquals(done.code, 0, done.stderr);
  const messages: { content: string }[] = server.requests[from]?.json.messages ?? [];
  return messages.find(({ content }) => content.startsWith("<earlier_failures>"))?.content;
}

function kept(directory: string): string {
  return [...Deno.readDirSync(directory)].flatMap(({ name, isDirectory }) =>
    isDirectory
      ? [kept(`${directory}/${name}`)]
      : name === "failures.json"
      ? [Deno.readTextFileSync(`${directory}/${name}`)]
      : []
  ).join("");
}

Deno.test("a command that fails in two turns is noted in later turns until it succeeds", async () => {
  await using server = startModelServer([], { check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url));
  await world.write("fail.sh", "exit 3\n");
  await world.write("ok.sh", "exit 0\n");
  const lines = ["sh fail.sh", "grep nothing fail.sh", `sh fail.sh ${SECRET}`, "sh ok.sh"];
  assertEquals(await heard(world, server, ...lines), undefined);
  assertEquals(await heard(world, server, ...lines), undefined);
  const note = await heard(world, server, "sh fail.sh");
  assertStringIncludes(
    note ?? "",
    '- "sh fail.sh": exit code 3 in 2 turns; "sh ok.sh" succeeded afterwards\n',
  );
  assert(!note?.includes("grep"), note);
  assert(!kept(world.home).includes(SECRET) && kept(world.home).includes("sh ok.sh"), kept(world.home));
  assertStringIncludes(await heard(world, server) ?? "", "exit code 3 in 3 turns");
  await world.write("fail.sh", "exit 0\n");
  await heard(world, server, "sh fail.sh");
  assert(!(await heard(world, server))?.includes('"sh fail.sh":'));
});

Deno.test("config memory-v5 reports and changes the setting, which no project can set", async () => {
  await using server = startModelServer([], { check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url));
  const switched = async (...mode: string[]) => (await world.run(["config", "memory-v5", ...mode])).stdout;
  assertEquals(await switched(), "memory-v5: on\n");
  assertEquals(await switched("off"), "memory-v5 set to off\n");
  await world.write("reasonix.toml", "[agent]\nmemory_compiler = { enabled = true }\n");
  assertEquals(await switched("status"), "memory-v5: off\n");
  for (let turn = 0; turn < 3; turn++) assertEquals(await heard(world, server, "exit 3"), undefined);
  assertEquals(kept(world.home), "");
  assertEquals(await switched("on"), "memory-v5 set to on\n");
  for (let turn = 0; turn < 2; turn++) await heard(world, server, "exit 3");
  assertStringIncludes(await heard(world, server) ?? "", '"exit 3": exit code 3 in 2 turns');
  assertEquals((await world.run(["config", "memory-v5", "maybe"])).code, 2);
});
