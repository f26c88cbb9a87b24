import type { ApprovalAnswer, PreparedCall } from "../../../src/core/mod.ts";
import {
  type ApprovalRequest,
  type Approver,
  createGate,
  type DecisionEvent,
  type GateOptions,
  type PermissionGate,
} from "../../../src/permission/mod.ts";
import { BUILTINS, preparedCall, type Tool, ToolRegistry } from "../../../src/tool/mod.ts";

/** A gate in a separate directory, with its records. */
export interface GateFixture {
  readonly gate: PermissionGate;
  readonly events: DecisionEvent[];
}

export interface RuleTexts {
  readonly allow?: readonly string[];
  readonly ask?: readonly string[];
  readonly deny?: readonly string[];
}

type Overrides = Partial<GateOptions> & {
  mode?: "ask" | "allow" | "deny";
  approver?: Approver;
};

export function scene(cwd: string, rules: RuleTexts = {}, overrides: Overrides = {}): GateFixture {
  const events: DecisionEvent[] = [];
  const { mode = "ask", ...rest } = overrides;
  const list = (texts: readonly string[] = [], name: string) =>
    texts.map((text, i) => ({ text, origin: `reasonix.toml:${name}:${i + 1}` }));
  const gate = createGate({
    policy: {
      mode,
      allow: list(rules.allow, "allow"),
      ask: list(rules.ask, "ask"),
      deny: list(rules.deny, "deny"),
    },
    approvalMode: "ask",
    cwd,
    home: `${cwd}/home`,
    roots: [cwd],
    env: () => ({ HOME: `${cwd}/home`, PATH: "/usr/bin:/bin" }),
    record: (event) => void events.push(event),
    ...rest,
  });
  return { gate, events };
}

/** A gate with a user who always gives the same answer, the prompts, and the saved rules. */
export function attended(
  answer: ApprovalAnswer,
  rules: RuleTexts = {},
  overrides: Overrides = {},
  cwd = "/w",
) {
  const asked: ApprovalRequest[] = [];
  const saved: string[] = [];
  const approver: Approver = {
    ask(request) {
      asked.push(request);
      return Promise.resolve(answer);
    },
  };
  const saveRule = (rule: string) => Promise.resolve(void saved.push(rule));
  return { ...scene(cwd, rules, { approver, saveRule, ...overrides }), approver, asked, saved };
}

const REGISTRY = new ToolRegistry(BUILTINS, [], { enabled: BUILTINS.map(({ name }) => name) });

let count = 0;

export function call(name: string, args: Record<string, unknown>, readOnly = false): PreparedCall {
  const made = { id: `call-${++count}`, name, arguments: JSON.stringify(args) };
  const tool = REGISTRY.get(name);
  if (!tool) return preparedCall(made, foreign(name, readOnly), args);
  const prepared = REGISTRY.prepare(made);
  return typeof prepared === "object" && "call" in prepared ? prepared : preparedCall(made, tool, args);
}

/** A tool that declares only its name, such as a server tool. */
function foreign(name: string, readOnly: boolean): Tool {
  const result = { content: "", summary: "" };
  return {
    name,
    description: "",
    schema: { type: "object" },
    readOnly,
    execute: () => Promise.resolve(result),
    ...(name.startsWith("mcp__") ? { family: "Mcp" } : {}),
  };
}

export function bash(command: string): PreparedCall {
  return call("bash", { command });
}
