import { makeWorld, mockConfig, type World } from "../support/program.ts";
import {
  callEvent,
  DONE,
  finishEvent,
  type ScriptedTurn,
  startModelServer,
} from "../support/model_server.ts";
import { displayWidth } from "../../src/util/display_width.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";

let ids = 0;
const bash = (command: string): ScriptedTurn => ({
  calls: [{ id: `b${++ids}`, name: "bash", args: { command } }],
});
const write = (path: string, content: string): ScriptedTurn => ({
  calls: [
    { id: `r${++ids}`, name: "read_file", args: { path } },
    { id: `w${ids}`, name: "write_file", args: { path, content } },
  ],
});
const NO_JAIL = '[sandbox]\nbash = "off"\n';

/** A workspace after three turns: a tool changes a.txt twice, commands make b.txt and change c.txt. */
async function threeTurns(url: string, push: (...turns: ScriptedTurn[]) => void): Promise<World> {
  const world = await makeWorld(mockConfig(url, "", "price = { input = 1.0, output = 2.0 }") + NO_JAIL);
  await world.write("a.txt", "a0\n");
  await world.write("c.txt", "c0\n");
  push(write("a.txt", "a1\n"), { text: "first done" });
  push(bash("echo b2 > b.txt; sed -i s/c0/c2/ c.txt"), { text: "second done" });
  push(write("a.txt", "a3\n"), bash("rm c.txt; echo b3 > b.txt"), { text: "third done" });
  assertEquals((await world.run(["run", "one: begin"])).code, 0);
  for (const prompt of ["two: continue", "three: finish"]) {
    assertEquals((await world.run(["run", "-c", prompt])).code, 0);
  }
  return world;
}

async function files(world: World): Promise<string> {
  const texts = ["a.txt", "b.txt", "c.txt"].map((name) => world.read(name).catch(() => "-"));
  return (await Promise.all(texts)).map((text) => text.trim()).join(" ");
}

async function ok(world: World, ...args: string[]): Promise<string> {
  const done = await world.run(args);
  assertEquals([done.code, done.stderr], [0, ""], args.join(" "));
  return done.stdout;
}

Deno.test("session rewind restores code, conversation or both, and redo reverts it", async () => {
  await using server = startModelServer();
  await using world = await threeTurns(server.url, (...turns) => server.push(...turns));
  assertEquals(await files(world), "a3 b3 -");
  await world.write("mine.txt", "untouched");

  assertMatch(await ok(world, "session", "rewind", "--to", "2"), /updated {2}a\.txt[^]*created {2}c\.txt/);
  assertEquals(await files(world), "a1 b2 c2");
  assertStringIncludes(await ok(world, "session", "show"), "turns      2");

  await ok(world, "session", "rewind", "--to", "0", "--code");
  assertEquals(await files(world), "a0 - c0");
  assertStringIncludes(await ok(world, "session", "show"), "turns      2");

  await ok(world, "session", "redo");
  assertEquals(await files(world), "a1 b2 c2");
  await ok(world, "session", "redo");
  assertEquals(await files(world), "a3 b3 -");
  assertStringIncludes(await ok(world, "session", "show"), "turns      3");
  const nothing = await world.run(["session", "redo"]);
  assertEquals(nothing.code, 2);
  assertStringIncludes(nothing.stderr, "nothing was rewound");

  assertStringIncludes(await ok(world, "session", "rewind"), "at the end of turn 2");
  assertEquals(await files(world), "a1 b2 c2");
  await ok(world, "session", "redo");

  await ok(world, "session", "rewind", "--to", "1", "--conversation");
  assertEquals(await files(world), "a3 b3 -");
  server.expectReset();
  server.push({ text: "again" });
  await world.run(["run", "-c", "other way"]);
  const sent = JSON.stringify(server.requests.at(-1)?.json.messages);
  assert(sent.includes("one: begin") && sent.includes("other way"));
  assert(!sent.includes("two: continue") && !sent.includes("three: finish"));
  assertEquals((await world.run(["session", "redo"])).code, 2);
  assertEquals(await world.read("mine.txt"), "untouched");
});

