/** Plan mode fails closed: only reading calls run, under any name. */
import type { PreparedCall } from "../../../src/core/mod.ts";
import { keepsFiles } from "../../../src/permission/mod.ts";
import { BUILTINS, type Tool, ToolRegistry } from "../../../src/tool/mod.ts";
import { thirdPartyCall } from "../../../src/tool/third_party_calls.ts";
import { scene } from "../../unit/permission/scene.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { call } from "../../support/agent_fixture.ts";
import { onPlanStage } from "../../support/plan_stage.ts";

const signal = new AbortController().signal;

/** Arguments that the tools and their aliases accept. */
const ARGUMENTS: readonly Record<string, unknown>[] = [
  {
    path: "a.txt",
    content: "x",
    old_string: "a",
    new_string: "b",
    start: 1,
    end: 1,
    from: "a.txt",
    to: "b.txt",
  },
  { path: "a.txt", content: "x" },
  { path: "a.txt", old_string: "a", new_string: "b" },
  { path: "a.txt", edits: [{ old_string: "a", new_string: "b" }] },
  { path: "a.txt", start_line: 1, end_line: 2 },
  { source: "a.txt", destination: "b.txt" },
  { patch: "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\n" },
  { command: "create", path: "a.txt", file_text: "x" },
  { command: "ls > a.txt" },
  { name: "x", description: "x", text: "x" },
  { name: "x" },
  { id: "1" },
  { plan: "x" },
  { step: 1 },
  { todos: [{ content: "x", status: "pending" }] },
  { questions: [{ question: "?", options: [] }] },
  { pattern: "x" },
  {},
];

/** A tool of a server with arbitrary claims. */
function fromServer(name: string, readOnly: boolean, more: Partial<Tool> = {}): Tool {
  return {
    name: `mcp__s__${name}`,
    description: name,
    schema: { type: "object" },
    readOnly,
    family: "Mcp",
    execute: () => Promise.resolve({ content: "", summary: "" }),
    ...more,
  };
}

const SERVER = [
  fromServer("reads", true),
  fromServer("writes", false),
  fromServer("lies", true, { writes: () => ["a.txt"] }),
  fromServer("runs", true, { command: () => ({ line: "touch x" }) }),
];

const FOREIGN = [
  "Edit",
  "Write",
  "MultiEdit",
  "Bash",
  "shell",
  "replace",
  "str_replace_based_edit_tool",
  "create_file",
  "ExitPlanMode",
  "patch",
  "run_shell_command",
  "TodoWrite",
];

/** A registry in which every tool has a second, harmless name. */
function registry(): ToolRegistry {
  const names = [...BUILTINS, ...SERVER].map(({ name }) => name);
  return new ToolRegistry(BUILTINS, SERVER, {
    enabled: BUILTINS.map(({ name }) => name),
    alias: Object.fromEntries(names.map((name, at) => [`reader_${at}`, { tool: name }])),
  });
}

interface SchemaPart {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, SchemaPart>>;
  readonly required?: readonly string[];
  readonly items?: SchemaPart;
}

/** A value that matches a schema, with required keys only. */
function sample({ type, enum: values, properties = {}, required = [], items = {} }: SchemaPart): unknown {
  if (values) return values[0];
  if (type === "object") {
    return Object.fromEntries(required.map((name) => [name, sample(properties[name] ?? {})]));
  }
  if (type === "array") return [sample(items)];
  return type === "integer" || type === "number" ? 1 : type === "boolean" ? true : "a.txt";
}

/** Every call that can be prepared, by every name. */
async function everyCall(): Promise<PreparedCall[]> {
  const tools = registry();
  const names = [
    ...[...BUILTINS, ...SERVER].flatMap(({ name }, at) => [name, `reader_${at}`]),
    ...FOREIGN,
  ];
  const found: PreparedCall[] = [];
  for (const name of names) {
    const { schema } = tools.get(name) ?? {};
    for (const args of [...ARGUMENTS, ...schema ? [sample(schema) as Record<string, unknown>] : []]) {
      const prepared = await tools.prepare({ id: "1", name, arguments: JSON.stringify(args) });
      if (typeof prepared === "object") found.push(prepared);
    }
  }
  return found;
}

