import { finished, makeWorld, mockConfig, type World } from "../support/program.ts";
import { gone, processesWith } from "../support/processes.ts";
import { startModelServer, textEvent } from "../support/model_server.ts";
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";

const NEVER = new Promise<never>(() => {});

function resultLine(stdout: string): Record<string, unknown> {
  return JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "");
}

Deno.test("exit 1: the model repeats one failing call", async () => {
  const call = { calls: [{ name: "read_file", args: { path: "missing.txt" } }] };
  await using server = startModelServer([], { fallback: call });
  await using world = await makeWorld(mockConfig(server.url));
  const done = await world.run(["run", "--output-format", "json", "go"]);
  assertEquals(done.code, 1);
  assertStringIncludes(String(resultLine(done.stdout).error), "kept failing");
});

Deno.test("exit 2: unknown flags, commands and formats come with a near match", async () => {
  await using world = await makeWorld(mockConfig("http://127.0.0.1:1/v1"));
  for (
    const [args, hint] of [
      [["run", "--modle", "x", "go"], "--model"],
      [["rnu", "go"], "run"],
      [["run", "--output-format", "jsn", "go"], "json"],
      [["run", "--max-steps", "many", "go"], 'error: Cannot use "many" for --max-steps: give a whole number'],
      [["run", "--max-steps", "1.5", "go"], 'Cannot use "1.5" for --max-steps'],
      [["run", "--max-cost", "Infinity", "go"], 'Cannot use "Infinity" for --max-cost'],
      [
        ["run", "--dir", "/nonexistent-directory", "go"],
        "/nonexistent-directory: there is no such directory",
      ],
      [["run", "--dir", "/etc/hostname", "go"], "/etc/hostname: it is not a directory"],
      [
        ["run", "--add-dir", "nonexistent", "go"],
        "nonexistent to the writable directories: there is no such directory",
      ],
      [["run", "--disallowed-tools", "Bash(rm", "go"], 'Cannot read permission rule "Bash(rm"'],
      [["run", "--continue", "--resume", "x", "go"], "--continue together with --resume"],
      [["frobnicate"], 'as a task: reasonix run "frobnicate …"'],
      [["--approval-mode", "maybe"], "use ask, auto or yolo"],
      [["run", "--continue", "go"], "no session"],
      [["run", "--resume", "nothing", "go"], "nothing"],
      [["completion", "tcsh"], "bash"],
    ] as const
  ) {
    const done = await world.run(args);
    assertEquals(done.code, 2, args.join(" "));
    assertStringIncludes(done.stderr, hint);
    assertStringIncludes(done.stderr, "error: ");
    assertEquals(done.stdout, "");
  }
});

Deno.test("reasonix without input prints a hint: exit 6 without a provider, 2 with one", async () => {
  const cases = [["", 6, "reasonix setup"], [mockConfig("http://127.0.0.1:1"), 2, "reasonix run"]] as const;
  for (const [config, code, hint] of cases) {
    await using world = await makeWorld(config);
    const done = await world.run([]);
    assertEquals([done.code, done.stdout], [code, ""]);
    assertStringIncludes(done.stderr, hint);
  }
});

Deno.test("exit 4: a step limit, a time limit and a cost limit", async () => {
  const loop = { calls: [{ name: "ls", args: {} }], usage: { input: 1_000_000 } };
  await using server = startModelServer([], { fallback: loop, check: { prefix: false } });
  const price = "price = { input = 1.0, output = 1.0 }";
  await using world = await makeWorld(mockConfig(server.url, "", price));
  for (const flags of [["--max-steps", "2"], ["--time-limit", "0.3s"], ["--max-cost", "0.5"]]) {
    const done = await world.run(["run", ...flags, "--output-format", "json", "go"]);
    assertEquals([done.code, resultLine(done.stdout).exit_code], [4, 4], flags.join(" "));
  }
});

Deno.test("an interrupted run prints the command that continues it, and the command works", async () => {
  const work = { calls: [{ name: "write_file", args: { path: "a.txt", content: "x\n" } }] };
  const busy = { status: 429, headers: { "retry-after": "999" }, body: { error: { message: "later" } } };
  await using server = startModelServer([work, busy, { text: "Done." }]);
  await using world = await makeWorld(mockConfig(server.url));
  const { code, stderr } = await world.run(["run", "work"]);
  assertEquals(code, 5);
  assertStringIncludes(stderr, "· changed a.txt +1 −0\n");
  const session = /continue with: reasonix run --resume (\S+) "continue"/.exec(stderr)?.[1];
  assert(session, stderr);
  assertEquals((await world.run(["run", "--resume", session, "continue"])).stdout, "Done.\n");
});

