/** No text of a repository or the model makes the program hang or ignore Ctrl-C. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { type ModelServer, startModelServer } from "../support/model_server.ts";
import { type Finished, finished, makeWorld, mockConfig, type World } from "../support/program.ts";

/** Seconds of CPU time, which a busy machine does not use up; a regression takes minutes or forever. */
const LIMIT_SECONDS = 25;

/** Runs the program in a shell that limits it; the kernel kills it at the limit. */
async function ends(world: World, args: readonly string[], seconds = LIMIT_SECONDS): Promise<Finished> {
  const within = ["/bin/sh", "-c", `ulimit -t ${seconds}; exec "$@"`, "sh"];
  const done = await world.run(args, { within });
  const name = args.join(" ").slice(0, 80);
  assert(done.code !== 137 && done.code !== 152, `${name} took more than ${seconds} s of CPU time`);
  return done;
}

type Call = { readonly name: string; readonly args: Readonly<Record<string, unknown>> };

/** Runs one call of the model and returns its result. */
async function resultOf(call: Call, prepare: (world: World) => Promise<void> = async () => {}) {
  await using server = startModelServer([{ calls: [call] }, { text: "done" }]);
  await using world = await makeWorld(mockConfig(server.url, '[sandbox]\nbash = "off"\n'));
  await prepare(world);
  const done = await ends(world, ["run", "go"]);
  assertEquals([done.code, done.stdout.trim()], [0, "done"], done.stderr);
  return { done, result: lastResult(server) };
}

function lastResult(server: ModelServer): string {
  return String(server.requests.at(-1)?.json.messages.at(-1).content);
}

const BRACES = "{a,b}".repeat(26);
const LONG = "a".repeat(180);

Deno.test("a project rule with millions of alternatives is an error with its location in every command", async () => {
  await using server = startModelServer([], { fallback: { text: "done" } });
  await using world = await makeWorld(mockConfig(server.url));
  await world.write(".claude/settings.json", `{"permissions":{"deny":["Read(${BRACES})"]}}`);
  for (const args of [["run", "go"], ["hooks", "list"], ["permissions", "check", "ls"]]) {
    const done = await ends(world, args);
    if (args[0] === "hooks") continue;
    assertEquals([args[0], done.code], [args[0], 6]);
    assertMatch(done.stderr, /settings\.json:1:\d+: Cannot hold permission rule .*too many names/);
  }
  await ends(world, ["doctor"]);
  await world.write(".claude/settings.json", "{}");
  for (const list of ["deny", "ask", "allow"]) {
    await world.write("reasonix.toml", `[permissions]\n${list} = ["Edit(x)", "Edit(${BRACES})"]\n`);
    const done = await ends(world, ["run", "go"]);
    assertEquals([list, done.code], [list, 6]);
    assertMatch(done.stderr, /reasonix\.toml:2:\d+: Cannot hold permission rule/);
  }
  const many = Array.from({ length: 8 }, (_, i) => `"Edit(${i}${"{a,b}".repeat(9)})"`).join(", ");
  await world.write("reasonix.toml", `[permissions]\ndeny = [${many}]\n`);
  assertStringIncludes(
    (await ends(world, ["run", "go"])).stderr,
    "their wildcards and braces have too many expansions",
  );
  assertEquals(server.requests.length, 0);
});

Deno.test("rules of any length and number are matched in time or are an error with their location", async () => {
  await using world = await makeWorld("");
  const line = `echo a > ${"a".repeat(250)}; sudo ${"sudo ".repeat(20)}$X ${"a".repeat(60_000)}`;
  const refused: readonly (readonly string[])[] = [
    [`Edit(${"*/".repeat(5000)}b)`],
    [`Read(${"*a".repeat(5000)}b)`],
    [`Bash(${"*a".repeat(5000)}b)`],
    [`mcp__${"*a".repeat(5000)}b`],
    Array.from({ length: 10_000 }, (_, i) => `Edit(*a*${i}*)`),
    Array.from({ length: 10_000 }, (_, i) => `Bash(*${"a?".repeat(20)}${i}*)`),
  ];
  const held: readonly (readonly string[])[] = [
    [`Edit(${"*/".repeat(150)}b)`],
    [`Edit(${"x/".repeat(2000)}b)`],
    [`Bash(*${"a?".repeat(2000)}b)`],
    Array.from({ length: 1000 }, (_, i) => `Bash(*${"a?".repeat(28)}${i}*)`),
    Array.from({ length: 1000 }, (_, i) => `Edit(*a*${i}*)`),
  ];
  for (const rules of [...refused, ...held]) {
    const label = `${rules.length} × ${rules[0]?.slice(0, 30)}`;
    await world.write("reasonix.toml", `[permissions]\ndeny = ${JSON.stringify(rules)}\n`);
    const { code, stderr } = await ends(world, ["permissions", "check", "--", line]);
    assertEquals([label, code === 6], [label, refused.includes(rules)], stderr.slice(0, 400));
    if (code === 6) assertMatch(stderr, /reasonix\.toml:2:\d+: Cannot (?:hold|read)/);
    assert(stderr.length < 2000, label);
  }
});

