/** `reasonix serve` and `reasonix web` as a user starts them. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig, type RunOptions, type World } from "../support/program.ts";
import { SELF_SIGNED } from "../support/self_signed.ts";

const LIMIT_MS = 60_000;
const POSIX = Deno.build.os !== "windows";

/** A server in a process of the program. */
async function start(world: World, args: readonly string[], options: RunOptions = {}) {
  const child = await world.spawn(args, options);
  const stuck = setTimeout(() => child.kill("SIGKILL"), LIMIT_MS);
  const decoder = new TextDecoder();
  let printed = "";
  let changed = Promise.withResolvers<void>();
  const reading = (async () => {
    for await (const bytes of child.stdout) {
      printed += decoder.decode(bytes, { stream: true });
      changed.resolve();
      changed = Promise.withResolvers();
    }
    changed.resolve();
  })();
  const failed = new Response(child.stderr).text();
  /** Waits for the n-th match of a pattern in what it prints. */
  const prints = async (pattern: RegExp, at = 0): Promise<string> => {
    for (let ended = false;;) {
      const found = [...printed.matchAll(new RegExp(pattern, "g"))][at];
      if (found) return found[1] ?? found[0];
      if (ended) throw new Error(`${pattern} was not printed:\n${printed}\n${await failed}`);
      ended = await Promise.race([changed.promise.then(() => false), reading.then(() => true)]);
    }
  };
  return {
    child,
    prints,
    async end(signal: Deno.Signal) {
      child.kill(signal);
      const { code } = await child.status;
      await reading;
      clearTimeout(stuck);
      return { code, stdout: printed, stderr: await failed };
    },
  };
}

const LINK = /Sign in: (\S+#token=[\w-]{43}\S*)/;

async function signIn(link: string, client?: Deno.HttpClient): Promise<string> {
  const { origin, hash } = new URL(link);
  const response = await fetch(`${origin}/api/v1/sign-in`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token: new URLSearchParams(hash.slice(1)).get("token") }),
    ...(client ? { client } : {}),
  });
  const answer = await response.json();
  assertEquals(response.status, 200, JSON.stringify(answer));
  return answer.secret;
}

