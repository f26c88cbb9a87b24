import { openServices } from "../../../../src/tool/mod.ts";
import { jobText } from "../../../../src/tool/shell/jobs/job_tools.ts";
import { JobTable } from "../../../../src/tool/shell/jobs/job_table.ts";
import { OutputStore } from "../../../../src/tool/shell/output_store.ts";
import { DEFAULT_CAPS } from "../../../../src/tool/truncation.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { makeTempDir } from "../../../support/tool_context.ts";

function filled(store: OutputStore, kilobytes: number): OutputStore {
  const line = new TextEncoder().encode(`${"x".repeat(1023)}\n`);
  for (let count = 0; count < kilobytes; count++) store.push(line);
  return store;
}

Deno.test("OutputStore reports a file with only both ends of the output", async () => {
  await using dir = await makeTempDir();
  const file = `${dir.path}/out.txt`;
  const cut = filled(new OutputStore(file, 100_000), 300).finish(DEFAULT_CAPS);
  const { size } = await Deno.stat(file);
  assert(size > 50_000 && size <= 100_000, String(size));
  const leftOut = 300 * 1024 - size + 35;
  assertStringIncludes(
    cut.text,
    `beginning and end, without ${leftOut} bytes between them, are kept in ${file}`,
  );
  assertStringIncludes(await Deno.readTextFile(file), `${leftOut} bytes left out]\n`);
  assertEquals(cut.truncated?.totalBytes, 300 * 1024);
});

Deno.test("OutputStore names the file that has the whole output", async () => {
  await using dir = await makeTempDir();
  const file = `${dir.path}/out.txt`;
  const cut = filled(new OutputStore(file), 300).finish(DEFAULT_CAPS);
  assertStringIncludes(cut.text, `full text: ${file}`);
  assertEquals((await Deno.stat(file)).size, 300 * 1024);
});

Deno.test("JobTable keeps both ends of an output that exceeds the size of its file", async () => {
  await using dir = await makeTempDir();
  await using services = openServices();
  await using jobs = new JobTable({
    maxFile: 4000,
    ...(services.shell ? { guard: services.shell.guard } : {}),
  });
  const plan = { command: "/bin/sh", args: ["-c", "echo begin; seq 1 5000; echo end"], env: {} };
  const { id, outputFile } = jobs.start({
    command: "x",
    plan,
    cwd: dir.path,
    dir: dir.path,
    minFreeDiskMb: 0,
  });
  while (jobs.get(id)?.status === "running") await new Promise((resolve) => setTimeout(resolve, 5));
  const update = jobs.newOutput(id);
  const shown = update ? jobText(update).text : "";
  assertStringIncludes(shown, "bytes left out");
  assertStringIncludes(shown, "\n4999\n5000\nend");
  const kept = await Deno.readTextFile(outputFile);
  assert(kept.length <= 4000, String(kept.length));
  assert(kept.startsWith("begin\n1\n2\n") && kept.endsWith("\n5000\nend\n"), kept.slice(-100));
  assertEquals(/\[ *(\d+) bytes left out\]/.exec(kept)?.[1], String(23893 + 10 - (kept.length - 35)));
});
