/**
 * The screens of typical runs, with colors and without, on terminals of 80 and 40 columns, as recorded in
 * tests/golden/terminal. `UPDATE_GOLDEN=1` records them again; review the changes.
 */
import { type Span, spansOf } from "../../scripts/terminal/spans.ts";
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";
import { needs } from "../support/tools.ts";
import { playRun, RUNS, shownBy, type TerminalRun } from "./terminal_runs.ts";

const DIRECTORY = new URL("../golden/terminal/", import.meta.url);

const has = (program: string, flag: string) =>
  new Deno.Command(program, { args: [flag] }).output().then(() => true, () => false);
const [hasTmux, hasBwrap] = await Promise.all([has("tmux", "-V"), has("bwrap", "--version")]);

/** Masks for text that differs from run to run, of the same length. */
const MASKS: readonly (readonly [RegExp, string])[] = [
  [/\d{8}-\d{6}-[a-z0-9]{4}\b/g, "20260101-000000-abcd"],
  [/127\.0\.0\.1:\d{5}/g, "127.0.0.1:12345"],
  [/\b\d\.\d s\b/g, "0.0 s"],
  // They count the system prompt too, which names the directory.
  [/\d\d,\d{3} → \d\d,\d{3}/g, "20,000 → 10,000"],
];

function masked(text: string): string {
  return MASKS.reduce((all, [pattern, mask]) => all.replace(pattern, mask), text);
}

/** A line with the names of its styles. */
function marked(line: readonly Span[]): string {
  return line.map(({ text, style }) => {
    const names = Object.entries(style).flatMap(([name, value]) =>
      value === true ? [name] : value ? [value] : []
    );
    return names.length === 0 ? text : `‹${names.join(" ")}›${text}‹›`;
  }).join("");
}

const plain = (line: readonly Span[]) => line.map(({ text }) => text).join("");

function page(lines: readonly Span[][], show: (line: readonly Span[]) => string): string {
  return `${masked(lines.map((line) => show(line).trimEnd()).join("\n").trimEnd())}\n`;
}

async function shownOn(run: TerminalRun, columns: number): Promise<string> {
  const [colours, none] = await Promise.all([true, false].map(async (on) => {
    const lines = spansOf(await playRun(run, columns, on));
    assertEquals(lines.at(-1), [], "a run ends with the end of a line");
    return lines;
  }));
  assert(colours && none);
  assertEquals(page(none, marked), page(none, plain), "NO_COLOR leaves no style");
  assertEquals(page(none, plain), page(colours, plain), "colours change nothing but colours");
  return `=== ${columns} columns\n${page(none, plain)}=== ${columns} columns, with colours\n${
    page(colours, marked)
  }`;
}

/** Options of a test that looks at a terminal. */
function onTerminal(title: string): { name: string; ignore: boolean } {
  const tmux = needs("tmux", hasTmux, title);
  return tmux.ignore ? tmux : needs("bwrap", hasBwrap, title);
}

for (const run of RUNS) {
  Deno.test({
    ...onTerminal(`the screen of a run is as recorded: ${run.name.replaceAll("_", " ")}`),
    async fn() {
      const now = (await Promise.all([80, 40].map((columns) => shownOn(run, columns)))).join("");
      const file = new URL(`${run.name}.txt`, DIRECTORY);
      if (Deno.env.get("UPDATE_GOLDEN")) await Deno.writeTextFile(file, now);
      assertEquals(now, await Deno.readTextFile(file), "UPDATE_GOLDEN=1 records a changed screen");
    },
  });
}

Deno.test({
  ...onTerminal("environment variables control colors, and a dumb terminal gets plain text"),
  async fn() {
    const turns = [{ text: "It is **forty-two**." }];
    const shown = async (env: Readonly<Record<string, string>>) => {
      const lines = spansOf(await playRun({ name: "colours", turns, args: ["run", "x"], env }, 80, true));
      return lines.slice(0, 3).map(marked).join("").trimEnd();
    };
    const summary = "· in 10 (0 cached, 0 %) · out 5 · cost unknown · 0.0 s";
    const coloured = `It is ‹bold›forty-two‹›.‹dim›${summary}‹›`;
    const plainly = `It is forty-two.${summary}`;
    const raw = "It is **forty-two**.";
    const [usual, none, zero, dumb, forced] = await Promise.all([
      shown({ NO_COLOR: "" }),
      shown({ NO_COLOR: "1", FORCE_COLOR: "1" }),
      shown({ FORCE_COLOR: "0" }),
      shown({ TERM: "dumb" }),
      shown({ TERM: "dumb", CLICOLOR_FORCE: "1" }),
    ]);
    assertEquals([usual, none, zero].map(masked), [coloured, plainly, plainly]);
    assertEquals([dumb, forced].map(masked), [`${raw}${summary}`, `${raw}‹dim›${summary}‹›`]);
  },
});

Deno.test({
  ...onTerminal("with FORCE_COLOR a pipe gets colors, and no line is overwritten"),
  async fn() {
    await using server = startModelServer([
      { calls: [{ name: "ls", args: { path: "." } }, { name: "ls", args: { path: "nowhere" } }] },
      { text: "**Done.**" },
    ], { check: { prefix: false } });
    await using world = await makeWorld(mockConfig(server.url));
    const { stdout, stderr } = await world.run(["run", "x"], { env: { NO_COLOR: "", FORCE_COLOR: "1" } });
    assertEquals(stdout, "**Done.**\n");
    assertStringIncludes(stderr, "\x1b[32m✓\x1b[39m list .");
    assertStringIncludes(stderr, "\x1b[31m✗\x1b[39m list nowhere");
    assert(!stderr.includes("\r") && !stderr.includes("\x1b[2K"), JSON.stringify(stderr));
  },
});

Deno.test({
  ...onTerminal("on 40 columns help breaks no word, and the list of sessions keeps titles"),
  async fn() {
    await using server = startModelServer([{ text: "ok" }]);
    await using world = await makeWorld(mockConfig(server.url));
    assertEquals((await world.run(["run", "Explain the parser of this project"])).code, 0);
    const screen = async (args: string[]) => spansOf(await shownBy(world, args, 40)).map(plain).join("\n");
    const words = (text: string) => text.replace(/\|\s+/g, "|").trim().split(/\s+/);
    const [list, ...helps] = await Promise.all(
      [["session", "list"], ["--help"], ["run", "--help"]].map(screen),
    );
    assertEquals(words(helps.join("\n")), [
      ...words((await world.run(["--help"])).stdout),
      ...words((await world.run(["run", "--help"])).stdout),
    ]);
    assert(/^\S{20} {2}Explain the parse…$/m.test(list ?? ""), list);
  },
});

Deno.test("tests/golden/terminal has exactly one file per run", () => {
  const recorded = [...Deno.readDirSync(DIRECTORY)].map((entry) => entry.name.replace(/\.txt$/, "")).sort();
  assertEquals(recorded, RUNS.map(({ name }) => name).sort());
});