Deno.test("exit 5: refusals, faults and an unreachable server, each with its reason", async () => {
  await using server = startModelServer([
    { status: 401, body: { error: { message: "bad key" } } },
    { status: 503, body: "busy" },
    { status: 503, body: "busy" },
    { text: "" },
    { text: "" },
  ]);
  await using world = await makeWorld(mockConfig(server.url));
  for (const expected of ["401", "503", "empty answer"]) {
    const done = await world.run(["run", "--output-format", "jsonl", "go"]);
    assertEquals(done.code, 5, expected);
    assertStringIncludes(String(resultLine(done.stdout).error), expected);
  }
  const gone = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  await using lost = await makeWorld(mockConfig(`http://127.0.0.1:${gone.addr.port}/v1`));
  gone.close();
  const done = await lost.run(["run", "go"]);
  assertEquals(done.code, 5);
  assertStringIncludes(done.stderr, "attempt 2 of 2");
  await using remote = await makeWorld(mockConfig("http://model.test:4711/v1"));
  const proxied = await remote.run(["run", "go"], {
    env: { HTTP_PROXY: `http://127.0.0.1:${gone.addr.port}` },
  });
  assertStringIncludes(proxied.stderr, "HTTP_PROXY is set: put model.test into NO_PROXY");
});

Deno.test("exit 5 names the proxy that may have answered instead of the server, without its password", async () => {
  const proxy = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    () => new Response("no tunnel", { status: 502 }),
  );
  await using world = await makeWorld(
    mockConfig("http://models.invalid:4711/v1").replace("attempts = 2", "attempts = 1"),
  );
  const { code, stderr } = await world.run(["run", "hi"], {
    env: { HTTP_PROXY: `http://user:pass4711@127.0.0.1:${proxy.addr.port}` },
  });
  assertEquals(code, 5);
  assertStringIncludes(stderr, "no tunnel; HTTP_PROXY is set: put models.invalid into NO_PROXY");
  assert(!stderr.includes("pass4711"), stderr);
  await proxy.shutdown();
});

Deno.test("exit 6: broken configuration, unknown model and missing key, before any request", async () => {
  await using server = startModelServer([]);
  const broken: [string, string][] = [
    ["default_model = [1]\n[permissions]\nmode = 5\n", "config.toml:1:17"],
    ["x = \n", "config.toml:1:"],
    [
      mockConfig(server.url).replace('default_model = "mock"', 'default_model = "mokc"'),
      "config.toml:1:1: Unknown model",
    ],
    ['[[providers]]\nname = "p"\nkind = "opnai"\nmodel = "m"\n', "config.toml:1:1: Provider"],
    ['[[providers]]\nname = "p"\nbase_url = "example.com"\nmodel = "m"\n', "config.toml:1:1: Provider"],
    ['default_model = "p"\n[[providers]]\nname = "p"\n', "config.toml:2:1: Provider"],
    [mockConfig("https://example.invalid/v1", "", 'api_key_env = "NOBODY_SET_THIS"'), "NOBODY_SET_THIS"],
  ];
  for (const [config, hint] of broken) {
    await using world = await makeWorld(config);
    const done = await world.run(["run", "--output-format", "json", "go"]);
    assertEquals(done.code, 6, config);
    assertStringIncludes(done.stdout, hint);
    assertEquals(resultLine(done.stdout).exit_code, 6);
    const text = await world.run(["run", "go"]);
    assertStringIncludes(text.stderr, hint);
  }
  assertEquals(server.requests.length, 0);
});

/** Starts a run whose model says something and then hangs; resolves once that has been printed. */
async function hangingRun(world: World, format: string): Promise<Deno.ChildProcess> {
  const child = await world.spawn(["run", "--output-format", format, "go"]);
  return child;
}

/** Milliseconds since 1970 at which the program recorded the end of the only turn. */
async function endOfTurn(world: World): Promise<number> {
  const [{ path }] = JSON.parse((await world.run(["session", "list", "--json"])).stdout);
  const lines = (await Deno.readTextFile(path)).trim().split("\n").map((line) => JSON.parse(line));
  return Date.parse(lines.find(({ type }) => type === "turn.end").time);
}

for (
  const [signal, code, subtype] of [["SIGINT", 130, "error_interrupted"], [
    "SIGTERM",
    143,
    "error_terminated",
  ]] as const
) {
  Deno.test(`exit ${code}: ${signal} while streaming stops the turn and prints the result`, async () => {
    await using server = startModelServer([{ stream: [textEvent("partial "), NEVER] }]);
    await using world = await makeWorld(mockConfig(server.url));
    const child = await hangingRun(world, "stream-json");
    await server.received(1);
    await new Promise((resolve) => setTimeout(resolve, 100));
    child.kill(signal);
    const done = await finished(child);
    assertEquals(done.code, code);
    const result = resultLine(done.stdout);
    assertEquals([result.subtype, result.reason], ["error_during_execution", subtype]);
    const sessions = JSON.parse((await world.run(["session", "list", "--json"])).stdout);
    assertStringIncludes(await Deno.readTextFile(sessions[0].path), '"type":"turn.end"');
  });

  Deno.test(`exit ${code}: ${signal} while a command runs ends its whole process group`, async () => {
    const command = "echo started > started; (sleep 600; touch late) & sleep 600; touch late";
    await using server = startModelServer([{ calls: [{ name: "bash", args: { command } }] }]);
    await using world = await makeWorld(mockConfig(server.url));
    const child = await hangingRun(world, "json");
    while (!await Deno.stat(`${world.dir}/started`).then(() => true, () => false)) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const signalled = Date.now();
    child.kill(signal);
    const done = await finished(child);
    assertEquals([done.code, resultLine(done.stdout).subtype], [code, subtype]);
    assertEquals(await gone(() => processesWith(world.dir)), []);
    const ended = await endOfTurn(world);
    // The limit is 200 ms; the rest is for a busy machine.
    assert(ended - signalled <= 1_000, `${ended - signalled} ms from ${signal} to the end of the turn`);
  });
}

