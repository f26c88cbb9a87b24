/** Sign-in at MCP servers: commands open a browser, runs never do. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../support/assert.ts";
import {
  AuthorizationServer,
  startProtectedServer,
  visitAsBrowser,
} from "../support/mcp/authorization_server.ts";
import { type HttpMcpServer, startHttpMcpServer } from "../support/mcp/http_mcp_server.ts";
import { startModelServer } from "../support/model_server.ts";
import { makeWorld, mockConfig, type World } from "../support/program.ts";

const plugin = ({ url }: HttpMcpServer, more = "") =>
  `\n[[plugins]]\nname = "far"\ntype = "http"\nurl = "${url}"\n${more}\n`;

/** A command line for BROWSER: it records the URL and, unless disabled, signs in. */
async function browser(world: World, looks = false): Promise<string> {
  await world.write(
    "browser.ts",
    `const address = Deno.args[0];
     Deno.writeTextFileSync("${world.dir}/visited", address);
     if (${looks}) Deno.exit();
     const response = await fetch(address, { redirect: "manual" });
     await fetch(response.headers.get("location"));`,
  );
  return `${Deno.execPath()} run -A --no-config --no-lock ${world.dir}/browser.ts`;
}

const DISPLAYS = { DISPLAY: "", WAYLAND_DISPLAY: "" };

Deno.test("mcp login opens the browser and stores the sign-in for runs, and mcp logout revokes it", async () => {
  await using issuer = new AuthorizationServer();
  await using server = startProtectedServer(issuer, { scope: "read" });
  await using world = await makeWorld(plugin(server));
  const env = { BROWSER: await browser(world) };
  const before = await world.run(["mcp", "test", "far"]);
  assertEquals(before.code, 1);
  assertStringIncludes(before.stdout, "reasonix mcp login far");

  const { code, stdout, stderr } = await world.run(["mcp", "login", "far"], { env });
  assertEquals(code, 0, stdout + stderr);
  assertMatch(stdout, /A browser was opened for the sign-in; its address is\n\n {2}http:\/\/\S+\n\n/);
  assertStringIncludes(stdout, `Signed in at far (${issuer.issuer}, rights: read)`);
  assertMatch(await world.read("visited"), /code_challenge_method=S256/);
  const tokens = [...issuer.accepted.keys(), ...issuer.renewing.keys()];
  for (const token of tokens) assert(!(stdout + stderr).includes(token), stdout + stderr);

  const after = await world.run(["mcp", "call", "far", "echo", '{"text": "in"}']);
  assertEquals([after.code, after.stdout], [0, "in\n"], after.stderr);
  const out = await world.run(["mcp", "logout", "far"]);
  assertEquals(out.stdout, `Signed out of far; ${issuer.issuer} took the tokens back\n`);
  assertEquals(issuer.accepted.size, 0);
  assertEquals((await world.run(["mcp", "logout", "far"])).stdout, "You are not signed in at far\n");
});

Deno.test("mcp logout works for a removed entry and keeps a sign-in that another entry uses", async () => {
  await using issuer = new AuthorizationServer();
  await using server = startProtectedServer(issuer);
  await using world = await makeWorld(plugin(server));
  const env = { BROWSER: await browser(world) };
  assertEquals((await world.run(["mcp", "login", "far"], { env })).code, 0);
  await Deno.writeTextFile(`${world.home}/config.toml`, plugin(server).replace('"far"', '"new"'));
  const renamed = await world.run(["mcp", "logout", "far"]);
  assertEquals([renamed.code, issuer.accepted.size], [2, 1]);
  assertStringIncludes(renamed.stderr, "reasonix mcp logout new");
  await Deno.writeTextFile(`${world.home}/config.toml`, "");
  const out = await world.run(["mcp", "logout", "far"]);
  assertEquals([out.code, out.stdout], [0, `Signed out of far; ${issuer.issuer} took the tokens back\n`]);
  assertEquals(issuer.accepted.size, 0);
  const unknown = await world.run(["mcp", "logout", "far"]);
  assertEquals(unknown.code, 2, unknown.stdout);
});

Deno.test("mcp remove deletes the sign-in unless another server uses it", async () => {
  await using issuer = new AuthorizationServer();
  await using server = startProtectedServer(issuer);
  await using world = await makeWorld(plugin(server) + plugin(server).replace('"far"', '"twin"'));
  const env = { BROWSER: await browser(world) };
  assertEquals((await world.run(["mcp", "login", "far"], { env })).code, 0);
  const first = await world.run(["mcp", "remove", "twin"]);
  assertEquals([first.code, first.stdout.includes("forgotten"), issuer.accepted.size], [0, false, 1]);
  const second = await world.run(["mcp", "remove", "far"]);
  assertEquals([second.code, second.stderr, issuer.accepted.size], [0, "", 0]);
  assertStringIncludes(second.stdout, "Its sign-in was forgotten\n");
  assertEquals(JSON.parse(await Deno.readTextFile(`${world.home}/mcp-auth.json`)).signIns, []);
});

