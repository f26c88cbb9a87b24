import { BUILTINS, type Tool } from "../../../../src/tool/mod.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { makeTempDir, makeToolContext } from "../../../support/tool_context.ts";

Deno.test("bash takes a huge output in bounded memory", async () => {
  await using dir = await makeTempDir();
  const bash = BUILTINS.find((one) => one.name === "bash") as Tool;
  const context = makeToolContext(dir.path, { settings: { bashTimeoutSeconds: 120 } });
  await bash.execute({ command: "head -c 3000000 /dev/zero | tr '\\0' 'x'" }, context);
  const before = Deno.memoryUsage().rss;
  let highest = before;
  const watch = setInterval(() => highest = Math.max(highest, Deno.memoryUsage().rss), 20);
  const result = await bash.execute(
    { command: "head -c 300000000 /dev/zero | tr '\\0' 'x'; echo; echo end" },
    context,
  );
  clearInterval(watch);
  assertEquals(result.truncated?.totalBytes, 300_000_005);
  assert(result.content.endsWith("\nend"));
  const grown = (highest - before) / 1e6;
  assert(grown < 40, `memory grew by ${grown.toFixed(1)} MB`);
});
