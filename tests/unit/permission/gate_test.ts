import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import type { Decision } from "../../../src/permission/mod.ts";
import { type PreparedCall, textOf } from "../../../src/core/mod.ts";
import { BUILTINS, ToolRegistry } from "../../../src/tool/mod.ts";
import { bash, call, type RuleTexts, scene } from "./scene.ts";
import { readCorpus } from "../../support/corpus.ts";
import text from "./lines.txt" with { type: "text" };
import { removeTree } from "../../support/remove_tree.ts";

const { "only read": READERS = [], "may write": WRITERS = [] } = readCorpus(text);

const signal = new AbortController().signal;
const edit = (path = "src/a.ts") => call("edit_file", { path });

function brief(decision: Decision): string {
  return `${decision.decision} ${decision.source}`;
}

Deno.test("a plain read is decided immediately, without a record", () => {
  const { gate, events } = scene("/w", { deny: ["Bash(rm:*)", "Edit(x)"] });
  const decision = gate.check(call("grep", { pattern: "x" }, true), signal);
  assert(!(decision instanceof Promise));
  assertEquals([brief(decision), events.length], ["allow mode", 0]);
});

Deno.test("an edit is decided immediately and recorded", () => {
  const { gate, events } = scene("/w");
  const request = edit();
  const decision = gate.check(request, signal);
  assert(!(decision instanceof Promise));
  assertEquals(events, [
    { type: "approval.decision", callId: request.call.id, decision: "allow", source: "headless" },
  ]);
});

Deno.test("a command is decided immediately when the parser is loaded", async () => {
  const { gate } = scene("/w");
  assert(gate.check(bash("x"), signal) instanceof Promise);
  await gate.warm("Bash");
  assert(!(gate.check(bash("x"), signal) instanceof Promise));
});

Deno.test("preparing for edits decides, records and allows nothing", async () => {
  const { gate, events } = scene("/w");
  await gate.warm("Edit");
  assertEquals(events, []);
  assertEquals(gate.sessionRules, []);
  assert(!(gate.check(edit(), signal) instanceof Promise));
  assertEquals(events.length, 1);
});

Deno.test("the gate waits for pending log writes", async () => {
  let logged = false;
  const { gate } = scene("/w", {}, {
    record: async () => {
      await Promise.resolve();
      logged = true;
    },
  });
  await gate.check(edit(), signal);
  assert(logged);
});

Deno.test("headless answers follow --on-ask and the fallback mode", async () => {
  const cases: [Parameters<typeof scene>[2], string, boolean][] = [
    [{ onAsk: "allow" }, "allow headless", false],
    [{ onAsk: "deny" }, "deny headless", false],
    [{ onAsk: "fail" }, "deny headless", true],
    [{ mode: "allow", onAsk: "deny" }, "allow mode", false],
    [{ mode: "deny", onAsk: "allow" }, "deny mode", false],
    [{ mode: "deny", approvalMode: "auto" }, "deny mode", false],
    [{ approvalMode: "auto", onAsk: "deny" }, "allow mode", false],
    [{ approvalMode: "yolo", onAsk: "deny" }, "allow mode", false],
    [{ permissionMode: "danger-full-access", onAsk: "deny" }, "allow mode", false],
    [{ permissionMode: "read-only" }, "deny mode", false],
    [{ permissionMode: "plan", approvalMode: "yolo" }, "deny plan", false],
  ];
  for (const [options, expected, stops] of cases) {
    const { gate } = scene("/w", {}, options);
    for (const request of [edit(), bash("make")]) {
      const decision = await gate.check(request, signal);
      assertEquals([brief(decision), decision.stop === true], [expected, stops], JSON.stringify(options));
    }
  }
});

