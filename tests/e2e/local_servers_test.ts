/** Model servers on this machine, seen by the program in a separate network. */
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { type Finished, makeWorld, type World } from "../support/program.ts";
import { needs } from "../support/tools.ts";

const OWN_NETWORK = ["unshare", "-rn", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"];
const STAGE = new URL("../support/local_servers_stage.ts", import.meta.url).pathname;
const hasNetwork = await new Deno.Command("unshare", { args: [...OWN_NETWORK.slice(1), "true"] }).output()
  .then(({ success }) => success, () => false);

function inNetwork(what: string, fn: () => Promise<void>): void {
  const { name, ignore } = needs("unshare and ip", hasNetwork, what);
  Deno.test({ name, ignore, fn });
}

async function run(world: World, args: readonly string[]): Promise<Finished> {
  const within = [
    ...OWN_NETWORK,
    Deno.execPath(),
    "run",
    "-A",
    "--no-check",
    "--quiet",
    "--no-config",
    STAGE,
  ];
  return await world.run(args, { within });
}

/** Servers get 300 ms: a machine that is busy with other tests may need another try. */
async function until(seen: string, ask: () => Promise<Finished>): Promise<Finished> {
  let result = await ask();
  for (let tries = 0; tries < 20 && !result.stdout.includes(seen); tries++) result = await ask();
  return result;
}

inNetwork(
  "doctor shows model servers on this machine, and an entry for those that are not set up",
  async () => {
    await using world = await makeWorld(
      '[[providers]]\nname = "studio"\nbase_url = "http://localhost:1234/v1"\nmodel = "gemma"\n',
    );
    const { stdout, stderr } = await until("window 40960", () => run(world, ["doctor"]));
    for (
      const line of [
        "Model servers on this machine",
        "Ollama  http://127.0.0.1:11434/v1  not set up",
        "qwen3:8b, window 40960, sees images, no tool calls",
        "[[providers]]",
        'name = "ollama"',
        'base_url = "http://127.0.0.1:11434/v1"',
        'model = "qwen3:8b"',
        "context_window = 40960",
        "vision = true",
      ]
    ) assertStringIncludes(stdout, line, stderr);
    const both = await until("LM Studio", () => run(world, ["doctor", "--verbose"]));
    assertStringIncludes(both.stdout, "LM Studio  http://127.0.0.1:1234/v1  used by provider studio");
    const json = await until('"url":', () => run(world, ["doctor", "--json"]));
    const names = JSON.parse(json.stdout).localServers.map(({ name }: { name: string }) => name);
    assert(
      names.length > 0 && names.every((name: string) => ["Ollama", "LM Studio"].includes(name)),
      json.stdout,
    );
  },
);

inNetwork("a plain start looks for no model servers", async () => {
  await using world = await makeWorld();
  for (const args of [["run", "hello"], ["config", "list"], ["version"]]) {
    const { stderr } = await run(world, args);
    assertEquals(/asked: (.*)/.exec(stderr)?.[1], "nothing", stderr);
  }
});
