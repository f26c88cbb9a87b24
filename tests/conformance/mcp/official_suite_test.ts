import { assert, assertEquals } from "../../support/assert.ts";
import { removeTree } from "../../support/remove_tree.ts";

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
async function checksOf(scenario: string): Promise<{ checks: readonly Check[]; output: string }> {
  const directory = await Deno.makeTempDir();
  try {
    const client = `${Deno.execPath()} run -A --quiet --no-check ${here("client.ts")}`;
    const output = await suite(
      ...["client", "--command", client, "--scenario", scenario, "--timeout", "120000", "-o", directory],
    );
    const file = await find(directory, "checks.json");
    return { checks: file === undefined ? [] : JSON.parse(await Deno.readTextFile(file)), output };
  } finally {
    await removeTree(directory);
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
  const left = [...APPLICABLE];
  const found = new Map<string, Awaited<ReturnType<typeof checksOf>>>();
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) {
      found.set(name, await checksOf(name));
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
