import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig } from "../support/program.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";

Deno.test("permissions check explains segments, rule and source, and exits 3 for a refusal", async () => {
  await using world = await makeWorld('[permissions]\ndeny = ["Bash(git push:*)"]\n');
  const denied = await world.run(["permissions", "check", "cd sub && git  push -f origin main"]);
  assertEquals(denied.code, 3);
  assertStringIncludes(denied.stdout, "Bash(git push:*)");
  assertMatch(denied.stdout, /config\.toml:2:9/);
  const quoted = await world.run(["permissions", "check", "echo 'git push'"]);
  assertEquals(quoted.code, 0);
  const json = JSON.parse(
    (await world.run(["permissions", "check", "--json", "--tool", "write_file", "x.txt"])).stdout,
  );
  assertEquals([json.tool, json.headless], ["write_file", "allow"]);
  assertEquals((await world.run(["permissions", "check", "--tool", "nope", "x"])).code, 2);
});

Deno.test("permissions check --explain prints the result of each pass over a line", async () => {
  await using world = await makeWorld("");
  const { stdout } = await world.run(["permissions", "check", "--explain", "cd sub && rm -r a | wc -l > n"]);
  for (
    const part of [
      /parse:\n\s+AndOr: cd sub/,
      /expand:\n\s+"cd" "sub"; in .*\n\s+"rm" "-r" "a"; in .*sub/,
      /effects:\n[^]*runs rm -r a; writes a; may destroy: it deletes a[^]*runs wc -l; writes n/,
    ]
  ) {
    assertMatch(stdout, part);
  }
  const plain = await world.run(["permissions", "check", "--json", "ls"]);
  assertEquals(Object.hasOwn(JSON.parse(plain.stdout), "passes"), false);
});

Deno.test("a deny or ask rule that cannot be read ends the run before the first request", async () => {
  await using server = startModelServer([], { fallback: { text: "ok" } });
  await using world = await makeWorld(mockConfig(server.url, '[permissions]\nallow = ["Bash(ls"]\n'));
  const warned = await world.run(["run", "go"]);
  assertEquals([warned.code, server.requests.length], [0, 1]);
  assertMatch(warned.stderr, /config\.toml:3:10: .*it allows nothing/);
  for (const list of ["deny", "ask"]) {
    await world.write("reasonix.toml", `[permissions]\n${list} = ["Bash(rm -rf*)", "Bahs(git push:*)"]\n`);
    const refused = await world.run(["run", "go"]);
    assertEquals([refused.code, server.requests.length], [6, 1]);
    assertMatch(refused.stderr, /reasonix\.toml:2:\d+: .*"Bahs"[\s\S]*did you mean Bash\?/);
    assertEquals((await world.run(["permissions", "check", "ls"])).code, 6);
  }
});

Deno.test("dangerous commands of the configuration are refused headless, and a project only adds to them", async () => {
  await using server = startModelServer([
    { calls: [{ name: "bash", args: { command: "touch mine" } }] },
    { calls: [{ name: "bash", args: { command: "mkdir theirs" } }] },
    { calls: [{ name: "bash", args: { command: "mkdir other" } }] },
    { text: "ok" },
  ]);
  await using world = await makeWorld(
    mockConfig(server.url, '[safety]\ndangerous = ["Bash(touch:*)"]\n[permissions]\nallow = ["Bash"]\n'),
  );
  await world.write("reasonix.toml", '[safety]\ndangerous = ["Bash(mkdir theirs)"]\n');
  await world.run(["run", "--permission-mode", "danger-full-access", "go"]);
  assertEquals([...Deno.readDirSync(world.dir)].map(({ name }) => name).sort(), ["other", "reasonix.toml"]);
  assertStringIncludes(JSON.stringify(server.requests.at(-1)?.json.messages), "Bash(touch:*)");
  await world.write("reasonix.toml", '[safety]\ndangerous = ["Edit(x)"]\n');
  const refused = await world.run(["run", "go"], { env: { REASONIX_LANG: "zh" } });
  assertEquals(refused.code, 6);
  assertStringIncludes(refused.stderr, '不能将 "Edit(x)" 用于 safety.dangerous[0]');
});

Deno.test("rm -rf of the home is refused headless in every mode", async () => {
  for (const mode of ["workspace-write", "danger-full-access"]) {
    await using server = startModelServer([
      { calls: [{ name: "bash", args: { command: 'rm -rf "$HOME"' } }] },
      { text: "ok" },
    ]);
    await using world = await makeWorld(mockConfig(server.url, '[sandbox]\nbash = "off"\n'));
    await Deno.writeTextFile(`${world.home}/marker`, "alive");
    await world.run(["run", "--permission-mode", mode, "--allowed-tools", "Bash", "go"], {
      env: { HOME: world.home },
    });
    assertEquals(await Deno.readTextFile(`${world.home}/marker`), "alive");
    assertStringIncludes(server.requests[1]?.json.messages.at(-1).content, "blocked");
  }
});

