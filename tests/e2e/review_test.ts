/** `reasonix review` ends in each way with the result, the exit code and the session that belong to it. */
import { startAcp } from "../support/acp.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { type RecordedRequest, startModelServer, type Turn } from "../support/model_server.ts";
import { denoDir, finished, makeWorld, mockConfig, type World } from "../support/program.ts";
import { shellLines } from "../support/readme.ts";

const FINDING = {
  path: "sum.js",
  line: 3,
  end_line: 3,
  priority: "P1",
  confidence: 0.9,
  title: "The last number is left out",
  body: "The loop ends one element early.",
  suggestion: "  for (let i = 0; i < list.length; i++) total += list[i];",
  quote: "  for (let i = 0; i < list.length - 1; i++) total += list[i];",
};

const CODE = (end: string) =>
  `export function sum(list) {\n  let total = 0;\n  for (let i = 0; i < ${end}; i++) total += list[i];\n  return total;\n}\n`;

async function git(world: World, ...args: string[]): Promise<void> {
  const identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"];
  const { success, stderr } = await new Deno.Command("git", { args: [...identity, ...args], cwd: world.dir })
    .output();
  assert(success, new TextDecoder().decode(stderr));
}

/** A repository with a commit and an uncommitted defect. */
async function repository(config: string): Promise<World> {
  const world = await makeWorld(config);
  await git(world, "init", "-q", "-b", "main");
  await world.write("sum.js", CODE("list.length"));
  await world.write("other.js", "export const a = 1;\n");
  await git(world, "add", ".");
  await git(world, "commit", "-q", "-m", "one");
  await world.write("sum.js", CODE("list.length - 1"));
  return world;
}

/** Reports the findings, and refutes none of them. */
function reviewer(findings: readonly unknown[] = [FINDING]) {
  return ({ json }: RecordedRequest): Turn => {
    const prompt = JSON.stringify(json.messages.at(-1));
    if (!prompt.includes("Try to refute")) return { text: JSON.stringify({ findings }) };
    const decisions = findings.map((_, at) => ({
      id: at + 1,
      holds: true,
      reason: "It is so",
      confidence: 0.9,
    }));
    return { text: JSON.stringify({ decisions }) };
  };
}

const LOOSE = { check: { prefix: false } } as const;
const PRICE = "price = { input = 1000, output = 1000 }";

Deno.test("review prints what it found, exits by --fail-on, and is a session with its cost", async () => {
  await using server = startModelServer([], { fallback: reviewer(), ...LOOSE });
  await using world = await repository(mockConfig(server.url, "", PRICE));
  assertEquals((await world.run(["run", "hello"])).code, 0);
  const before = server.requests.length;
  const done = await world.run(["review", "look", "at", "the", "loop"], { stdin: "open" });
  assertEquals(done.code, 0, done.stderr);
  assertStringIncludes(done.stdout, "P1");
  assertStringIncludes(done.stdout, "sum.js:3");
  assertStringIncludes(done.stdout, FINDING.title);
  assertStringIncludes(server.requests[before]?.body ?? "", "look at the loop");
  assertMatch(done.stderr, /^· To work on the findings: reasonix --resume (\S+)$/m);
  const [, id = ""] = /--resume (\S+)/.exec(done.stderr) ?? [];
  assertMatch(
    (await world.run(["session", "list"])).stdout,
    new RegExp(`${id}.*Review: uncommitted changes`),
  );
  assertStringIncludes((await world.run(["session", "show", id])).stdout, "0.0300 USD");
  // The conversation of the user is the latest one all the same; the other one knows the findings.
  assertEquals((await world.run(["run", "-c", "and now?"])).code, 0);
  assert(!server.requests.at(-1)?.body.includes("<review>"));
  assertEquals((await world.run(["run", "--resume", id, "fix 1"])).code, 0);
  assertStringIncludes(server.requests.at(-1)?.body ?? "", "1. P1 sum.js:3");

  const json = await world.run(["review", "--format", "json", "--fail-on", "P1", "--quiet"]);
  assertEquals([json.code, json.stderr], [7, ""]);
  assertEquals(JSON.parse(json.stdout).findings.map(({ title }: { title: string }) => title), [
    FINDING.title,
  ]);
  const github = await world.run(["review", "--format", "github", "--fail-on", "P0", "--quiet"]);
  assertEquals([github.code, github.stderr], [0, ""]);
  assertMatch(github.stdout, /^::error file=sum\.js,line=3,/m);
});

