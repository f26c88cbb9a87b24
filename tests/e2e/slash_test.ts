import { startModelServer } from "../support/model_server.ts";
import { finished, makeWorld, mockConfig } from "../support/program.ts";
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";

const SKILL = "---\nname: release\ndescription: How to release\n---\nTag, then push.\n";

Deno.test("/compact shortens the session with the hint in the request, prints one line and is not a turn", async () => {
  await using server = startModelServer([
    { calls: [{ name: "read_file", args: { path: "big.txt" } }] },
    { text: "read it" },
    { text: "SUMMARY: the API has two routes", usage: { input: 900 } },
    { text: "continuing" },
  ], { check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url));
  await world.write("big.txt", "some line of a big file\n".repeat(400));
  await world.run(["run", "the word is xylophone"]);
  const done = await world.run(["run", "-c", "/compact keep the API decisions"]);
  assertEquals(done.code, 0, done.stderr);
  const line = /^Compacted 3 messages \(summary\): [\d,]+ → [\d,]+ tokens; the originals are in (\S+)\n$/;
  const [, archive = ""] = line.exec(done.stdout) ?? [];
  assertStringIncludes(await Deno.readTextFile(archive), "some line of a big file", done.stdout);
  const asked = server.requests[2]?.json;
  assertStringIncludes(asked.messages.at(-1).content, "keep the API decisions");
  assertEquals(asked.tool_choice, "none");
  assertEquals((await world.run(["run", "-c", "next"])).code, 0);
  const last = JSON.stringify(server.requests[3]?.json.messages);
  assertStringIncludes(last, "the word is xylophone");
  assertStringIncludes(last, "two routes");
  assert(!last.includes("some line of a big file") && !last.includes("keep the API"), last);
  const events = (await world.run(["session", "show", "--json"])).stdout;
  assertEquals(events.match(/"type":"turn\.start"/g)?.length, 2);
});

Deno.test("/compact without the model leaves an extract and reports when there is nothing to compact", async () => {
  await using server = startModelServer([{ text: "short" }], {
    fallback: { status: 401, body: { error: { message: "no" } } },
    check: { prefix: false },
  });
  await using world = await makeWorld(mockConfig(server.url));
  const fresh = await world.run(["run", "/compact"]);
  assertEquals(fresh.code, 2);
  assertStringIncludes(fresh.stderr, "--continue");
  await world.run(["run", "hello"]);
  const small = await world.run(["run", "-c", "--metrics", "m.json", "/compact"]);
  assertEquals(JSON.parse(await world.read("m.json")).exit_code, 0);
  assertEquals([small.code, small.stdout.startsWith("Nothing was compacted")], [0, true], small.stderr);
  server.push({ calls: [{ name: "bash", args: { command: "seq 4000" } }] }, { text: "counted" });
  await world.run(["run", "-c", "count"]);
  const extract = await world.run(["run", "-c", "/compact"]);
  assertEquals(extract.code, 0, extract.stderr);
  assertStringIncludes(extract.stdout, "(extract)");
  assertStringIncludes((await world.run(["session", "show", "--json"])).stdout, "seq 4000");
});

Deno.test("/compact that is interrupted changes nothing and ends like an interrupted run", async () => {
  const held = Promise.withResolvers<void>();
  await using server = startModelServer([
    { calls: [{ name: "bash", args: { command: "seq 4000" } }] },
    { text: "counted" },
    { text: "too late", before: held.promise },
    { text: "continuing" },
  ], { check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url));
  await world.run(["run", "count"]);
  const child = await world.spawn(["run", "-c", "/compact"]);
  await server.received(3);
  child.kill("SIGINT");
  const stopped = await finished(child);
  held.resolve();
  assertEquals([stopped.code, stopped.stdout], [130, ""], stopped.stderr);
  assertStringIncludes(stopped.stderr, "Stopped before anything was compacted");
  assertEquals((await world.run(["run", "-c", "next"])).code, 0);
  const last = JSON.stringify(server.requests[3]?.json.messages);
  assert(last.includes("3999") && !last.includes("compaction-summary"), last.slice(-400));
});

Deno.test("/context prints the report and leaves no trace in a new directory", async () => {
  await using server = startModelServer([{ text: "hi", usage: { input: 2600 } }]);
  await using world = await makeWorld(mockConfig(server.url, "", "context_window = 100000"));
  await world.write("AGENTS.md", "Be kind.\n");
  const fresh = await world.run(["run", "/context"]);
  assertEquals(fresh.code, 0, fresh.stderr);
  assertStringIncludes(fresh.stdout, "AGENTS.md");
  assertEquals(JSON.parse((await world.run(["session", "list", "--json"])).stdout), []);
  await world.run(["run", "hello"]);
  const inside = await world.run(["run", "-c", "/context", "--output-format", "json"]);
  assertEquals(JSON.parse(inside.stdout).result, (await world.run(["context", "--continue"])).stdout);
  assertEquals(server.requests.length, 1);
});

Deno.test("an unknown command after / is refused, and a path is text", async () => {
  await using server = startModelServer([], { fallback: { text: "ok" }, check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url));
  await world.write(".agents/skills/release/SKILL.md", SKILL);
  for (
    const [line, meant] of [["/compct now", "/compact"], ["/relase", "/release"], [
      "/unheardof thing",
      "/help",
    ]] as const
  ) {
    const refused = await world.run(["run", line]);
    assertEquals(refused.code, 2);
    assertStringIncludes(refused.stderr, meant);
  }
  for (const line of ["/etc is full", "/tmp/context is what?", "/", "/etc/hosts says"]) {
    assertEquals((await world.run(["run", line])).code, 0, line);
    assertEquals(server.requests.at(-1)?.json.messages.at(-1).content, line);
  }
});

Deno.test("/help and /skills are answered without the model", async () => {
  await using server = startModelServer([]);
  await using world = await makeWorld(mockConfig(server.url));
  await world.write(".agents/skills/release/SKILL.md", SKILL);
  const help = await world.run(["run", "/help"]);
  assertEquals(help.code, 0, help.stderr);
  assert(/^Most used\n(?: {2}\/\S+ {2,}\S.*\n){9}\nSession {5}\/fork /.test(help.stdout), help.stdout);
  assert(help.stdout.split("\n").length <= 24, help.stdout);
  assertStringIncludes(help.stdout, "\nSkills      /release\n");
  const all = await world.run(["run", "/help all"]);
  for (
    const line of ["\n  /compact      ", "\nExtensions\n  /mcp          ", "\n  /release  How to release\n"]
  ) {
    assertStringIncludes(all.stdout, line);
  }
  const skills = (await world.run(["run", "/skills"])).stdout;
  assertStringIncludes(skills, "release  How to release\n  project · ");
  assertEquals((await world.run(["skills", "list"])).stdout, skills);
  assertEquals(server.requests.length, 0);
});

Deno.test("the context report uses the window of a local server, requested with its key", async () => {
  const keys: (string | null)[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    keys.push(request.headers.get("authorization"));
    return Response.json({ data: [{ id: "mock-1", max_model_len: 12_345 }] });
  });
  try {
    const url = `http://127.0.0.1:${server.addr.port}/v1`;
    await using world = await makeWorld(mockConfig(url, "", 'api_key_env = "MOCK_KEY"'));
    const shown = await world.run(["context", "--json"], { env: { MOCK_KEY: "k-123456" } });
    const report = JSON.parse(shown.stdout);
    assertEquals([report.window, report.windowSource], [12_345, "models"]);
    assertEquals(keys, ["Bearer k-123456"]);
  } finally {
    await server.shutdown();
  }
});
