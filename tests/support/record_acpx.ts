/**
 * A run of acpx, a client with an older SDK. As a program, it starts the client of the npm registry and
 * records tests/golden/acp/acpx.jsonl, which tests/e2e/acp_tapes_test.ts plays again.
 */
import { compareTape, Names, type TapeLine } from "./acp_tape.ts";
import { type ModelServer, startModelServer } from "./model_server.ts";
import { makeWorld, mockConfig } from "./program.ts";

const CLIENT = "acpx@0.19.1";

/** A model server with the replies of the run. */
export function startAcpxModel(): ModelServer {
  return startModelServer([
    { text: "Hello." },
    { text: "I write.", calls: [{ name: "write_file", args: { path: "a.txt", content: "one\n" } }] },
    { text: "Written." },
    // Waits until the turn is stopped.
    async ({ gone }) => (await gone, { text: "never" }),
    { text: "After." },
  ], { check: { prefix: false } });
}

export function acpxConfig({ url }: ModelServer): string {
  return mockConfig(
    url,
    '[sandbox]\nbash = "off"\n',
    'models = ["mock-1", "mock-2"]\ncontext_window = 100000\n',
  );
}

async function record(): Promise<void> {
  await using server = startAcpxModel();
  await using world = await makeWorld(acpxConfig(server));
  const temp = world.dir.replace(/\/work$/, "");
  await Deno.mkdir(`${temp}/tape`);
  const tee = new URL("acp_tape.ts", import.meta.url).pathname;
  const agent = [
    Deno.execPath(),
    "run",
    "-A",
    "--no-check",
    tee,
    `${temp}/tape`,
    await world.shim("reasonix"),
    "acp",
  ];
  const acpx = async (...args: readonly string[]) => {
    const { success } = await new Deno.Command("npx", {
      args: ["-y", CLIENT, "--agent", agent.join(" "), "--cwd", world.dir, "--approve-all", ...args],
      env: { HOME: temp },
      stdin: "null",
    }).output();
    return success;
  };
  await acpx("exec", "say hi");
  await acpx("sessions", "new");
  await acpx("prompt", "write a.txt");
  await acpx("set-mode", "plan");
  await acpx("set-mode", "nope");
  await acpx("set", "model", "mock/mock-2");
  const stopped = acpx("prompt", "take your time");
  await server.received(4);
  await acpx("cancel");
  await stopped;
  await acpx("prompt", "go on");
  await acpx("sessions", "list");
  await acpx("sessions", "close");
  const files = [...Deno.readDirSync(`${temp}/tape`)].map(({ name }) => name).sort();
  const lines = files.flatMap((name, index) =>
    Deno.readTextFileSync(`${temp}/tape/${name}`).trimEnd().split("\n")
      .map((line): TapeLine => ({ process: index + 1, ...JSON.parse(line) }))
  );
  Deno.env.set("UPDATE_GOLDEN", "1");
  await compareTape("acpx", lines, new Names(world));
}

if (import.meta.main) await record();
