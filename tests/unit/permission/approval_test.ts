import { type ApprovalAnswer, type PreparedCall, textOf } from "../../../src/core/mod.ts";
import type { ApprovalRequest, GateOptions, PermissionGate } from "../../../src/permission/mod.ts";
import { assertEquals } from "../../support/assert.ts";
import { attended, bash, call, scene } from "./scene.ts";

const signal = new AbortController().signal;

const ONCE: ApprovalAnswer = { allow: true, scope: "once" };
const SESSION: ApprovalAnswer = { allow: true, scope: "session" };
const ALWAYS: ApprovalAnswer = { allow: true, scope: "always" };

Deno.test("a single approval prompts again the next time", async () => {
  const { gate, asked, events } = attended(ONCE);
  const request = bash("make");
  assertEquals(await gate.check(request, signal), { decision: "allow", source: "user" });
  await gate.check(bash("make"), signal);
  assertEquals(asked.length, 2);
  assertEquals(events.slice(0, 2), [
    {
      type: "approval.request",
      callId: request.call.id,
      tool: "bash",
      subject: "make",
      reason: "no rule applies (default)",
      rule: "Bash(make)",
    },
    { type: "approval.decision", callId: request.call.id, decision: "allow", source: "user" },
  ]);
});

Deno.test("a refusal sends the user's note to the model", async () => {
  const { gate } = attended({ allow: false, scope: "once", note: "use deno task build" });
  const { reason = "", ...refusal } = await gate.check(bash("make"), signal);
  assertEquals(refusal, { decision: "deny", source: "user", asked: true });
  assertEquals(textOf(reason), 'the user declined "make": use deno task build');
});

Deno.test("a session approval of a command covers only that command", async () => {
  const { gate, asked } = attended(SESSION);
  await gate.check(bash("make a"), signal);
  await gate.check(bash("make a"), signal);
  assertEquals(asked.length, 1);
  await gate.check(bash("make b"), signal);
  assertEquals(asked.length, 2);
});

Deno.test("a session approval of an edit covers all edits, but no protected path", async () => {
  const { gate, asked } = attended(SESSION);
  await gate.check(call("edit_file", { path: "a" }), signal);
  await gate.check(call("write_file", { path: "b" }), signal);
  assertEquals(asked.length, 1);
  await gate.check(call("write_file", { path: ".git/config" }), signal);
  assertEquals([asked.length, asked[1]?.scopes], [2, ["once", "session"]]);
});

Deno.test("always saves the exact rule, and the call is allowed from then on", async () => {
  const { gate, asked, saved } = attended(ALWAYS);
  await gate.check(bash("go test ./..."), signal);
  assertEquals([asked[0]?.rule, asked[0]?.prefixRule], ["Bash(go test ./...)", "Bash(go test:*)"]);
  assertEquals((await gate.check(bash("go test ./..."), signal)).source, "rule");
  assertEquals((await gate.check(bash("go test ./x"), signal)).source, "user");
  assertEquals(saved, ["Bash(go test ./...)", "Bash(go test ./x)"]);
});

Deno.test("the wider rule is saved when the answer selects it", async () => {
  const { gate, asked, saved } = attended({ ...ALWAYS, rule: "Bash(go test:*)" });
  await gate.check(bash("go test ./..."), signal);
  await gate.check(bash("go test ./x"), signal);
  assertEquals([saved, asked.length], [["Bash(go test:*)"], 1]);
  const session = attended({ ...SESSION, rule: "Bash(go test:*)" });
  await session.gate.check(bash("go test ./..."), signal);
  await session.gate.check(bash("go test ./x"), signal);
  assertEquals([session.saved, session.asked.length], [[], 1]);
});

Deno.test("a rule that was not offered is not granted", async () => {
  const { gate, asked, saved } = attended({ ...ALWAYS, rule: "Bash" });
  await gate.check(bash("make"), signal);
  assertEquals(saved, ["Bash(make)"]);
  await gate.check(bash("rm a"), signal);
  assertEquals(asked.length, 2);
});