Deno.test("plan mode allows only reading calls, under every name and sandbox mode", async () => {
  const all = await everyCall();
  const reached = new Set(all.map(({ tool }) => tool));
  assertEquals(BUILTINS.filter(({ name }) => !reached.has(name)).map(({ name }) => name), []);
  for (const prepared of all) {
    assert(!prepared.planSafe || prepared.readOnly, `${prepared.tool} is safe and writes`);
    for (const approvalMode of ["ask", "auto", "yolo"] as const) {
      for (const approvedPlan of [false, true]) {
        const { gate } = scene("/w", { allow: ["*"] }, { approvalMode, permissionMode: "plan" });
        gate.approvedPlan = approvedPlan;
        const { decision } = await gate.check(prepared, signal);
        const safe = prepared.planSafe && prepared.family !== "Mcp";
        assertEquals(decision, safe ? "allow" : "deny", `${prepared.call.name} (${prepared.tool})`);
      }
    }
  }
  assert(keepsFiles("plan"));
});

Deno.test("tools that only an approved plan allows are refused before it", async () => {
  const prepared = await registry().prepare({ id: "1", name: "complete_step", arguments: '{"step":1}' });
  assert(typeof prepared === "object");
  assertEquals([prepared.readOnly, prepared.planSafe], [true, false]);
});

Deno.test("a call by another agent's tool name is judged as the tool it maps to", () => {
  assertEquals(thirdPartyCall("ExitPlanMode", { plan: "x" })?.tool, "exit_plan_mode");
});

const WRITING_LINES = [
  "echo x > made.txt",
  "cat a.txt >> made.txt",
  "ls | tee made.txt",
  "touch made.txt",
  "sed -i s/a/b/ a.txt",
  "git commit -am x",
  "git stash",
  "find . -name a.txt -delete",
  "find . -exec touch made.txt +",
  "rm a.txt",
  "true && touch made.txt",
  "ls; touch made.txt",
  "$(touch made.txt)",
  "ls $(touch made.txt)",
  "ls `touch made.txt`",
  "bash -c 'touch made.txt'",
  "env touch made.txt",
  "xargs touch < a.txt",
  'python3 -c \'open("made.txt","w")\'',
  "awk 'BEGIN { print 1 > \"made.txt\" }'",
  "FOO=$(touch made.txt) ls",
  "cat <(touch made.txt)",
  "dd of=made.txt < a.txt",
  "cp a.txt made.txt",
  "ln -s a.txt made.txt",
  "ls | sh",
  "eval 'touch made.txt'",
  "sort -o made.txt a.txt",
  "git -c core.pager='touch made.txt' log",
  "tar cf made.txt a.txt",
  "curl -o made.txt http://127.0.0.1:1",
];

Deno.test("plan mode runs no command that writes, with any rules and approvals", async () => {
  const replies = [
    [
      ...WRITING_LINES.map((command, at) => call(`w${at}`, "bash", { command })),
      call("r1", "bash", { command: "ls -la && cat a.txt | head -1" }),
      { type: "done", reason: "tool_calls" } as const,
    ],
  ];
  const config = { permissions: { allow: ["*", "Bash", "Edit"] } };
  await onPlanStage(
    { replies, config, approvalMode: "yolo", answers: [] },
    async ({ assembly, cwd, all }) => {
      await Deno.writeTextFile(`${cwd}/a.txt`, "a\n");
      await assembly.run("go");
      const ran = all("tool.end").flatMap(({ callId, outcome }) => outcome === "blocked" ? [] : [callId]);
      // Without a jail only what is listed runs; reading is judged by the whole line.
      assertEquals(ran.filter((id) => id !== "r1"), []);
      assertEquals([...Deno.readDirSync(cwd)].map(({ name }) => name), ["a.txt"]);
      assertEquals(await Deno.readTextFile(`${cwd}/a.txt`), "a\n");
    },
  );
});

Deno.test("plan_mode_allowed_tools allows server tools by full name and nothing else", async () => {
  const config = { agent: { plan_mode_allowed_tools: ["bash", "write_file", "complete_step", "remember"] } };
  const replies = [
    [
      call("1", "bash", { command: "touch made.txt" }),
      call("2", "write_file", { path: "made.txt", content: "x" }),
      call("3", "complete_step", { step: 1 }),
      call("4", "remember", { name: "x", description: "x", text: "x" }),
      { type: "done", reason: "tool_calls" } as const,
    ],
  ];
  await onPlanStage({ replies, config, approvalMode: "yolo" }, async ({ assembly, all }) => {
    await assembly.run("go");
    assertEquals(all("tool.end").map(({ outcome }) => outcome), ["blocked", "blocked", "blocked", "blocked"]);
    const reported = all("notice").map(({ text }) => text).filter((text) =>
      text.includes("plan_mode_allowed_tools")
    );
    assertEquals(reported.length, 4);
  });
});
