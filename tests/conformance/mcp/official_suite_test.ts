import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import type { Plugin } from "../../../plugins/common/plugin.ts";
import { PLUGINS } from "../../../plugins/plugins.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { makeTempDir } from "../../support/tool_context.ts";

/** Scenarios of every run. */
const APPLICABLE = [
  "initialize",
  "tools_call",
  "elicitation-sep1034-client-defaults",
  "sse-retry",
  "auth/metadata-default",
  "auth/metadata-var1",
  "auth/metadata-var2",
  "auth/metadata-var3",
  "auth/basic-cimd",
  "auth/scope-from-www-authenticate",
  "auth/scope-from-scopes-supported",
  "auth/scope-omitted-when-undefined",
  "auth/scope-step-up",
  "auth/scope-retry-limit",
  "auth/token-endpoint-auth-basic",
  "auth/token-endpoint-auth-post",
  "auth/token-endpoint-auth-none",
  "auth/pre-registration",
  "auth/2025-03-26-oauth-metadata-backcompat",
  "auth/2025-03-26-oauth-endpoint-fallback",
  "auth/resource-mismatch",
  "auth/offline-access-scope",
  "auth/offline-access-not-supported",
];

/** Protocol extensions for clients without a user, which this program always has. */
const NOT_APPLICABLE = [
  "auth/client-credentials-jwt",
  "auth/client-credentials-basic",
  "auth/cross-app-access-complete-flow",
];

/** Scenarios of any server; the others call what only the sample server of the suite has. */
const OF_SERVERS = ["server-initialize", "ping", "tools-list", "resources-list", "prompts-list"];

const AT_ONCE = 2;

interface Check {
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "INFO";
  readonly errorMessage?: string;
  readonly description?: string;
  readonly details?: { readonly slightlyLate?: boolean; readonly veryLate?: boolean };
}

const here = (file: string) => new URL(file, import.meta.url).pathname;

async function suite(...args: string[]): Promise<string> {
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--no-check", here("official_suite.ts"), ...args],
    env: { NO_COLOR: "1" },
    stdin: "null",
  }).output();
  return new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
}

/** Findings of the suite in one scenario. */
async function checksOf(
  scenario: string,
  ...words: readonly string[]
): Promise<{ checks: readonly Check[]; output: string }> {
  const directory = await Deno.makeTempDir();
  try {
    const output = await suite(...words, "--scenario", scenario, "-o", directory);
    const file = await find(directory, "checks.json");
    return { checks: file === undefined ? [] : JSON.parse(await Deno.readTextFile(file)), output };
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

async function find(directory: string, name: string): Promise<string | undefined> {
  for await (const entry of Deno.readDir(directory)) {
    const path = `${directory}/${entry.name}`;
    if (entry.name === name) return path;
    const found = entry.isDirectory ? await find(path, name) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

/** On a busy machine a late retry is no failure of the client; an early one is. */
function isLate({ details }: Check): boolean {
  return details?.slightlyLate === true || details?.veryLate === true;
}

Deno.test("the official suite has exactly the known scenarios", async () => {
  const listed = [...(await suite("list", "--client")).matchAll(/^ {2}- (\S+)/gm)].map(([, name]) => name);
  assertEquals(listed.toSorted(), [...APPLICABLE, ...NOT_APPLICABLE].toSorted());
});

Deno.test("the client passes every client scenario of the official suite", async (test) => {
  const client = `${Deno.execPath()} run -A --quiet --no-check ${here("client.ts")}`;
  const left = [...APPLICABLE];
  const found = new Map<string, Awaited<ReturnType<typeof checksOf>>>();
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) {
      found.set(name, await checksOf(name, "client", "--command", client, "--timeout", "120000"));
    }
  }));
  for (const scenario of APPLICABLE) {
    await test.step(scenario, () => {
      const { checks = [], output = "" } = found.get(scenario) ?? {};
      const bad = checks.filter((check) =>
        (check.status === "FAILURE" || check.status === "WARNING") && !isLate(check)
      );
      assert(checks.some(({ status }) => status === "SUCCESS") || checks.some(isLate), output);
      assertEquals(
        bad.map(({ id, errorMessage, description }) => [id, errorMessage ?? description]),
        [],
        output,
      );
    });
  }
});

/** Settings with which a plugin offers all that it has. */
const SETTINGS: Readonly<Record<string, unknown>> = {
  rag: { indexes: { docs: { path: "docs" } } },
  web: { search: "brave" },
};

Deno.test("the plugins of the program pass the scenarios of the official suite for any server", async () => {
  await using temp = await makeTempDir();
  const context = { workspace: temp.path, state: temp.path, home: temp.path, hidden: [], providers: [] };
  const offers = await Promise.all(PLUGINS.map(async ({ name, module }) => {
    const { plugin }: { plugin: Plugin } = await import(`../../../plugins/${module}`);
    const settings = plugin.settings.parse(SETTINGS[name] ?? {});
    return (server: McpServer) => plugin.register(server, { ...context, settings, entry: "", log() {} });
  }));
  // The names of their tools differ, so that one server offers those of all.
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "plugins", version: "1" });
    for (const offer of offers) offer(server);
    return server;
  });
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => handler.fetch(request),
  );
  const url = `http://127.0.0.1:${server.addr.port}/mcp`;
  const found = await Promise.all(OF_SERVERS.map((scenario) => checksOf(scenario, "server", "--url", url)));
  for (const { checks, output } of found) {
    assert(checks.some(({ status }) => status === "SUCCESS"), output);
    assertEquals(checks.filter(({ status }) => status === "FAILURE" || status === "WARNING"), [], output);
  }
  await handler.close();
});