Deno.test("every proposed rule allows its call the next time", async () => {
  const lines = [
    "make",
    "echo 'a b' | tee x",
    'git commit -m "a (b) *"',
    "for i in a b; do touch $i; done",
    "echo x > out.txt",
    "python -c 'print(1)'",
    "a\nb",
    "x:*",
    "FOO=1 make",
    "if",
    "touch $X",
  ];
  for (const line of lines) {
    const { rule } = (await ask(line)) ?? {};
    const { gate } = scene("/w", { allow: [rule ?? ""] }, { onAsk: "deny" });
    assertEquals((await gate.check(bash(line), signal)).source, "rule", `${line} → ${rule}`);
    assertEquals((await gate.check(bash(`${line}; zap`), signal)).decision, "deny", `${line} → ${rule}`);
  }
});

async function ask(line: string): Promise<ApprovalRequest | undefined> {
  const { gate, asked } = attended(ONCE);
  await gate.check(bash(line), signal);
  return asked[0];
}

Deno.test("no rule is offered when none would apply", async () => {
  const asking = attended(SESSION, { ask: ["Bash(make:*)"] });
  await asking.gate.check(bash("make"), signal);
  await asking.gate.check(bash("make"), signal);
  assertEquals([asking.asked.length, asking.asked[0]?.rule, asking.asked[0]?.scopes], [1, undefined, [
    "once",
    "session",
  ]]);
  const hidden = attended(ONCE, { deny: ["Bash(rm:*)"] });
  await hidden.gate.check(bash('python -c "$X"'), signal);
  assertEquals(hidden.asked[0]?.scopes, ["once", "session"]);
  const unsaved = scene("/w", {}, {
    approver: { ask: (request) => (assertEquals(request.rule, undefined), Promise.resolve(ONCE)) },
  });
  await unsaved.gate.check(bash("make"), signal);
});

Deno.test("wide rules are offered only for commands that cannot run others", async () => {
  const wide = async (line: string) => (await ask(line))?.prefixRule;
  assertEquals(await wide("npm run build -- --watch"), "Bash(npm run build:*)");
  assertEquals(await wide("pytest -x tests"), "Bash(pytest:*)");
  assertEquals(await wide("cd x && git add . "), "Bash(git add:*)");
  for (
    const line of [
      "rm a",
      "bash x.sh",
      "python x.py",
      "sudo go test",
      "go run x",
      "npm exec x",
      "make",
      "go test && make",
      "$X test",
      "find . -name x",
    ]
  ) {
    assertEquals(await wide(line), undefined, line);
  }
});

Deno.test("a rule for an edit has its full path, since it is saved for all projects", async () => {
  const { gate, asked, saved } = attended(ALWAYS);
  await gate.check(call("edit_file", { path: "./src/../src/a.ts" }), signal);
  assertEquals(asked[0]?.rule, "Edit(/w/src/a.ts)");
  assertEquals((await gate.check(call("write_file", { path: "src/a.ts" }), signal)).source, "rule");
  assertEquals(saved.length, 1);
});

Deno.test("a project rule names its files by paths in the project", async () => {
  const here: string[] = [];
  const saveProjectRule = (rule: string) => Promise.resolve(void here.push(rule));
  const answer = { allow: true, scope: "project" } as const;
  const { gate, asked, saved } = attended(answer, {}, { saveProjectRule });
  const edit = (path: string) => gate.check(call("write_file", { path }), signal);
  await edit("./src/../src/a.ts");
  assertEquals(asked[0]?.scopes, ["once", "session", "project", "always"]);
  assertEquals(asked[0]?.projectRule, "Edit(src/a.ts)");
  assertEquals((await edit("src/a.ts")).source, "rule");
  // Names that mean something else at the beginning of a rule, and files elsewhere, are named in full.
  for (const path of ["文档/说明.md", "a[1]*.ts", "!x", "~x", "/elsewhere/a", "c:x"]) {
    await edit(path);
    assertEquals((await edit(path)).source, "rule", path);
  }
  await gate.check(bash("go test ./..."), signal);
  assertEquals(here, [
    "Edit(src/a.ts)",
    "Edit(文档/说明.md)",
    "Edit(a\\[1\\]\\*.ts)",
    "Edit(/w/!x)",
    "Edit(/w/~x)",
    "Edit(/elsewhere/a)",
    "Edit(/w/c:x)",
    "Bash(go test ./...)",
  ]);
  assertEquals(saved, []);
});

