import { textOf } from "../../../../src/core/mod.ts";
import { BUILTINS, type FreeSpace, openServices, type Tool } from "../../../../src/tool/mod.ts";
import { DiskWatch } from "../../../../src/tool/shell/disk_watch.ts";
import { assertEquals, assertMatch, assertStringIncludes } from "../../../support/assert.ts";
import { makeTempDir, makeToolContext } from "../../../support/tool_context.ts";

const MB = 1024 * 1024;

function tool(name: string): Tool {
  return BUILTINS.find((one) => one.name === name) as Tool;
}

/** Returns the values in order, then repeats the last. */
function readings(...megabytes: number[]): FreeSpace {
  return () => Promise.resolve((megabytes.length > 1 ? megabytes.shift() ?? 0 : megabytes[0] ?? 0) * MB);
}

function whyLow(free: FreeSpace, directories = ["/work"]): Promise<string> {
  return new Promise((resolve) => void new DiskWatch({ directories, floorMb: 512, free }, resolve));
}

Deno.test("DiskWatch reports free space below the limit once", async () => {
  assertEquals(
    await whyLow(readings(520, 513, 500)),
    "only 500 MB were left on the disk of /work ([tools] min_free_disk_mb is 512); free space before you continue",
  );
});

Deno.test("DiskWatch allows a disk that starts below the limit to lose half of its free space", async () => {
  assertMatch(await whyLow(readings(300, 200, 151, 149)), /^only 149 MB/);
});

Deno.test("DiskWatch names the full volume and skips one that cannot be read", async () => {
  const free: FreeSpace = (directory) =>
    directory === "/gone"
      ? Promise.reject(new Error("no such disk"))
      : readings(directory === "/b" ? 0 : 9000)(directory);
  const falling = readings(600, 1);
  const why = await whyLow((directory) => directory === "/b" ? falling(directory) : free(directory), [
    "/gone",
    "/a",
    "/b",
  ]);
  assertStringIncludes(why, "only 1 MB were left on the disk of /b ");
});

Deno.test("DiskWatch reports nothing without a limit or after it is closed", async () => {
  const reports: string[] = [];
  const limits = { directories: ["/work"], floorMb: 512, free: readings(600, 1) };
  const off = new DiskWatch({ ...limits, floorMb: 0 }, () => reports.push("off"));
  new DiskWatch(limits, () => reports.push("over"))[Symbol.dispose]();
  await whyLow(readings(600, 1));
  off[Symbol.dispose]();
  assertEquals(reports, []);
});

Deno.test("bash kills a command that fills the disk and reports it", async () => {
  await using dir = await makeTempDir();
  await using services = openServices({ freeSpace: readings(600, 100) });
  const context = makeToolContext(dir.path, {
    services,
    settings: { minFreeDiskMb: 512, bashTimeoutSeconds: 60 },
  });
  const result = await tool("bash").execute({ command: "echo begun; sleep 50 & sleep 50" }, context);
  assertMatch(
    result.content,
    /^begun\n\[stopped: only 100 MB were left on the disk of .* min_free_disk_mb is 512/,
  );
  assertEquals([result.isError, textOf(result.summary)], [true, "disk full"]);
});

Deno.test("a background job that fills the disk is killed, and job_output reports why", async () => {
  await using dir = await makeTempDir();
  await using services = openServices({ freeSpace: readings(600, 100) });
  const context = makeToolContext(dir.path, { services, settings: { minFreeDiskMb: 512 } });
  await tool("bash").execute({ command: "sleep 50", run_in_background: true }, context);
  const result = await tool("job_output").execute({ job_id: "job-1", wait_seconds: 30 }, context);
  assertMatch(result.content, /\[job-1 stopped \(only 100 MB were left on the disk of .*\) after \d/);
});
