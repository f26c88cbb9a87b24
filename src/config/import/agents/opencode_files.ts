import { formatKey } from "../../problem.ts";
import { isTable, type TomlTable } from "../../schema/json_schema.ts";
import { type ForeignDocument, originOf } from "../document.ts";
import type { ImportPlan } from "../plan.ts";
import { type Answer, strictest, TOOLS } from "./opencode_rules.ts";

/** Names that are fit for a file. */
const NAME = /^[\p{L}\p{N}_][\p{L}\p{N}._-]{0,63}$/u;

/** Plans the agents and commands of opencode as Markdown files. */
export function planOpencodeFiles(plan: ImportPlan, document: ForeignDocument): void {
  const { table } = document;
  const sections = [["agent", agentFile], ["agents", agentFile], ["command", commandFile], [
    "commands",
    commandFile,
  ]] as const;
  for (const [section, describe] of sections) {
    const entries = table[section];
    for (const [name, entry] of Object.entries(isTable(entries) ? entries : {})) {
      const origin = originOf(document, [section, name]);
      const made = !NAME.test(name)
        ? { why: "its name is no name of a file" }
        : isTable(entry)
        ? describe(entry)
        : { why: "it is no table" };
      if ("why" in made) plan.leave(origin, made.why);
      else {
        const path = `${describe === agentFile ? "agents" : "commands"}/${name}.md`;
        const note = made.notes.length > 0 ? made.notes.join("; ") : undefined;
        plan.take(origin, { kind: "file", path, text: made.text }, note);
      }
    }
  }
}

type Made =
  | { readonly text: string; readonly notes: readonly string[] }
  | { readonly why: string };

/** Fields of an agent that are looked at one by one, or that only its looks depend on. */
const AGENT_FIELDS = [
  "description",
  "mode",
  "model",
  "prompt",
  "temperature",
  "top_p",
  "steps",
  "maxSteps",
  "tools",
  "permission",
  "disable",
  "hidden",
  "color",
  "name",
];

function agentFile(agent: TomlTable): Made {
  const { description = "", model, prompt = "", temperature, top_p, tools, permission } = agent;
  if (String(agent.disable) === "true") return { why: "it is switched off there" };
  if (agent.mode === "primary") {
    return { why: "it is for whole conversations; agents here work on parts of a task" };
  }
  if (description === "") return { why: "it has no description" };
  if (/\{(?:file|env):/.test(String(prompt))) return { why: "its prompt is in another file" };
  const rights = rightsOf(isTable(tools) ? tools : {}, permission);
  if ("why" in rights) return rights;
  const steps = agent.steps ?? agent.maxSteps;
  return {
    text: markdown({
      description,
      model,
      temperature,
      top_p,
      max_steps: steps,
      tools: rights.tools,
      disallowedTools: rights.without,
      permission: rights.permission,
    }, String(prompt)),
    notes: [...rights.notes, ...without(agent, AGENT_FIELDS)],
  };
}

interface Rights {
  readonly tools: string;
  readonly without: string;
  readonly permission: Readonly<Record<string, string>>;
  readonly notes: readonly string[];
}

/** Families of rules that a file of ours can name, and tools that it can only leave out. */
const FAMILIES = ["edit", "bash", "read", "task"];
const CHANGES = ["write", "edit", "patch"];

/** What the agent may not do, never less than there: what cannot be said leaves the agent out. */
function rightsOf(tools: TomlTable, given: unknown): Rights | { readonly why: string } {
  const switches = Object.entries(tools).map(([name, on]) => [name, String(on) !== "false"] as const);
  const rules: TomlTable = isTable(given) ? given : given === undefined ? {} : { "*": given };
  const answers = new Map<string, Answer>(
    Object.entries(rules).map((
      [name, value],
    ) => [name, strictest(isTable(value) ? Object.values(value) : [value])]),
  );
  const general = answers.get("*") ?? "allow";
  answers.delete("*");
  for (const name of [...FAMILIES, "webfetch", "websearch"]) {
    if (!answers.has(name)) answers.set(name, general);
  }
  const onlySome = switches.some(([name, on]) => name === "*" && !on);
  const off = switches.filter(([name, on]) => !on && name !== "*").map(([name]) => name);
  const listed = onlySome ? switches.filter(([, on]) => on).map(([name]) => name) : [];
  const refused = [...answers].filter(([name, answer]) => answer !== "allow" && !FAMILIES.includes(name));
  const named = [...off, ...listed, ...refused.map(([name]) => name)];
  const unknown = named.find((name) => !CHANGES.includes(name) && !Object.hasOwn(TOOLS, name));
  if (unknown !== undefined) return { why: `nothing here corresponds to ${formatKey([unknown])}` };
  if (onlySome && listed.length === 0) return { why: "it has no tools" };
  if (off.some((name) => CHANGES.includes(name))) answers.set("edit", "deny");
  const names = (list: readonly string[]) =>
    [...new Set(list.flatMap((name) => TOOLS[name] ?? []))].join(", ");
  const patterns = Object.values(rules).some((value) =>
    isTable(value) && new Set(Object.values(value)).size > 1
  );
  return {
    tools: names(listed),
    without: names([...off.filter((name) => !CHANGES.includes(name)), ...refused.map(([name]) => name)]),
    permission: Object.fromEntries(
      FAMILIES.flatMap((name) => {
        const answer = answers.get(name) ?? "allow";
        return answer === "allow" ? [] : [[name, answer]];
      }),
    ),
    notes: [
      ...(patterns ? ["stricter: one answer counts for the whole family"] : []),
      ...(refused.some(([, answer]) => answer === "ask")
        ? ["stricter: it does not have what it asks about"]
        : []),
    ],
  };
}

function commandFile(command: TomlTable): Made {
  const { template, description, model } = command;
  if (typeof template !== "string" || template.trim() === "") return { why: "it has no text to send" };
  return {
    text: markdown({ description, model }, template),
    notes: without(command, ["template", "description", "model", "name"]),
  };
}

function without(entry: TomlTable, known: readonly string[]): string[] {
  return Object.keys(entry).filter((key) => !known.includes(key) && String(entry[key]) !== "false").map((
    key,
  ) => `without ${key}`);
}

/** A Markdown file with the fields that say something. */
function markdown(fields: Readonly<Record<string, unknown>>, body: string): string {
  const lines = Object.entries(fields).flatMap(([key, value]) => {
    if (value === undefined || value === "") return [];
    if (!isTable(value)) return [`${key}: ${scalar(value)}`];
    const items = Object.entries(value).map(([name, item]) => `${name}: ${scalar(item)}`);
    return items.length > 0 ? [`${key}: { ${items.join(", ")} }`] : [];
  });
  const head = lines.length > 0 ? `---\n${lines.join("\n")}\n---\n` : "";
  return [head, body.trim() === "" ? "" : `${body.trim()}\n`].filter((part) => part !== "").join("\n");
}

/** A value on one line, in quotes where it is not one plain word or list of words. */
function scalar(value: unknown): string {
  // deno-lint-ignore no-control-regex
  const text = String(value).replace(/[\s\x00-\x1f\x7f]+/g, " ").trim();
  return /^[\w./-]+(?:, [\w./-]+)*$/.test(text) ? text : JSON.stringify(text);
}
