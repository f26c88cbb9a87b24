import { call, type Reply, say } from "../../../support/agent_fixture.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { onPlanStage } from "../../../support/plan_stage.ts";
import { removeTree } from "../../../support/remove_tree.ts";

const PLAN = "# Greeting\n\n1. Write a.txt\n2. Run it\n";
const calls = (
  ...chunks: ReturnType<typeof call>[]
): Reply => [...chunks, { type: "done", reason: "tool_calls" }];
const propose = (plan = PLAN) => calls(call("p", "exit_plan_mode", { plan }));
const WRITE = calls(call("w", "write_file", { path: "a.txt", content: "hi\n" }));
const COMMAND = calls(call("b", "bash", { command: "echo x > b.txt" }));

Deno.test("an approved plan is executed in the same turn without prompts, until the turn ends", async () => {
  const replies = [
    propose(),
    WRITE,
    COMMAND,
    say("done"),
    calls(call("b2", "bash", { command: "echo y > c.txt" })),
    say("end"),
  ];
  const answers = [{ approve: true, window: true } as const];
  await onPlanStage(
    { replies, answers, allow: () => false },
    async ({ assembly, cwd, shown, asked, all }) => {
      const outcome = await assembly.run("greet");
      assertEquals([outcome.reason, outcome.answer], ["done", "done"]);
      assertEquals(shown, [PLAN.trim()]);
      assertEquals(asked, []);
      assertEquals([assembly.modes.collaboration, assembly.modes.approvedPlan], ["normal", false]);
      assertEquals(await Deno.readTextFile(`${cwd}/a.txt`), "hi\n");
      assertEquals(await Deno.readTextFile(`${cwd}/b.txt`), "x\n");
      assertEquals(all("plan.change").map(({ state }) => state), ["proposed", "approved"]);
      await assembly.run("more");
      assertEquals(asked, ["echo y > c.txt"], "the window is closed");
    },
  );
});

Deno.test("a plan in a headless run is the answer of its turn and a file of the session", async () => {
  await onPlanStage({ replies: [propose(), say("never")] }, async ({ assembly, requests, all }) => {
    const outcome = await assembly.run("greet");
    assertEquals([outcome.reason, outcome.answer], ["done", PLAN.trim()]);
    assertEquals(requests.length, 1);
    const [{ file = "" } = {}] = all("plan.change");
    assertEquals(file.split("/").slice(-2), ["plans", "plan-1.md"]);
    assertEquals(await Deno.readTextFile(file), `${PLAN.trim()}\n`);
    assertEquals(((await Deno.stat(file)).mode ?? 0) & 0o777, 0o600);
  });
});

Deno.test("text of a model that calls no tool is the plan in a headless run", async () => {
  await onPlanStage({ replies: [say(PLAN)] }, async ({ assembly, all }) => {
    assertEquals((await assembly.run("greet")).answer, PLAN);
    assertEquals(all("plan.change").map(({ state, plan }) => [state, plan]), [["proposed", PLAN.trim()]]);
  });
  await onPlanStage({ replies: [say("It is a test.")], answers: [] }, async ({ assembly, all }) => {
    await assembly.run("what is this?");
    assertEquals(all("plan.change"), [], "in a conversation an answer is an answer");
  });
});

Deno.test("text that counts as a plan is executed by a separate turn after approval", async () => {
  const replies = [say(PLAN), WRITE, say("done")];
  const answers = [{ approve: true, window: true, by: "flag" } as const];
  await onPlanStage({ replies, answers, takesProse: true }, async ({ assembly, cwd, requests, all }) => {
    assertEquals((await assembly.run("greet")).answer, "done");
    assertEquals(await Deno.readTextFile(`${cwd}/a.txt`), "hi\n");
    assert(String(requests[1]?.at(-1)?.content).includes("approved the plan"));
    assertEquals(all("message.user").at(-1)?.origin, "continue");
    assertEquals(all("plan.change")[1]?.by, "flag");
    assertEquals(assembly.modes.approvedPlan, false);
  });
});

Deno.test("a note is sent to the model in plan mode; dismissing the plan ends the turn", async () => {
  const replies = [propose(), WRITE, propose("- better"), say("never")];
  const answers = [{ approve: false, note: "no files" } as const, undefined];
  await onPlanStage(
    { replies, answers, allow: () => true },
    async ({ assembly, requests, shown, asked, all }) => {
      const outcome = await assembly.run("greet");
      assertEquals([outcome.reason, outcome.answer], ["done", ""]);
      assertEquals(shown, [PLAN.trim(), "- better"]);
      assert(String(requests[1]?.at(-1)?.content).includes("no files"));
      assertEquals(all("tool.end").map(({ outcome }) => outcome), ["ok", "blocked", "ok"]);
      assertEquals(asked, [], "plan mode refuses, it does not ask");
      assertEquals(all("plan.change").map(({ state }) => state), ["proposed", "revised", "proposed"]);
      assertEquals((await assembly.plans()).pending?.plan, "- better");
      assertEquals(assembly.modes.collaboration, "plan");
    },
  );
});

