import { parseOptions } from "../../scripts/bench.ts";
import { rows as chatRows } from "../bench/chat/chat.ts";
import { screenTimes } from "../bench/chat/screen_times.ts";
import { FIGURES, median, quantile, type Sample, SCENARIOS } from "../bench/figures.ts";
import { rowsOf, table } from "../bench/report.ts";
import { SCRIPTS } from "../bench/scripts.ts";
import { Connection } from "../bench/wire.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "../support/assert.ts";

Deno.test("parseOptions takes scenarios and a program and refuses a scenario it does not know", () => {
  const options = parseOptions(["--quick", "--program", "deno run x.js", "hello"]);
  assertEquals(options.program, "deno run x.js");
  assertEquals(options.scenarios.map((scenario) => scenario.name), ["hello"]);
  assert((options.scenarios[0]?.runs ?? 0) < (SCENARIOS.find(({ name }) => name === "hello")?.runs ?? 0));
  assertEquals(parseOptions([]).scenarios.length, SCENARIOS.length);
  assertEquals([parseOptions([]).chat, parseOptions(["hello"]).chat], [true, false]);
  assertEquals([parseOptions(["chat"]).chat, parseOptions(["chat"]).scenarios.length], [true, 0]);
  assertThrows(() => parseOptions(["helo"]), Error, '"helo"');
});

Deno.test("quantile lies between the values around it and is absent for none", () => {
  assertEquals(median([3, 1, 2]), 2);
  assertEquals(median([1, 2]), 1.5);
  assertEquals(quantile([0, 10], 0.95), 9.5);
  assertEquals(median([]), undefined);
});

Deno.test("each figure belongs to a scenario that the server has a script for", () => {
  for (const figure of FIGURES) {
    const scenario = SCENARIOS.find(({ name }) => name === figure.scenario);
    assert(scenario !== undefined, figure.name);
    assert(
      scenario.plain !== undefined || scenario.name === "stream" || scenario.name in SCRIPTS,
      figure.name,
    );
  }
});

Deno.test("the table holds medians, spreads, the ratio to the floor and whether a bar was reached", () => {
  const sample = (arrived: number, wall: number): Sample => ({
    started: 100,
    wall,
    memory: 40,
    exchanges: [{ arrived: 100 + arrived, replied: 200, bytes: 2048 }],
  });
  const samples = new Map([["reasonix", [sample(40, 70), sample(44, 90), sample(60, 80)]], ["floor", [
    sample(22, 30),
  ]]]);
  const rows = rowsOf(new Map([["hello", samples]]), new Map());
  const first = rows.find((row) => row.figure === "cold start: first request");
  assertEquals(first?.programs["reasonix"], { median: 44, min: 40, max: 60 });
  assertEquals([first?.reached, first?.ratioToFloor], [true, 2]);
  assertEquals(rows.find((row) => row.figure === "cold start: wall")?.reached, false);
  assertStringIncludes(table(rows), "44.0 (40.0–60.0)");
  assertStringIncludes(table(rows), "×2.00");
});

Deno.test("a text is on the screen from the first chunk on after which it can be read there", () => {
  const chunks = [
    { time: 1, text: "\x1b[?2004h\r\n> " },
    { time: 2, text: "a" },
    { time: 3, text: "\x1b[4Gb\r\nelsewhere" },
    { time: 4, text: "\x1b[A\x1b[5Gc" },
  ];
  assertEquals(screenTimes(chunks, [">", "> a", "> ab", "> abc"]), [1, 2, 3, 4]);
  assertThrows(() => screenTimes(chunks, ["> abcd"]), Error, "> abcd");
});

Deno.test("a long session is compared with a new one, whose figures are its floor", () => {
  const visit = { prompt: 50, echo: 52, key: 1, streamKey: 2, submit: 3, paste: 100, memory: 40, idle: 0.1 };
  const resumed = { ...visit, prompt: 70, memory: 55 };
  const found = chatRows({ reasonix: [visit], floor: [{ prompt: 25, echo: 26 }], resumed: [resumed] });
  const row = (figure: string) => found.find((one) => one.figure.endsWith(figure));
  assertEquals([row("chat: prompt drawn")?.reached, row("chat: prompt drawn")?.ratioToFloor], [true, 2]);
  assertEquals([row("session): prompt drawn")?.reached, row("session): prompt drawn")?.target], [false, 60]);
  assertEquals([row("session): memory at rest")?.reached, row("session): memory at rest")?.target], [
    true,
    60,
  ]);
  assertEquals(row("session): memory at rest")?.programs["floor"]?.median, 40);
});

Deno.test("Connection reads requests that arrive in pieces and one behind the other", async () => {
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
