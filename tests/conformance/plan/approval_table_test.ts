/** Answers by approval mode and kind of prompt, with a user and headless. */
import { call, type Reply, say } from "../../support/agent_fixture.ts";
import { assertEquals } from "../../support/assert.ts";
import { onPlanStage, type PlanStage } from "../../support/plan_stage.ts";
import type { Tool } from "../../../src/tool/mod.ts";

const WRITE = "new.txt";
const QUESTION = "Which one?";
const READER = "mcp__docs__search";

/** A read-only claim of a server. */
const SELF_DECLARED: Tool = {
  name: READER,
  description: "Search",
  schema: { type: "object", properties: {} },
  readOnly: true,
  family: "Mcp",
  execute: () => Promise.resolve({ content: "found", summary: "found" }),
};

const calls = (
  ...chunks: ReturnType<typeof call>[]
): Reply => [...chunks, { type: "done", reason: "tool_calls" }];

const REPLIES: readonly Reply[] = [
  calls(
    call("tool", "write_file", { path: WRITE, content: "x\n" }),
    call("question", "ask", {
      questions: [{ question: QUESTION, options: [{ label: "a" }, { label: "b" }] }],
    }),
  ),
  say("done"),
  calls(call("trust", READER), call("again", READER)),
  calls(
    call("plan", "exit_plan_mode", { plan: "1. Go on" }),
    call("after", "write_file", { path: "after.txt", content: "x\n" }),
  ),
  say("done"),
];

const POSTURES = ["ask", "auto", "yolo", "window"] as const;
type Posture = (typeof POSTURES)[number];
type Cells = Readonly<Record<"tool" | "plan" | "trust" | "question", string>>;

/** With a user every prompt except tools waits for the user; tools wait if they require approval. */
const INTERACTIVE: Readonly<Record<Posture, Cells>> = {
  ask: { tool: "asked", plan: "asked", trust: "asked once", question: "asked" },
  auto: { tool: "allowed by mode", plan: "asked", trust: "asked once", question: "asked" },
  yolo: { tool: "allowed by mode", plan: "asked", trust: "asked once", question: "asked" },
  window: { tool: "allowed by mode", plan: "asked", trust: "asked once", question: "asked" },
};

/** Headless runs decide nothing for the user: plans are kept, claims refused, answers assumed. */
const HEADLESS: Readonly<Record<Posture, Cells>> = {
  ask: { tool: "allowed by headless", plan: "kept", trust: "refused", question: "assumed" },
  auto: { tool: "allowed by mode", plan: "kept", trust: "refused", question: "assumed" },
  yolo: { tool: "allowed by mode", plan: "kept", trust: "refused", question: "assumed" },
  window: { tool: "allowed by mode", plan: "kept", trust: "refused", question: "assumed" },
};

async function cells(posture: Posture, attended: boolean): Promise<Cells> {
  const questions: string[] = [];
  let found: Cells | undefined;
  const person = {
    answers: [undefined],
    allow: () => true,
    asker: {
      ask(asked: readonly { readonly question: string }[]) {
        questions.push(...asked.map(({ question }) => question));
        return Promise.resolve([["a"]]);
      },
    },
  };
  await onPlanStage({
    replies: REPLIES,
    tools: [SELF_DECLARED],
    permissionMode: "workspace-write",
    ...(posture === "window" ? {} : { approvalMode: posture }),
    ...(attended ? { ...person, scope: "session" } : {}),
  }, async (stage) => {
    const { modes } = stage.assembly;
    if (posture === "window") modes.approvedPlan = true;
    await stage.assembly.run("one");
    await modes.setCollaboration("plan");
    // A window that were open all the same would answer neither.
    if (posture === "window") modes.approvedPlan = true;
    await stage.assembly.run("two");
    found = {
      tool: ofTool(stage),
      plan: stage.shown.length === 1 ? "asked" : ofPlan(stage),
      trust: ofTrust(stage),
      question: questions.includes(QUESTION) ? "asked" : ofQuestion(stage),
    };
    assertEquals(await Deno.stat(`${stage.cwd}/after.txt`).catch(() => "nothing"), "nothing");
    assertEquals(modes.collaboration, "plan", "nobody but a person approves a plan");
  });
  return found as Cells;
}

const endOf = ({ all }: PlanStage, id: string) => all("tool.end").find(({ callId }) => callId === id);

function ofTool(stage: PlanStage): string {
  if (stage.asked.includes(WRITE)) return "asked";
  const decision = stage.all("approval.decision").find(({ callId }) => callId === "tool");
  return `${decision?.decision === "allow" ? "allowed" : "refused"} by ${decision?.source}`;
}

function ofPlan(stage: PlanStage): string {
  const [change, ...more] = stage.all("plan.change");
  return change?.state === "proposed" && more.length === 0 ? "kept" : "decided";
}

function ofTrust(stage: PlanStage): string {
  const times = stage.asked.filter((subject) => subject === READER).length;
  const outcomes = ["trust", "again"].map((id) => endOf(stage, id)?.outcome);
  if (times === 1 && outcomes.every((outcome) => outcome === "ok")) return "asked once";
  return outcomes.every((outcome) => outcome === "blocked") ? "refused" : `asked ${times} times: ${outcomes}`;
}

function ofQuestion(stage: PlanStage): string {
  const { content = "" } = endOf(stage, "question") ?? {};
  return content.includes("Assumption, not a decision of the user") ? "assumed" : content;
}

for (const posture of POSTURES) {
  Deno.test(`approvals by ${posture}: tools follow the policy, and the user's decisions are left to the user`, async () => {
    assertEquals(await cells(posture, true), INTERACTIVE[posture]);
  });
  Deno.test(`approvals by ${posture} in headless runs: no decision is made for the user`, async () => {
    assertEquals(await cells(posture, false), HEADLESS[posture]);
  });
}

Deno.test("approval mode and collaboration mode change independently, with an event for each change", async () => {
  await onPlanStage({ replies: [], permissionMode: "workspace-write" }, async ({ assembly, all }) => {
    const { modes } = assembly;
    await assembly.open();
    for (const approval of ["auto", "yolo", "ask"] as const) {
      await modes.setApproval(approval);
      for (const collaboration of ["plan", "goal", "normal"] as const) {
        await modes.setCollaboration(collaboration);
        assertEquals([modes.approval, modes.collaboration], [approval, collaboration]);
      }
    }
    assertEquals(
      all("mode.change").map(({ posture, collaboration }) => posture ?? collaboration),
      ["auto", "plan", "goal", "normal", "yolo", "plan", "goal", "normal", "ask", "plan", "goal", "normal"],
    );
    const { posture, collaboration, mode } = assembly.session.state;
    assertEquals([posture, collaboration, mode], ["ask", "normal", "workspace-write"]);
  });
});