Deno.test("a refusal explains in one line who refused what and why", async () => {
  const rules = { deny: ["Bash(rm -rf*)"] };
  const texts = [
    [
      await scene("/w", rules).gate.check(bash("rm -rf t"), signal),
      'permission rule deny Bash(rm -rf*) (reasonix.toml:deny:1) forbids "rm -rf t"',
    ],
    [
      await scene("/w", {}, { onAsk: "deny" }).gate.check(bash("make"), signal),
      '"make" needs an approval (no rule allows it) and this run is non-interactive (--on-ask deny)',
    ],
    [
      await scene("/w", {}, { mode: "deny" }).gate.check(bash("make"), signal),
      '[permissions] mode = "deny" refuses "make"',
    ],
    [
      await scene("/w", {}, { permissionMode: "read-only" }).gate.check(bash("make"), signal),
      'permission mode read-only refuses "make"',
    ],
    [
      await scene("/w", {}, { permissionMode: "plan" }).gate.check(edit(), signal),
      'plan mode refuses "src/a.ts"',
    ],
    [
      await scene("/w", rules).gate.check(bash('python -c "$X"'), signal),
      "it runs code that only the shell will know, and deny Bash(rm -rf*) could concern it, and this run is non-interactive",
    ],
    [
      await scene("/w").gate.check(call("write_file", { path: ".git/hooks/pre-commit" }), signal),
      "would change Git's own hooks and settings, and this run is non-interactive",
    ],
  ] as const;
  for (const [decision, part] of texts) {
    assertEquals(decision.decision, "deny", part);
    const reason = textOf(decision.reason ?? "");
    assertStringIncludes(reason, part);
    assert(!reason.includes("\n"));
  }
});

Deno.test("deny rules precede ask rules, ask precedes allow, and every approval mode keeps denials", async () => {
  const rules = { allow: ["Bash"], ask: ["Bash(git commit:*)"], deny: ["Bash(git push:*)"] };
  for (const approvalMode of ["ask", "auto", "yolo"] as const) {
    const { gate } = scene("/w", rules, { approvalMode, onAsk: "deny" });
    assertEquals(brief(await gate.check(bash("git push"), signal)), "deny rule");
    assertEquals(brief(await gate.check(bash("git status"), signal)), "allow rule");
    const asked = brief(await gate.check(bash("git commit"), signal));
    assertEquals(asked, approvalMode === "yolo" ? "allow mode" : "deny headless", approvalMode);
  }
});

Deno.test("an ask rule applies to reads, too", async () => {
  const { gate, events } = scene("/w", { ask: ["Read(.env)"] }, { onAsk: "deny" });
  assertEquals(brief(await gate.check(call("read_file", { path: ".env" }, true), signal)), "deny headless");
  assertEquals(brief(await gate.check(call("read_file", { path: "a" }, true), signal)), "allow mode");
  assertEquals(events.length, 1);
});

Deno.test("approval modes and sandbox modes can change between calls", async () => {
  const { gate } = scene("/w", {}, { onAsk: "deny" });
  const found: string[] = [];
  const check = async () => void found.push(brief(await gate.check(edit(), signal)));
  await check();
  gate.approvalMode = "auto";
  await check();
  gate.permissionMode = "plan";
  await check();
  gate.permissionMode = "workspace-write";
  gate.approvalMode = "ask";
  gate.approvedPlan = true;
  await check();
  gate.approvedPlan = false;
  await check();
  assertEquals(found, ["deny headless", "allow mode", "deny plan", "allow mode", "deny headless"]);
});

Deno.test("read-only and plan mode allow known reading commands", async () => {
  for (const permissionMode of ["read-only", "plan"] as const) {
    const { gate } = scene("/w", { allow: ["Bash"] }, { permissionMode, approvalMode: "yolo" });
    for (const line of READERS) assertEquals((await gate.check(bash(line), signal)).decision, "allow", line);
    for (const line of WRITERS) assertEquals((await gate.check(bash(line), signal)).decision, "deny", line);
    assertEquals((await gate.check(call("read_file", { path: "a" }, true), signal)).decision, "allow");
    assertEquals((await gate.check(call("task", {}), signal)).decision, "deny");
  }
  const { gate } = scene("/w", {}, { permissionMode: "plan" });
  assertEquals(brief(await gate.check(call("complete_step", {}), signal)), "deny plan");
});

Deno.test("deny rules apply to reading commands in read-only mode", async () => {
  const { gate } = scene("/w", { deny: ["Read(.env)"] }, { permissionMode: "read-only" });
  assertEquals(brief(await gate.check(bash("cat .env"), signal)), "deny rule");
});

Deno.test("a file that must not be read cannot be renamed or linked", async () => {
  const { gate } = scene("/w", { deny: ["Read(.env)"], allow: ["Edit"] });
  const patch = "*** Begin Patch\n*** Update File: .env\n*** Move to: x\n@@\n-a\n+b\n*** End Patch\n";
  const moves = [
    call("move_file", { source_path: ".env", destination_path: "x" }),
    call("apply_patch", { patch }),
  ];
  for (const move of moves) assertEquals(brief(await gate.check(move, signal)), "deny rule", move.call.name);
  const other = call("move_file", { source_path: "a", destination_path: "b" });
  assertEquals(brief(await gate.check(other, signal)), "allow rule");
});

