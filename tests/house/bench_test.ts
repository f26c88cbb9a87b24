import { merge, parseOptions } from "../../scripts/bench.ts";
import { rows as chatRows } from "../bench/chat/chat.ts";
import { screenTimes } from "../bench/chat/screen_times.ts";
import { firstAboveLater, median, ownTime, quantile, type Sample } from "../bench/figures.ts";
import { GROUPS } from "../bench/groups.ts";
import { descendants, treeShare } from "../bench/memory.ts";
import { mannerPath, readManner, silence } from "../bench/model/manner.ts";
import { SCRIPTS } from "../bench/model/scripts.ts";
import { Connection } from "../bench/model/wire.ts";
import { row } from "../bench/report.ts";
import { markdownTables, textTables } from "../bench/tables.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "../support/assert.ts";

Deno.test("parseOptions takes groups, scenarios and a program and refuses what it does not know", () => {
  const options = parseOptions(["--quick", "--program", "deno run x.js", "hello", "chat"]);
  assertEquals([options.quick, options.program, options.json], [true, "deno run x.js", "dist/bench.json"]);
  assertEquals(options.groups.map(({ name }) => name), ["start", "chat"]);
  assertEquals(options.groups[0]?.scenarios?.map(({ name }) => name), ["hello"]);
  assertEquals(parseOptions([]).groups.length, GROUPS.length);
  assertEquals(parseOptions(["--from", "a.json", "--from", "b.json"]).from, ["a.json", "b.json"]);
  assertThrows(() => parseOptions(["helo"]), Error, '"helo"');
  assertThrows(() => parseOptions(["--fast"]), Error, "--fast");
  assertThrows(() => parseOptions(["--json"]), Error, "--json needs a value");
});

Deno.test("quantile interpolates between neighbors and is undefined for an empty list", () => {
  assertEquals(median([3, 1, 2]), 2);
  assertEquals(median([1, 2]), 1.5);
  assertEquals(quantile([0, 10], 0.95), 9.5);
  assertEquals(median([]), undefined);
});

Deno.test("each scenario has a script, and no two figures or scenarios have one name", () => {
  const scenarios = GROUPS.flatMap((group) => group.scenarios ?? []);
  for (const { name, model } of scenarios) assert(model.script in SCRIPTS, name);
  const names = [...GROUPS, ...scenarios].map(({ name }) => name);
  assertEquals(new Set(names).size, names.length, names.join());
  for (const { scenarios = [], name } of GROUPS) {
    const figures = scenarios.flatMap((scenario) => scenario.figures.map((figure) => figure.name));
    assertEquals(new Set(figures).size, figures.length, name);
  }
});

Deno.test("a request path encodes and decodes the behavior of the model", () => {
  for (
    const manner of [{ script: "hello" }, {
      script: "long",
      kind: "google",
      think: 300,
      every: 20,
      write: 150,
    }]
  ) {
    assertEquals(readManner(mannerPath(manner)), manner);
  }
  const silences = (every?: number) =>
    Array.from(
      { length: 41 },
      (_, index) => silence({ script: "x", think: 7, ...(every ? { every } : {}) }, index),
    );
  assertEquals(silences().filter((ms) => ms === 7).length, 41);
  assertEquals(silences(20).flatMap((ms, index) => ms === 7 ? [index] : []), [0, 1, 2, 3, 4, 20, 40]);
});

/** A run whose requests arrived and were answered at these times. */
function sample(wall: number, ...times: readonly [arrived: number, replied: number][]): Sample {
  return { started: 0, wall, exchanges: times.map(([arrived, replied]) => ({ arrived, replied, bytes: 1 })) };
}

Deno.test("figures exclude the time of the model and compare the first step with later ones", () => {
  const run = sample(500, [50, 350], [380, 390], [396, 396], [400, 400]);
  assertEquals(ownTime(run), 500 - 300 - 10);
  assertEquals(firstAboveLater(run), 30 - 5);
});

Deno.test("a row reports whether its absolute or relative target is reached", () => {
  const parts = { figure: "f", unit: "ms", reasonix: [40, 60, 44, 44, 44], floor: [22] };
  const fixed = row({ ...parts, target: 50, targetRatio: 1.9 });
  assertEquals(fixed.programs["reasonix"], { median: 44, min: 40, max: 60, samples: parts.reasonix });
  assertEquals([fixed.reached, fixed.ratioToFloor, fixed.target], [true, 2, 50]);
  const relative = row({ ...parts, target: (floor) => 1.4 * floor });
  assertEquals([relative.reached, relative.target], [false, 30.8]);
  const unknown = row({ figure: "f", unit: "ms", target: 3, reasonix: [] });
  assertEquals([unknown.reached, unknown.programs], [undefined, {}]);
  const few = row({ ...parts, reasonix: [40, 40, 40, 40], target: 50 });
  assertEquals([few.reached, few.target], [undefined, 50]);
});