Deno.test("mcp login without a browser prints the address, and an interrupt ends it cleanly", async () => {
  await using issuer = new AuthorizationServer();
  await using server = startProtectedServer(issuer);
  await using world = await makeWorld(plugin(server));
  for (const ending of ["sign-in", "interrupt"] as const) {
    const child = await world.spawn(["mcp", "login", "far"], { env: { ...DISPLAYS, BROWSER: "" } });
    const decoder = new TextDecoder();
    let text = "";
    let isDone = false;
    for await (const chunk of child.stdout) {
      text += decoder.decode(chunk, { stream: true });
      const address = /^ {2}(http:\S+)$/m.exec(text)?.[1];
      if (isDone || address === undefined) continue;
      isDone = true;
      if (ending === "interrupt") child.kill("SIGINT");
      else void visitAsBrowser(new URL(address));
    }
    const errors = await new Response(child.stderr).text();
    const { code } = await child.status;
    assertStringIncludes(text, "To sign in, visit\n\n");
    if (ending === "sign-in") assertEquals([code, text.includes("Signed in at far")], [0, true], text);
    else assertEquals([code, errors.includes("Interrupted; nothing was kept")], [130, true], errors);
  }
});

Deno.test("mcp login at a server without sign-in prints the reason", async () => {
  await using open = startHttpMcpServer();
  await using world = await makeWorld(
    `${plugin(open)}\n[[plugins]]\nname = "near"\ncommand = "true"\n`,
  );
  const cases: readonly [string, string][] = [
    ["far", "Cannot sign in at far: it does not require a sign-in"],
    ["near", "MCP server near needs no sign-in: it is a program on this machine"],
    ["fra", 'Cannot use the MCP server "fra": no file describes one of that name'],
  ];
  for (const [name, line] of cases) {
    const { code, stderr } = await world.run(["mcp", "login", name]);
    assert(code !== 0);
    assertStringIncludes(stderr, line);
  }
});

Deno.test("mcp login sends no request to a URL of an untrusted project", async () => {
  await using server = startHttpMcpServer();
  await using world = await makeWorld();
  await world.write(".mcp.json", JSON.stringify({ mcpServers: { far: { type: "http", url: server.url } } }));
  const { code, stderr } = await world.run(["mcp", "login", "far"], {
    env: { BROWSER: await browser(world) },
  });
  assertEquals(code, 3, stderr);
  assertEquals(server.seen, []);
  assertStringIncludes(stderr, "you have not trusted it");
});

Deno.test("a run opens no browser: a server that requires sign-in prints one line, and no event has its token", async () => {
  await using model = await startModelServer([{ text: "Done." }]);
  await using caller = await startModelServer([
    { calls: [{ name: "mcp__far__echo", args: { text: "a" } }] },
    { text: "Done." },
  ]);
  await using issuer = new AuthorizationServer();
  await using server = startProtectedServer(issuer, {
    // It shows the received request.
    instead: ({ headers, message }) => {
      if (message.method !== "tools/call") return undefined;
      const text = `you sent ${headers.get("authorization")}`;
      return Response.json({
        jsonrpc: "2.0",
        id: message.id,
        result: { content: [{ type: "text", text }], resultType: "complete" },
      });
    },
  });
  await using world = await makeWorld(mockConfig(model.url, plugin(server)));
  const env = { BROWSER: await browser(world, true) };
  const first = await world.run(["run", "hello", "--output-format", "jsonl"], { env });
  assertEquals(first.code, 0, first.stderr);
  assertStringIncludes(first.stdout, '"state":"needs-auth","detail":"reasonix mcp login far"');
  assertEquals(await world.read("visited").catch(() => "nothing"), "nothing");

  const signedIn = await world.run(["mcp", "login", "far"], { env: { BROWSER: await browser(world) } });
  assertEquals(signedIn.code, 0, signedIn.stderr);
  await world.run(["mcp", "test", "far"]);
  await Deno.writeTextFile(`${world.home}/config.toml`, mockConfig(caller.url, plugin(server)));
  const second = await world.run(["run", "echo", "--output-format", "jsonl"], { env });
  assertEquals(second.code, 0, second.stderr);
  assertStringIncludes(second.stdout, "you sent Bearer [redacted]");
  const [token = ""] = [...issuer.accepted.keys()];
  assert(token !== "" && !(second.stdout + second.stderr).includes(token), second.stdout);
});

Deno.test("requests to MCP servers go through a proxy of the environment", async () => {
  await using server = startHttpMcpServer();
  const asked: string[] = [];
  const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
  await using proxy = Deno.serve(options, async (request) => {
    asked.push(request.headers.get("host") ?? "");
    const { method, headers } = request;
    const body = method === "POST" ? await request.text() : null;
    return await fetch(server.url, {
      method,
      headers: [...headers].filter(([name]) => name !== "host"),
      body,
    });
  });
  await using world = await makeWorld(
    '[[plugins]]\nname = "far"\ntype = "http"\nurl = "http://mcp.invalid/mcp"\n',
  );
  const env = { HTTP_PROXY: `http://127.0.0.1:${proxy.addr.port}` };
  const { code, stdout, stderr } = await world.run(["mcp", "call", "far", "echo", '{"text": "by proxy"}'], {
    env,
  });
  assertEquals([code, stdout], [0, "by proxy\n"], stderr);
  assert(asked.length > 0 && asked.every((host) => host === "mcp.invalid"), asked.join());
});