Deno.test("an edited plan is sent to the model, stored and used for steps", async () => {
  const plan = "1. Only this";
  const replies = [propose(), calls(call("s", "complete_step", { step: 1 })), say("done")];
  await onPlanStage({ replies, answers: [{ approve: true, plan }] }, async ({ assembly, requests, all }) => {
    await assembly.run("greet");
    assert(
      String(requests[1]?.at(-1)?.content).includes("They changed it; this is what counts:\n\n1. Only this"),
    );
    const [, approved, finished] = all("plan.change");
    assertEquals([approved?.plan, finished?.state], [plan, "finished"]);
    assertEquals(await Deno.readTextFile(approved?.file ?? ""), `${plan}\n`);
    assertEquals(all("todo.update").at(-1)?.items, [{ content: "Only this", status: "completed" }]);
  });
});

Deno.test("accepted edits remain until revoked, and commands require approval after the window", async () => {
  const replies = [propose(), say("done"), WRITE, COMMAND, say("end")];
  const answers = [{ approve: true, window: true, acceptEdits: true } as const];
  await onPlanStage({ replies, answers, allow: () => false }, async ({ assembly, asked }) => {
    await assembly.run("greet");
    await assembly.run("more");
    assertEquals(asked, ["echo x > b.txt"]);
    assertEquals(assembly.modes.sessionRules, ["Edit"]);
    assertEquals(assembly.modes.approval, "ask");
  });
});

Deno.test("an approval without a window still prompts for each call", async () => {
  const replies = [propose(), WRITE, say("done")];
  await onPlanStage(
    { replies, answers: [{ approve: true }], allow: () => true },
    async ({ assembly, asked }) => {
      await assembly.run("greet");
      assertEquals(asked, ["a.txt"]);
    },
  );
});

Deno.test("the window keeps denials and the destructive-command check, and ends with a change of mode", async () => {
  const remove = "rm -rf /srv/nothing-here";
  const replies = [
    propose(),
    calls(call("1", "bash", { command: "mkdir denied" }), call("2", "bash", { command: remove })),
    say("done"),
  ];
  const config = { permissions: { deny: ["Bash(mkdir:*)"] } };
  const answers = [{ approve: true, window: true } as const];
  await onPlanStage({ replies, answers, config, allow: () => false }, async ({ assembly, asked, all }) => {
    await assembly.run("greet");
    assertEquals(asked, [remove]);
    assertEquals(all("tool.end").map(({ outcome }) => outcome), ["ok", "blocked", "blocked"]);
    const { modes } = assembly;
    const switches = [
      () => modes.setApproval("auto"),
      () => modes.setApproval("auto"),
      () => modes.setPermission("read-only"),
      () => modes.setCollaboration("plan"),
      () => modes.setCollaboration("normal"),
    ];
    for (const change of switches) {
      modes.approvedPlan = true;
      await change();
      assertEquals(modes.approvedPlan, false);
    }
  });
});

Deno.test("complete_step is refused without an approved plan and for unknown steps", async () => {
  const step = (id: string, number: number) => call(id, "complete_step", { step: number });
  const replies = [
    calls(step("1", 1)),
    propose(),
    calls(step("2", 3), step("3", 0), step("4", 2), step("5", 1), step("6", 1)),
    say("done"),
  ];
  const answers = [{ approve: true, window: true } as const];
  await onPlanStage({ replies, answers }, async ({ assembly, all }) => {
    await assembly.run("greet");
    const ends = all("tool.end").map(({ name, outcome, summary }) => `${name} ${outcome} ${summary}`);
    assertEquals(ends.map((end) => end.slice(0, 60)), [
      'complete_step blocked plan mode refuses "complete_step"; only'.slice(0, 60),
      "exit_plan_mode ok approved",
      "complete_step error Cannot complete step 3: the plan has the steps 1 to 2".slice(0, 60),
      "complete_step error Cannot complete step 0: the plan has the steps 1 to 2".slice(0, 60),
      "complete_step ok 1/2 done",
      "complete_step ok 2/2 done",
      "complete_step error The plan is finished already",
    ]);
    assertEquals(all("plan.change").map(({ state }) => state), ["proposed", "approved", "finished"]);
  });
});

Deno.test("exit_plan_mode is refused outside of plan mode, and for empty or very long text", async () => {
  const plan = (id: string, text: string) => call(id, "exit_plan_mode", { plan: text });
  const replies = [
    calls(plan("1", " \n"), plan("2", "x".repeat(30_001))),
    say("a"),
    calls(plan("3", "x")),
    say("b"),
  ];
  await onPlanStage({ replies, answers: [] }, async ({ assembly, shown, all }) => {
    await assembly.run("one");
    await assembly.modes.setCollaboration("normal");
    await assembly.run("two");
    assertEquals(shown, []);
    assertEquals(all("tool.end").map(({ outcome, summary }) => [outcome, summary.slice(0, 36)]), [
      ["error", "Cannot propose a plan: it is empty; "],
      ["error", "Cannot propose a plan of 30001 chara"],
      ["error", "Cannot propose a plan: plan mode is "],
    ]);
  });
});