Deno.test("protected paths require approval even when edits are allowed", async () => {
  const paths = [
    ".git/hooks/pre-commit",
    ".git/config",
    "sub/.git/config",
    ".GIT/Hooks/x",
    ".git/modules/m/config",
    ".git",
    "home/.bashrc",
    "~/.zshrc",
    "home/.ssh/authorized_keys",
    "home/.config/fish/config.fish",
    ".reasonix/commands/x.md",
    ".reasonix/hooks/x.sh",
    ".git/commondir",
    "reasonix.toml",
    "sub/reasonix.toml",
    ".mcp.json",
    ".envrc",
    ".vscode/tasks.json",
  ];
  const { gate } = scene("/w", { allow: ["Edit", "Bash"] }, { mode: "allow", approvalMode: "auto" });
  for (const path of paths) {
    assertEquals(brief(await gate.check(call("write_file", { path }), signal)), "deny headless", path);
  }
  for (
    const line of [
      "echo x > .git/hooks/a",
      "cp x .git/hooks/",
      "tee ~/.profile",
      "rm -r .git",
      "git config core.hooksPath x",
    ]
  ) {
    assertEquals(brief(await gate.check(bash(line), signal)), "deny headless", line);
  }
  for (const path of [".gitignore", "src/.git-keep", ".reasonix/sessions/a", "docs/config", "src/.bashrc"]) {
    assertEquals(brief(await gate.check(call("write_file", { path }), signal)), "allow rule", path);
  }
  gate.approvalMode = "yolo";
  assertEquals(brief(await gate.check(call("write_file", { path: ".git/config" }), signal)), "allow mode");
});

Deno.test("lines for another shell are not parsed as POSIX", async () => {
  const { gate } = scene("/w", { deny: ["Bash(Remove-Item*)"] }, { shell: "other" });
  assertEquals(brief(await gate.check(bash("ls; Remove-Item x"), signal)), "deny rule");
  assertEquals(brief(await gate.check(bash("ls"), signal)), "deny rule");
  const free = scene("/w", {}, { shell: "other" });
  assertEquals(brief(await free.gate.check(bash("Get-ChildItem"), signal)), "allow headless");
  assertEquals(brief(await free.gate.check(bash("rm x"), signal)), "deny floor");
});

Deno.test("explain reports the segments, the rule and its location", async () => {
  const { gate, events } = scene("/w", { allow: ["Bash(go test:*)"], deny: ["Bash(rm:*)"] });
  const found = await gate.explain(bash("cd x && sudo go test; timeout 5 rm a"));
  assertEquals([found.decision, found.source, found.rule, found.origin, found.headless], [
    "deny",
    "rule",
    "deny Bash(rm:*)",
    "reasonix.toml:deny:1",
    "deny",
  ]);
  assertEquals(found.segments.map(({ text, via, outcome }) => [text, via.join(), outcome]), [
    ["cd x", "", "allow"],
    ["sudo go test", "sudo", "fallback"],
    ["timeout 5 rm a", "timeout", "deny"],
  ]);
  assertEquals(found.segments[1]?.reason, "it cannot be judged before it runs: it runs as another user");
  assertEquals(found.segments[2]?.origin, "reasonix.toml:deny:1");
  assertEquals(events, []);
  assertStringIncludes((await gate.explain(bash("if"))).unparsable ?? "", "not valid shell syntax");
  assertEquals((await gate.explain(edit())).decision, "ask");
});

Deno.test("an interrupted prompt is recorded as a refusal", async () => {
  const controller = new AbortController();
  const approver = {
    ask: (_: unknown, given: AbortSignal) =>
      new Promise<never>((_resolve, reject) => given.addEventListener("abort", () => reject(given.reason))),
  };
  const { gate, events } = scene("/w", {}, { approver });
  const request = edit();
  const waiting = gate.check(request, controller.signal);
  controller.abort();
  const { decision, source, asked, ...refusal } = await waiting;
  const reason = textOf(refusal.reason ?? "");
  assertEquals([decision, source, asked], ["deny", "user", true]);
  assertStringIncludes(reason, "the user stopped at the question about");
  assertEquals(events.at(-1), {
    type: "approval.decision",
    callId: request.call.id,
    decision,
    source,
    reason,
  });
});