Deno.test("an answer for the project can select the wider rule, and none that was not offered", async () => {
  const here: string[] = [];
  const saveProjectRule = (rule: string) => Promise.resolve(void here.push(rule));
  for (const rule of ["Bash(go test:*)", "Bash"]) {
    const { gate } = attended({ allow: true, scope: "project", rule }, {}, { saveProjectRule });
    await gate.check(bash("go test ./..."), signal);
  }
  assertEquals(here, ["Bash(go test:*)", "Bash(go test ./...)"]);
  const without = attended({ allow: true, scope: "project" });
  await without.gate.check(bash("make"), signal);
  assertEquals([without.saved, without.asked[0]?.scopes], [[], ["once", "session", "always"]]);
});

Deno.test("a tool of a plugin is approved by name", async () => {
  const { gate, asked } = attended(ALWAYS);
  await gate.check(call("mcp__db__write", { query: "x" }), signal);
  assertEquals(asked[0]?.rule, "mcp__db__write");
  assertEquals((await gate.check(call("mcp__db__write", { query: "y" }), signal)).source, "rule");
});

Deno.test("yolo still asks when a denied command may hide", async () => {
  const { gate, asked } = attended(ONCE, { deny: ["Bash(rm:*)"] }, { approvalMode: "yolo" });
  assertEquals((await gate.check(bash("eval $X"), signal)).source, "user");
  assertEquals((await gate.check(bash("make"), signal)).source, "mode");
  assertEquals(asked.length, 1);
});

Deno.test("plan mode prompts for a read-only plugin tool in every approval mode", async () => {
  const trusted: string[] = [];
  const reader = () => call("mcp__docs__search", {}, true);
  const saveTrust = (tool: string) => Promise.resolve(void trusted.push(tool));
  for (const scope of ["once", "session", "always"] as const) {
    const { gate, asked } = attended({ allow: true, scope }, { allow: ["Mcp"] }, {
      permissionMode: "plan",
      approvalMode: "yolo",
      saveTrust,
    });
    await gate.check(reader(), signal);
    await gate.check(reader(), signal);
    assertEquals(asked.length, scope === "once" ? 2 : 1, scope);
    assertEquals(asked[0]?.scopes, ["once", "session", "always"]);
  }
  assertEquals(trusted, ["mcp__docs__search"]);
  const alone = scene("/w", {}, { permissionMode: "plan", approvalMode: "yolo" });
  assertEquals((await alone.gate.check(reader(), signal)).source, "trust");
  const known = scene("/w", {}, { permissionMode: "plan", trustedReadOnly: new Set([reader().tool]) });
  assertEquals((await known.gate.check(reader(), signal)).decision, "allow");
});

Deno.test("outside of plan mode a read-only claim requires approval until the user trusts it", async () => {
  const reader = () => call("mcp__docs__search", {}, true);
  for (const scope of ["once", "session", "project", "always"] as const) {
    const trusted: string[] = [];
    const projectRules: string[] = [];
    const { gate, asked, events } = attended({ allow: true, scope }, {}, {
      saveTrust: (tool) => Promise.resolve(void trusted.push(tool)),
      saveProjectRule: (rule) => Promise.resolve(void projectRules.push(rule)),
    });
    await gate.check(reader(), signal);
    const { source } = await gate.check(reader(), signal);
    assertEquals(
      [asked.length, source],
      {
        once: [2, "user"],
        session: [1, "mode"],
        project: [1, "rule"],
        always: [1, "mode"],
      }[scope],
    );
    assertEquals(asked[0]?.scopes, ["once", "session", "project", "always"]);
    assertEquals([asked[0]?.readOnlyClaim, asked[0]?.personOnly], [true, undefined]);
    assertEquals(trusted, scope === "always" ? ["mcp__docs__search"] : []);
    assertEquals(projectRules, scope === "project" ? ["mcp__docs__search"] : []);
    assertEquals(events.filter(({ type }) => type === "approval.decision").length, 2);
    gate.permissionMode = "plan";
    await gate.check(reader(), signal);
    assertEquals(asked.length, { once: 3, session: 1, project: 2, always: 1 }[scope]);
  }
});

