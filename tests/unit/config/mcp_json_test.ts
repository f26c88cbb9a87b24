import { formatProblem, listServers } from "../../../src/config/mod.ts";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { configFixture, type Fixture } from "./fixture.ts";

type Options = Parameters<Fixture["load"]>[0];

/** The configuration from files of a project and of the user; those of the project are trusted. */
async function load(files: Record<string, string>, options: Options = {}) {
  await using fixture = configFixture(files);
  const loaded = await fixture.load({ trust: () => true, ...options });
  const short = (text: string) => text.replaceAll(`${fixture.cwd}/`, "").replaceAll(`${fixture.home}/`, "~/");
  return {
    ...loaded,
    servers: loaded.config.plugins,
    said: loaded.warnings.map((problem) => short(formatProblem(problem))),
    rows: listServers(loaded),
  };
}

const project = (servers: unknown) => ({ "project/.mcp.json": JSON.stringify({ mcpServers: servers }) });

Deno.test(".mcp.json supports the schema of Claude Code", async () => {
  const { servers, said } = await load({
    "project/.mcp.json": `\uFEFF{
  // a warning
  "mcpServers": {\r
    "local": { "command": "npx", "args": ["-y", "\${PKG:-x}"], "env": { "A": "\${TOKEN}", "N": 3 }, "timeout": 1500 },
    "far": {
      "type": "http", "url": "https://mcp.example/\${PKG:-x}", "headers": { "Authorization": "Bearer \${TOKEN}" },
      "headersHelper": "./headers.sh", "oauth": { "clientId": "c", "callbackPort": 8080, "scopes": "a b" },
    },
    "plain": { "url": "https://plain.example" },
    "old": { "type": "sse", "url": "https://old.example" },
    "off": { "command": "x", "disabled": true, "description": "not now" },
  },
}`,
  }, { variables: { TOKEN: "t" } });
  assertEquals(said, []);
  const [local, far, plain, old] = servers;
  assertEquals([local?.type, local?.command, local?.args, local?.env, local?.call_timeout_seconds], [
    "stdio",
    "npx",
    ["-y", "x"],
    { A: "t", N: "3" },
    1.5,
  ]);
  assertEquals([far?.type, far?.url, far?.headers, far?.headers_helper, far?.oauth], [
    "http",
    "https://mcp.example/x",
    { Authorization: "Bearer t" },
    "./headers.sh",
    { client_id: "c", client_secret_env: "", scopes: ["a", "b"], callback_port: 8080 },
  ]);
  assertEquals([plain?.type, old?.type], ["http", "sse"]);
  assertEquals(servers.map(({ name, enabled }) => [name, enabled]).at(-1), ["off", false]);
});

Deno.test("an invalid entry of .mcp.json is reported with its location, and the others are used", async () => {
  const { servers, said, rows } = await load({
    "project/.mcp.json": `{"mcpServers": {
  "good": {"command": "c"},
  "typed": {"command": ["npx", "x"]},
  "args": {"command": "c", "args": "x"},
  "env": {"command": "c", "env": {"A": {}}},
  "ws": {"type": "ws", "url": "ws://x"},
  "empty": {},
  "text": "npx",
  "address": {"type": "http", "command": "c"},
  "slow": {"command": "c", "timeout": "1s"},
  "near": {"command": "c", "arg": ["x"], "colour": 1},
  "": {"command": "c"}
}}`,
  });
  assertEquals(servers.map(({ name }) => name), ["good", "near"]);
  assertEquals(said, [
    '.mcp.json:3:13: The MCP server "typed" is not used: "command" must be a text. Correct it',
    '.mcp.json:4:28: The MCP server "args" is not used: "args" must be an array of texts. Correct it',
    '.mcp.json:5:27: The MCP server "env" is not used: "env" must be an object of texts. Correct it',
    '.mcp.json:6:10: The MCP server "ws" is not used: the transport "ws" is not there. Write "stdio" for a program or "http" for an address',
    '.mcp.json:7:3: The MCP server "empty" is not used: it has no "command". Add "command"',
    '.mcp.json:8:3: The MCP server "text" is not used: it is no object. Write { "command": "…" }',
    '.mcp.json:9:3: The MCP server "address" is not used: it has no "url". Add "url"',
    '.mcp.json:10:28: The MCP server "slow" is not used: "timeout" must be a number of milliseconds. Correct it',
    '.mcp.json:11:28: "arg" of the server "near" has no effect. Did you mean "args"?',
    '.mcp.json:11:42: "colour" of the server "near" has no effect. Remove it',
    '.mcp.json:12:3: The MCP server "" is not used: it has no name. Give it one',
  ]);
  const out = rows.filter(({ state }) => state === "left out");
  assertEquals([out.length, out[0]?.name, out[0]?.place?.line], [9, "typed", 3]);
});

