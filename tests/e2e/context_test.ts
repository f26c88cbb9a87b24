import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";

// deno-lint-ignore no-explicit-any
const texts = (request: any): string[] =>
  request.json.messages.map((message: { content: string }) => message.content ?? "");

Deno.test("skills are named in the prompt, loaded by the tool and by /name", async () => {
  await using server = startModelServer([
    { calls: [{ name: "skill", args: { name: "release" } }] },
    { text: "done" },
    { text: "done again" },
  ], { check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url));
  await world.write(
    ".agents/skills/release/SKILL.md",
    "---\nname: release\ndescription: How to release: tag it\n---\nTag, then push.\n",
  );
  await world.run(["run", "release please"]);
  assertStringIncludes(texts(server.requests[0])[0] ?? "", "- release: How to release");
  assertStringIncludes(texts(server.requests[1]).at(-1) ?? "", "Tag, then push.");
  await world.run(["run", "/release now"]);
  assert(texts(server.requests[2]).some((text) => text.includes("Tag, then push.")));
});

Deno.test("instructions of a directory are sent once as a message after a call touches it", async () => {
  await using server = startModelServer([
    { calls: [{ name: "read_file", args: { path: "sub/a.txt" } }] },
    { calls: [{ name: "read_file", args: { path: "sub/b.txt" } }] },
    { text: "done" },
    { text: "again" },
  ]);
  await using world = await makeWorld(mockConfig(server.url));
  await world.write("sub/AGENTS.md", "Tabs only here.\n");
  await world.write("sub/a.txt", "a\n");
  await world.write("sub/b.txt", "b\n");
  await world.run(["run", "read"]);
  await world.run(["run", "-c", "more"]);
  const all = texts(server.requests.at(-1));
  assertEquals(all.filter((text) => text.includes("Tabs only here.")).length, 1);
});

Deno.test("a full window compacts old work, keeps the user's words and continues", async () => {
  const big = "x ".repeat(9000);
  const step = (n: number) => ({
    calls: [{ name: "read_file", args: { path: `f${n}.txt` } }],
    usage: { input: 3000 * n },
  });
  await using server = startModelServer([...[1, 2, 3, 4, 5].map(step)], {
    fallback: { text: "SUMMARY of the work" },
    check: { prefix: false },
  });
  await using world = await makeWorld(mockConfig(server.url, "", "context_window = 16000"));
  for (const n of [1, 2, 3, 4, 5]) await world.write(`f${n}.txt`, `${big}${n}\n`);
  const done = await world.run(["run", "the magic word is xylophone; read all files"]);
  assertEquals(done.code, 0, done.stderr);
  const last = texts(server.requests.at(-1)).join("\n");
  assertStringIncludes(last, "the magic word is xylophone");
  const [session] = JSON.parse((await world.run(["session", "list", "--json"])).stdout);
  assertStringIncludes(await Deno.readTextFile(session.path), '"type":"compaction"');
});

Deno.test("the run retries with a shorter request after a server refuses the length", async () => {
  const tooLong = {
    status: 400,
    body: { error: { code: "context_length_exceeded", message: "maximum context length is 8192 tokens" } },
  };
  await using server = startModelServer([
    ...[1, 2, 3].map((n) => ({ calls: [{ name: "read_file", args: { path: `f${n}.txt` } }] })),
    tooLong,
  ], { fallback: { text: "fits now" }, check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url));
  for (const n of [1, 2, 3]) await world.write(`f${n}.txt`, "y ".repeat(9000));
  const done = await world.run(["run", "read"]);
  assertEquals([done.code, done.stdout.trim().endsWith("fits now")], [0, true]);
});

Deno.test("headless, facts change only by --on-ask allow or a rule that names the tool, and open the next session", async () => {
  const saved = { name: "tabs", description: "Indentation", text: "Use tabs", pinned: true };
  const cases: readonly [settings: string, args: readonly string[], kept: boolean][] = [
    ["", [], false],
    ['mode = "allow"\nallow = ["*", "Edit", "Bash"]', [], false],
    ["", ["--on-ask", "deny"], false],
    ["", ["--on-ask", "allow"], true],
    ['allow = ["remember", "forget"]', [], true],
    ['allow = ["remember", "forget"]', ["--on-ask", "deny"], true],
    ['allow = ["remember", "forget"]', ["--permission-mode", "read-only"], false],
    ['allow = ["remember"]\ndeny = ["remember"]', ["--on-ask", "allow"], false],
  ];
  for (const [settings, args, kept] of cases) {
    await using server = startModelServer([
      { calls: [{ name: "remember", args: saved }] },
      { text: "ok" },
      { calls: [{ name: "forget", args: { name: "tabs" } }] },
      { text: "ok" },
      { text: "hi" },
    ], { check: { prefix: false } });
    await using world = await makeWorld(mockConfig(server.url, `[permissions]\n${settings}\n`));
    const name = `${settings} ${args.join(" ")}`;
    for (let run = 0; run < 2; run++) await world.run(["run", ...args, "go"]);
    await world.run(["run", "hello"]);
    const [remembered = "", opening = "", forgotten = "", last = ""] = [1, 2, 3, 4].map((index) => {
      const found = texts(server.requests[index]);
      return index % 2 === 1 ? found.at(-1) : found.join("\n");
    });
    assertEquals([/^blocked/.test(remembered), opening.includes("Indentation")], [!kept, kept], name);
    assertEquals([/^(?:blocked|error)/.test(forgotten), last.includes("Indentation")], [!kept, false], name);
  }
});

Deno.test("context lists the loaded content by category and in percent", async () => {
  await using server = startModelServer([{ text: "hi", usage: { input: 2600 } }]);
  await using world = await makeWorld(mockConfig(server.url, "", "context_window = 100000"));
  await world.write("AGENTS.md", "Be kind.\n");
  await world.run(["run", "hello"]);
  const report = JSON.parse((await world.run(["context", "--json", "--continue"])).stdout);
  assertEquals(report.window, 100000);
  assert(
    report.categories.some((row: { name: string; tokens: number }) =>
      row.name === "tools" && row.tokens > 500
    ),
  );
  assert(report.loaded.some((part: { name: string }) => part.name.includes("AGENTS.md")));
  const text = await world.run(["context"]);
  assertStringIncludes(text.stdout, "AGENTS.md");
});

Deno.test("skills list and validate report skills and their problems", async () => {
  await using world = await makeWorld();
  await world.write(".reasonix/skills/good/SKILL.md", "---\nname: good\ndescription: Fine\n---\nBody\n");
  await world.write(".reasonix/skills/bad/SKILL.md", "---\nname: other\n---\nBody\n");
  const none = (await world.run(["skills", "list"], { cwd: world.home })).stdout;
  assertStringIncludes(none, "No skills here. Looked in .reasonix/skills, .agents/skills, .claude/skills");
  await world.write(".reasonix/skills/good/scripts/a.py", "1");
  await world.write(".reasonix/skills/wrong/SKILL.md", "---\nname: right\ndescription: x\n---\nBody\n");
  const listed = (await world.run(["skills", "list"])).stdout;
  assertStringIncludes(listed, "good  Fine\n  project · scripts not trusted (reasonix trust) · ");
  assertStringIncludes(listed, '✗ name "right" must be the name of the directory, "wrong"');
  const checked = await world.run(["skills", "validate", ".reasonix/skills/bad"]);
  assertEquals(checked.code, 1);
  assertStringIncludes(checked.stdout, "description");
  assertEquals((await world.run(["skills", "validate", ".reasonix/skills/good"])).code, 0);
});