Deno.test("headless full access runs no dynamic command", async () => {
  await using world = await makeWorld();
  const marker = `${world.home}/marker`;
  await Deno.writeTextFile(marker, "alive");
  const code = btoa(`rm -f '${marker}'`);
  const lines = [`echo ${code} | base64 -d | sh`, `sh < <(echo ${code} | base64 -d)`];
  await using server = startModelServer([
    { calls: lines.map((command) => ({ name: "bash", args: { command } })) },
    { text: "ok" },
  ]);
  await Deno.writeTextFile(`${world.home}/config.toml`, mockConfig(server.url));
  await world.run(["run", "--permission-mode", "danger-full-access", "--allowed-tools", "Bash", "go"]);
  assertEquals(await Deno.readTextFile(marker), "alive");
  assertStringIncludes(server.requests[1]?.json.messages.at(-1).content, "what the line does not show");
});

Deno.test("commands in the jail cannot write outside, read keys or reach the network", async () => {
  const probe =
    "touch ../outside.txt; cat ../home/.env; (exec 3<>/dev/tcp/127.0.0.1/$PORT) && echo CONNECTED; env | grep -c MOCK_KEY; true";
  await using server = startModelServer([{ calls: [{ name: "bash", args: { command: probe } }] }, {
    text: "ok",
  }]);
  await using world = await makeWorld(mockConfig(server.url, "", 'api_key_env = "MOCK_KEY"'));
  await Deno.writeTextFile(`${world.home}/.env`, "MOCK_KEY=secret-value-12345\n");
  await world.run(["run", "go"], { env: { MOCK_KEY: "secret-value-12345", PORT: String(server.port) } });
  const output = server.requests[1]?.json.messages.at(-1).content as string;
  assert(!output.includes("secret-value") && !output.includes("CONNECTED"), output);
  assert(await Deno.stat(`${world.dir}/../outside.txt`).then(() => false, () => true));
});

Deno.test("a project cannot extend the user's permissions", async () => {
  await using server = startModelServer([
    { calls: [{ name: "bash", args: { command: "git push" } }] },
    { text: "ok" },
  ]);
  await using world = await makeWorld(mockConfig(server.url, '[permissions]\ndeny = ["Bash(git push:*)"]\n'));
  await world.write(
    "reasonix.toml",
    '[permissions]\nmode = "allow"\nallow = ["Bash"]\n[sandbox]\nbash = "off"\nallow_write = ["/"]\n',
  );
  const done = await world.run(["run", "go"]);
  assertStringIncludes(done.stderr, "reasonix.toml:3");
  assertStringIncludes(server.requests[1]?.json.messages.at(-1).content, "blocked");
});

Deno.test("project content is refused until it is trusted, and asks again when it changed", async () => {
  await using server = startModelServer([], { fallback: { text: "ok" }, check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url));
  const shell = (name: string) => `[tools.shell]\npath = "${world.dir}/${name}"\n`;
  const pwned = () => Deno.remove(`${world.dir}/pwned`).then(() => true, () => false);
  const useShell = () =>
    server.push({ calls: [{ name: "bash", args: { command: "true" } }] }, { text: "ok" });
  await world.write("evil.sh", "#!/bin/sh\ntouch pwned\n");
  await Deno.chmod(`${world.dir}/evil.sh`, 0o755);
  await world.write("reasonix.toml", shell("evil.sh"));
  const refused = await world.run(["run", "go"]);
  assertEquals([refused.code, server.requests.length], [3, 0]);
  assertStringIncludes(refused.stderr, "evil.sh");
  useShell();
  assertEquals((await world.run(["run", "--ignore-untrusted", "go"])).code, 0);
  assertEquals((await world.run(["trust"])).code, 3);
  assertEquals((await world.run(["trust", "--yes"])).code, 0);
  assertEquals(await pwned(), false);
  useShell();
  assertEquals((await world.run(["run", "go"])).code, 0);
  assertEquals(await pwned(), true);
  assertStringIncludes((await world.run(["trust", "--list"])).stdout, "evil");
  await world.write("reasonix.toml", shell("./evil.sh"));
  assertEquals((await world.run(["run", "go"])).code, 3);
  assertEquals(await pwned(), false);
  useShell();
  assertEquals((await world.run(["run", "--trust-project", "go"])).code, 0);
  assertEquals(await pwned(), true);
});

