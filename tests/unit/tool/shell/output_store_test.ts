import { openServices } from "../../../../src/tool/mod.ts";
import { jobText } from "../../../../src/tool/shell/job_text.ts";
import { JobTable } from "../../../../src/tool/shell/job_table.ts";
import { OutputStore } from "../../../../src/tool/shell/output_store.ts";
import { DEFAULT_CAPS } from "../../../../src/tool/truncation.ts";
import { assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { makeTempDir } from "../../../support/tool_context.ts";

function filled(store: OutputStore, kilobytes: number): OutputStore {
  const line = new TextEncoder().encode(`${"x".repeat(1023)}\n`);
  for (let count = 0; count < kilobytes; count++) store.push(line);
  return store;
}

Deno.test("OutputStore says so when the file holds only the beginning", async () => {
  await using dir = await makeTempDir();
  const file = `${dir.path}/out.txt`;
  const cut = filled(new OutputStore(file, 100_000), 300).finish(DEFAULT_CAPS);
  assertStringIncludes(cut.text, `only the first 100000 bytes were kept in ${file}`);
  assertEquals((await Deno.stat(file)).size, 100_000);
  assertEquals(cut.truncated?.totalBytes, 300 * 1024);
});

Deno.test("OutputStore points to the file when that holds everything", async () => {
  await using dir = await makeTempDir();
  const file = `${dir.path}/out.txt`;
  const cut = filled(new OutputStore(file), 300).finish(DEFAULT_CAPS);
  assertStringIncludes(cut.text, `full text: ${file}`);
  assertEquals((await Deno.stat(file)).size, 300 * 1024);
});

Deno.test("JobTable counts what the output file had no room for", async () => {
  await using dir = await makeTempDir();
  await using services = openServices();
  await using jobs = new JobTable({
    maxFile: 10,
    ...(services.shell ? { guard: services.shell.guard } : {}),
  });
  const plan = { command: "/bin/sh", args: ["-c", "printf 0123456789abcdef"], env: {} };
  const { id } = jobs.start({ command: "x", plan, cwd: dir.path, dir: dir.path, minFreeDiskMb: 0 });
  while (jobs.get(id)?.status === "running") await new Promise((resolve) => setTimeout(resolve, 5));
  const news = jobs.news(id);
  assertEquals(
    news && jobText(news).text,
    "0123456789\n[6 newer bytes were not kept: the output file or the disk is full]",
  );
  assertEquals(jobs.news(id)?.dropped, 0);
});
