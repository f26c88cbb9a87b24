/** Connections to a provider: certificates, proxies, keys from a command, headers. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import { type RecordedRequest, startModelServer, type Turn } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";
import { isRunning } from "../support/processes.ts";
import { startProxy } from "../support/proxy.ts";
import { SELF_SIGNED } from "../support/self_signed.ts";

const ANSWER =
  'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
const check = { prefix: false };

Deno.test("run trusts the authority of ca_file and reports the location of the setting if the file is missing", async () => {
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, ...SELF_SIGNED, onListen() {} },
    () => new Response(ANSWER, { headers: { "content-type": "text/event-stream" } }),
  );
  const url = `https://localhost:${server.addr.port}/v1`;
  await using world = await makeWorld(mockConfig(url, "", 'ca_file = "certs/ca.pem"\n'));
  const missing = await world.run(["run", "hello"]);
  assertEquals(missing.code, 6);
  assertMatch(
    missing.stderr,
    /config\.toml:10:1: .*Cannot use ca_file ".*\/home\/certs\/ca\.pem" of provider "mock": there is no such file/,
  );
  assertStringIncludes(missing.stderr, "correct the path, or remove the setting");
  await Deno.mkdir(`${world.home}/certs`);
  await Deno.writeTextFile(`${world.home}/certs/ca.pem`, SELF_SIGNED.cert);
  const { code, stdout, stderr } = await world.run(["run", "hello"]);
  assertEquals([code, stdout.trim()], [0, "Hi"], stderr);
});

Deno.test("run connects to a local server without the environment's proxy, and with its own", async () => {
  await using server = startModelServer([], { fallback: { text: "Hi" }, check });
  await using proxy = startProxy("me:s3cret-word");
  const env = { HTTP_PROXY: `http://127.0.0.1:${proxy.port}`, all_proxy: `http://127.0.0.1:${proxy.port}` };
  await using world = await makeWorld(mockConfig(server.url));
  const direct = await world.run(["run", "hello"], { env });
  assertEquals([direct.code, direct.stdout.trim(), proxy.asked], [0, "Hi", []], direct.stderr);

  const line = 'proxy = "http://me:${PROXY_PASSWORD}@127.0.0.1:' + proxy.port + '"\n';
  await using other = await makeWorld(mockConfig(server.url, "", line));
  const own = await other.run(["run", "hello"], { env: { PROXY_PASSWORD: "s3cret-word" } });
  assertEquals([own.code, own.stdout.trim(), proxy.asked.length > 0], [0, "Hi", true], own.stderr);
  const wrong = await other.run(["run", "hello"], { env: { PROXY_PASSWORD: "wr0ng-word" } });
  assertEquals(wrong.code, 5);
  assertStringIncludes(wrong.stderr, "status 407");
  for (
    const args of [["config", "list"], ["doctor"], ["doctor", "--json"], [
      "config",
      "get",
      "providers.mock.proxy",
    ]]
  ) {
    const shown = await other.run(args, { env: { PROXY_PASSWORD: "s3cret-word" } });
    assert(!/s3cret-word|wr0ng-word/.test(shown.stdout + shown.stderr + wrong.stderr), shown.stdout);
  }
});

Deno.test("run gets its key from a command and runs it again after the key is refused", async () => {
  const good = "token-fresh-12345";
  const answers = (request: RecordedRequest): Turn =>
    request.headers.get("authorization") === `Bearer ${good}`
      ? { text: "Hi" }
      : { status: 401, body: { error: { message: "expired" } } };
  await using server = startModelServer([], { fallback: answers, check });
  const printer =
    '[ -e "$REASONIX_HOME/used" ] && echo token-fresh-12345 || { touch "$REASONIX_HOME/used"; echo token-stale-1234; }';
  await using world = await makeWorld(mockConfig(server.url, "", `api_key_command = '${printer}'\n`));
  const { code, stdout, stderr } = await world.run(["run", "--output-format", "jsonl", "hello"]);
  assertEquals(code, 0, stderr);
  const events = stdout.trim().split("\n").map((line) => JSON.parse(line));
  const retry = events.find(({ type }) => type === "message.retry");
  assertStringIncludes(retry?.reason ?? "", "api_key_command printed another one");
  assertEquals([retry?.wait_ms ?? retry?.waitMs, retry?.discarded], [0, false]);
  assert(!/token-(?:fresh|stale)/.test(stdout + stderr), stdout);
  const doctor = await world.run(["doctor"]);
  assertStringIncludes(doctor.stdout, "from api_key_command");
});

Deno.test("run names the command and its exit code when it prints no key", async () => {
  await using world = await makeWorld(
    mockConfig(
      "http://127.0.0.1:9/v1",
      "",
      `api_key_command = ["sh", "-c", "echo half-a-key-123; exit 7"]\n`,
    ),
  );
  const { code, stderr } = await world.run(["run", "hello"]);
  assertEquals(code, 5);
  assertStringIncludes(stderr, 'No API key for provider "mock": api_key_command (sh -c ');
  assertStringIncludes(stderr, "ended with exit code 7; run it in a terminal to see its output");
});

Deno.test("a run that ends leaves no key command of a look-up behind", async () => {
  const posted = Promise.withResolvers<void>();
  const renewing = Promise.withResolvers<void>();
  // The list of models refuses the key once the task has it; the answer waits until the command runs again.
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    await request.body?.cancel();
    if (pathname === "/renewing") renewing.resolve();
    else if (request.method === "POST") {
      posted.resolve();
      await renewing.promise;
      return new Response(ANSWER, { headers: { "content-type": "text/event-stream" } });
    } else await posted.promise;
    return new Response("refused", { status: 401 });
  });
  const { port } = server.addr;
  const again = `echo $$ > "$REASONIX_HOME/pid"; exec 3<>/dev/tcp/127.0.0.1/${port}; ` +
    'printf "GET /renewing HTTP/1.0\r\n\r\n" >&3; sleep 600; true';
  const printer = `if [ -e "$REASONIX_HOME/used" ]; then ${again}; fi; ` +
    'touch "$REASONIX_HOME/used"; echo token-once-12345';
  await using world = await makeWorld(
    mockConfig(
      `http://127.0.0.1:${port}/v1`,
      "",
      `api_key_command = ["bash", "-c", ${JSON.stringify(printer)}]\n`,
    ),
  );
  const { code, stdout, stderr } = await world.run(["run", "hello"]);
  const pid = Number(await Deno.readTextFile(`${world.home}/pid`));
  assertEquals([code, stdout.trim(), isRunning(pid)], [0, "Hi", false], stderr);
});

Deno.test("a project cannot run a key command before trust", async () => {
  await using server = startModelServer([], { fallback: { text: "Hi" }, check });
  await using world = await makeWorld(mockConfig(server.url));
  await world.write(
    "reasonix.toml",
    `[[providers]]\nname = "mock"\nbase_url = "${server.url}"\nmodel = "mock-1"\napi_key_command = "touch ran; echo a-key-1234"\n`,
  );
  const blocked = await world.run(["run", "hello"]);
  assertEquals([blocked.code, server.requests.length], [3, 0], blocked.stderr);
  assertStringIncludes(blocked.stderr, 'it would run "touch ran; echo a-key-1234" for the key of');
  const trusted = await world.run(["run", "--trust-project", "hello"]);
  assertEquals([trusted.code, trusted.stdout.trim()], [0, "Hi"], trusted.stderr);
  assertEquals(server.requests[0]?.headers.get("authorization"), "Bearer a-key-1234");
});

Deno.test("run sends headers with variables and reports the location of an unset variable", async () => {
  await using server = startModelServer([], { fallback: { text: "Hi" }, check });
  const line = 'headers = { X-Team = "${TEAM_NAME}", X-Site = "${SITE:-home}" }\n';
  await using world = await makeWorld(mockConfig(server.url, "", line));
  const unset = await world.run(["run", "hello"]);
  assertEquals([unset.code, server.requests.length], [6, 0]);
  assertMatch(
    unset.stderr,
    /config\.toml:10:\d+: .*\$\{TEAM_NAME\} in providers\[0\]\.headers\.X-Team is not set/,
  );
  const { code, stderr } = await world.run(["run", "hello"], { env: { TEAM_NAME: "blue" } });
  assertEquals(code, 0, stderr);
  const { headers } = server.requests[0] ?? { headers: new Headers() };
  assertEquals([headers.get("x-team"), headers.get("x-site")], ["blue", "home"]);
});

for (const value of ["7", "[]", '["echo", 1]']) {
  Deno.test(`config refuses api_key_command = ${value}`, async () => {
    await using world = await makeWorld(
      mockConfig("http://127.0.0.1:9/v1", "", `api_key_command = ${value}\n`),
    );
    const { code, stderr } = await world.run(["run", "hello"]);
    assertEquals(code, 6);
    assertMatch(stderr, /config\.toml:10:\d+: .*providers\[0\]\.api_key_command: a line of the shell/);
  });
}