Deno.test("MCP servers of a project require a decision, whose prompt shows them without secrets", async () => {
  await using server = startModelServer([], { fallback: { text: "ok" }, check: { prefix: false } });
  await using world = await makeWorld(mockConfig(server.url));
  await world.write(
    "reasonix.toml",
    '[[plugins]]\nname = "one"\ncommand = "sh"\nargs = ["start.sh"]\nenv = { K = "hush" }\n' +
      '[[plugins]]\nname = "off"\ncommand = "touch"\nenabled = false\n',
  );
  await world.write("start.sh", "touch pwned\n");
  await world.write(".mcp.json", '{"mcpServers": {"two": {"type": "http", "url": "http://127.0.0.1:1"}}}');
  const refused = await world.run(["run", "go"]);
  assertEquals([refused.code, server.requests.length], [3, 0], refused.stderr);
  for (
    const words of [
      "plugin one (",
      'it would run "sh start.sh" as an MCP server, with K in its environment',
      "plugin two (",
      "it would connect to http://127.0.0.1:1 as an MCP server",
    ]
  ) assertStringIncludes(refused.stderr, words);
  const listed = await world.run(["mcp", "list", "--json"]);
  assertEquals(JSON.parse(listed.stdout).map(({ name, state }: Record<string, string>) => [name, state]), [
    ["off", "off"],
    ["two", "untrusted"],
    ["one", "untrusted"],
  ]);
  assertEquals((await world.run(["run", "--ignore-untrusted", "go"])).code, 0);
  const trust = await world.run(["trust", "--yes"]);
  for (const words of ["runs: sh start.sh", "environment: K", "connects to: http://127.0.0.1:1"]) {
    assertStringIncludes(trust.stdout, words);
  }
  for (const { stdout, stderr } of [refused, listed, trust]) {
    assertEquals([stdout.includes("hush"), stderr.includes("hush")], [false, false]);
  }
  const states = async () =>
    JSON.parse((await world.run(["mcp", "list", "--json"])).stdout).map((row: Record<string, string>) =>
      `${row.name} ${row.state}`
    );
  assertEquals(await states(), ["one on", "off off", "two on"]);
  // Files named in the command count as part of it.
  await world.write("start.sh", "touch pwned; touch more\n");
  assertEquals(await states(), ["off off", "two on", "one untrusted"]);
});

Deno.test("sandbox exec runs a command by hand in the jail with its exit code", async () => {
  await using world = await makeWorld();
  const done = await world.run([
    "sandbox",
    "exec",
    "--",
    "sh",
    "-c",
    "touch inside; touch ../outside 2>/dev/null; exit 7",
  ]);
  assertEquals(done.code, 7);
  assert(await Deno.stat(`${world.dir}/inside`).then(() => true, () => false));
  assert(await Deno.stat(`${world.dir}/../outside`).then(() => false, () => true));
  assertStringIncludes((await world.run(["sandbox", "status"])).stdout, "bubblewrap");
});

Deno.test("a key never reaches the session file, not even through a tool's output", async () => {
  const secret = "sk-live-abcdef0123456789abcdef0123456789";
  await using server = startModelServer([{ calls: [{ name: "read_file", args: { path: "leak.txt" } }] }, {
    text: "seen",
  }]);
  await using world = await makeWorld(mockConfig(server.url, "", 'api_key_env = "MOCK_KEY"'));
  await Deno.writeTextFile(`${world.home}/.env`, `MOCK_KEY=${secret}\n`);
  await world.write("leak.txt", `key = ${secret}\n`);
  const done = await world.run(["run", "--output-format", "jsonl", "go"]);
  const [session] = JSON.parse((await world.run(["session", "list", "--json"])).stdout);
  assert(!(await Deno.readTextFile(session.path)).includes(secret));
  assert(!done.stdout.includes(secret));
});

Deno.test("no file tool changes the user's configuration, whatever rules allow", async () => {
  await using server = startModelServer([]);
  await using world = await makeWorld(mockConfig(server.url));
  const path = `${world.home}/config.toml`;
  const before = await Deno.readTextFile(path);
  server.push(
    { calls: [{ name: "read_file", args: { path } }] },
    { calls: [{ name: "edit_file", args: { path, old_string: "mock-1", new_string: "mock-2" } }] },
    { text: "ok" },
  );
  await world.run(["run", "--allowed-tools", "Edit", "--permission-mode", "danger-full-access", "go"]);
  assertEquals(await Deno.readTextFile(path), before);
  assertMatch(server.requests[2]?.json.messages.at(-1).content, /^(error|blocked): /);
});

Deno.test("a single file in allow_write can be edited, and nothing next to it", async () => {
  await using server = startModelServer([]);
  await using world = await makeWorld();
  const [open, shut] = [`${world.home}-open.txt`, `${world.home}-shut.txt`];
  for (const path of [open, shut]) await Deno.writeTextFile(path, "before\n");
  await Deno.writeTextFile(
    `${world.home}/config.toml`,
    mockConfig(server.url, `[sandbox]\nallow_write = ["${open}"]\n`),
  );
  const edit = (path: string) => ({
    name: "edit_file",
    args: { path, old_string: "before", new_string: "after" },
  });
  server.push(
    { calls: [open, shut].map((path) => ({ name: "read_file", args: { path } })) },
    { calls: [open, shut].map(edit) },
    { text: "ok" },
  );
  await world.run(["run", "go"]);
  assertEquals(await Deno.readTextFile(shut), "before\n");
  assertEquals(await Deno.readTextFile(open), "after\n", server.requests[2]?.json.messages.at(-2).content);
});
