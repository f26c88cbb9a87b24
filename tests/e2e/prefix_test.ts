import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { type RecordedRequest, startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig, type World } from "../support/program.ts";
import { assertEquals } from "../support/assert.ts";

/** Runs git in a workspace. */
async function git(cwd: string, ...args: string[]): Promise<void> {
  await new Deno.Command("git", {
    args: ["-c", "user.name=t", "-c", "user.email=t@example.invalid", ...args],
    cwd,
    stdout: "null",
    stderr: "null",
  }).output();
}

Deno.test("each of 200 requests is a byte-prefix extension of the one before", async () => {
  const steps = Array.from({ length: 200 }, (_, i) => ({
    calls: [
      i % 3 === 0
        ? { name: "write_file", args: { path: `f${i}.txt`, content: `line ${i}\n` } }
        : i % 3 === 1
        ? { name: "todo_write", args: { todos: [{ content: `step ${i}`, status: "pending" }] } }
        : { name: "read_file", args: { path: `f${i - 2}.txt` } },
    ],
  }));
  await using server = startModelServer([...steps, { text: "done" }]);
  await using world = await makeWorld(mockConfig(server.url));
  assertEquals((await world.run(["run", "go"])).stdout, "done\n");
  assertEquals(server.requests.length, 201);
});

/** A module that moves the clock of the program by whole days before the start. */
async function daysAhead(world: World, days: number): Promise<string> {
  const clock = new URL("../support/replaced_clock.ts", import.meta.url).href;
  const path = `${world.home}/days-${days}.ts`;
  await Deno.writeTextFile(
    path,
    `import { ownClock } from "${clock}";\nownClock().forward(${days * 86_400_000});`,
  );
  return path;
}

const headOf = ({ json }: RecordedRequest) => JSON.stringify(json.tools) + json.messages[0].content;

/** Dates and branches that a request reports, in order. */
const environmentsOf = ({ json }: RecordedRequest): string[] =>
  json.messages.flatMap(({ content }: { content: string }) =>
    /^<environment>[^]*date: (\S+)\n(git.*)\n/.exec(content)?.slice(1).join(" ") ?? []
  );

Deno.test("clock, time zone, git state and environment change no byte of a continued conversation", async () => {
  await using server = startModelServer(Array.from({ length: 7 }, (_, i) => ({ text: `answer ${i}` })));
  await using world = await makeWorld(mockConfig(server.url));
  await git(world.dir, "init", "-q", "-b", "one");
  await world.write("a.txt", "a\n");
  const env = { TZ: "UTC" };
  await world.run(["run", "begin"], { env });
  await git(world.dir, "add", ".");
  await git(world.dir, "commit", "-qm", "x");
  await world.run(["run", "-c", "after a commit"], { env });
  await world.run(["run", "-c", "after a week"], { env, preload: await daysAhead(world, 7) });
  await world.run(["run", "-c", "a week ago"], { env, preload: await daysAhead(world, -7) });
  await git(world.dir, "checkout", "-qb", "two");
  const other = { ZZZ: "1", AAA: "2", LANG: "de_DE.UTF-8", TZ: "Asia/Tokyo" };
  await world.run(["run", "-c", "elsewhere, on another branch"], {
    env: other,
    preload: await daysAhead(world, 30),
  });
  await world.write("AGENTS.md", "New instructions\n");
  await world.run(["run", "-c", "with new instructions"], {
    env: other,
    preload: await daysAhead(world, 30),
  });
  assertEquals(new Set(server.requests.map(headOf)).size, 1);
  assertEquals(server.requests.map((request) => environmentsOf(request).length), [1, 1, 2, 3, 4, 4]);
  const [last] = server.requests.slice(-1);
  const facts = last ? environmentsOf(last) : [];
  assertEquals(new Set(facts).size, 4);
  assertEquals(facts.map((fact) => fact.slice("2026-01-01 ".length)), [
    ...Array.from({ length: 3 }, () => "git branch: one"),
    "git branch: two",
  ]);
});

