import { loadStatsReports } from "../../../src/reports/mod.ts";
import type { StatsRow } from "../../../src/session/mod.ts";
import { assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { needs } from "../../support/tools.ts";

const MODEL = 'org/"m"\\1\n2';

function row(key: string, costs: Record<string, number> = {}): StatsRow {
  const usage = {
    inputTokens: 100,
    cachedTokens: 60,
    cacheWriteTokens: 10,
    outputTokens: 9,
    reasoningTokens: 4,
  };
  return { key, sessions: 2, requests: 3, usage, costs, unpriced: 1 };
}

const ROWS = [
  row(JSON.stringify(["/a", MODEL]), { USD: 0.1, CNY: 5 }),
  row(JSON.stringify(["/b", ""])),
  row(JSON.stringify(["/b", MODEL]), { USD: 0.2 }),
];

async function counters(perProject: boolean, rows: readonly StatsRow[] = ROWS): Promise<string> {
  const { openMetricsText } = await loadStatsReports();
  return openMetricsText(rows, rows.length === 0 ? [] : [row("/a"), row("/b")], perProject);
}

Deno.test("openMetricsText adds up projects, escapes labels and splits tokens without an overlap", async () => {
  const text = await counters(false);
  const model = 'model="org/\\"m\\"\\\\1\\n2"';
  assertEquals(text.split("\n").filter((line) => line.includes('_tokens_total{model="org')), [
    `reasonix_tokens_total{${model},kind="input"} 60`,
    `reasonix_tokens_total{${model},kind="cached"} 120`,
    `reasonix_tokens_total{${model},kind="cache_write"} 20`,
    `reasonix_tokens_total{${model},kind="output"} 10`,
    `reasonix_tokens_total{${model},kind="reasoning"} 8`,
  ]);
  assertStringIncludes(text, `reasonix_cost_total{${model},currency="CNY"} 5\n`);
  assertStringIncludes(text, 'reasonix_requests_total{model="unknown"} 3\n');
  assertStringIncludes(text, "\nreasonix_sessions_total 4\n# EOF\n");
  assertStringIncludes(await counters(true), 'reasonix_sessions_total{project="/b"} 2\n');
});

const hasPromtool = await (async () => {
  try {
    return (await new Deno.Command("promtool", { args: ["--version"] }).output()).success;
  } catch {
    return false;
  }
})();

async function promtool(args: readonly string[], input: string): Promise<string> {
  const child = new Deno.Command("promtool", {
    args: [...args],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(input));
  await writer.close();
  const { code, stdout, stderr } = await child.output();
  const printed = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  return code === 0 ? printed : `exit code ${code}: ${printed}`;
}

Deno.test(needs("promtool", hasPromtool, "promtool finds nothing to improve in the counters"), async () => {
  for (const text of [await counters(false), await counters(true), await counters(false, [])]) {
    assertEquals(await promtool(["check", "metrics"], text), "");
  }
});

Deno.test(
  needs("promtool", hasPromtool, "the OpenMetrics reader of Prometheus takes the counters"),
  async () => {
    const directory = await Deno.makeTempDir({ prefix: "reasonix-promtool-" });
    try {
      // Only series with a time can be stored.
      const text = (await counters(true)).replace(/^[^#].*$/gm, "$& 1700000000");
      const file = `${directory}/reasonix.prom`;
      await Deno.writeTextFile(file, text);
      const create = ["tsdb", "create-blocks-from", "openmetrics"];
      const printed = await promtool([...create, file, `${directory}/blocks`], "");
      const series = text.split("\n").filter((line) => line.startsWith("reasonix_")).length;
      assertEquals(
        / +(\d+) +\d+ +(\d+) +\d+\n/.exec(printed)?.slice(1),
        [String(series), String(series)],
        printed,
      );
      await Deno.writeTextFile(file, text.replace("# EOF\n", ""));
      assertStringIncludes(await promtool([...create, file, `${directory}/none`], ""), "# EOF");
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  },
);
