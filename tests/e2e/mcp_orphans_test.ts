import { assert } from "../support/assert.ts";
import { readRecord, recordedEnd, scriptedServer } from "../support/mcp/scripted_mcp_server.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig, type World } from "../support/program.ts";

/** Of the real program; the two hundred of the pool are in tests/unit/mcp. */
const KILLS = 12;

Deno.test({
  name: "servers that ignore the end of their input and TERM die with a run, with SIGTERM and with SIGKILL",
  ignore: Deno.build.os === "windows",
  fn: async (t) => {
    await using model = startModelServer([], {
      check: { pairing: false, prefix: false },
      fallback: (request) =>
        request.json.messages.at(-1).role === "tool"
          ? { text: "done" }
          : { calls: [{ name: "mcp__stubborn__wait", args: {} }] },
    });
    await using world = await makeWorld(mockConfig(model.url));
    const record = `${world.dir}/record`;
    await addServer(world, record);
    for (let kill = 0; kill < KILLS; kill++) {
      const signal = kill % 3 === 2 ? "SIGTERM" : "SIGKILL";
      await t.step(`${signal} ${kill}`, async () => {
        await Deno.remove(record).catch(() => {});
        const child = await world.spawn(["run", "--permission-mode", "danger-full-access", "go"]);
        await called(record);
        child.kill(signal);
        await Promise.all([child.stdout.cancel(), child.stderr.cancel(), child.status]);
        assert(await recordedEnd(record) >= 2, "the server and its child");
      });
    }
  },
});

async function addServer(world: World, record: string): Promise<void> {
  const { command, args } = scriptedServer({ stubborn: true, child: true, record });
  const entry = `\n[[plugins]]\nname = "stubborn"\ncommand = ${JSON.stringify(command)}\n` +
    `args = ${JSON.stringify(args)}\n`;
  await Deno.writeTextFile(`${world.home}/config.toml`, entry, { append: true });
}

/** Waits until the server has been called, which never answers. */
async function called(record: string): Promise<void> {
  const isCall = async () => (await readRecord(record)).some(({ method }) => method === "tools/call");
  while (!await isCall()) await new Promise((resolve) => setTimeout(resolve, 10));
}