Deno.test("session rewind undoes changes of a read-only command in tracked and ignored files", async () => {
  await using server = startModelServer();
  await using world = await makeWorld(mockConfig(server.url) + NO_JAIL);
  // A program under the name of one that only reads: no judgment of the line can see that it writes.
  const bin = `${world.home}/bin`;
  await Deno.mkdir(bin);
  await Deno.writeTextFile(
    `${bin}/ls`,
    "#!/bin/sh\necho x > tracked.txt; echo x > env.local; rm gone.local; echo x > new.txt\n",
    { mode: 0o755 },
  );
  const before: Record<string, string> = {
    ".gitignore": "*.local\nbuild/\n",
    "tracked.txt": "t\n",
    "env.local": "e\n",
  };
  before["gone.local"] = "g\n";
  for (const [name, text] of Object.entries(before)) await world.write(name, text);
  for (let i = 0; i < 600; i++) await world.write(`build/${i}.o`, "");
  const git = (...args: string[]) =>
    new Deno.Command("git", {
      args: ["-C", world.dir, "-c", "user.email=a@b.c", "-c", "user.name=a", ...args],
      stdout: "null",
      stderr: "null",
    }).output();
  await git("init");
  await git("add", ".");
  await git("commit", "-m", "first");
  server.push(bash("ls"), { text: "listed" });
  const run = await world.run(["run", "what is here?"], {
    env: { PATH: `${bin}:${Deno.env.get("PATH") ?? ""}` },
  });
  assertEquals([run.code, await world.read("tracked.txt")], [0, "x\n"], run.stderr);
  assertStringIncludes(run.stderr, "considered read-only: new.txt, tracked.txt.");
  const preview = await ok(world, "session", "rewind", "--to", "0", "--preview");
  assertMatch(preview, /update {2}env\.local[^]*Not covered, ignored and too many files to keep: build\/\n/);
  await ok(world, "session", "rewind", "--to", "0");
  const after = await Promise.all(Object.keys(before).map((name) => world.read(name)));
  assertEquals(after, Object.values(before));
  assertEquals(await world.read("new.txt").catch(() => "-"), "-");
});

Deno.test("session rewind --preview lists files with diffs and turns, and changes nothing", async () => {
  await using server = startModelServer();
  await using world = await threeTurns(server.url, (...turns) => server.push(...turns));
  const before = await ok(world, "session", "show", "--json");
  const shown = await ok(world, "session", "rewind", "--to", "1", "--preview");
  assertStringIncludes(shown, "would leave behind\n  #2 two: continue\n  #3 three: finish\n");
  assertStringIncludes(shown, "  update  a.txt\n  delete  b.txt\n  create  c.txt\n");
  assertMatch(shown, /-a3\n\+a1/);
  assertEquals([await files(world), await ok(world, "session", "show", "--json")], ["a3 b3 -", before]);
  assertStringIncludes(
    await ok(world, "session", "rewind", "--to", "1", "--code", "--preview"),
    "stays as it is",
  );
});

Deno.test("session rewind works from another directory and refuses while a process has the session", async () => {
  const { promise: hold, resolve: release } = Promise.withResolvers<void>();
  await using server = startModelServer();
  await using world = await threeTurns(server.url, (...turns) => server.push(...turns));
  const id = JSON.parse(await ok(world, "session", "list", "--json"))[0].id;
  const seen = server.requests.length;
  server.push({ before: hold, text: "late" });
  const running = world.run(["run", "-c", "hold it"]);
  await server.received(seen + 1);
  for (
    const args of [["rewind", id, "--to", "1"], ["redo", id], ["rename", id, "x"], ["delete", id, "--yes"]]
  ) {
    const refused = await world.run(["session", ...args]);
    assertEquals(refused.code, 1, args.join(" "));
    assertMatch(refused.stderr, /process \d+ has it open/);
  }
  release();
  assertEquals((await running).code, 0);
  const elsewhere = await world.run(["session", "rewind", id, "--to", "1"], { cwd: world.home });
  assertEquals([elsewhere.code, await files(world)], [0, "a1 - c0"]);
  await Deno.rename(world.dir, `${world.dir}-moved`);
  const gone = await world.run(["session", "rewind", id, "--to", "0"], { cwd: world.home });
  assertEquals(gone.code, 2);
  assertStringIncludes(gone.stderr, "--conversation");
  const talk = ["session", "rewind", id, "--to", "0", "--conversation"];
  assertEquals((await world.run(talk, { cwd: world.home })).code, 0);
});

