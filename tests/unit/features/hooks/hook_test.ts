import type { NewEvent } from "../../../../src/core/mod.ts";
import {
  type HookedCall,
  type HookEvent,
  hookToolInput,
  hookToolNames,
  missingCommands,
  ownArguments,
  readHooks,
  readMatcher,
} from "../../../../src/features/hooks/hook.ts";
import { Hooks, readRun } from "../../../../src/features/hooks/hook_runs.ts";
import { claudeToolName } from "../../../../src/tool/mod.ts";
import { agentFixture, call, say, scriptedProvider, tool } from "../../../support/agent_fixture.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";

for (
  const [matcher, hit, miss] of [
    ["", ["Bash", "x"], []],
    ["*", ["Bash"], []],
    ["Bash", ["Bash"], ["bash", "BashOutput", "xBash"]],
    ["Edit|Write", ["Edit", "Write"], ["MultiEdit", "Edit|Write"]],
    ["Edit, Write", ["Edit", "Write"], ["Edit,"]],
    ["mcp__memory__.*", ["mcp__memory__add"], ["mcp__memory", "x_mcp__memory__add"]],
    ["a|b.*", ["a", "bcd"], ["ac", "xbcd"]],
    ["Notebook.", ["Notebook1"], ["NotebookEdit"]],
    ["项目", ["项目"], ["项"]],
  ] as readonly [string, string[], string[]][]
) {
  Deno.test(`a matcher matches whole names: ${JSON.stringify(matcher)}`, () => {
    const matches = readMatcher(matcher);
    assert(typeof matches === "function");
    assertEquals(hit.filter((name) => !matches([name])), []);
    assertEquals(miss.filter((name) => matches([name])), []);
  });
}

Deno.test("an invalid matcher has an error with the reason", () => {
  const matches = readMatcher("Bash(");
  assert(typeof matches === "object");
  assertStringIncludes(matches.fault, "group");
});

const exit = (code: number, stdout = "", stderr = "") => ({ kind: "exit", code, stdout, stderr }) as const;
const json = (value: unknown) => exit(0, JSON.stringify(value));

Deno.test("unexpected output is a failure with its reason and never a decision", () => {
  const strange = (event: HookEvent, value: unknown) => {
    const effect = readRun(event, typeof value === "string" ? exit(0, value) : json(value));
    assertEquals([effect.outcome, effect.decision], ["failed", undefined], JSON.stringify(value));
    return effect.problem;
  };
  strange("PreToolUse", "{broken");
  strange("PreToolUse", { hookSpecificOutput: 1 });
  strange("PreToolUse", { hookSpecificOutput: { permissionDecision: "maybe" } });
  strange("PreToolUse", { hookSpecificOutput: { updatedInput: "ls" } });
  strange("PreToolUse", { hookSpecificOutput: { additionalContext: 7 } });
  strange("PreToolUse", { hookSpecificOutput: { hookEventName: "Stop", permissionDecision: "deny" } });
  strange("PreToolUse", { decision: "perhaps" });
  strange("SessionStart", { decision: "block", reason: "no" });
  strange("PermissionRequest", { hookSpecificOutput: { decision: { behavior: "ask" } } });
  assertEquals(readRun("Notification", exit(2, "", "no")).outcome, "failed");
});

Deno.test("texts for the model are bounded and truncated between characters", () => {
  const { context = "" } = readRun("SessionStart", exit(0, "a" + "😀".repeat(20_000)));
  assert(context.length < 10_100 && context.isWellFormed());
  assertStringIncludes(context, "more characters");
  assertEquals(readRun("Stop", exit(2, "", "x".repeat(9_000))).reason?.startsWith("xxx"), true);
});

const edit: HookedCall = {
  call: { id: "1", name: "edit_file", arguments: "" },
  tool: "edit_file",
  args: { path: "src/a.ts", old_string: "a", new_string: "b" },
  family: "Edit",
  writes: ["src/a.ts"],
};
const patch: HookedCall = {
  call: { id: "1", name: "apply_patch", arguments: "" },
  tool: "apply_patch",
  args: { patch: "…" },
  family: "Edit",
  writes: ["a.ts", "/w/b.ts"],
};

Deno.test("tools match by their own and Claude Code's names, file tools also as Edit or Write", () => {
  assertEquals(claudeToolName("edit_file"), "Edit");
  assertEquals(claudeToolName("task"), "Task");
  assertEquals(claudeToolName("mcp__a__b"), "mcp__a__b");
  assert(hookToolNames(edit).includes("Edit") && !hookToolNames(edit).includes("Write"));
  for (const tool of ["apply_patch", "move_file", "lsp_rename"]) {
    const names = hookToolNames({ ...patch, tool });
    assert(names.includes("Edit") && names.includes("Write") && names.includes(tool), tool);
  }
  assert(hookToolNames({ ...edit, call: { ...edit.call, name: "my_edit" } }).includes("my_edit"));
});

Deno.test("arguments have both names, and a hook can change either", () => {
  const seen = hookToolInput(edit, "/w");
  assertEquals([seen.path, seen.file_path], ["src/a.ts", "/w/src/a.ts"]);
  const own = (updated: Record<string, unknown>) => JSON.parse(ownArguments(edit, updated, "/w"));
  assertEquals(own(seen), edit.args);
  assertEquals(own({ ...seen, file_path: "/w/b.ts" }).path, "/w/b.ts");
  assertEquals(own({ ...seen, path: "c.ts" }).path, "c.ts");
  assertEquals(own({ file_path: "/w/b.ts", old_string: "x", new_string: "y" }), {
    path: "/w/b.ts",
    old_string: "x",
    new_string: "y",
  });
  assertEquals(hookToolInput(patch, "/w").file_paths, ["/w/a.ts", "/w/b.ts"]);
  assertEquals(JSON.parse(ownArguments(patch, hookToolInput(patch, "/w"), "/w")), { patch: "…" });
});

