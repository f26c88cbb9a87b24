import { assert, assertEquals } from "../../support/assert.ts";
import { makeTempDir } from "../../support/tool_context.ts";
import { runClient } from "./client.ts";

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

interface Check {
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "INFO";
  readonly errorMessage?: string;
  readonly description?: string;
  readonly details?: { readonly slightlyLate?: boolean; readonly veryLate?: boolean };
}

const OFFICIAL_SUITE = new URL("official_suite.ts", import.meta.url).pathname;

/**
 * Answers with what a client prints. The suite wants one for each scenario, all of them at once: here they
 * take turns in this process.
 */
function startClients() {
  let turn: Promise<unknown> = Promise.resolve();
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const [name = "", url = ""] = ["scenario", "server"].map((header) => request.headers.get(header) ?? "");
    if (NOT_APPLICABLE.includes(name)) return new Response("");
    const context = JSON.parse(await request.text() || "{}");
    const done = turn.then(() => runClient({ name, url, context }));
    const printed = done.then(() => "", (error) => Deno.inspect(error));
    turn = printed;
    return new Response(await printed);
  });
}

/** Runs all scenarios of the suite; their findings are below the directory. Returns what the suite says. */
async function runSuite(directory: string): Promise<string> {
  await using clients = startClients();
  const script = `${directory}/client.sh`;
  await Deno.writeTextFile(
    script,
    `curl --silent --show-error --max-time 240 --header "scenario: $MCP_CONFORMANCE_SCENARIO" \\
      --header "server: $1" --data-raw "$MCP_CONFORMANCE_CONTEXT" http://127.0.0.1:${clients.addr.port}\n`,
  );
  const words = ["client", "--command", `sh ${script}`, "--suite", "all", "--timeout", "240000"];
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--no-check", OFFICIAL_SUITE, ...words, "-o", directory],
    env: { NO_COLOR: "1" },
    stdin: "null",
  }).output();
  return new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
}

/** Findings in one scenario; those of a group are in its directory, and a time follows their names. */
async function checksOf(directory: string, scenario: string): Promise<readonly Check[]> {
  const [, group = "", name = ""] = /^(.*\/)?(.*)$/.exec(scenario) ?? [];
  const all = [...Deno.readDirSync(`${directory}/${group}`)];
  const found = all.find((entry) => entry.name.startsWith(`${name}-20`));
  return found ? JSON.parse(await Deno.readTextFile(`${directory}/${group}${found.name}/checks.json`)) : [];
}

/** On a busy machine a late retry is no failure of the client; an early one is. */
function isLate({ details }: Check): boolean {
  return details?.slightlyLate === true || details?.veryLate === true;
}

Deno.test("the client passes every client scenario of the official suite", async (test) => {
  await using temp = await makeTempDir();
  const output = await runSuite(temp.path);
  await test.step("which has exactly the known scenarios", () => {
    const names = [...output.matchAll(/^[✓✗] (\S+): /gm)].map(([, name]) => name);
    assertEquals(names.toSorted(), [...APPLICABLE, ...NOT_APPLICABLE].toSorted(), output);
  });
  for (const scenario of APPLICABLE) {
    await test.step(scenario, async () => {
      const checks = await checksOf(temp.path, scenario);
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