Deno.test("the workspace is scanned while the arguments of a writing call arrive", async () => {
  const { promise: looked, resolve } = Promise.withResolvers<void>();
  const args = JSON.stringify({ path: "a.txt", content: "new" });
  const begin = { index: 0, id: "w", type: "function", function: { name: "write_file", arguments: "" } };
  const rest = { index: 0, function: { arguments: args } };
  await using server = startModelServer([
    { stream: [callEvent(begin), looked, callEvent(rest), finishEvent("tool_calls"), DONE] },
    { text: "done" },
  ]);
  await using world = await makeWorld(mockConfig(server.url) + NO_JAIL);
  const running = world.run(["run", "write"]);
  const snapshots = async () => {
    const home = `${world.home}/projects`;
    const [project] = await Array.fromAsync(Deno.readDir(home)).catch(() => []);
    const directory = `${home}/${project?.name}/sessions`;
    const names = (await Array.fromAsync(Deno.readDir(directory)).catch(() => [])).map(({ name }) => name);
    const files = names.map((name) => `${directory}/${name}/checkpoints/snapshots.jsonl`);
    return (await Promise.all(files.map((file) => Deno.stat(file).then(() => true, () => false)))).includes(
      true,
    );
  };
  // Without the early scan it would wait here until the limit and find nothing.
  let found = false;
  for (const limit = Date.now() + 60_000; !found && Date.now() < limit;) found = await snapshots();
  resolve();
  assertEquals([(await running).code, found, await world.read("a.txt")], [0, true, "new"]);
});

Deno.test("session fork continues after a turn in a separate session", async () => {
  await using server = startModelServer();
  await using world = await threeTurns(server.url, (...turns) => server.push(...turns));
  const [original] = JSON.parse(await ok(world, "session", "list", "--json"));
  const fork = (await ok(world, "session", "fork", original.id, "--turn", "1")).split(" ")[0] ?? "";
  server.expectReset();
  server.push(bash("echo fork > b.txt"), { text: "forked" });
  assertEquals((await world.run(["run", "--resume", fork, "another way"])).stdout, "forked\n");
  const sent = JSON.stringify(server.requests.at(-1)?.json.messages);
  assert(sent.includes("one: begin") && !sent.includes("two: continue"));
  assertStringIncludes(await ok(world, "session", "show", original.id), "turns      3");
  assertStringIncludes(await ok(world, "session", "show", fork), `parent     ${original.id}`);
  await ok(world, "session", "rewind", fork, "--to", "1");
  assertEquals(await files(world), "a1 - c0");
  const whole = (await ok(world, "session", "fork", original.id)).split(" ")[0] ?? "";
  assertStringIncludes(await ok(world, "session", "show", whole), "turns      3");
});

Deno.test("session rename, search and list find sessions by words and titles, wide ones aligned", async () => {
  await using server = startModelServer([{ text: "der Schlüssel heißt quokka" }, { text: "二番目" }, {
    text: "三",
  }], {
    check: { prefix: false },
  });
  await using world = await makeWorld(mockConfig(server.url));
  const list = async (...args: string[]) => JSON.parse(await ok(world, "session", "list", "--json", ...args));
  await world.run(["run", "remember the animal"]);
  const [{ id }] = await list();
  await world.run(["run", "日本語の質問\u001b]0;evil\u0007"]);
  await Deno.mkdir(`${world.dir}/漢字`);
  await world.run(["run", "from another directory"], { cwd: `${world.dir}/漢字` });

  assertStringIncludes(await ok(world, "session", "search", "QUOKKA"), id);
  const found = await world.run(["session", "search", "質問"], { env: { NO_COLOR: "", FORCE_COLOR: "1" } });
  assertStringIncludes(found.stdout, "\x1b[1m質問\x1b[22m");
  assertStringIncludes(await ok(world, "session", "search", "zebra"), "No message matches");
  assertEquals(JSON.parse(await ok(world, "session", "search", "quokka", "--json"))[0].session, id);
  const other = await world.run(["session", "search", "quokka"], { cwd: world.home });
  assertStringIncludes(other.stdout, "--all");
  assertStringIncludes(
    (await world.run(["session", "search", "--all", "quokka"], { cwd: world.home })).stdout,
    id,
  );

  await ok(world, "session", "rename", id, "tiere\u001b[31m", "im Zoo");
  assertEquals((await list()).find((info: { id: string }) => info.id === id).title, "tiere im Zoo");
  assertStringIncludes(await ok(world, "session", "show", "im Zoo"), `session    ${id}`);
  const text = await ok(world, "session", "list", "--all");
  // deno-lint-ignore no-control-regex
  assert(!/[\x00-\x09\x0b-\x1f\x7f-\x9f]/.test(text));
  assertStringIncludes(text, "日本語の質問");
  const starts = text.trimEnd().split("\n").map((line) =>
    displayWidth(/^(?:.*?\s{2,}){3}/.exec(line)?.[0] ?? "")
  );
  assertEquals([starts.length, new Set(starts).size], [4, 1], text);
  assertEquals((await list("--limit", "1")).length, 1);
});