Deno.test("a deny rule beyond 256 alternatives applies to tools and to commands", async () => {
  const names = Array.from({ length: 300 }, (_, i) => `p${i}`).join(",");
  const binary = "{a,b}{c,d}{e,f}{g,h}{i,j}{k,l}{m,n}{o,p}{q,r}.txt";
  const rules =
    `[permissions]\ndeny = ["Edit(${binary})", "Edit({${names}}.txt)", "Read({s${names}}.txt)"]\n`;
  await using server = startModelServer([
    ...["bdfhjlnpr.txt", "p299.txt"].map((path) => ({
      calls: [{ name: "write_file", args: { path, content: "x" } }],
    })),
    { calls: [{ name: "read_file", args: { path: "p298.txt" } }] },
    { calls: [{ name: "bash", args: { command: "cat p298.txt" } }] },
    { text: "done" },
  ]);
  await using world = await makeWorld(mockConfig(server.url, '[sandbox]\nbash = "off"\n'));
  await world.write("reasonix.toml", rules);
  await world.write("p298.txt", "SECRET");
  const done = await ends(world, ["run", "--permission-mode", "workspace-write", "go"]);
  assertEquals(done.code, 0, done.stderr);
  assertEquals([...Deno.readDirSync(world.dir)].map(({ name }) => name).sort(), [
    "p298.txt",
    "reasonix.toml",
  ]);
  assert(!JSON.stringify(server.requests.at(-1)?.json).includes("SECRET"));
});

Deno.test("wildcards of a rule and of an ignore file match long names in time", async () => {
  const path = `${"a".repeat(200)}.txt`;
  const written = await resultOf({ name: "write_file", args: { path, content: "x" } }, async (world) => {
    await world.write("reasonix.toml", '[permissions]\ndeny = ["Edit(*a*a*a*a*a*a*a*ab)"]\n');
  });
  assertStringIncludes(written.result, "aaa");
  const listed = await resultOf({ name: "glob", args: { pattern: "**/*" } }, async (world) => {
    await world.write(".gitignore", "*a*a*a*a*a*a*a*ab\n");
    for (let i = 0; i < 50; i++) await world.write(`${LONG}${i}`, "");
  });
  assertStringIncludes(listed.result, `${LONG}49`);
});

Deno.test("patterns of the model with millions of alternatives are matched in time", async () => {
  const name = "ab".repeat(13);
  const prepare = (world: World) => world.write(name, "needle\n");
  assertStringIncludes((await resultOf({ name: "glob", args: { pattern: BRACES } }, prepare)).result, name);
  const grep = { name: "grep", args: { pattern: "needle", include: BRACES } };
  assertStringIncludes((await resultOf(grep, prepare)).result, "needle");
});

Deno.test("long runs of one character in project files and in a reply are processed in time", async () => {
  for (const sign of ["\n", " \n", "\r", "`", "~", "["]) {
    const text = sign.repeat(300_000 / sign.length);
    await using server = startModelServer([
      { calls: [{ name: "write_file", args: { path: "new.py", content: "x" } }] },
      { text: `${text}done` },
    ]);
    await using world = await makeWorld(mockConfig(server.url, '[sandbox]\nbash = "off"\n'));
    for (const name of ["pyproject.toml", "Makefile", "AGENTS.md", ".gitignore", ".env"]) {
      await world.write(name, text);
    }
    const done = await ends(world, ["run", "go"]);
    assertEquals([sign, done.code], [sign, 0], done.stderr);
    assertStringIncludes(done.stdout, "done");
  }
});

