/** `run` with every kind of standard input next to its task. */
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { denoDir, finished, makeWorld, mockConfig, type World } from "../support/program.ts";
import { findProgram } from "../../src/util/process.ts";
import { needs } from "../support/tools.ts";

// deno-lint-ignore no-explicit-any
const last = (request: any): string => request?.json.messages.at(-1).content;

/** Runs a task with a pipe that `feed` writes to, and that is closed when `feed` says so. */
async function piped(
  world: World,
  feed: (writer: WritableStreamDefaultWriter<Uint8Array>) => Promise<"close" | "leave">,
) {
  const child = await world.spawn(["run", "review this"], { stdin: "open" });
  const writer = child.stdin.getWriter();
  const fed = feed(writer).then(async (then) => then === "close" ? await writer.close() : undefined).catch(
    () => {},
  );
  const done = await finished(child);
  await fed;
  await writer.close().catch(() => {});
  return done;
}

const text = (value: string) => new TextEncoder().encode(value);

Deno.test("run reads a pipe or a file on standard input as context, without a dash", async () => {
  await using server = startModelServer([{ text: "ok" }, { text: "ok" }], { check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url));
  await world.run(["run", "review this"], { stdin: "diff text\n" });
  assertEquals(last(server.requests[0]), "<stdin>\ndiff text\n</stdin>\n\nreview this");
  await world.write("a.diff", "from a file\n");
  const shell = await world.run(["run", "review this"], { within: ["sh", "-c", '"$@" < a.diff', "sh"] });
  assertEquals([shell.code, last(server.requests[1])], [0, "<stdin>\nfrom a file\n</stdin>\n\nreview this"]);
});

Deno.test("run waits for a slow pipe and prints that it waits", async () => {
  await using server = startModelServer([{ text: "ok" }]);
  await using world = await makeWorld(mockConfig(server.url));
  const child = await world.spawn(["run", "review this"], { stdin: "open" });
  const writer = child.stdin.getWriter();
  let stderr = "";
  for await (const part of child.stderr.pipeThrough(new TextDecoderStream())) {
    stderr += part;
    if (!stderr.includes("Waiting for standard input")) continue;
    await writer.write(text("one "));
    await writer.write(text("two"));
    await writer.close();
    break;
  }
  await Promise.all([child.stdout.cancel(), child.status]);
  assertEquals(last(server.requests[0]), "<stdin>\none two\n</stdin>\n\nreview this");
});

Deno.test("run continues without a pipe that never writes and never closes", async () => {
  await using server = startModelServer([{ text: "ok" }]);
  await using world = await makeWorld(mockConfig(server.url));
  const { code, stderr } = await piped(world, () => Promise.resolve("leave"));
  assertEquals([code, last(server.requests[0])], [0, "review this"]);
  assertStringIncludes(stderr, "Nothing came on standard input");
});

Deno.test("run reads neither a device nor a closed descriptor", async () => {
  await using server = startModelServer([{ text: "ok" }, { text: "ok" }], { check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url));
  for (const redirection of ["< /dev/null", "<&-"]) {
    const { code, stderr } = await world.run(["run", "go"], {
      within: ["sh", "-c", `"$@" ${redirection}`, "sh"],
    });
    assertEquals([code, stderr.includes("standard input")], [0, false], redirection);
  }
  assertEquals(server.requests.map(last), ["go", "go"]);
});

Deno.test("run refuses 50 MB and input beyond the model's window before the first request", async () => {
  await using server = startModelServer([]);
  await using world = await makeWorld(mockConfig(server.url, "", "context_window = 8000"));
  const large = await piped(world, async (writer) => {
    const block = text("x".repeat(1024 * 1024));
    for (let count = 0; count < 50; count++) await writer.write(block);
    return "close";
  });
  assertEquals(large.code, 2);
  assertStringIncludes(large.stderr, "Standard input is larger than 16 MB");
  const long = await world.run(["run", "review"], { stdin: "some words of text\n".repeat(5000) });
  assertEquals(long.code, 2);
  assert(/The input is too long for mock-1: about [\d,]+ tokens of 8,000/.test(long.stderr), long.stderr);
  assertEquals(server.requests.length, 0);
});