Deno.test("session titles come from the user's own words, also after attached content", async () => {
  await using server = startModelServer([{ text: "ok" }, { text: "ok" }], { check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url));
  await world.write("big.ts", "const x = 1;\n".repeat(4000));
  await world.run(["run", "explain @big.ts please\nin detail"]);
  await world.run(["run", "review", "-"], { stdin: "diff\n".repeat(9000) });
  const titles = JSON.parse(await ok(world, "session", "list", "--json")).map((info: { title: string }) =>
    info.title
  );
  assertEquals(titles, ["review", "explain @big.ts please"]);
  assertEquals(server.requests.length, 2);
});

Deno.test("session export writes Markdown, HTML and JSON", async () => {
  await using server = startModelServer();
  await using world = await threeTurns(server.url, (...turns) => server.push(...turns));
  const markdown = await ok(world, "session", "export");
  assertStringIncludes(markdown, "# one: begin");
  assertStringIncludes(markdown, "third done");
  const json = JSON.parse(await ok(world, "session", "export", "--format", "json"));
  assertEquals([json.format, json.turns.length], ["reasonix-session", 3]);
  await ok(world, "session", "export", "--output", "talk.html");
  const html = await world.read("talk.html");
  assertMatch(html, /^<!doctype html>/i);
  assertStringIncludes(html, "second done");
  const again = await world.run(["session", "export", "--output", "talk.html"]);
  assertEquals([again.code, await world.read("talk.html")], [2, html]);
  assertStringIncludes(again.stderr, "--force");
  await ok(world, "session", "export", "--output", "talk.html", "--format", "markdown", "--force");
  assertEquals(await world.read("talk.html"), markdown);
  assertEquals((await world.run(["session", "export", "--format", "pdf"])).code, 2);
});

