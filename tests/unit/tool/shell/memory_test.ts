import { assert, assertEquals } from "../../../support/assert.ts";

const BYTES = 1_000_000_000;

/** Runs in a separate process: other tests share the memory of this one. */
const SCRIPT = `
import { BUILTINS } from "${new URL("../../../../src/tool/mod.ts", import.meta.url)}";
import { makeTempDir, makeToolContext } from "${new URL(
  "../../../support/tool_context.ts",
  import.meta.url,
)}";
await using dir = await makeTempDir();
const bash = BUILTINS.find((one) => one.name === "bash");
const context = makeToolContext(dir.path, { settings: { bashTimeoutSeconds: 300 } });
await bash.execute({ command: "head -c 3000000 /dev/zero | tr '\\\\0' 'x'" }, context);
const before = Deno.memoryUsage().rss;
let highest = before;
const watch = setInterval(() => highest = Math.max(highest, Deno.memoryUsage().rss), 20);
const result = await bash.execute({ command: "head -c ${BYTES} /dev/zero | tr '\\\\0' 'x'; echo; echo end" }, context);
clearInterval(watch);
console.log(JSON.stringify({ grown: highest - before, total: result.truncated?.totalBytes, end: result.content.slice(-4) }));
`;

Deno.test("bash takes an output of 1 GB in less than 40 MB of memory", async () => {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "-"],
    cwd: new URL("../../../..", import.meta.url),
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(SCRIPT));
  await writer.close();
  const { grown, total, end } = JSON.parse(new TextDecoder().decode((await child.output()).stdout));
  assertEquals([total, end], [BYTES + 5, "\nend"]);
  assert(grown < 40_000_000, `memory grew by ${(grown / 1e6).toFixed(1)} MB`);
});
