import { assertEquals } from "../../../support/assert.ts";

// Concurrent test files share one environment: a proxy set in it would affect all of them.
Deno.test("providers use proxies as their settings and the environment say, in a separate process", async () => {
  const cases = new URL("./proxies_cases.ts", import.meta.url);
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["test", "-A", "--no-check", cases.href],
    env: { NO_COLOR: "1" },
    stderr: "null",
  }).output();
  const said = new TextDecoder().decode(stdout);
  assertEquals([code, /\| [1-9]\d* passed/.test(said) ? "" : said], [0, ""], said);
});