Deno.test("long values of a project's provider and server are shown in the trust prompt in time", async () => {
  await using world = await makeWorld("");
  for (const run of ["a.", "sk-", "?", "a://"]) {
    const value = run.repeat(400_000 / run.length);
    await world.write(
      "reasonix.toml",
      `[[providers]]\nname = "x"\nmodel = "m"\nbase_url = "http://127.0.0.1:1/v1"\n` +
        `api_key_command = "${value}"\n[[plugins]]\nname = "y"\ncommand = "${value}"\n`,
    );
    assertEquals([run, (await ends(world, ["run", "go"])).code], [run, 3]);
  }
});

Deno.test("a directory with brackets in its name is found by it, in glob and in include", async () => {
  const file = "src/app/[[...slug]]/page.tsx";
  const prepare = (world: World) => world.write(file, "needle\n");
  assertStringIncludes((await resultOf({ name: "glob", args: { pattern: file } }, prepare)).result, file);
  const grep = { name: "grep", args: { pattern: "needle", include: "src/app/[[...slug]]/*.tsx" } };
  assertStringIncludes((await resultOf(grep, prepare)).result, "needle");
});

Deno.test("command lines of thousands of parts are judged in time", async () => {
  const lines = [
    `${"eval ".repeat(3000)}true`,
    Array(3000).fill("cat").join(" | "),
    Array.from({ length: 3000 }, (_, i) => `cd d${i}`).join("; "),
    `a=xxxxxxxxxxxxxxxx;${"a=$a$a;".repeat(40)} : "$a$a"`,
    `echo ${"{a,".repeat(9000)}b${"}".repeat(9000)}`,
  ];
  await using world = await makeWorld('[permissions]\ndeny = ["Bash(rm:*)", "Edit(x)"]\n');
  for (const line of lines) await ends(world, ["permissions", "check", "--", line], 10);
});

Deno.test("a patch of thousands of hunks over equal lines is applied in time", async () => {
  const hunks = "@@\n x\n-x\n+y\n".repeat(3000);
  const patch = `*** Begin Patch\n*** Update File: f.txt\n${hunks}*** End Patch\n`;
  const { result } = await resultOf(
    { name: "apply_patch", args: { patch } },
    (world) => world.write("f.txt", "x\n".repeat(30_000)),
  );
  assertMatch(result, /hunk \d+ of 3000 fits in \d+ places/);
});

Deno.test("an endless pattern of --json-schema is an error, and Ctrl-C ends the check", async () => {
  const schema = JSON.stringify({ type: "string", pattern: "^(a+)+$" });
  await using server = startModelServer([], {
    fallback: { text: `"${"a".repeat(40)}!"` },
    check: { prefix: false },
  });
  await using world = await makeWorld(mockConfig(server.url));
  const done = await ends(world, ["run", "--json-schema", schema, "go"]);
  assertEquals(done.code, 4, done.stderr);
  assertStringIncludes(done.stderr, "could not be checked against the JSON Schema within 5 s");
  const child = await world.spawn(["run", "--json-schema", schema, "go"]);
  const requests = server.requests.length;
  while (server.requests.length === requests) await new Promise((resolve) => setTimeout(resolve, 50));
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const start = performance.now();
  child.kill("SIGINT");
  assertEquals((await finished(child)).code, 130);
  assert(performance.now() - start < 4000);
});

Deno.test("Ctrl-C ends a search with deliberately slow rules and names", async () => {
  await using server = startModelServer([{ calls: [{ name: "glob", args: { pattern: "**/*" } }] }], {
    // Where the search has ended by then, Ctrl-C ends the wait for the next reply.
    fallback: { text: "Done.", stuck: "silent" },
  });
  await using world = await makeWorld(mockConfig(server.url));
  const line = (i: number) => `{${"*a,?b,".repeat(100)}${i}}{${"*a,?b,".repeat(100)}c}`;
  await world.write(".gitignore", Array.from({ length: 50 }, (_, i) => line(i)).join("\n"));
  const letters = (i: number) => i.toString(2).padStart(14, "0").replaceAll("0", "a").replaceAll("1", "b");
  for (let i = 0; i < 5000; i++) {
    Deno.writeTextFileSync(`${world.dir}/${letters((i * 7919) % 16384).repeat(14)}`, "");
  }
  const child = await world.spawn(["run", "go"]);
  while (server.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  await new Promise((resolve) => setTimeout(resolve, 100));
  const start = performance.now();
  child.kill("SIGINT");
  assertEquals((await finished(child)).code, 130);
  assert(performance.now() - start < 15_000, `${performance.now() - start} ms`);
});
