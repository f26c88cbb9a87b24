import {
  BUILTINS,
  type JobChange,
  openServices,
  type Tool,
  type ToolResult,
} from "../../../../src/tool/mod.ts";
import { assertEquals, assertMatch, assertStringIncludes } from "../../../support/assert.ts";
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