Deno.test("run stops at an input above agent.large_input_tokens and prints the remedy", async () => {
  await using server = startModelServer([], { fallback: { text: "ok" }, check: { prefix: false } });
  const stdin = "some words of text\n".repeat(2000);
  const world = (limit: number) =>
    makeWorld(mockConfig(server.url, `[agent]\nlarge_input_tokens = ${limit}`));
  await using small = await world(5000);
  const refused = await small.run(["run", "review"], { stdin });
  assertEquals(refused.code, 2);
  assert(
    /large and was not sent: about [\d,]+ tokens, more than .*\(5,000\)/.test(refused.stderr),
    refused.stderr,
  );
  assertStringIncludes(refused.stderr, "or raise agent.large_input_tokens");
  const stream = await small.run(["-p", "--output-format", "stream-json", "--verbose", "review"], { stdin });
  const result = JSON.parse(stream.stdout.trim().split("\n").at(-1) ?? "");
  assertEquals([stream.code, result.type, result.is_error, typeof result.session_id], [
    2,
    "result",
    true,
    "string",
  ]);
  const chinese = await small.run(["run", "review"], { stdin, env: { REASONIX_LANG: "zh" } });
  assertStringIncludes(chinese.stderr, "输入较大，没有发送");
  assertEquals(server.requests.length, 0);
  // Attached files count as well.
  await small.write("long.txt", stdin);
  assertEquals((await small.run(["run", "review @long.txt"])).code, 2);
  for (const limit of [0, 50_000]) {
    await using other = await world(limit);
    assertEquals((await other.run(["run", "review"], { stdin })).code, 0);
  }
  await using plain = await makeWorld(mockConfig(server.url));
  assertEquals((await plain.run(["run", "review"], { stdin: stdin.repeat(20) })).code, 2);
});

/** Runs a program of Node that starts `reasonix`, whose path is the variable PROGRAM. */
async function fromNode(world: World, program: string) {
  const output = await new Deno.Command("node", {
    args: ["--input-type=module", "--eval", program],
    cwd: world.dir,
    clearEnv: true,
    env: {
      PATH: Deno.env.get("PATH") ?? "",
      HOME: world.home,
      REASONIX_LANG: "en",
      PROGRAM: await world.shim("reasonix"),
      ...denoDir(),
    },
    stdin: "null",
  }).output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code: output.code, stdout: decode(output.stdout), stderr: decode(output.stderr) };
}

const node = findProgram("node", Deno.env.get("PATH") ?? "", []);

const NODE_CALLS = [
  ['execFileSync(program, ["run", "review this"], { input: "NODE DIFF" })', "context"],
  ['execFileSync(program, ["-p", "review this"], { input: "NODE DIFF" })', "context"],
  ['spawnSync(program, ["run", "review", "this", "-"], { input: "NODE DIFF" }).stdout', "context"],
  ['execFileSync(program, ["run"], { input: "NODE DIFF" })', "task"],
  ['spawnSync(program, ["-p"], { input: "NODE DIFF" }).stdout', "task"],
  ['execFileSync(program, ["run", "-"], { input: "NODE DIFF" })', "task"],
] as const;

Deno.test({
  ...needs(
    "node",
    node !== undefined,
    "run reads the output of a Node program, with and without a task",
  ),
  async fn() {
    await using server = startModelServer(NODE_CALLS.map(() => ({ text: "ok" })), {
      check: { prefix: false },
    });
    await using world = await makeWorld(mockConfig(server.url));
    const calls = NODE_CALLS.map(([call]) => `process.stdout.write(${call});`).join("\n");
    const done = await fromNode(
      world,
      `import { execFileSync, spawnSync } from "node:child_process";\nconst program = process.env.PROGRAM;\n${calls}`,
    );
    assertEquals([done.code, done.stdout], [0, "ok\n".repeat(NODE_CALLS.length)], done.stderr);
    assertEquals(
      server.requests.map(last),
      NODE_CALLS.map(([, as]) => as === "task" ? "NODE DIFF" : "<stdin>\nNODE DIFF\n</stdin>\n\nreview this"),
    );
  },
});

Deno.test({
  ...needs(
    "node",
    node !== undefined,
    "run reads a socket that Node writes to in pieces, and leaves a silent one alone",
  ),
  async fn() {
    await using server = startModelServer([{ text: "ok" }, { text: "ok" }], { check: { prefix: false } });
    await using world = await makeWorld(mockConfig(server.url));
    const start = 'import { spawn } from "node:child_process";\n' +
      'const child = spawn(process.env.PROGRAM, ["run", "review this"], { stdio: ["pipe", "inherit", "pipe"] });\n' +
      'let said = "";\nchild.stderr.on("data", (part) => { said += part; process.stderr.write(part); hear(); });\n' +
      'child.on("exit", (code) => process.exit(code));\n';
    // The input ends only after the program has printed that it waits for it.
    const pieces = await fromNode(
      world,
      `${start}child.stdin.write("one ");\n` +
        'function hear() { if (said.includes("is open: close it")) child.stdin.end("two"); }',
    );
    assertEquals([pieces.code, pieces.stdout], [0, "ok\n"], pieces.stderr);
    assertStringIncludes(pieces.stderr, "Waiting for the end of standard input, which has sent 4 bytes");
    const silent = await fromNode(world, `${start}function hear() {}`);
    assertEquals([silent.code, silent.stdout], [0, "ok\n"], silent.stderr);
    assertStringIncludes(silent.stderr, "Nothing came on standard input");
    assertEquals(server.requests.map(last), ["<stdin>\none two\n</stdin>\n\nreview this", "review this"]);
  },
});