Deno.test("session prune deletes by age and number after a prompt, and keeps sessions in use", async () => {
  const { promise: hold, resolve: release } = Promise.withResolvers<void>();
  await using server = startModelServer([], { fallback: { text: "ok" }, check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url) + NO_JAIL);
  for (let i = 0; i < 4; i++) await world.run(["run", `session ${i}`]);
  const list = async () => JSON.parse(await ok(world, "session", "list", "--json"));
  const [, , old, oldest] = await list();
  const past = new Date(Date.now() - 40 * 86_400_000);
  for (const { path } of [old, oldest]) Deno.utimeSync(path, past, past);

  for (const args of [[], ["--keep", "-1"], ["--older-than", "soon"]]) {
    assertEquals((await world.run(["session", "prune", ...args])).code, 2, args.join(" "));
  }
  const dry = await ok(world, "session", "prune", "--older-than", "30", "--dry-run");
  assert(dry.includes(old.id) && dry.includes(oldest.id) && dry.includes("Would delete these 2 sessions"));
  const unasked = await world.run(["session", "prune", "--older-than", "30"]);
  assertEquals([unasked.code, (await list()).length], [2, 4]);
  assertStringIncludes(unasked.stderr, "--yes");

  const seen = server.requests.length;
  server.push({ before: hold, text: "late" });
  const running = world.run(["run", "--resume", oldest.id, "hold"]);
  await server.received(seen + 1);
  // Nothing is written after the user's message until the answer arrives.
  const lastLine = () => Deno.readTextFileSync(oldest.path).trimEnd().split("\n").at(-1) ?? "";
  for (let looks = 0; !lastLine().includes('"content":"hold"'); looks++) {
    assert(looks < 3_000, lastLine());
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  Deno.utimeSync(oldest.path, past, past);
  const done = await world.run(["session", "prune", "--older-than", "30", "--yes"]);
  assertStringIncludes(done.stdout, "Deleted 1 session");
  assertStringIncludes(done.stderr, oldest.id);
  release();
  await running;
  assertEquals((await list()).length, 3);
  await ok(world, "session", "prune", "--keep", "1", "--yes");
  assertEquals((await list()).map((info: { id: string }) => info.id), [oldest.id]);
  assertEquals(await ok(world, "session", "prune", "--keep", "1"), "Nothing to delete\n");
});

Deno.test("session commands report wrong arguments", async () => {
  await using server = startModelServer();
  await using world = await threeTurns(server.url, (...turns) => server.push(...turns));
  for (
    const [args, hint] of [
      [["rewind", "--to", "9"], "0, 1, 2, 3"],
      [["rewind", "--to", "-1"], "-1"],
      [["rewind", "--to", "one"], "one"],
      [["rewind", "--to", "1", "--code", "--conversation"], "together"],
      [["rewind", "nothing", "--to", "1"], "nothing"],
      [["fork", "--turn", "7"], "1, 2, 3"],
      [["list", "--limit", "0"], "--limit"],
      [["search"], "word"],
      [["rename", "one"], "title"],
      [["rename", "one", " "], "title"],
      [["shwo"], "show"],
    ] as const
  ) {
    const done = await world.run(["session", ...args]);
    assertEquals([done.code, done.stdout], [2, ""], args.join(" "));
    assertStringIncludes(done.stderr, hint);
  }
  assertEquals(await files(world), "a3 b3 -");
});

Deno.test("stats sum tokens, cache hits and cost", async () => {
  await using server = startModelServer();
  await using world = await threeTurns(server.url, (...turns) => server.push(...turns));
  const [row] = JSON.parse(await ok(world, "stats", "--json"));
  assertEquals([row.sessions, row.requests], [1, 7]);
  assertEquals(row.usage.inputTokens, 70);
  assertMatch(
    await ok(world, "stats"),
    /DAY +SESSIONS +REQUESTS[^]*\n\d{4}-\d\d-\d\d +1 +7 +70 +0 +0 % +35 +0\.0001 USD\n/,
  );
  assertStringIncludes(await ok(world, "stats", "--by", "model"), "mock-1");
  assertStringIncludes(await ok(world, "stats", "--by", "session"), "2");
  const project = await world.run(["stats", "--by", "project"], { cwd: world.home });
  assertStringIncludes(project.stdout, world.dir);
  assertEquals((await world.run(["stats"], { cwd: world.home })).stdout, "No requests yet\n");
  const cache = await ok(world, "stats", "--cache");
  assertStringIncludes(cache, "0 of 70 input tokens");
  assertStringIncludes(cache, "never rebuilt (session starts not counted)");
  assertEquals(JSON.parse(await ok(world, "stats", "--since", "2999-01-01", "--json")), []);
  const counters = await world.run(["stats", "--format", "openmetrics", "--by", "project"], {
    cwd: world.home,
  });
  assertEquals([counters.code, counters.stderr], [0, ""]);
  const labels = `project="${world.dir}",model="mock-1"`;
  assertStringIncludes(counters.stdout, `\nreasonix_tokens_total{${labels},kind="input"} 70\n`);
  assertStringIncludes(counters.stdout, `\nreasonix_requests_total{${labels}} 7\n`);
  const openMetrics = ["--format", "openmetrics", "--since", "2026-01-31"];
  for (const args of [["--by", "week"], ["--since", "yesterday"], ["--since", "2026-02-31"], openMetrics]) {
    assertEquals((await world.run(["stats", ...args])).code, 2, args.join(" "));
  }
});

Deno.test("every session help page fits into 80 columns", async () => {
  await using world = await makeWorld();
  const names = ["list", "show", "search", "rename", "export", "fork", "rewind", "redo", "delete", "prune"];
  for (const page of [["session"], ["stats"], ...names.map((name) => ["session", name])]) {
    const help = await ok(world, ...page, "--help");
    for (const line of help.split("\n")) assert([...line].length <= 80, `${page.join(" ")}: ${line}`);
  }
});

Deno.test("a session that cannot be written does not stop the turn and is reported at the end", async () => {
  await using server = startModelServer([
    { calls: [{ name: "bash", args: { command: "echo x > made.txt" } }] },
    { text: "answered" },
  ]);
  await using world = await makeWorld(mockConfig(server.url));
  await Deno.writeTextFile(`${world.home}/projects`, "in the way");
  const done = await world.run(["run", "-q", "hello"]);
  assertEquals(await world.read("made.txt"), "x\n");
  assertEquals([done.code, done.stdout], [0, "answered\n"], done.stderr);
  assertStringIncludes(done.stderr, "is not fully saved on disk");
});

Deno.test("replay sums the whole session like session show, also after a rewind", async () => {
  await using server = startModelServer();
  await using world = await threeTurns(server.url, (...turns) => server.push(...turns));
  const [{ id }] = JSON.parse(await ok(world, "session", "list", "--json"));
  await ok(world, "session", "rewind", id, "--to", "2", "--conversation");
  const shown = await ok(world, "session", "show", id);
  const [, tokens = "", cost = "", time = ""] =
    /^tokens {5}(in [\d,]+ \([\d,]+ cached, \d+ %\)), (?:.*)\ncost {7}(\d\.\d{4} USD)\ntime {7}(.* s)$/m
      .exec(shown) ?? [];
  const replayed = await world.run(["replay", id]);
  const line = replayed.stderr.trimEnd().split("\n").at(-1) ?? "";
  assertMatch(line, /^· 4 steps · /);
  assert(
    line.includes(tokens) && line.endsWith(` · ${cost} · ${time}`) && tokens !== "",
    `${line}\n${shown}`,
  );
  const lines = (await world.run(["replay", id, "--output-format", "jsonl"])).stdout.trimEnd().split("\n");
  const { total_cost, duration_ms, num_turns } = JSON.parse(lines.at(-1) ?? "");
  const ends = lines.map((text) => JSON.parse(text)).filter(({ type }) => type === "message.end");
  const paid = ends.reduce((sum, { cost }) => sum + cost.amount, 0);
  assertEquals([total_cost.toFixed(9), num_turns], [paid.toFixed(9), ends.length]);
  assertEquals(`${(duration_ms / 1000).toFixed(1)} s`, time);
});

Deno.test("session show lists calls by title, attachments by name, and the changes of each turn", async () => {
  await using server = startModelServer();
  await using world = await makeWorld(mockConfig(server.url) + NO_JAIL);
  await world.write("a.txt", "a0\n");
  server.push(
    { ...write("a.txt", "a1\n"), usage: { input: 12345 } },
    bash("echo x > b.txt; exit 3"),
    {
      calls: [{ id: "no", name: "bash", args: { command: "rm -rf /" } }],
    },
    { text: "first done" },
    { text: "nothing to do" },
  );
  await world.run(["run", "fix @a.txt:1-1 please", "-"], { stdin: "piped\nlines\n" });
  await world.run(["run", "-c", "thanks"]);
  const shown = await ok(world, "session", "show");
  assertMatch(shown, /^tokens {5}in 12,\d{3} /m);
  const [, one = "", two = ""] = shown.split(/\n#\d /);
  const minute = new Date().toISOString().slice(0, 11).replace("T", " ");
  assert(one.startsWith(minute), one);
  const lines = one.split("\n").slice(0, 9);
  assertMatch(lines.shift() ?? "", /^[\d-]{10} [\d:]{5} · done · 3 steps · changed a\.txt, b\.txt$/);
  const [prompt, stdin, file, , read = "", wrote = "", ran = "", refused = ""] = lines;
  assertEquals([prompt, stdin, file], [
    "> fix @a.txt:1-1 please",
    "  attached standard input",
    "  attached a.txt:1-1",
  ]);
  assertMatch(read, /^ {2}✓ read a\.txt/);
  assertMatch(wrote, /^ {2}✓ write a\.txt · /);
  assertMatch(ran, /^ {2}✗ \$ echo x > b\.txt; exit 3 · exit 3/);
  assertMatch(refused, /^ {2}⊘ \$ rm -rf \/ · the destructive-command check refuses/);
  assert(one.trimEnd().endsWith("first done"), one);
  assertMatch(two, /· done\n> thanks\n\nnothing to do\n$/);
});
