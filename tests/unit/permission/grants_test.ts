import type { PreparedCall } from "../../../src/core/mod.ts";
import type { GateOptions, PermissionGate } from "../../../src/permission/mod.ts";
import { assertEquals } from "../../support/assert.ts";
import { attended, call, scene } from "./scene.ts";

const never = new AbortController().signal;
const edit = (path: string) => call("write_file", { path });

function task(agent: string): PreparedCall {
  const { family: _family, writes: _writes, ...rest } = edit("x");
  return { ...rest, tool: "task", family: "Task", delegates: true, subjects: [agent] };
}

function gate(options: Partial<GateOptions> = {}): PermissionGate {
  return scene("/w", {}, options).gate;
}

/** Approves for the session and records the requests. */
function person() {
  const { asked, approver } = attended({ allow: true, scope: "session" });
  return { asked, approver };
}

Deno.test("a session grant applies to the run and all of its agents", async () => {
  const { asked, approver } = person();
  const run = gate({ approver });
  const agents = [gate({ approver, above: run }), gate({ approver, above: run })] as const;
  assertEquals((await agents[0].check(edit("a.txt"), never)).decision, "allow");
  assertEquals(asked.length, 1);
  for (const each of [run, ...agents]) {
    assertEquals((await each.check(edit("b.txt"), never)).decision, "allow");
  }
  assertEquals([asked.length, run.sessionRules], [1, ["Edit"]]);
  run.revokeForSession("Edit");
  await agents[1].check(edit("c.txt"), never);
  assertEquals(asked.length, 2);
});

Deno.test("agents follow the current modes of the run, and their own modes apply only to them", async () => {
  const run = gate({ approvalMode: "yolo" });
  const agent = gate({ above: run });
  const reader = gate({ above: run, permissionMode: "read-only" });
  assertEquals((await agent.check(edit("a.txt"), never)).decision, "allow");
  assertEquals((await reader.check(edit("a.txt"), never)).decision, "deny");
  run.permissionMode = "plan";
  assertEquals([agent.permissionMode, reader.permissionMode], ["plan", "plan"]);
  assertEquals((await agent.check(edit("a.txt"), never)).source, "plan");
  run.permissionMode = "workspace-write";
  assertEquals([agent.permissionMode, reader.permissionMode], ["workspace-write", "read-only"]);
});

Deno.test("rules about agents match by name, and without one a task needs no approval", async () => {
  const { asked, approver } = person();
  const run = scene("/w", { ask: ["Task(plan)"], deny: ["Agent(rev*)"] }, { approver }).gate;
  assertEquals((await run.check(task("review"), never)).source, "rule");
  assertEquals((await run.check(task("explore"), never)).decision, "allow");
  assertEquals(asked.length, 0);
  assertEquals((await run.check(task("plan"), never)).decision, "allow");
  assertEquals(asked.map(({ subject }) => subject), ["plan"]);
  run.permissionMode = "plan";
  assertEquals((await run.check(task("explore"), never)).source, "plan");
});