Deno.test("a command is checked in the directory where it runs", async () => {
  let directory: string | undefined = "/w/secret";
  const { gate } = scene("/w", { deny: ["Edit(secret/**)"] }, { shellDirectory: () => directory });
  assertEquals(brief(await gate.check(bash("echo x > a"), signal)), "deny rule");
  directory = undefined;
  assertEquals(brief(await gate.check(bash("echo x > a"), signal)), "allow headless");
  for (const workdir of ["secret", "/w/secret", "docs/../secret"]) {
    const request = call("bash", { command: "echo x > a", workdir });
    assertEquals(brief(await gate.check(request, signal)), "deny rule", workdir);
  }
});

Deno.test("memory changes require approval, unless a rule names the tool or --on-ask is given", async () => {
  const remember = () => call("remember", { name: "x", description: "y", text: "z" });
  const rules = { allow: ["remember", "forget"] };
  let asked = 0;
  const approver = { ask: () => Promise.resolve({ allow: ++asked > 0, scope: "session" } as const) };
  const { gate } = scene("/w", rules, { approvalMode: "yolo", approver });
  await gate.check(remember(), signal);
  await gate.check(remember(), signal);
  assertEquals(asked, 2);
  const headless = async (
    rules: RuleTexts,
    options: Parameters<typeof scene>[2] = {},
    request = remember(),
  ) => brief(await scene("/w", rules, options).gate.check(request, signal));
  assertEquals(await headless({}), "deny headless");
  assertEquals(await headless({}, { mode: "allow", approvalMode: "yolo" }), "deny headless");
  assertEquals(await headless({ allow: ["*", "forget"] }), "deny headless");
  assertEquals(await headless({}, { onAsk: "deny" }), "deny headless");
  assertEquals(await headless({}, { onAsk: "fail" }), "deny headless");
  assertEquals(await headless({}, { onAsk: "allow" }), "allow headless");
  assertEquals(await headless(rules, { onAsk: "deny" }), "allow rule");
  assertEquals(await headless(rules, {}, call("forget", { name: "x" })), "allow rule");
  assertEquals(await headless({ allow: ["remember(y*)"] }), "deny headless");
  assertEquals(await headless({ allow: ["remember"], deny: ["remember"] }), "deny rule");
  assertEquals(await headless({ allow: ["remember"], ask: ["remember"] }), "deny headless");
  assertEquals(await headless(rules, { permissionMode: "plan", onAsk: "allow" }), "deny plan");
});

Deno.test("an aliased tool is checked as its target, by rules for either name", async () => {
  const registry = new ToolRegistry(BUILTINS, [], {
    alias: { shell_command: { tool: "bash" }, view: { tool: "read_file", args: { file: "path" } } },
  });
  const prepared = (name: string, args: Record<string, unknown>) =>
    registry.prepare({ id: "1", name, arguments: JSON.stringify(args) }) as PreparedCall;
  const push = () => prepared("shell_command", { command: "cd x && git push" });
  const check = async (deny: string[], request: PreparedCall) =>
    brief(await scene("/w", { deny }).gate.check(request, signal));
  assertEquals(await check(["Bash(git push:*)"], push()), "deny rule");
  assertEquals(await check(["shell_command"], push()), "deny rule");
  assertEquals(await check(["Bash(git pull:*)"], push()), "allow headless");
  assertEquals(await check([], prepared("shell_command", { command: "rm -rf /" })), "deny floor");
  assertEquals(await check(["Read(.env)"], prepared("view", { file: ".env" })), "deny rule");
  assertEquals(await check(["view(.env)"], prepared("view", { file: ".env" })), "deny rule");
  assertEquals(await check(["read_file(.env)"], prepared("view", { file: ".env" })), "deny rule");
});

Deno.test("confirm prompts in every approval mode and is refused headless", async () => {
  const question = {
    subject: "make",
    reason: "wants to run without the jail",
    source: "confinement",
  } as const;
  const alone = scene("/w", { allow: ["Bash"] }, { approvalMode: "yolo" });
  const decision = await alone.gate.confirm(bash("make"), question, signal);
  assertEquals(brief(decision), "deny confinement");
  assertEquals(
    textOf(decision.reason ?? ""),
    '"make" wants to run without the jail, and this run is non-interactive',
  );
  assertEquals(alone.events.map((event) => event.type), ["approval.decision"]);
  const approver = { ask: () => Promise.resolve({ allow: true, scope: "always" } as const) };
  const { gate, events } = scene("/w", {}, { approvalMode: "yolo", approver });
  assertEquals(brief(await gate.confirm(bash("make"), question, signal)), "allow user");
  assertEquals(events.map((event) => event.type), ["approval.request", "approval.decision"]);
});

