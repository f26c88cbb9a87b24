/** The page about writing a plugin: its code, its shell lines and its files are used unchanged. */
import { START_FLAGS } from "../../cli/terminal/start_flags.ts";
import { parse } from "smol-toml";
import { pluginEntry } from "../support/config_entries.ts";
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { denoDir, makeWorld, mockConfig, programFile, type World } from "../support/program.ts";
import { codeBlocks, shellLines } from "../support/readme.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const PAGE = "docs/extending/plugin.md";

/** A directory with the commands `reasonix` and `deno`; packages come from the cache alone. */
async function commands(world: World): Promise<string> {
  const bin = `${world.home}/bin`;
  await Deno.mkdir(bin);
  const { DENO_DIR } = denoDir();
  const script = (name: string, words: readonly string[]) =>
    Deno.writeTextFile(`${bin}/${name}`, `#!/bin/sh\n${words.join(" ")} "$@"\n`, { mode: 0o755 });
  const program = [Deno.execPath(), "run", ...START_FLAGS, "--no-config", await programFile()];
  await script("reasonix", [`REASONIX_HOME='${world.home}' exec`, ...program]);
  const cached = ["--cached-only", "--frozen", "--config", `${ROOT}deno.json`];
  await script("deno", [
    `[ "$1" = run ] && shift\nDENO_DIR='${DENO_DIR}' exec ${Deno.execPath()} run --quiet`,
    ...cached,
  ]);
  return bin;
}

interface Finished {
  readonly code: number;
  readonly text: string;
}

/** Runs a shell line of the page. */
async function shell(world: World, bin: string, line: string): Promise<Finished> {
  const { code, stdout, stderr } = await new Deno.Command("/bin/sh", {
    args: ["-c", line],
    cwd: world.dir,
    clearEnv: true,
    env: {
      PATH: `${bin}:/usr/bin:/bin`,
      HOME: world.home.replace(/\/[^/]*$/, ""),
      NO_COLOR: "1",
      ...denoDir(),
    },
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  return { code, text: decoder.decode(stdout) + decoder.decode(stderr) };
}

const call = (tool: string, args = {}) => ({ calls: [{ name: `mcp__notes__${tool}`, args }] });

Deno.test("the steps of the page about plugins work: write, add, try and use", async () => {
  const turns = [call("list_notes"), call("add_note", { text: "used it" }), { text: "You wrote a plugin." }];
  await using server = startModelServer(turns, { fallback: { text: "ok" }, check: { prefix: false } });
  await using world = await makeWorld();
  const bin = await commands(world);
  const blocks = await codeBlocks(PAGE, "toml");
  const [permissions = ""] = blocks.filter((block) => block.includes("[permissions]"));
  const config = `${world.home}/config.toml`;
  await Deno.writeTextFile(config, `${mockConfig(server.url)}\n${permissions}`);
  await world.write("notes.ts", (await codeBlocks(PAGE, "ts"))[0] ?? "");
  const lines = await shellLines(PAGE);
  const shown = new Map<string, string>();
  for (const line of lines) {
    const { code, text } = await shell(world, bin, line);
    assertEquals(code, 0, `${line}\n${text}`);
    shown.set(line.split(" ").slice(0, 3).join(" "), text);
  }
  const written = parse(await Deno.readTextFile(config)).plugins;
  assertEquals(written, parse(blocks.find((block) => block.includes("[[plugins]]")) ?? "").plugins);
  assertStringIncludes(shown.get("reasonix mcp test") ?? "", "2 tools, 1 prompt, 1 resource");
  assertStringIncludes(shown.get('reasonix run "What') ?? "", "You wrote a plugin.");
  assertEquals(await world.read("notes.txt"), "wrote a plugin\nused it\n");
  const asked = () => server.requests.at(-1)?.json.messages.at(-1).content;
  await shell(world, bin, "reasonix run '/mcp__notes__standup yesterday'");
  assertStringIncludes(asked(), "what I did yesterday");
  await shell(world, bin, "reasonix run 'sum up @notes:notes://all'");
  assertStringIncludes(asked(), "wrote a plugin");
});

Deno.test("the project plugin of the page starts only after trust", async () => {
  await using server = startModelServer([], { fallback: { text: "ok" }, check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url));
  const bin = await commands(world);
  await world.write("tools/notes.ts", (await codeBlocks(PAGE, "ts"))[0] ?? "");
  await world.write(".mcp.json", (await codeBlocks(PAGE, "json"))[0] ?? "");
  const before = await shell(world, bin, "reasonix run hello");
  assertEquals(before.code, 3, before.text);
  assertStringIncludes(before.text, "tools/notes.ts");
  assertEquals(server.requests.length, 0);
  assertEquals((await shell(world, bin, "reasonix trust --yes")).code, 0);
  const after = await shell(world, bin, "reasonix mcp call notes list_notes '{}'");
  assertEquals([after.code, after.text.includes("There are no notes.")], [0, true], after.text);
});

Deno.test("each entry on the page about plugins is valid configuration", async () => {
  const tables = (await codeBlocks(PAGE, "toml")).filter((block) => block.includes("[[plugins]]"));
  assert(tables.length > 2);
  for (const table of tables) {
    for (const entry of parse(table).plugins as unknown[]) pluginEntry(entry);
  }
});