Deno.test("review without findings or changes exits with 0, and a second one is incremental", async () => {
  await using server = startModelServer([], { fallback: reviewer([]), ...LOOSE });
  await using world = await repository(mockConfig(server.url));
  const none = await world.run(["review", "--fail-on", "P3"]);
  assertEquals(none.code, 0, none.stderr);
  const requests = server.requests.length;
  const again = await world.run(["review", "--incremental"]);
  assertEquals([again.code, server.requests.length], [0, requests], again.stderr);
  const saved = [...Deno.readDirSync(`${world.home}/projects`)].map(({ name }) =>
    `${world.home}/projects/${name}/reviews`
  );
  const [file = ""] = [...Deno.readDirSync(saved[0] ?? "")].map(({ name }) => `${saved[0]}/${name}`);
  assertEquals((Deno.statSync(file).mode ?? 0) & 0o777, 0o600);
  await Deno.writeTextFile(file, '{"version": 1, "findings": [{}]');
  const corrupt = await world.run(["review", "--incremental"]);
  assertEquals(corrupt.code, 0);
  assertStringIncludes(corrupt.stderr, `Cannot use the earlier review ${file}`);
  assert(server.requests.length > requests);
  await git(world, "commit", "-q", "-a", "-m", "two");
  const empty = await world.run(["review", "--uncommitted"]);
  assertEquals([empty.code, empty.stdout, empty.stderr], [
    0,
    "Nothing to review in uncommitted changes\n",
    "",
  ]);
});

Deno.test("review prints what it found before a limit, a failure or a signal ended it", async () => {
  await using server = startModelServer([], { fallback: reviewer(), ...LOOSE });
  await using world = await repository(mockConfig(server.url, "[agents]\nmax_parallel = 1\n", PRICE));
  const large = Array.from({ length: 1500 }, (_, at) => `export const b${at} = ${at};\n`).join("");
  await world.write("zz.js", large);
  const limited = await world.run(["review", "--max-cost", "0.02", "--fail-on", "P1"]);
  assertEquals(limited.code, 4, limited.stderr);
  assertStringIncludes(limited.stdout, FINDING.title);
  assertMatch(limited.stdout, /cost limit/);
  const refused = startModelServer([], {
    fallback: { status: 400, body: { error: { message: "No such model" } } },
    ...LOOSE,
  });
  await using _ = refused;
  await Deno.writeTextFile(`${world.home}/config.toml`, mockConfig(refused.url));
  const failed = await world.run(["review", "--format", "json", "--fail-on", "P3"]);
  assertEquals(failed.code, 5, failed.stderr);
  assertStringIncludes(JSON.parse(failed.stdout).incomplete, "No such model");
});

Deno.test("review that a signal stops prints the result, and a reader that goes away ends it", async () => {
  const held = Promise.withResolvers<void>();
  await using server = startModelServer([], {
    fallback: { before: held.promise, text: '{"findings": []}' },
    ...LOOSE,
  });
  await using world = await repository(mockConfig(server.url));
  const child = await world.spawn(["review", "--format", "json"]);
  await server.received(1);
  child.kill("SIGINT");
  const stopped = await finished(child);
  assertEquals(stopped.code, 130, stopped.stderr);
  assertStringIncludes(JSON.parse(stopped.stdout).incomplete, "interrupted");
  const unread = await world.spawn(["review", "--format", "json"]);
  await server.received(2);
  await unread.stdout.cancel();
  held.resolve();
  const [{ code }, stderr] = await Promise.all([unread.status, new Response(unread.stderr).text()]);
  assertEquals(code, 130, stderr);
  assertMatch(stderr, /^error: The reader of standard output went away$/m);
});

