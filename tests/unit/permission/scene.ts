import {
  type Approver,
  createGate,
  type DecisionEvent,
  type GateOptions,
  type PermissionGate,
  type PreparedCall,
} from "../../../src/permission/mod.ts";

/** A gate in a folder of its own, with what it recorded. */
export interface Scene {
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

export function scene(cwd: string, rules: RuleTexts = {}, overrides: Overrides = {}): Scene {
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
    posture: "ask",
    onAsk: "allow",
    cwd,
    home: `${cwd}/home`,
    roots: [cwd],
    env: { HOME: `${cwd}/home`, PATH: "/usr/bin:/bin" },
    record: (event) => void events.push(event),
    ...rest,
  });
  return { gate, events };
}

let count = 0;

export function call(name: string, args: Record<string, unknown>, readOnly = false): PreparedCall {
  return { call: { id: `call-${++count}`, name, arguments: JSON.stringify(args) }, args, readOnly };
}

export function bash(command: string): PreparedCall {
  return call("bash", { command });
}