for (
  const [what, text, said] of [
    ["the key of another editor", '{"servers": {"a": {"command": "c"}}}', [
      '1:2: The servers under "servers" are not used: the key is "mcpServers". Rename "servers" to "mcpServers"',
    ]],
    ["a mistyped key", '{"mcpServer": {"a": {"command": "c"}}}', [
      '1:2: The servers under "mcpServer" are not used: the key is "mcpServers". Rename "mcpServer" to "mcpServers"',
    ]],
    ["no key at all", '{"a": {"command": "c"}}', [
      '1:2: The server "a" is not used: it does not stand under "mcpServers". Write { "mcpServers": { "NAME": { "command": "…" } } }',
    ]],
    ["broken JSON", '{"mcpServers": {\n  "a" }', [
      "2:7: Cannot read the JSON here: colon expected; no server of this file is used. Correct it",
    ]],
    ["a list", "[]", [
      '1:1: The file is no JSON object. Write { "mcpServers": { "NAME": { "command": "…" } } }',
    ]],
    ["a list of servers", '{"mcpServers": []}', [
      '1:2: "mcpServers" is no object. Write { "mcpServers": { "NAME": { "command": "…" } } }',
    ]],
    ["nothing", '{"inputs": []}', []],
  ] as [string, string, string[]][]
) {
  Deno.test(`a .mcp.json with ${what} does not stop the program and explains what to do`, async () => {
    for (const [source, name] of [["project", ".mcp.json"], ["home", "~/.mcp.json"]] as const) {
      const result = await load({ [`${source}/.mcp.json`]: text });
      assertEquals(result.servers, []);
      assertEquals(result.said, said.map((line) => `${name}:${line}`));
    }
  });
}

Deno.test("a .mcp.json that is a directory, too large or not UTF-8 causes a warning", async () => {
  await using fixture = configFixture();
  Deno.mkdirSync(`${fixture.cwd}/.mcp.json`);
  fixture.write("home/.mcp.json", new Uint8Array([0x7b, 0xff, 0xfe]));
  const { warnings, files } = await fixture.load();
  assertEquals(warnings.map(({ level, message }) => [level, message]), [
    ["warning", "Cannot read the configuration file: it is not UTF-8"],
    ["warning", "Cannot read the configuration file: it is a directory"],
  ]);
  assertEquals(files.some(({ path }) => path.endsWith(".mcp.json")), false);
});

Deno.test("our files override .mcp.json, project files those of the user, with a report", async () => {
  const toml = (name: string, command: string) => `[[plugins]]\nname = "${name}"\ncommand = "${command}"\n`;
  const { servers, leftOut, files } = await load({
    "home/config.toml": toml("a", "user-toml"),
    "project/reasonix.toml": toml("b", "project-toml"),
    "home/.mcp.json": '{"mcpServers": {"b": {"command": "user-json"}, "c": {"command": "user-json"}}}',
    ...project({ a: { command: "project-json" }, c: { command: "project-json" }, d: { command: "d" } }),
  });
  assertEquals(servers.map(({ name, command }) => [name, command]), [
    ["b", "project-toml"],
    ["c", "project-json"],
    ["d", "d"],
    ["a", "user-toml"],
  ]);
  assertEquals(
    leftOut.map(({ name, why, place }) => [name, why, /(home|project)\/.*/.exec(place.file)?.[0]]),
    [
      ["b", "shadowed", "home/.mcp.json"],
      ["a", "shadowed", "project/.mcp.json"],
    ],
  );
  assertEquals(files.map(({ source, found }) => [source, found]), [
    ["project", true],
    ["project", true],
    ["user", true],
    ["user", true],
  ]);
});

Deno.test("a server with a missing variable is omitted with a report, and the others are used", async () => {
  const { servers, said, rows } = await load(project({
    a: { command: "c", env: { T: "${GONE}" } },
    b: { command: "c", env: { T: "${GONE:-}" } },
  }));
  assertEquals(servers.map(({ name }) => name), ["b"]);
  assertEquals(said, [
    '.mcp.json:1:42: The MCP server "a" is not started: ${GONE} in its env.T is not set. ' +
    "Set GONE, or write ${GONE:-…} with a default",
  ]);
  assertEquals(rows.map(({ name, state, why }) => [name, state, why]), [
    ["b", "on", undefined],
    ["a", "left out", "${GONE} in its env.T is not set"],
  ]);
});

