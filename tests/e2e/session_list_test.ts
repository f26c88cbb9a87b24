/** Lists of sessions: paging, narrow terminals, ages, cache resets. */
import { makeWorld, mockConfig, type World } from "../support/program.ts";
import { startModelServer } from "../support/model_server.ts";
import { displayWidth } from "../../src/util/display_width.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";

/** Runs its arguments on a terminal with this many columns. */
const onTerminal = (columns: number) => [
  "python3",
  "-c",
  "import pty, sys; pty.spawn(['sh', '-c', 'stty cols ' + sys.argv[1] + ' rows 20; shift; exec \"$@\"', *sys.argv[1:]])",
  String(columns),
  "x",
];

async function withSessions(
  prompts: readonly string[],
  look: (world: World) => Promise<void>,
): Promise<void> {
  await using server = startModelServer([], { fallback: { text: "ok" }, check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url));
  for (const prompt of prompts) assertEquals((await world.run(["run", prompt])).code, 0);
  await look(world);
}

Deno.test("session list shows a hint when there are more sessions", () =>
  withSessions(["first", "second", "third"], async (world) => {
    const two = await world.run(["session", "list", "--limit", "2"]);
    assertEquals(two.stdout.trimEnd().split("\n").length, 3);
    assertEquals(two.stderr, "· These are the latest 2 of 3 sessions; --limit 3 lists all of them\n");
    const all = await world.run(["session", "list", "--limit", "3"]);
    assertEquals([all.stderr, all.stdout.includes("first")], ["", true]);
    assertEquals((await world.run(["session", "list", "--limit", "1", "--json"])).stderr, "");
    const elsewhere = await world.run(["session", "list", "--all", "--limit", "1"], { cwd: world.home });
    assertStringIncludes(elsewhere.stderr, "1 of 3 sessions");
  }));

Deno.test("session list keeps the title on a terminal of 40 columns", () =>
  withSessions(["explain the parser of command lines to me"], async (world) => {
    for (
      const [columns, heading] of [[40, /^ID +TITLE$/], [120, /^ID +CHANGED +DIRECTORY +TITLE$/]] as const
    ) {
      const { stdout } = await world.run(["session", "list", "--all"], { within: onTerminal(columns) });
      // deno-lint-ignore no-control-regex
      const [first = "", second = ""] = stdout.replace(/\x1b\[\d*[A-Z]/g, "").split("\r\n");
      assertMatch(first.trimEnd(), heading);
      assertStringIncludes(second, "explain the");
      assert(displayWidth(second) <= columns, second);
    }
  }));

Deno.test("session prune accepts ages in hours, days and weeks", () =>
  withSessions(["young", "old"], async (world) => {
    const [old] = JSON.parse((await world.run(["session", "list", "--json"])).stdout);
    const past = new Date(Date.now() - 10 * 86_400_000);
    Deno.utimeSync(old.path, past, past);
    const found = async (age: string) => {
      const { stdout } = await world.run(["session", "prune", "--older-than", age, "--dry-run"]);
      return stdout.trimEnd().split("\n").at(-1);
    };
    for (const age of ["9", "9d", "216h", "1w"]) {
      assertEquals(await found(age), "Would delete this session", age);
    }
    for (const age of ["11", "11d", "264h", "2w"]) assertEquals(await found(age), "Nothing to delete", age);
    const wrong = await world.run(["session", "prune", "--older-than", "5m"]);
    assertEquals(wrong.code, 2);
    assertStringIncludes(wrong.stderr, "such as 30d");
  }));

Deno.test("stats --cache counts the reasons of cache resets, without session starts", () =>
  withSessions(["one", "two"], async (world) => {
    const cache = async () => (await world.run(["stats", "--cache"])).stdout;
    assertStringIncludes(await cache(), "The cached prefix was never rebuilt (session starts not counted)");
    const config = await Deno.readTextFile(`${world.home}/config.toml`);
    await Deno.writeTextFile(`${world.home}/config.toml`, config.replaceAll("mock-1", "mock-2"));
    await world.run(["run", "-c", "three"]);
    const text = await cache();
    assertStringIncludes(text, "The cached prefix was rebuilt once (session starts not counted):");
    assertMatch(text, /prefix +model: mock-1 → mock-2\n$/);
    assertEquals(JSON.parse((await world.run(["stats", "--cache", "--json"])).stdout).resets.length, 1);
  }));

Deno.test("a rewind on a terminal prompts before it overwrites changes of another program", async () => {
  await using server = startModelServer([
    { calls: [{ name: "write_file", args: { path: "made.txt", content: "mine\n" } }] },
    { text: "made" },
  ]);
  await using world = await makeWorld(mockConfig(server.url));
  await world.run(["run", "make it"]);
  await world.write("made.txt", "mine and yours\n");
  const asked = (answer: string) =>
    world.run(["session", "rewind"], { within: onTerminal(80), stdin: `${answer}\n` });
  const refused = await asked("no");
  assertStringIncludes(refused.stdout, "Changed by someone else since: made.txt. Overwrite that too?");
  assertStringIncludes(refused.stdout, "Nothing was changed");
  assertEquals(await world.read("made.txt"), "mine and yours\n");
  assertStringIncludes((await asked("yes")).stdout, "deleted  made.txt");
});

Deno.test("a resumed session of another directory names the working directory of the run", () =>
  withSessions(["begin"], async (world) => {
    const other = `${world.dir}/../other`;
    await Deno.mkdir(other);
    const [{ id }] = JSON.parse((await world.run(["session", "list", "--json"])).stdout);
    const here = await world.run(["run", "-r", id, "continue"]);
    assert(!here.stderr.includes("this run works in"), here.stderr);
    const there = await world.run(["run", "-r", id, "continue"], { cwd: other });
    const [from, to] = [world.dir, other].map((path) => Deno.realPathSync(path));
    assertStringIncludes(
      there.stderr,
      `! The session is from ${from}, this run works in ${to}; --dir ${from}`,
    );
    const back = await world.run(["run", "-r", id, "--dir", world.dir, "continue"], { cwd: other });
    assert(!back.stderr.includes("this run works in"), back.stderr);
  }));

Deno.test("session rewind lists files that changed since, and redo restores them", async () => {
  const made = { calls: [{ name: "write_file", args: { path: "made.txt", content: "m\n" } }] };
  await using server = startModelServer([made, { text: "done" }]);
  await using world = await makeWorld(mockConfig(server.url));
  await world.write("old.txt", "o\n");
  await world.run(["run", "make it"]);
  await world.write("made.txt", "mine\n");
  const done = await world.run(["session", "rewind", "--to", "0"]);
  assertMatch(
    done.stdout,
    /^ {2}deleted {2}made\.txt {2}\(had been changed by someone else since; session redo/m,
  );
  assertEquals(await world.read("made.txt").catch(() => "-"), "-");
  const again = await world.run(["session", "redo"]);
  assertMatch(again.stdout, /^Restored session \S+ to before the rewind\n {2}created {2}made\.txt\n$/);
  assertEquals(await world.read("made.txt"), "mine\n");
});