Deno.test("an approval of a server address grants that address", async () => {
  const address = (uri: string): PreparedCall => ({
    ...call("mcp_resource", { server: "docs", uri }),
    server: "mcp__docs__",
    subjects: [`docs:${uri}`],
  });
  for (const answer of [SESSION, ALWAYS]) {
    const { gate, asked, saved } = attended(answer);
    for (const uri of ["page://a", "page://a", "page://b"]) await gate.check(address(uri), signal);
    assertEquals(asked.length, 2);
    assertEquals(
      saved,
      answer === ALWAYS ? ["mcp_resource(docs:page://a)", "mcp_resource(docs:page://b)"] : [],
    );
  }
});

/** The problems of rules that the user writes for a call. */
async function edited(request: ReturnType<typeof bash>, rules: readonly string[]) {
  const { gate, asked } = attended(ONCE);
  await gate.check(request, signal);
  const check = asked[0]?.checkRule;
  return rules.map((rule) => check ? check(rule)?.code ?? "taken" : "not offered");
}

Deno.test("a custom rule is accepted between the exact and the widest proposed one", async () => {
  assertEquals(
    await edited(bash("npm run build -- --mode production"), [
      "Bash(npm run build:*)",
      "Bash(npm run build -- --mode:*)",
      "Bash(npm run build -- --mode production)",
      "Bash(npm run:*)",
      "Bash(npm:*)",
      "Bash",
      "Bash(*)",
      "*",
      "Bash(npm run test:*)",
      "Edit(src/**)",
      "Bash(npm run build",
      "",
    ]),
    [
      "taken",
      "taken",
      "taken",
      "wider",
      "wider",
      "wider",
      "wider",
      "wider",
      "noMatch",
      "noMatch",
      "unreadable",
      "unreadable",
    ],
  );
});

Deno.test("a command without a safe prefix accepts only its exact rule in any notation", async () => {
  assertEquals(
    await edited(bash("python3 tool.py --dry"), [
      "Bash(python3 tool.py --dry)",
      "bash=python3 tool.py --dry",
      "Bash(python3 tool.py:*)",
      "Bash(python3:*)",
      "Bash(* --dry)",
    ]),
    ["taken", "taken", "wider", "wider", "wider"],
  );
});

Deno.test("an edit accepts rules inside the project, not for all edits or outside paths", async () => {
  const request = call("write_file", { path: "src/a.ts", content: "x" });
  assertEquals(
    await edited(request, [
      "Edit(src/a.ts)",
      "Edit(src/*.ts)",
      "Edit(src/**)",
      "Edit",
      "Edit(**)",
      "Edit(//**)",
      "Edit(docs/**)",
    ]),
    ["taken", "taken", "taken", "wider", "wider", "wider", "noMatch"],
  );
});

Deno.test("the custom rule is saved and applied, and one that is too wide is not", async () => {
  const rule = "Bash(npm run build -- --mode:*)";
  const { gate, saved, asked } = attended({ ...ALWAYS, rule });
  await gate.check(bash("npm run build -- --mode production"), signal);
  assertEquals(saved, [rule]);
  await gate.check(bash("npm run build -- --mode test"), signal);
  assertEquals(asked.length, 1);
  const wide = attended({ ...ALWAYS, rule: "Bash(npm:*)" });
  await wide.gate.check(bash("npm run build"), signal);
  assertEquals(wide.saved, ["Bash(npm run build)"]);
});

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
