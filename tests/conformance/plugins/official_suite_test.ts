/**
 * The server scenarios of the official suite that need no tools of the suite, on each plugin over HTTP. The
 * suite speaks no standard input; that transport is in plugins_test.ts.
 */
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { fileURLToPath } from "node:url";
import type { Plugin } from "../../../plugins/common/plugin.ts";
import { PLUGINS } from "../../../plugins/plugins.ts";
import { assertEquals } from "../../support/assert.ts";
import { makeTempDir } from "../../support/tool_context.ts";

const SUITE = fileURLToPath(new URL("../mcp/official_suite.ts", import.meta.url));

/** Scenarios that need no tool, prompt or resource of the suite; the last two those of a capability. */
const OF_ALL = ["server-initialize", "ping", "tools-list"];
const OF_LISTS = ["resources-list", "prompts-list"];
/** Plugins that have resources and prompts. */
const WITH_LISTS = ["example", "rag"];

/** Settings with which a plugin offers all of its tools. */
const SETTINGS: Readonly<Record<string, unknown>> = {
  rag: { indexes: { docs: { path: "." } } },
  web: { search: "searxng", searxng_url: "http://127.0.0.1:1" },
};

for (const { name, module } of PLUGINS) {
  Deno.test(`the plugin ${name} passes the scenarios of the official suite for every server`, async () => {
    await using temp = await makeTempDir();
    const { plugin }: { readonly plugin: Plugin } = await import(`../../../plugins/${module}`);
    const context = {
      settings: plugin.settings.parse(SETTINGS[name] ?? {}),
      workspace: temp.path,
      state: `${temp.path}/state`,
      home: temp.path,
      hidden: [],
      providers: [],
      entry: "",
      log() {},
    };
    const handler = createMcpHandler(() => {
      const server = new McpServer({ name, version: "1.0.0" });
      plugin.register(server, context);
      return server;
    });
    const address = { hostname: "127.0.0.1", port: 0, onListen() {} };
    await using http = Deno.serve(address, (request) => handler.fetch(request));
    const expected = [...OF_ALL, ...WITH_LISTS.includes(name) ? OF_LISTS : []];
    const output = await suite(`http://127.0.0.1:${http.addr.port}`, `${temp.path}/results`);
    await handler.close();
    const passed = [...output.matchAll(/^✓ (\S+): [1-9]\d* passed, 0 failed/gm)].map(([, scenario]) =>
      scenario
    );
    assertEquals(passed, expected, output);
  });
}

async function suite(url: string, directory: string): Promise<string> {
  const args = ["server", "--url", url, "--suite", "active", "-o", directory];
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--no-check", SUITE, ...args],
    env: { NO_COLOR: "1" },
    stdin: "null",
  }).output();
  return new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
}