Deno.test("a second Ctrl-C ends the program at once", async () => {
  await using server = startModelServer([{ stream: [textEvent("x"), NEVER] }]);
  await using world = await makeWorld(mockConfig(server.url));
  const child = await hangingRun(world, "json");
  await server.received(1);
  child.kill("SIGINT");
  child.kill("SIGINT");
  assertEquals((await finished(child)).code, 130);
});

Deno.test("a killed run loses no shown message and continues", async () => {
  await using server = startModelServer([
    { text: "first words", calls: [{ id: "c1", name: "read_file", args: { path: "a.txt" } }] },
    { stream: [textEvent("never finished"), NEVER] },
    { text: "resumed" },
  ]);
  await using world = await makeWorld(mockConfig(server.url));
  await world.write("a.txt", "content\n");
  const child = await world.spawn(["run", "go"]);
  await server.received(2);
  child.kill("SIGKILL");
  await finished(child);
  const done = await world.run(["run", "-c", "and now?"]);
  assertEquals([done.code, done.stdout], [0, "resumed\n"]);
  const texts = JSON.stringify(server.requests[2]?.json.messages);
  assert(texts.includes("first words") && texts.includes("content") && texts.includes("and now?"));
});

Deno.test("a second process on a session learns its owner and is offered a copy", async () => {
  await using server = startModelServer([{ text: "one" }, { stream: [textEvent("x"), NEVER] }]);
  await using world = await makeWorld(mockConfig(server.url));
  await world.run(["run", "begin"]);
  const child = await world.spawn(["run", "-c", "hold"]);
  await server.received(2);
  const second = await world.run(["run", "-c", "me too"]);
  assert(second.code !== 0);
  assertStringIncludes(second.stderr, String(child.pid));
  assertStringIncludes(second.stderr, "--copy");
  child.kill("SIGKILL");
  await finished(child);
});

Deno.test("a slow reader gets every byte, and a closed pipe ends the run", async () => {
  const text = "0123456789abcdef".repeat(16_384);
  await using server = startModelServer([{ text: text.match(/.{1,4096}/g) ?? [] }, {
    text: text.match(/.{1,4096}/g) ?? [],
  }], {
    check: { prefix: false },
  });
  await using world = await makeWorld(mockConfig(server.url));
  const slow = await world.spawn(["run", "--quiet", "go"]);
  let read = 0;
  for await (const part of slow.stdout) {
    read += part.length;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  assertEquals([read, (await slow.status).code], [text.length + 1, 0]);
  await slow.stderr.cancel();
  const closed = await world.spawn(["run", "--quiet", "go"]);
  const reader = closed.stdout.getReader();
  await reader.read();
  await reader.cancel();
  await closed.stderr.cancel();
  assertEquals((await closed.status).code, 130);
});

Deno.test("an undelivered answer is an error", async () => {
  await using server = startModelServer([], {
    fallback: { text: "y".repeat(300_000) },
    check: { prefix: false },
  });
  await using world = await makeWorld(mockConfig(server.url));
  for (const format of ["json", "stream-json"]) {
    const child = await world.spawn(["run", "--output-format", format, "go"]);
    const reader = child.stdout.getReader();
    await reader.read();
    await reader.cancel();
    const [{ code }, stderr] = await Promise.all([child.status, new Response(child.stderr).text()]);
    assertEquals(code, 130, format);
    assertStringIncludes(stderr, "The reader of standard output went away");
  }
});

Deno.test("exit 2: files that a run cannot write are refused before any request", async () => {
  await using server = startModelServer([]);
  await using world = await makeWorld(mockConfig(server.url));
  for (const flag of ["--metrics", "--record"]) {
    const { code, stderr } = await world.run(["run", flag, `${world.dir}/nowhere/x.json`, "go"]);
    assertEquals(code, 2, flag);
    assertStringIncludes(stderr, "nowhere/x.json");
    assertStringIncludes(stderr, "name a file in an existing, writable directory");
  }
  assertEquals(server.requests.length, 0);
});