Deno.test("a hook without a valid event or matcher is an error with a suggestion", () => {
  const source = {
    matcher: "",
    command: "x",
    timeout_seconds: 60,
    failure: "open",
    source: "user",
    paths: [],
  } as const;
  const { hooks, problems } = readHooks([
    { ...source, event: "PreToolUse" },
    { ...source, event: "PreToolUze" },
    { ...source, event: "TeammateIdle" },
    { ...source, event: "Stop", matcher: "(" },
  ]);
  assertEquals(hooks.length, 1);
  assertEquals(problems[0]?.remedy, "did you mean PreToolUse?");
  assertStringIncludes(problems[1]?.message ?? "", "never comes here");
  assertStringIncludes(problems[2]?.message ?? "", "regular expression");
});

Deno.test("results apply in configured order, and the strongest decision wins", async () => {
  const events: NewEvent[] = [];
  const source = {
    event: "PreToolUse",
    matcher: "",
    timeout_seconds: 60,
    failure: "open",
    source: "user",
    paths: [],
  } as const;
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const words = ["allow", "defer", "ask", "deny", "deny"];
  const { hooks } = readHooks(words.map((word, at) => ({ ...source, command: `${at} ${word}` })));
  const all = new Hooks({
    hooks,
    record: (event) => void events.push(event),
    async launch({ command }) {
      const [at = "", word = ""] = command.split(" ");
      if (at === "0") await gates[0]?.promise;
      if (at === "4") gates[0]?.resolve();
      return json({
        hookSpecificOutput: {
          permissionDecision: word,
          permissionDecisionReason: `r${at}`,
          additionalContext: `c${at}`,
          updatedInput: { at },
        },
      });
    },
  });
  const outcome = await all.fire("PreToolUse", { input: {}, signal: new AbortController().signal });
  assertEquals(outcome?.decision, "deny");
  assertEquals(outcome?.reason, "r3\nr4");
  assertEquals(outcome?.contexts, ["c0", "c1", "c2", "c3", "c4"]);
  assertEquals(outcome?.updatedInput, { at: "4" });
  const recorded = events.flatMap((event) => event.type === "hook" ? [event.command] : []);
  assertEquals(recorded, words.map((word, at) => `${at} ${word}`));
  assert(events.some((event) => event.type === "notice" && event.text.includes("5 hooks changed")));
});

Deno.test("a missing program is found when the command line begins with it", () => {
  const missingCommand = (command: string, around: Parameters<typeof missingCommands>[1]) =>
    /"(.*?)"/.exec(
      missingCommands([{
        event: "Stop",
        matcher: "",
        command,
        timeout_seconds: 1,
        failure: "open",
        source: "user",
        paths: [],
      }], around)[0] ?? "",
    )?.[1];
  const around = { cwd: "/", env: (name: string) => name === "PATH" ? "/bin:/usr/bin" : undefined };
  assertEquals(missingCommand("no-such-program -x", around), "no-such-program");
  assertEquals(missingCommand("./no/such.sh", around), "./no/such.sh");
  for (
    const line of [
      "cat; x",
      "cd /tmp && x",
      "FOO=1 bar",
      '"$X"/y',
      "$X",
      "(a)",
      "if true; then x; fi",
      "[ -f x ]",
    ]
  ) {
    assertEquals(missingCommand(line, around), undefined, line);
  }
});

Deno.test("a matcher with catastrophic backtracking is an error, and usual ones are not", () => {
  const slow = [
    "(a+)+",
    "(a|a)*b",
    "(a?a?)*",
    "((a)|b)+",
    "(?<x>a*)*",
    "(a)\\1",
    ".*a.*a.*a.*a.*b",
    "(a{1,9}){9}",
  ];
  for (const matcher of slow) assertEquals([matcher, typeof readMatcher(matcher)], [matcher, "object"]);
  const usual = [
    "Edit|Write",
    "mcp__.*__(get|list)_.*",
    "(Bash|Edit)",
    "^Notebook.*$",
    "(?:Web.*|Bash)",
    "[(+*]+",
    "x?",
  ];
  for (const matcher of usual) assertEquals([matcher, typeof readMatcher(matcher)], [matcher, "function"]);
});

Deno.test("hooks of calls run once before and once after each call that runs", async () => {
  const seen: string[] = [];
  const provider = scriptedProvider([[call("1", "look"), call("2", "look"), {
    type: "done",
    reason: "tool_calls",
  }], say("ok")]);
  const look = tool("look", true, () => Promise.resolve({ content: "found", summary: "" }));
  const fixture = await agentFixture(provider, [look], {
    beforeCall: ({ call: { id } }) => {
      seen.push(`before ${id}`);
      return Promise.resolve(id === "2" ? { deny: "not this", notes: ["note"] } : undefined);
    },
    afterCall: ({ call: { id } }) => {
      seen.push(`after ${id}`);
      return Promise.resolve({ notes: ["behind"] });
    },
  });
  assertEquals((await fixture.run("go")).reason, "done");
  assertEquals(seen.toSorted(), ["after 1", "before 1", "before 2"]);
  const results = fixture.recorder.messages.filter(({ role }) => role === "tool").map(({ content }) =>
    content
  );
  assertEquals(results, ["found\n\nbehind", "blocked: not this\n\nnote"]);
});