Deno.test("the location of a rule is computed only when it is displayed", async () => {
  let looked = 0;
  const deny = [{
    text: "Bash(rm:*)",
    get origin() {
      looked++;
      return "reasonix.toml:3:1";
    },
  }];
  const { gate } = scene("/w", {}, { policy: { mode: "ask", allow: [], ask: [], deny } });
  await gate.check(bash("make"), signal);
  assertEquals(looked, 0);
  assertStringIncludes(textOf((await gate.check(bash("rm x"), signal)).reason ?? ""), "(reasonix.toml:3:1)");
});

Deno.test("huge and deeply nested lines are decided, and none bypasses the rules", async () => {
  const { gate } = scene("/w", { deny: ["Bash(zap:*)"] }, { approvalMode: "yolo" });
  const lines = [
    `${"$(".repeat(3000)}zap${")".repeat(3000)}`,
    `${"(".repeat(500)}zap${")".repeat(500)}`,
    `${"x;".repeat(20_000)}zap`,
    `echo ${"a ".repeat(40_000)}; zap`,
    `${"eval ".repeat(3000)}zap`,
    `echo ${"'".repeat(30_000)}; zap`,
    `cat ${"../".repeat(5000)}x; zap`,
  ];
  for (const line of lines) {
    assertEquals((await gate.check(bash(line), signal)).decision, "deny", line.slice(0, 20));
  }
});

Deno.test("an allowed read-only command is marked in the decision and not in the record", async () => {
  const { gate, events } = scene("/w");
  const readsOnly = async (command: string) => (await gate.check(bash(command), signal)).readsOnly;
  assertEquals([await readsOnly("ls -l | grep x"), await readsOnly("true && git status")], [true, true]);
  assertEquals([await readsOnly("ls > out"), await readsOnly("make"), await readsOnly("ls $(")], [
    undefined,
    undefined,
    undefined,
  ]);
  assert(events.every((event) => !("readsOnly" in event)));
});

Deno.test("a read with a hook that requests a prompt requires approval for any tool", async () => {
  const asked: string[] = [];
  const answer = { allow: false, scope: "once" } as const;
  const approver = {
    ask: (request: { tool: string }) => Promise.resolve((asked.push(request.tool), answer)),
  };
  const { gate } = scene("/w", {}, { approver });
  const hook = { word: "ask", reason: "a hook wants to know" } as const;
  for (const request of [call("grep", { pattern: "x" }, true), bash("ls")]) {
    assertEquals((await gate.check(request, signal, hook)).decision, "deny");
    assertEquals((await gate.check(request, signal)).decision, "allow");
  }
  assertEquals(asked, ["grep", "bash"]);
});

Deno.test("a link that has changed since the last call is checked by its current target", async () => {
  const cwd = await Deno.realPath(await Deno.makeTempDir());
  try {
    for (const directory of ["open", "secret"]) await Deno.mkdir(`${cwd}/${directory}`);
    await Deno.symlink("open", `${cwd}/link`);
    const { gate } = scene(cwd, { deny: ["Edit(secret/**)"] });
    const decide = async () => (await gate.check(edit("link/a.ts"), signal)).decision;
    assertEquals(await decide(), "allow");
    await Deno.remove(`${cwd}/link`);
    await Deno.symlink("secret", `${cwd}/link`);
    assertEquals(await decide(), "deny");
  } finally {
    await removeTree(cwd);
  }
});

Deno.test("a program behind a link is recognized by the name of its target", async () => {
  const cwd = await Deno.realPath(await Deno.makeTempDir());
  try {
    await Deno.writeTextFile(`${cwd}/zap`, "", { mode: 0o755 });
    await Deno.symlink("zap", `${cwd}/good`);
    const { gate } = scene(cwd, { allow: ["Bash"], deny: ["Bash(zap:*)"] });
    for (const line of ["./good now", `${cwd}/good now`, "timeout 5 ./good now"]) {
      assertEquals(brief(await gate.check(bash(line), signal)), "deny rule", line);
    }
  } finally {
    await removeTree(cwd);
  }
});
