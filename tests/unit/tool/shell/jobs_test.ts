import { textOf } from "../../../../src/core/mod.ts";
import {
  BUILTINS,
  type FreeSpace,
  type JobChange,
  openServices,
  type Tool,
  type ToolResult,
} from "../../../../src/tool/mod.ts";
import { DiskWatch, freeSpace } from "../../../../src/tool/shell/disk_watch.ts";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "../../../support/assert.ts";
import { soakSize } from "../../../support/seed.ts";
import { makeTempDir, makeToolContext } from "../../../support/tool_context.ts";

function tool(name: string): Tool {
  return BUILTINS.find((one) => one.name === name) as Tool;
}

async function bench() {
  const dir = await makeTempDir();
  const changes: JobChange[] = [];
  const services = openServices({ onJob: (change) => changes.push(change) });
  const context = makeToolContext(dir.path, { services });
  return {
    changes,
    context,
    services,
    call: (name: string, args: Record<string, unknown> = {}): Promise<ToolResult> =>
      tool(name).execute(args, context),
    async [Symbol.asyncDispose]() {
      await services[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

Deno.test("background jobs return their output in parts and report their end", async () => {
  await using b = await bench();
  const started = await b.call("bash", {
    command: "echo ready; while [ ! -e go ]; do sleep 0.01; done; echo second; exit 4",
    run_in_background: true,
  });
  assertMatch(started.content, /^job-1 running after [\d.]+ s: echo ready/);
  let first = started.content;
  while (!first.includes("\nready")) {
    first += `\n${(await b.call("job_output", { job_id: "job-1" })).content}`;
  }
  assertMatch(
    (await b.call("job_output", { job_id: "job-1" })).content,
    /^\(no new output\)\n\[job-1 running/,
  );
  await Deno.writeTextFile(`${b.context.cwd}/go`, "");
  const text = (await b.call("job_output", { job_id: "job-1", wait_seconds: 60 })).content;
  assertStringIncludes(text, "second");
  assertMatch(text, /\[job-1 exited with code 4 after/);
  assertEquals(b.changes.map((change) => change.status), ["started", "exited"]);
  assertMatch((await b.call("jobs")).content, /^job-1 exited with code 4/);
});

Deno.test("job_output waits for a job that prints constantly, up to the requested time", async () => {
  await using b = await bench();
  await b.call("bash", {
    command: "while [ ! -e go ]; do echo tick; sleep 0.01; done; echo last",
    run_in_background: true,
  });
  let early = "";
  while (!early.includes("tick")) {
    early = (await b.call("job_output", { job_id: "job-1", wait_seconds: 1 })).content;
  }
  assertMatch(early, /^tick\n[\s\S]*\[job-1 running after/);
  const waiting = b.call("job_output", { job_id: "job-1", wait_seconds: 60 });
  await Deno.writeTextFile(`${b.context.cwd}/go`, "");
  assertMatch((await waiting).content, /(?:^|\n)last\n\[job-1 exited with code 0 after/);
});

Deno.test("job_kill kills a job with its children", async () => {
  await using b = await bench();
  await b.call("bash", { command: "sleep 611 & sleep 612; echo never", run_in_background: true });
  const pids = b.services.jobs?.list().length;
  assertEquals(pids, 1);
  const killed = await b.call("job_kill", { job_id: "job-1" });
  assertMatch(killed.content, /^job-1 killed after/);
  assertEquals(b.changes.at(-1)?.status, "killed");
  assertMatch((await b.call("job_output", { job_id: "1" })).content, /\[job-1 killed after/);
  assertEquals(
    (await b.call("job_kill", { job_id: "job-9" })).content,
    "error: Cannot find the job job-9; known: job-1",
  );
});

Deno.test("a job that fails immediately reports it in the call that started it", async () => {
  await using b = await bench();
  const result = await b.call("bash", { command: "echo broken >&2; exit 9", run_in_background: true });
  const later = result.content.includes("exited")
    ? result
    : await b.call("job_output", { job_id: "job-1", wait_seconds: 10 });
  assertMatch(`${result.content}\n${later.content}`, /broken/);
});

Deno.test("background jobs need a session", async () => {
  await using dir = await makeTempDir();
  const result = await tool("bash").execute(
    { command: "true", run_in_background: true },
    makeToolContext(dir.path),
  );
  assertEquals(
    result.content,
    "error: Cannot run in the background: this session has no jobs; run it in the foreground",
  );
});

const MB = 1024 * 1024;

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

Deno.test("freeSpace returns the space of the volume, also for a missing directory", async () => {
  await using dir = await makeTempDir();
  for (const directory of [dir.path, `${dir.path}/not/yet`, "/", "/no-such-directory"]) {
    const bytes = await freeSpace(directory);
    assert(bytes !== undefined && bytes > 0 && Number.isInteger(bytes), directory);
  }
});

const BYTES = soakSize(1_000_000_000, 150_000_000);

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

Deno.test(`bash takes an output of ${BYTES / 1e6} MB in less than 40 MB of memory`, async () => {
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
