/** Opening sessions by request: directory, roots, servers of a client, and sessions that stay apart. */
import { chatOpener } from "../../../cli/commands/run/open_chat.ts";
import type { CliContext } from "../../../cli/terminal/process.ts";
import type { OpenRequest } from "../../../src/command/mod.ts";
import { listServers, type PluginEntry } from "../../../src/config/mod.ts";
import { type Event, ReasonixError } from "../../../src/core/mod.ts";
import type { Person } from "../../../src/frontend/mod.ts";
import { SessionHost } from "../../../src/frontend/session/mod.ts";
import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../support/assert.ts";
import { scriptedServer } from "../../support/mcp/scripted_mcp_server.ts";
import { makeTempDir } from "../../support/tool_context.ts";

const PROVIDER = `
[[providers]]
name = "scripted"
kind = "openai"
base_url = "http://127.0.0.1:9/v1"
model = "scripted-1"
`;

const SERVER: PluginEntry = {
  name: "docs",
  type: "stdio",
  transport: "direct",
  enabled: true,
  ...scriptedServer(),
  env: {},
  cwd: "",
  url: "",
  headers: {},
  headers_helper: "",
  startup_timeout_seconds: 60,
  call_timeout_seconds: 0,
  tool_timeout_seconds: {},
  enabled_tools: [],
  disabled_tools: [],
  aliases: {},
  trusted_read_only_tools: [],
};

/** A home with directories in it, and an opener for sessions of its process. */
async function openerStage(config = PROVIDER) {
  const dir = await makeTempDir();
  const home = `${dir.path}/home`;
  for (const name of ["home", "one", "two", "more"]) await Deno.mkdir(`${dir.path}/${name}`);
  await Deno.writeTextFile(`${home}/config.toml`, config);
  const env: Record<string, string> = { HOME: dir.path, REASONIX_HOME: home, REASONIX_LANG: "en" };
  const output = { write() {}, json() {}, exact() {} };
  const context: CliContext = { process: { stdout: output, stderr: output, env } };
  const person: Person = { say() {}, speak: () => Promise.resolve() };
  const opener = chatOpener(context, {});
  return {
    dir: dir.path,
    home,
    open: async (request: OpenRequest, who = person) =>
      await opener({ waitForServers: true, ...request }, who),
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  };
}

Deno.test("chatOpener takes directory, roots and id of a session from the request", async () => {
  await using stage = await openerStage();
  const [directory, root] = [`${stage.dir}/one`, `${stage.dir}/more`];
  await using session = await stage.open({ directory, roots: [root], sessionId: "20260101-000000-abcd" });
  assertEquals(session.cwd, directory);
  assertEquals(session.workspace.roots, [directory, root]);
  await using other = await stage.open({ directory: `${stage.dir}/two` });
  assertEquals(other.workspace.roots, [`${stage.dir}/two`]);
  for (
    const [request, said] of [
      [{ directory: "one" }, 'Cannot open a session in "one": the path is relative'],
      [{ directory, roots: ["more"] }, 'Cannot open a session in "more": the path is relative'],
      [{ directory: `${stage.dir}/none` }, `Cannot work in ${stage.dir}/none: there is no such directory`],
      [{ directory, roots: [`${stage.home}/config.toml`] }, "it is not a directory"],
    ] as const
  ) {
    const error = await assertRejects(() => stage.open(request), ReasonixError);
    assertStringIncludes(error.message, said);
  }
});

Deno.test("a session that replaces another one keeps directory, roots and servers of the client", async () => {
  await using stage = await openerStage();
  const [directory, root] = [`${stage.dir}/one`, `${stage.dir}/more`];
  const servers = [{ ...SERVER, enabled: false }];
  const host = new SessionHost(stage.open, () => {});
  await host.current({ directory, roots: [root], servers });
  const next = await host.replace({ effort: "high" });
  await next.open();
  const { session, paths, workspace, loaded } = next;
  assertEquals([paths.cwd, ...workspace.roots], [directory, directory, root]);
  assertEquals(listServers(loaded).map(({ name, source }) => `${name} ${source}`), ["docs client"]);
  const resumed = await host.replace({ resume: session.id });
  assertEquals([resumed.session.id, resumed.cwd], [session.id, directory]);
  await host.close();
});

Deno.test("servers of a client start next to the configured ones, and a failing one leaves them alone", async () => {
  const { command, args } = scriptedServer();
  const configured = ["docs", "mine"].map((name) =>
    `[[plugins]]\nname = "${name}"\ncommand = "${command}"\nargs = ${JSON.stringify(args)}\n`
  );
  await using stage = await openerStage(
    `${PROVIDER}[tools]\nmcp_startup_wait_seconds = 60\n${configured.join("")}`,
  );
  const directory = `${stage.dir}/one`;
  const servers: PluginEntry[] = [
    {
      ...SERVER,
      env: { DOCS_KEY: "docs-value-91x7", LEVEL: "plain" },
      args: [...SERVER.args, "--token", "args-value-4k2"],
    },
    { ...SERVER, name: "gone", command: `${stage.dir}/missing` },
    {
      ...SERVER,
      name: "far",
      type: "http",
      command: "",
      url: "http://127.0.0.1:9/mcp",
      headers: { Authorization: "Bearer far-value-33z", Accept: "application/json" },
    },
  ];
  for (const named of [{ sessionId: "with-servers" }, { resume: "with-servers" }]) {
    await using session = await stage.open({ directory, servers, ...named });
    const events: Event[] = [];
    session.controller.subscribe((event) => void events.push(event));
    await session.open();
    await session.servers?.start();
    const status = session.servers?.status.map(({ name, state }) => `${name} ${state}`).sort();
    assertEquals(status, ["docs ready", "far failed", "gone failed", "mine ready"]);
    const shown = JSON.stringify(events);
    assertStringIncludes(shown, "MCP servers of the client: docs, gone, far");
    const failed = events.flatMap((event) =>
      event.type === "mcp.server" && event.state === "failed" ? [`${event.server}: ${event.detail}`] : []
    );
    assert(failed.some((text) => text.startsWith("gone: ") && text.includes("missing")), failed.join("\n"));
    assert(failed.some((text) => text.startsWith("far: ")), failed.join("\n"));
    const rows = listServers(session.loaded).map(({ name, source, state }) => `${name} ${source ?? state}`);
    assertEquals(rows, ["docs client", "gone client", "far client", "mine user", "docs left out"]);
    const text = "docs-value-91x7 args-value-4k2 far-value-33z application/json plain";
    assertEquals(session.redact(text), "[redacted] [redacted] [redacted] application/json plain");
  }
  await using other = await stage.open({ directory: `${stage.dir}/two` });
  assertEquals(listServers(other.loaded).map(({ name, source }) => `${name} ${source}`), [
    "docs user",
    "mine user",
  ]);
  assertEquals(other.redact("docs-value-91x7"), "docs-value-91x7");
});