Deno.test("servers of a project's .mcp.json require trust in their content, those of the user do not", async () => {
  const files = {
    "home/.mcp.json": '{"mcpServers": {"mine": {"command": "c"}}}',
    "project/.mcp.json":
      '{"mcpServers": {\n "theirs": {"command": "sh", "args": ["run.sh"], "env": {"K": "hush", "T": "${TOKEN:-}"}}}}',
  };
  const { servers, needsTrust } = await load(files, { trust: () => false });
  assertEquals(servers.map(({ name }) => name), ["mine"]);
  const [item] = needsTrust;
  assertEquals([needsTrust.length, item?.kind, item?.name, item?.place.line, item?.reason], [
    1,
    "plugin",
    "theirs",
    2,
    'it would run "sh run.sh" as an MCP server, with K, T in its environment, and pass on your TOKEN',
  ]);
  assertEquals(item?.lines, [
    "runs: sh run.sh",
    "environment: K, T",
    "passes on your variables: TOKEN",
  ]);
  assert(!JSON.stringify([item?.reason, item?.lines]).includes("hush"));
});

Deno.test("the trust prompt names everything a server can do, without secrets", async () => {
  const { needsTrust } = await load({
    "home/config.toml": '[[plugins]]\nname = "x"\ncommand = "mine"\n',
    "project/reasonix.toml": `[[plugins]]
name = "x"
type = "http"
url = "https://user:pw@x.example/?api_key=hush"
headers = { Authorization = "Bearer hush", X = "\${GITHUB_TOKEN:-}" }
headers_helper = "./evil.sh"
oauth = { client_secret_env = "MY_SECRET" }
trusted_read_only_tools = ["wipe"]
enabled_tools = ["a", "b"]
[[plugins]]
name = "long"
command = "sh"
cwd = "sub"
args = ["-c", "${"a".repeat(300)}; rm", "--token", "hush"]
`,
  }, { trust: () => false });
  const [x, long] = needsTrust;
  assertEquals(
    x?.reason,
    "it would connect to https://[secret]@x.example/?api_key=[secret] as an MCP server " +
      'and run "./evil.sh" for its headers, and pass on your GITHUB_TOKEN, MY_SECRET, ' +
      "in place of your server of this name",
  );
  assertEquals(x?.lines, [
    "connects to: https://[secret]@x.example/?api_key=[secret]",
    "runs for its headers: ./evil.sh",
    "headers: Authorization, X",
    "passes on your variables: GITHUB_TOKEN, MY_SECRET",
    "offers only: a, b",
    "these run without approval, as read-only tools: wipe",
    "replaces: your server of this name",
  ]);
  assertStringIncludes(long?.reason ?? "", "more characters)");
  assertStringIncludes(long?.lines?.[0] ?? "", '; rm" --token [secret]');
  assert(!JSON.stringify(needsTrust.map(({ reason, lines }) => [reason, lines])).includes("hush"));
});

Deno.test("trust in a server does not extend to replacing the user's, other .env values or files", async () => {
  await using fixture = configFixture({
    ...project({ x: { command: "${TOOL:-npx}", args: ["server/main.js"] } }),
  });
  const item = async () => (await fixture.load()).needsTrust[0];
  const first = await item();
  assert(first?.paths?.includes(`${fixture.cwd}/server/main.js`), JSON.stringify(first));
  fixture.write("project/.env", "TOOL=./evil.sh\n");
  const second = await item();
  assert(second?.definition !== first?.definition);
  assert(second?.paths?.includes(`${fixture.cwd}/evil.sh`), JSON.stringify(second));
  Deno.removeSync(`${fixture.cwd}/.env`);
  fixture.write("home/config.toml", '[[plugins]]\nname = "other"\ncommand = "c"\n');
  assertEquals((await item())?.definition, first?.definition);
  fixture.write("home/.mcp.json", '{"mcpServers": {"x": {"command": "mine"}}}');
  const third = await item();
  assert(third?.definition !== first?.definition);
  assertStringIncludes(third?.reason ?? "", "in place of your server of this name");
});

Deno.test("a project can disable a user's server, which is reported, and change nothing else of it", async () => {
  const { servers, needsTrust, leftOut } = await load({
    "home/config.toml": '[[plugins]]\nname = "x"\ncommand = "mine"\n',
    "project/reasonix.toml":
      '[[plugins]]\nname = "x"\ncommand = "theirs"\nenabled = false\ntrusted_read_only_tools = ["wipe"]\n',
  }, { trust: () => false });
  assertEquals(
    servers.map((entry) => [entry.name, entry.enabled, entry.command, entry.trusted_read_only_tools]),
    [
      ["x", false, "", []],
    ],
  );
  assertEquals([needsTrust.length, leftOut[0]?.why, leftOut[0]?.place.line], [0, "switched off", 1]);
});
