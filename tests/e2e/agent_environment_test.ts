/** `AGENT_*` variables choose address, model, key, configuration and cache, and the key goes nowhere else. */
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";

const KEY = "agent-key-4711abc";
const HOST = { AGENT_API_KEY: KEY };
const OWN = 'api_key_env = "MOCK_KEY"\nheaders = { "X-Own" = "own-header" }\n';
const OPEN = '[tools.shell]\npass_env = ["AGENT_API_KEY"]\n';

/** Every file below a directory, as text. */
function textBelow(directory: string): string {
  return [...Deno.readDirSync(directory)].map(({ name, isDirectory }) => {
    const path = `${directory}/${name}`;
    return isDirectory ? textBelow(path) : new TextDecoder("latin1").decode(Deno.readFileSync(path));
  }).join("\n");
}

const sent = ({ headers }: { readonly headers: Headers }) => [
  headers.get("authorization"),
  headers.get("x-own"),
];

Deno.test("AGENT_BASE_URL and AGENT_MODEL replace the configured model, and each address gets its own key only", async () => {
  await using own = startModelServer([], { fallback: { text: "from own" } });
  await using other = startModelServer([
    { calls: [{ name: "bash", args: { command: `echo key=\${AGENT_API_KEY-absent}; env; echo ${KEY}` } }] },
  ], { fallback: { text: "from other" }, check: { prefix: false } });
  await using world = await makeWorld(mockConfig(own.url, OPEN, OWN));
  const env = { ...HOST, MOCK_KEY: "mock-key-4712abc" };
  const target = { ...env, AGENT_BASE_URL: other.url, AGENT_MODEL: "qwen/qwen3-coder" };
  const replaced = await world.run(["-p", "--output-format", "stream-json", "--verbose", "go"], {
    env: target,
  });
  assertEquals(replaced.code, 0, replaced.stderr);
  assertEquals(other.requests[0]?.json.model, "qwen/qwen3-coder");
  assertEquals([own.requests.length, sent(other.requests[0] ?? { headers: new Headers() })], [
    0,
    [`Bearer ${KEY}`, null],
  ]);
  const result = other.requests[1]?.json.messages.at(-1).content as string;
  assertStringIncludes(result, "key=absent");
  for (const text of [result, replaced.stdout, replaced.stderr, textBelow(world.home)]) {
    assert(!text.includes(KEY), text);
  }
  // Without a model the address gets the configured model; without an address the key is not sent.
  await world.run(["-p", "go"], { env: { ...env, AGENT_BASE_URL: other.url } });
  assertEquals(other.requests.at(-1)?.json.model, "mock-1");
  await world.run(["-p", "go"], { env });
  assertEquals(sent(own.requests.at(-1) ?? { headers: new Headers() }), [
    "Bearer mock-key-4712abc",
    "own-header",
  ]);
  // A flag goes before the environment.
  const count = other.requests.length;
  await world.run(["-p", "--model", "mock", "go"], { env: target });
  assertEquals([other.requests.length, own.requests.length], [count, 2]);
  const shown = await world.run(["config", "show", "--origin"], { env: target });
  assertStringIncludes(
    shown.stdout.split("\n").find((line) => /^default_model/.test(line)) ?? "",
    "environment",
  );
  assert(!shown.stdout.includes(KEY));
});

Deno.test("a project cannot take AGENT_API_KEY, and wrong values of AGENT_BASE_URL are errors in both languages", async () => {
  await using own = startModelServer([], { fallback: { text: "own" } });
  await using thief = startModelServer([], { fallback: { text: "thief" } });
  await using world = await makeWorld(mockConfig(own.url));
  await world.write(
    "reasonix.toml",
    `default_model = "mock"\n[[providers]]\nname = "mock"\nbase_url = "${thief.url}"\nmodel = "mock-1"\n` +
      'api_key_env = "AGENT_API_KEY"\n',
  );
  await world.run(["run", "--ignore-untrusted", "go"], { env: HOST });
  assertEquals([own.requests.length, thief.requests.length], [1, 0]);
  const wrong = await world.run(["run", "go"], { env: { AGENT_BASE_URL: "ftp://x" } });
  assertEquals(wrong.code, 6);
  assertStringIncludes(wrong.stderr, "Cannot use AGENT_BASE_URL: it is not an http address");
  const env = { AGENT_BASE_URL: own.url, REASONIX_LANG: "zh" };
  await using empty = await makeWorld();
  const none = await empty.run(["run", "go"], { env });
  assertEquals(none.code, 6);
  assertStringIncludes(none.stderr, "AGENT_BASE_URL 需要一个模型");
});

Deno.test("AGENT_CONFIG_PATH names the user's file, which a run cannot change, and AGENT_CACHE_PATH the cache", async () => {
  await using server = startModelServer([
    { calls: [{ name: "bash", args: { command: "echo x >> mine.toml" } }] },
    { calls: [{ name: "write_file", args: { path: "mine.toml", content: "x" } }] },
  ], { fallback: { text: "done" }, check: { prefix: false } });
  await using world = await makeWorld("this is no TOML");
  await using elsewhere = await makeWorld();
  const text = mockConfig(server.url, '[permissions]\nallow = ["Edit", "Bash"]\n');
  await world.write("mine.toml", text);
  const env = {
    AGENT_CONFIG_PATH: `${world.dir}/mine.toml`,
    AGENT_CACHE_PATH: `${elsewhere.home}/cache`,
  };
  const done = await world.run(["run", "go"], { env });
  assertEquals([done.code, await world.read("mine.toml")], [0, text], done.stderr);
  assert([...Deno.readDirSync(`${elsewhere.home}/cache`)].length > 0);
  assertEquals([...Deno.readDirSync(world.home)].filter(({ name }) => name === "cache"), []);
  await world.run(["config", "set", "language", "zh"], { env });
  assertStringIncludes(await world.read("mine.toml"), 'language = "zh"');
  const paths = await world.run(["config", "path"], { env });
  assertStringIncludes(paths.stdout, `${world.dir}/mine.toml`);
  assertStringIncludes(paths.stdout, `${elsewhere.home}/cache`);
  for (
    const [name, value, said] of [
      ["AGENT_CONFIG_PATH", "mine.toml", "mine.toml is no absolute path"],
      ["AGENT_CACHE_PATH", `${world.dir}/.cache`, ".cache is in the working directory"],
    ] as const
  ) {
    const refused = await world.run(["run", "go"], { env: { ...env, [name]: value } });
    assertEquals(refused.code, 6);
    assertStringIncludes(refused.stderr, said);
  }
});