Deno.test("tables show median, spread, ratio, runs and the outcome of both targets", async () => {
  const rows = [
    row({
      figure: "a",
      unit: "ms",
      target: 50,
      targetRatio: 1.9,
      reasonix: [40, 60, 44, 44, 44],
      floor: [22],
    }),
    row({ figure: "b", unit: "MB", target: 9, reasonix: [10, 10, 10, 10, 10] }),
    row({ figure: "d", unit: "MB", target: 9, reasonix: [1] }),
    row({ figure: "c", unit: "ms", reasonix: [1, 2], others: { ripgrep: [1.5] } }),
  ];
  const text = textTables([{ title: "Start", rows }]);
  for (
    const part of [
      "44.0 (40.0–60.0)",
      "×2.00",
      "≤ 50, ×1.9",
      "5, 1",
      "reached, not the ratio",
      "missed",
      "too few runs",
    ]
  ) {
    assertStringIncludes(text, part);
  }
  assertStringIncludes(text, "c, ms (ripgrep 1.50)");
  const markdown = markdownTables([{ title: "Start", rows }, { title: "Other", rows }]);
  const file = await Deno.makeTempFile({ suffix: ".md" });
  await Deno.writeTextFile(file, markdown);
  const options = { args: ["fmt", "--check", "--no-config", "--line-width=110", file] };
  const { success, stderr } = await new Deno.Command(Deno.execPath(), options).output();
  await Deno.remove(file);
  assert(success, new TextDecoder().decode(stderr) + markdown);
});

Deno.test("docs/performance.md has every group of the benchmark and a row for each figure of its scenarios", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/performance.md", import.meta.url));
  const titles = [...page.matchAll(/^### (.*)$/gm)].map((found) => found[1]);
  const known = GROUPS.map(({ title }) => title);
  assertEquals(titles.filter((title) => !known.includes(title ?? "")), []);
  const wanted = GROUPS.filter(({ optional }) => !optional).map(({ title }) => title);
  assertEquals(wanted.filter((title) => !titles.includes(title)), []);
  const rows = [...page.matchAll(/^\| (.*?), (?:ms|MB|KB|%) .*\|$/gm)].map((found) => found[1]);
  const figures = GROUPS.flatMap(({ scenarios = [] }) => scenarios.flatMap((one) => one.figures));
  assertEquals(figures.map(({ name }) => name).filter((name) => !rows.includes(name)), []);
});

Deno.test("merged rows of several runs keep the last row of each figure", () => {
  const one = (figure: string, value: number) => row({ figure, unit: "ms", reasonix: [value] });
  const merged = merge([
    [{ name: "steps", title: "x", rows: [one("a", 1), one("b", 2)] }],
    [{ name: "start", title: "x", rows: [one("c", 3)] }, { name: "steps", title: "x", rows: [one("a", 4)] }],
  ]);
  assertEquals(
    merged.map(({ name, rows }) => [name, rows.map(({ programs }) => programs["reasonix"]?.median)]),
    [
      ["start", [3]],
      ["steps", [4, 2]],
    ],
  );
});

Deno.test({
  name: "memory of a process tree is the sum of a process and its descendants",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const child = new Deno.Command("/bin/sh", {
      args: ["-c", "/bin/sh -c 'echo ready; read line; true'; true"],
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    const reader = child.stdout.getReader();
    await reader.read();
    const below = descendants(child.pid);
    assertEquals(below.length, 1);
    const [all, inner] = [treeShare(child.pid), treeShare(below[0] ?? 0)];
    assert(all > inner && inner > 0 && all < 50, `${all} MB of ${inner} MB`);
    await child.stdin.close();
    await reader.cancel();
    await child.status;
    assertEquals([treeShare(child.pid), descendants(child.pid)], [0, []]);
  },
});

Deno.test("a text appears with the first chunk that makes it visible on the screen", () => {
  const chunks = [
    { time: 1, text: "\x1b[?2004h\r\n> " },
    { time: 2, text: "a" },
    { time: 3, text: "\x1b[4Gb\r\nelsewhere" },
    { time: 4, text: "\x1b[A\x1b[5Gc" },
  ];
  assertEquals(screenTimes(chunks, [">", "> a", "> ab", "> abc"]), [1, 2, 3, 4]);
  assertThrows(() => screenTimes(chunks, ["> abcd"]), Error, "> abcd");
});

Deno.test("a long session has the figures of a new session as its floor", () => {
  const visit = { prompt: 50, echo: 52, key: 1, streamKey: 2, submit: 3, paste: 100, memory: 40, idle: 0.1 };
  const resumed = { ...visit, prompt: 70, memory: 55 };
  const times = <T>(one: T): T[] => Array(5).fill(one);
  const floor = times({ prompt: 25, echo: 26 });
  const found = chatRows({ reasonix: times(visit), floor, resumed: times(resumed) });
  const row = (figure: string) => found.find((one) => one.figure.endsWith(figure));
  assertEquals([row("prompt drawn")?.reached, row("prompt drawn")?.ratioToFloor], [true, 2]);
  assertEquals([row("session): prompt drawn")?.reached, row("session): prompt drawn")?.target], [false, 60]);
  assertEquals([row("session): memory at rest")?.reached, row("session): memory at rest")?.target], [
    true,
    60,
  ]);
  assertEquals(row("session): memory at rest")?.programs["floor"]?.median, 40);
});

Deno.test("Connection reads fragmented and pipelined requests", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const client = await Deno.connect({ hostname: "127.0.0.1", port: listener.addr.port });
  const server = new Connection(await listener.accept());
  const send = (text: string) => client.write(new TextEncoder().encode(text));
  await send("POST /a/1 HTTP/1.1\r\nContent-Le");
  await send("ngth: 5\r\n\r\nhel");
  const first = server.request();
  await send("loGET /b HTTP/1.1\r\n\r\n");
  assertEquals(new TextDecoder().decode((await first)?.body), "hello");
  assertEquals((await server.request())?.path, "/b");
  client.close();
  assertEquals(await server.request(), undefined);
  server.close();
  listener.close();
});