Deno.test("serve prints links, runs a turn, survives a kill and stops at a signal; one program has a port", async () => {
  await using model = startModelServer([], {
    fallback: ({ body }) =>
      body.includes("Never end") ? { text: "Still", stuck: "silent" } : { text: "It works." },
  });
  await using world = await makeWorld(mockConfig(model.url));
  await world.write("token", "of-a-script\n");
  const files = ["-port-file", "port", "-pid-file", "pid"];
  const first = await start(world, [
    "serve",
    "-addr",
    "127.0.0.1:0",
    ...files,
    ...["-token-file=token", "-session-events", "-no-open", "-max-steps", "20", "--share"],
  ]);
  const link = await first.prints(LINK);
  const viewer = await first.prints(/Watch: (\S+)/);
  const { origin } = new URL(link);
  assertEquals([await world.read("port"), await world.read("pid")], [
    `${new URL(link).host}\n`,
    `${first.child.pid}\n`,
  ]);
  const secret = await signIn(link);
  assert(await first.prints(LINK, 1) !== link);
  const request = async (path: string, body?: unknown, bearer = secret) => {
    const response = await fetch(`${origin}/api/v1${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${bearer}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  };
  const page = await fetch(origin);
  assertEquals(page.status, 200);
  const [, script = ""] = /<script[^>]+src="([^"]+)"/.exec(await page.text()) ?? [];
  const code = await fetch(new URL(script, origin));
  assertMatch(code.headers.get("content-type") ?? "", /javascript/);
  assert((await code.text()).length > 1000);
  const described = (await request("/server")).body;
  assertEquals([described.role, described.configured, described.directory], ["owner", true, world.dir]);
  assertEquals((await request("/server", undefined, "of-a-script")).body.role, "owner");
  assertEquals((await request("/server", undefined, await signIn(viewer))).body.role, "viewer");

  const { id } = (await request("/sessions", {})).body;
  const stream = await fetch(`${origin}/api/v1/stream?session=${id}@0`, {
    headers: { authorization: `Bearer ${secret}` },
    signal: AbortSignal.timeout(LIMIT_MS),
  });
  const sent = await request(`/sessions/${id}/messages`, { id: "message-1", text: "Say something" });
  assertEquals([sent.status, sent.body.accepted], [202, true]);
  let events = "";
  for await (const piece of (stream.body ?? new Blob().stream()).pipeThrough(new TextDecoderStream())) {
    events += piece;
    if (/"type":"turn.state"[^\n]*"to":"done"/.test(events)) break;
  }
  assertStringIncludes(events, "It works.");

  const port = new URL(origin).port;
  const busy = await world.run(["serve", "--addr", `127.0.0.1:${port}`]);
  assertEquals([busy.code, busy.stdout], [1, ""]);
  assertMatch(busy.stderr, /Cannot listen on 127\.0\.0\.1:\d+: .+ the port[^]*--addr/);

  await first.end("SIGKILL");
  const second = await start(world, ["serve", "--addr", port, "--resume", id.slice(0, -1), ...files]);
  assertStringIncludes(await second.prints(LINK), `&session=${id}`);
  assertEquals((await request("/server")).body.role, "owner");
  const { sessions } = (await request("/sessions")).body;
  assertEquals(sessions.map((session: { id: string }) => session.id), [id]);
  // A message that was accepted, or may have been, is sent again after a kill and counts once.
  const send = (name: string) => request(`/sessions/${id}/messages`, { id: name, text: "Say something" });
  assertEquals((await send("message-1")).body, { accepted: true, repeated: true });
  assertEquals((await send("message-2")).body, { accepted: true });
  await second.end("SIGKILL");
  const third = await start(world, ["serve", "--addr", port, "-session-id=chosen", ...files]);
  assertStringIncludes(await third.prints(LINK), "&session=chosen");
  await Promise.all([send("message-2"), send("message-2"), send("message-1")]);
  const counts = async () => {
    const { events } = (await request(`/sessions/${id}/events`)).body;
    const ids = events.flatMap((event: { type: string; id?: string }) => event.id ?? []);
    return ["message-1", "message-2"].map((name) => ids.filter((each: string) => each === name).length);
  };
  const stateOf = async () => (await request("/sessions?query=Say")).body.sessions[0].state;
  for (const began = Date.now(); await stateOf() === "working";) assert(Date.now() - began < LIMIT_MS);
  assertEquals(await counts(), [1, 1]);
  const before = model.requests.length;
  await request(`/sessions/${id}/messages`, { id: "message-3", text: "Never end" });
  await model.received(before + 1);
  const { code: ended, stdout, stderr } = await third.end("SIGTERM");
  const [project] = [...Deno.readDirSync(`${world.home}/projects`)];
  const path = `${world.home}/projects/${project?.name}/sessions/${id}.jsonl`;
  const log = (await Deno.readTextFile(path)).trimEnd().split("\n");
  assertEquals(JSON.parse(log.at(-1) ?? "").reason, "terminated");
  assertEquals([ended, stderr], [POSIX ? 143 : 1, ""]);
  assertMatch(
    stdout,
    /^Reasonix serves http:\/\/127\.0\.0\.1:\d+\nSign in: \S+\n {2}\(the link signs in one browser.*\nStop with Ctrl-C\n$/,
  );
  if (POSIX) assertEquals([...Deno.readDirSync(world.dir)].map(({ name }) => name), ["token"]);
});

Deno.test("web opens the browser with a link, at the next free port", async () => {
  await using world = await makeWorld();
  const opened = `${world.dir}/opened`;
  await world.write("browser", `#!/bin/sh\necho "$1" > ${opened}.part && mv ${opened}.part ${opened}\n`);
  await Deno.chmod(`${world.dir}/browser`, 0o755);
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const address = `127.0.0.1:${taken.addr.port}`;
  const env = { BROWSER: `${world.dir}/browser` };
  const web = await start(world, ["web", "--addr", address], { env });
  const printed = await web.prints(LINK);
  assert(Number(new URL(printed).port) > taken.addr.port);
  const watcher = Deno.watchFs(world.dir);
  const stuck = setTimeout(() => watcher.close(), LIMIT_MS);
  if (!await exists(opened)) { for await (const _ of watcher) if (await exists(opened)) break; }
  clearTimeout(stuck);
  const link = (await Deno.readTextFile(opened)).trim();
  assert(link !== printed && link.startsWith(new URL(printed).origin));
  const secret = await signIn(link);
  const server = await fetch(`${new URL(link).origin}/api/v1/server`, {
    headers: { authorization: `Bearer ${secret}` },
  });
  // There is no provider: the page offers to set one up.
  assertEquals((await server.json()).configured, false);
  assertEquals((await web.end("SIGINT")).code, 130);
  // Without a browser the link is enough.
  const bare = await start(world, ["web", "--addr", address], { env: { BROWSER: `${world.dir}/none` } });
  await signIn(await bare.prints(LINK));
  assertEquals((await bare.end("SIGTERM")).stderr, "");
});

Deno.test("serve speaks HTTPS, takes a password, and refuses what would be open to the network", async () => {
  await using world = await makeWorld();
  const hash = (await world.run(["serve", "--hash-password"], { stdin: "horse\n" })).stdout.trim();
  await Deno.writeTextFile(
    `${world.home}/config.toml`,
    `[serve]\nauth_mode = "password"\npassword_hash = "${hash}"\n`,
  );
  await world.write("cert.pem", SELF_SIGNED.cert);
  await world.write("key.pem", SELF_SIGNED.key);
  const tls = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];
  const server = await start(world, ["serve", "--addr", "localhost:0", ...tls]);
  const origin = await server.prints(/serves (https:\S+)/);
  using client = Deno.createHttpClient({ caCerts: [SELF_SIGNED.cert] });
  const enter = (password: string) =>
    fetch(`${origin}/api/v1/sign-in`, {
      method: "POST",
      headers: { "content-type": "application/json", origin },
      body: JSON.stringify({ password }),
      client,
    });
  const [wrong, right] = [await enter("donkey"), await enter("horse")];
  assertEquals([wrong.status, (await wrong.json()).error.message], [
    401,
    "Cannot sign in: the password is wrong",
  ]);
  assertEquals([right.status, (await right.json()).role], [200, "owner"]);
  const { stdout } = await server.end("SIGTERM");
  assert(!stdout.includes("token="), stdout);

  const rows: readonly (readonly [code: number, error: RegExp, ...args: string[]])[] = [
    [2, /Cannot serve 0\.0\.0\.0 without sign-in.*\n.*--auth token/, "--auth", "none", "--addr", ":0"],
    [2, /Cannot serve 0\.0\.0\.0 over plain HTTP.*\n.*--tls-cert/, "--addr", "0.0.0.0:0"],
    [2, /Cannot serve HTTPS without --tls-key/, "--tls-cert", "cert.pem"],
    [2, /Cannot read none\.pem of --tls-key/, "--tls-cert", "cert.pem", "--tls-key", "none.pem"],
    [
      1,
      /Cannot listen on 127\.0\.0\.1:0: /,
      "--addr",
      "127.0.0.1:0",
      "--tls-cert",
      "key.pem",
      "--tls-key",
      "key.pem",
    ],
    [2, /Cannot listen on "a b"/, "--addr", "a b"],
    [2, /Cannot listen on "localhost:99999"/, "--addr", "localhost:99999"],
    [2, /Cannot find a session "no-such-session"/, "--resume", "no-such-session"],
  ];
  for (const [code, error, ...args] of rows) {
    const done = await world.run(["serve", ...args]);
    assertMatch(done.stderr, error);
    assertEquals([done.code, done.stdout], [code, ""], done.stderr);
  }
});

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}