Deno.test("/review is the same in a run, in a chat of plain lines and in an editor", async () => {
  await using server = startModelServer([], { fallback: reviewer(), ...LOOSE });
  await using world = await repository(mockConfig(server.url, "", PRICE));
  const run = await world.run(["run", "/review --uncommitted the loop"]);
  assertEquals(run.code, 0, run.stderr);
  assertMatch(run.stdout, /1\. \*\*P1\*\* `sum\.js:3` The last number is left out/);
  // A review has the cost limit of a turn, whatever the turn before has cost.
  server.push({ text: "Hello", usage: { input: 900, output: 200 } });
  const lines = "hello\n/review\nfix 1\n/review --force\n";
  const chat = await world.run(["chat", "--max-cost", "1"], { stdin: lines });
  assertMatch(chat.stdout, /1\. \*\*P1\*\* `sum\.js:3` The last number is left out/);
  assertStringIncludes(server.requests.at(-1)?.body ?? "", "1. P1 sum.js:3");
  assertStringIncludes(chat.stderr, "Cannot review with --force: there is no such option");
  assertEquals(chat.code, 2);
  const acp = await startAcp(world);
  const id = await acp.newSession();
  assertEquals(await acp.prompt(id, "/review"), "end_turn");
  assertMatch(JSON.stringify(acp.updates(id)), /`sum\.js:3` The last number is left out/);
  assertEquals((await acp.end()).code, 0);
});

Deno.test("review names what is wrong with a command line or a directory, and asks no model", async () => {
  await using server = startModelServer([]);
  await using world = await repository(mockConfig(server.url));
  const cases: readonly (readonly [string, number, string])[] = [
    ["--base main --commit HEAD", 2, "Cannot review --base and --commit together"],
    ["--uncommitted --pr 3", 2, "Cannot review --uncommitted and --pr together"],
    ["--head main", 2, "Cannot use --head without --base or --pr"],
    ["--base=", 2, 'Cannot use "" for --base'],
    ["--pr 0", 2, 'Cannot review the pull request "0"'],
    ["--pr main", 2, 'Cannot review the pull request "main"'],
    ["--publish none.json", 2, "Cannot publish none.json: no pull request is named"],
    ["--publish none.json --pr 3 --base main", 2, "Cannot use --base together with --publish"],
    ["--publish none.json --pr 3 why", 2, 'Cannot use "why" together with --publish'],
    ["--publish sum.js --pr 3", 2, "Cannot publish sum.js: it is no report"],
    ["--format xml", 2, "sarif"],
    ["--fail-on P9", 2, "P3"],
    ["--max-cost 0", 2, 'Cannot use "0" for --max-cost'],
    ["--time-limit soon", 2, 'Cannot use "soon" for --time-limit'],
    ["--incrmental", 2, "--incremental"],
    ["--dir /nonexistent", 2, "/nonexistent"],
    ["--model nothing", 6, "nothing"],
  ];
  for (const [line, code, text] of cases) {
    const done = await world.run(["review", ...line.split(" ")]);
    assertEquals([done.code, done.stdout], [code, ""], `${line}\n${done.stderr}`);
    assertStringIncludes(done.stderr, "error: ");
    assertStringIncludes(done.stderr, text, line);
  }
  await Deno.remove(`${world.dir}/.git`, { recursive: true });
  const outside = await world.run(["review"]);
  assertEquals([outside.code, outside.stdout], [1, ""], outside.stderr);
  assertStringIncludes(outside.stderr, "git repository");
  assertEquals(server.requests.length, 0);
});

Deno.test("the lines of docs/review.md are executed", async () => {
  await using server = startModelServer([], { fallback: reviewer([]), ...LOOSE });
  await using world = await repository(mockConfig(server.url, "", PRICE));
  await git(world, "checkout", "-q", "-b", "topic");
  await git(world, "commit", "-q", "-a", "-m", "two");
  await world.write("other.js", "export const a = 2;\n");
  await git(world, "commit", "-q", "-a", "-m", "three");
  const directory = (await world.shim("reasonix")).replace(/\/[^/]*$/, "");
  const lines = (await shellLines("docs/review.md")).filter((line) => !/--pr |--publish |\$|…/.test(line));
  assert(lines.length >= 6, lines.join("\n"));
  for (const line of lines) {
    const { code, stderr } = await new Deno.Command("/bin/sh", {
      args: ["-c", line],
      cwd: world.dir,
      env: { PATH: `${directory}:${Deno.env.get("PATH")}`, HOME: world.home, ...denoDir() },
      stdin: "null",
    }).output();
    assertEquals(code, 0, `${line}\n${new TextDecoder().decode(stderr)}`);
  }
  assertEquals(JSON.parse(await world.read("review.json")).findings, []);
});