Deno.test("the tools and the system prompt are equal in and outside of plan mode", async () => {
  const replies = [propose(), say("done"), say("again")];
  await onPlanStage({ replies, answers: [{ approve: true }] }, async ({ assembly, requests, all }) => {
    await assembly.run("greet");
    await assembly.modes.setCollaboration("plan");
    await assembly.run("again");
    assertEquals(all("context.prefix").length, 1);
    for (const [at, messages] of requests.slice(1).entries()) {
      assertEquals(messages.slice(0, requests[at]?.length), requests[at]);
    }
  });
});

Deno.test("an interrupted decision keeps the plan pending, and a later approval executes it", async () => {
  const stop = new AbortController();
  const answers = [{ approve: true, window: true } as const];
  let times = 0;
  const planReviewer = {
    review(_: unknown, signal: AbortSignal) {
      if (times++ > 0) return Promise.resolve(answers[0]);
      queueMicrotask(() => stop.abort("interrupted"));
      return new Promise<undefined>((resolve) => signal.addEventListener("abort", () => resolve(undefined)));
    },
  };
  const replies = [propose(), WRITE, say("done")];
  await onPlanStage({ replies, planReviewer }, async ({ assembly, cwd, all }) => {
    const outcome = await assembly.run("greet", stop.signal);
    assertEquals(outcome.reason, "interrupted");
    assertEquals(all("tool.end").map(({ outcome }) => outcome), ["aborted"]);
    const plans = await assembly.plans();
    assertEquals(plans.pending?.plan, PLAN.trim());
    const input = await plans.ask(new AbortController().signal);
    assert(input !== undefined);
    assertEquals((await assembly.run(input)).answer, "done");
    assertEquals(await Deno.readTextFile(`${cwd}/a.txt`), "hi\n");
    assertEquals(assembly.modes.approvedPlan, false);
  });
});

Deno.test("a plan survives a restart, and a rewind removes it with the turn that proposed it", async () => {
  const root = await Deno.realPath(await Deno.makeTempDir({ prefix: "reasonix-plan-" }));
  await onPlanStage({ root, replies: [say("before"), propose()] }, async ({ assembly }) => {
    await assembly.modes.setCollaboration("normal");
    await assembly.run("hello");
    await assembly.modes.setCollaboration("plan");
    await assembly.run("greet");
  });
  const again = {
    root,
    replies: [WRITE, say("done")],
    continue: true,
    answers: [],
    permissionMode: "plan" as const,
  };
  await onPlanStage(again, async ({ assembly, cwd }) => {
    const plans = await assembly.plans();
    assertEquals(plans.pending?.plan, PLAN.trim());
    await assembly.open();
    const { lastSeq } = assembly.session.state;
    await assembly.rewind(1, "conversation");
    assertEquals([plans.latest, plans.pending], [undefined, undefined]);
    await assembly.controller.recorder.record({ type: "rewind", to: lastSeq, scope: "conversation" });
    assertEquals(plans.pending?.plan, PLAN.trim());
    await assembly.run(await plans.inputOf({ approve: true, window: true }));
    assertEquals(await Deno.readTextFile(`${cwd}/a.txt`), "hi\n");
  });
  await removeTree(root);
});

Deno.test("a plan that cannot be saved is still proposed, with a notice to the user", async () => {
  await onPlanStage({ replies: [propose()] }, async ({ assembly, all }) => {
    await assembly.open();
    await Deno.writeTextFile(`${assembly.session.paths.dir}/plans`, "in the way");
    assertEquals((await assembly.run("greet")).answer, PLAN.trim());
    assertEquals(all("plan.change").map(({ file }) => file), [undefined]);
    assert(all("notice").some(({ text }) => text.startsWith("The plan cannot be written to ")));
  });
});

Deno.test("a run of several turns ends with a pending plan and continues when a flag approves it", async () => {
  await onPlanStage({ replies: [say(PLAN), say("never")], steps: 3 }, async ({ assembly, requests }) => {
    assertEquals((await assembly.run("greet")).answer, PLAN);
    assertEquals(requests.length, 1);
  });
  const replies = [propose(), WRITE, say("half"), say("whole %%DONE%%")];
  const answers = [{ approve: true, window: true, by: "flag" } as const];
  await onPlanStage({ replies, answers, steps: 3 }, async ({ assembly, requests }) => {
    await assembly.run("greet");
    assertEquals(requests.length, 4);
  });
});