Deno.test("two runs send the same first bytes for any clock and directory order", async () => {
  await using server = startModelServer([{ text: "a" }, { text: "b" }], { check: { prefix: false } });
  const entry = { name: "mock", kind: "openai", base_url: server.url, model: "mock-1" };
  await using world = await makeWorld();
  const configure = async (config: readonly string[], provider: readonly (readonly [string, string])[]) => {
    const lines = provider.map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`);
    await Deno.writeTextFile(`${world.home}/config.toml`, [...config, "[[providers]]\n", ...lines].join(""));
  };
  const settings = ['default_model = "mock"\n', "instructions_max_bytes = 40000\n"];
  await configure(settings, Object.entries(entry));
  await world.run(["run", "same task"], { env: { A1: "x", B1: "y", TZ: "UTC" } });
  await configure(settings.toReversed(), Object.entries(entry).reverse());
  const preload = await daysAhead(world, 40);
  await world.run(["run", "same task"], { env: { B1: "y", A1: "x", C1: "z", TZ: "Pacific/Apia" }, preload });
  const [one, two] = server.requests.map(({ body }) => body.replace(/date: [\d-]+/g, "date: DAY"));
  assertEquals(one, two);
  assertEquals(new Set(server.requests.flatMap(environmentsOf)).size, 2);
});

Deno.test("another model is a declared reset with its reason in the log", async () => {
  await using server = startModelServer([{ text: "a" }, { text: "b" }]);
  await using world = await makeWorld(
    mockConfig(server.url).replace('model = "mock-1"', 'models = ["mock-1", "mock-2"]'),
  );
  await world.run(["run", "begin"]);
  await world.run(["run", "-c", "--model", "mock-2", "go on"]);
  const [session] = JSON.parse((await world.run(["session", "list", "--json"])).stdout);
  const reasons = (await Deno.readTextFile(session.path)).trimEnd().split("\n").map((line) =>
    JSON.parse(line)
  )
    .filter((event) => event.type === "context.prefix").map((event) => event.reason);
  assertEquals(reasons, ["start", "model"]);
});

const toolNames = ({ json }: RecordedRequest): string[] =>
  json.tools.map(({ function: { name } }: { function: { name: string } }) => name);

/** Tools that a session offers only after their first use is possible. */
const LATE = [
  "job_output",
  "job_kill",
  "jobs",
  "exit_plan_mode",
  "complete_step",
  "update_goal",
  "task_output",
  "task_stop",
];

const prefixReasons = async (world: World) => {
  const [session] = JSON.parse((await world.run(["session", "list", "--json"])).stdout);
  return (await Deno.readTextFile(session.path)).trimEnd().split("\n").map((line) => JSON.parse(line))
    .filter((event) => event.type === "context.prefix").map(({ reason, detail }) => [reason, detail]);
};

Deno.test("tools for jobs, tasks, plans and goals are added at the first job as one reset per session", async () => {
  await using server = startModelServer([
    { calls: [{ name: "bash", args: { command: "sleep 30", run_in_background: true } }] },
    { calls: [{ name: "job_kill", args: { job_id: "job-1" } }] },
    { calls: [{ name: "task", args: { prompt: "count", agent: "explore", background: true } }] },
    { text: "counted" },
    { text: "done" },
    { text: "again" },
    { text: "once more" },
  ], { check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url, '[sandbox]\nbash = "off"'));
  const first = await world.run(["run", "begin", "--permission-mode", "danger-full-access"]);
  assertEquals(first.code, 0, first.stderr);
  await world.run(["run", "-c", "continue"]);
  const own = server.requests.filter(({ json }) => !JSON.stringify(json.messages).includes("# Your part"));
  const [start, ...later] = own.map(toolNames);
  assertEquals(LATE.filter((name) => start?.includes(name)), []);
  for (const names of later) assertEquals(names, [...start ?? [], ...LATE]);
  assertEquals(await prefixReasons(world), [["start", undefined], ["tools", "+8"]]);
});

Deno.test("a run with a plan or a goal has its tools from the first request", async () => {
  for (
    const [args, config] of [
      [["run", "--permission-mode", "plan", "think"], ""],
      [["run", "--goal", "think", "--max-goal-turns", "1"], ""],
      [["run", "think"], '[tools]\nenabled = ["read_file", "update_goal"]\n'],
    ] as const
  ) {
    await using server = startModelServer([{ text: "done" }, { text: "done" }, { text: "done" }]);
    await using world = await makeWorld(mockConfig(server.url, config));
    await world.run(args);
    const [request] = server.requests;
    assertEquals(request && toolNames(request).includes("update_goal"), true, args.join(" "));
    assertEquals(await prefixReasons(world), [["start", undefined]]);
  }
  await using server = startModelServer([{ calls: [{ name: "jobs", args: {} }] }, { text: "done" }]);
  await using world = await makeWorld(mockConfig(server.url));
  await world.run(["run", "look"]);
  const result = server.requests[1]?.json.messages.at(-1);
  assertEquals([result?.role, /[Uu]nknown tool/.test(String(result?.content))], ["tool", false]);
});

Deno.test("the tools of a new session cost at most 2,300 tokens of the vocabulary o200k", async () => {
  await using server = startModelServer([{ text: "ok" }]);
  await using world = await makeWorld(mockConfig(server.url));
  await world.run(["run", "hi"]);
  const tools: readonly { readonly function: unknown }[] = server.requests[0]?.json.tools ?? [];
  // What a server adds to each declaration is about eight tokens.
  const tokens = tools.reduce((sum, tool) => sum + 8 + countTokens(JSON.stringify(tool.function)), 0);
  assertEquals(tokens > 500 && tokens <= 2_300, true, String(tokens));
});
