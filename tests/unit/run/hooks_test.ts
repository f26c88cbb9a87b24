/** Hooks of an embedded agent at prompts and compactions. */
import { createAgent } from "../../../src/features/mod.ts";
import { type Event, ReasonixError } from "../../../src/core/mod.ts";
import { call, say, scriptedProvider } from "../../support/agent_fixture.ts";
import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "../../support/assert.ts";
import { makeTempDir } from "../../support/tool_context.ts";

interface Asked {
  readonly commands: readonly string[];
  readonly hooks: readonly { readonly event: string; readonly command: string; readonly matcher?: string }[];
  readonly ask?: readonly string[];
}

/** Runs the commands one by one with a user who approves, and returns the prompts. */
async function asked({ commands, hooks, ask = [] }: Asked) {
  await using temp = await makeTempDir();
  const questions: string[] = [];
  const events: Event[] = [];
  const calls = commands.map((command, n) => [
    call(`c${n}`, "bash", { command }),
    { type: "done", reason: "tool_calls" } as const,
  ]);
  await using agent = await createAgent({
    cwd: temp.path,
    provider: scriptedProvider([...calls, say("done")]),
    config: { hooks: [...hooks], permissions: { ask: [...ask] }, sandbox: { bash: "off" } },
    approver: {
      ask({ subject }) {
        questions.push(subject);
        return Promise.resolve({ allow: true, scope: "once" });
      },
    },
    onEvent: (event) => void events.push(event),
  });
  const outcome = await agent.run("go");
  const files = [...Deno.readDirSync(temp.path)].map(({ name }) => name).sort();
  const results = events.flatMap((event) => event.type === "tool.end" ? [event.content] : []);
  const decisions = events.flatMap((event) => event.type === "approval.decision" ? [event.source] : []);
  const read = files.includes("seen") ? Deno.readTextFileSync(`${temp.path}/seen`).trim().split("\n") : [];
  // deno-lint-ignore no-explicit-any
  return { outcome, questions, files, results, decisions, seen: read.map((line): any => JSON.parse(line)) };
}

const answer = (decision: unknown) => `echo '${JSON.stringify({ hookSpecificOutput: { decision } })}'`;

Deno.test("PermissionRequest answers only prompts that no rule decides", async () => {
  const hooks = [{ event: "PermissionRequest", matcher: "Bash", command: answer({ behavior: "allow" }) }];
  const { questions, files, decisions } = await asked({
    commands: ["touch plain", "touch ruled", "touch .envrc"],
    hooks,
    ask: ["Bash(touch ruled)"],
  });
  assertEquals(questions, ["touch ruled", "touch .envrc"]);
  assertEquals(files, [".envrc", "plain", "ruled"]);
  assertEquals(decisions, ["hook", "user", "user"]);
});

Deno.test("PermissionRequest refuses with a message, and ends the turn when it interrupts", async () => {
  const deny = { behavior: "deny", message: "not-today" };
  const refused = await asked({
    commands: ["touch a"],
    hooks: [{ event: "PermissionRequest", command: answer(deny) }],
  });
  assertEquals([refused.questions, refused.files, refused.outcome.reason], [[], [], "done"]);
  assertMatch(refused.results[0] ?? "", /a hook declined "touch a": not-today/);
  const ended = await asked({
    commands: ["touch a", "touch b"],
    hooks: [{ event: "PermissionRequest", command: answer({ ...deny, interrupt: true }) }],
  });
  assertEquals([ended.outcome.reason, ended.results.length], ["blocked", 1]);
});

Deno.test("PermissionRequest that changes the arguments each time runs once", async () => {
  const command =
    `if grep -q more; then ${answer({ behavior: "allow", updatedInput: { command: "touch c-more" } })}; ` +
    `else ${answer({ behavior: "allow", updatedInput: { command: "touch b-more" } })}; fi`;
  const { files, questions } = await asked({
    commands: ["touch a"],
    hooks: [{ event: "PermissionRequest", command }],
  });
  assertEquals([files, questions], [["b-more"], []]);
});

Deno.test("Notification reports a prompt; the ask decision of a hook overrides an allow rule", async () => {
  const ask = `cat >/dev/null; echo '${
    JSON.stringify({ hookSpecificOutput: { permissionDecision: "ask", permissionDecisionReason: "sure" } })
  }'`;
  const { questions, seen } = await asked({
    commands: ["ls"],
    hooks: [
      { event: "Notification", matcher: "permission_prompt", command: "cat >> seen" },
      { event: "PreToolUse", command: ask },
    ],
  });
  assertEquals(questions, ["ls"]);
  assertEquals(seen.map(({ notification_type }) => notification_type), ["permission_prompt"]);
  assertStringIncludes(seen[0].message, "bash");
});

Deno.test("PreCompact blocks a compaction with its reason", async () => {
  await using temp = await makeTempDir();
  await using agent = await createAgent({
    cwd: temp.path,
    provider: scriptedProvider([say("one"), say("two")]),
    config: {
      hooks: [{ event: "PreCompact", matcher: "manual", command: "cat > seen; echo keep-it >&2; exit 2" }],
      sandbox: { bash: "off" },
    },
  });
  await agent.run("go");
  const error = await assertRejects(() => agent.controller.compact("the port"), ReasonixError);
  assertStringIncludes(error.message, "keep-it");
  const seen = JSON.parse(Deno.readTextFileSync(`${temp.path}/seen`));
  assertEquals([seen.trigger, seen.custom_instructions], ["manual", "the port"]);
  assertEquals((await agent.run("go on")).answer, "two");
});

Deno.test("an abort ends a waiting hook and the turn", async () => {
  await using temp = await makeTempDir();
  await using agent = await createAgent({
    cwd: temp.path,
    provider: scriptedProvider([[
      call("1", "bash", { command: "touch a" }),
      { type: "done", reason: "tool_calls" } as const,
    ]]),
    config: {
      hooks: [{ event: "PreToolUse", command: "echo > begun; sleep 600" }],
      sandbox: { bash: "off" },
    },
    onAsk: "allow",
  });
  const stop = new AbortController();
  const turn = agent.run("go", stop.signal);
  while (![...Deno.readDirSync(temp.path)].some(({ name }) => name === "begun")) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  stop.abort();
  assertEquals((await turn).reason, "interrupted");
  assertEquals([...Deno.readDirSync(temp.path)].map(({ name }) => name), ["begun"]);
});
