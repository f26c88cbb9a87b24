import { namedIn, withBundleRoot } from "../config/mod.ts";
import { errorMessage } from "../core/mod.ts";
import { sortedEntries } from "../path/probe.ts";
import { toolsNamed } from "../tool/mod.ts";
import type { TrustItem } from "../trust/mod.ts";
import { defined } from "../util/json.ts";
import { type Frontmatter, listField, parseFrontmatter, textField } from "../util/frontmatter.ts";
import { type SkillRoot, type SkillScope, staysInside } from "./skills/skill.ts";
import explore from "./agents/explore.md" with { type: "text" };
import plan from "./agents/plan.md" with { type: "text" };
import review from "./agents/review.md" with { type: "text" };

/** Another agent as its file, or the program, describes it. */
export interface AgentDefinition {
  readonly name: string;
  readonly description: string;
  /** Added to its system prompt. */
  readonly prompt: string;
  /** Files and commands stay as they are for it. */
  readonly readOnly: boolean;
  /** The only tools it is offered, by their own names; absent: those of the run. */
  readonly tools?: readonly string[];
  readonly withoutTools?: readonly string[];
  readonly model?: string;
  /** Permission rules in addition to the user's. */
  readonly deny?: readonly string[];
  readonly ask?: readonly string[];
  readonly maxSteps?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly isolation?: "worktree";
  readonly scope: "builtin" | SkillScope;
  /** The file that describes it; absent: the program does. */
  readonly file?: string;
  /** The skill whose instructions it follows. */
  readonly skill?: string;
}

/** The agents that files describe, sorted by name. */
export interface AgentFiles {
  readonly agents: readonly AgentDefinition[];
  readonly warnings: readonly AgentWarning[];
  /** Agents of the project that count once the user trusts them. */
  readonly untrusted: readonly AgentDefinition[];
}

export interface AgentWarning {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

/** Tools that look at things, and commands, which a read-only agent may run as far as they only read. */
export const RESEARCH_TOOLS: readonly string[] = [
  "read_file",
  "ls",
  "glob",
  "grep",
  "bash",
  "skill",
  "history",
  "memory",
  "ask",
  "todo_write",
  "todo_read",
];

export const BUILTIN_AGENTS: readonly AgentDefinition[] = [
  {
    name: "general",
    description: "any work, with the tools of this conversation",
    prompt: "",
    readOnly: false,
    scope: "builtin",
  },
  readOnly("explore", "finds files, definitions and facts, and says where they are", explore),
  readOnly("review", "judges changes for defects", review),
  readOnly("plan", "works out how to do something, step by step", plan),
];

function readOnly(name: string, description: string, prompt: string): AgentDefinition {
  return {
    name,
    description,
    prompt: prompt.trim(),
    readOnly: true,
    tools: RESEARCH_TOOLS,
    scope: "builtin",
  };
}

type Warn = (line: number, text: string) => void;

const MAX_DESCRIPTION = 300;
/** Words of this and other programs for an agent that changes nothing. */
const READING: ReadonlySet<string> = new Set(["read-only", "readonly", "plan"]);
const WRITING: ReadonlySet<string> = new Set([
  "workspace-write",
  "default",
  "acceptEdits",
  "bypassPermissions",
  "dontAsk",
  "auto",
]);
/** Families of rules by the words of other programs. */
const FAMILIES: Readonly<Record<string, string>> = { bash: "Bash", edit: "Edit", read: "Read", task: "Task" };

/** Reads an agent from its file; undefined, with a warning, when it cannot be used. */
export function readAgent(
  { file, text, scope, bundle }: {
    readonly file: string;
    readonly text: string;
    readonly scope: SkillScope;
    readonly bundle?: SkillRoot["bundle"];
  },
  warn: Warn,
): AgentDefinition | undefined {
  const head = parseFrontmatter(text);
  for (const problem of head.problems) warn(problem.line, problem.text);
  const lineOf = (key: string) => lineOfKey(text, key);
  const stem = file.replace(/^.*[\\/]/, "").replace(/\.md$/i, "");
  const name = (textField(head, "name") ?? "").trim() || stem;
  if (!/^[^\s/()*?]{1,64}$/u.test(name)) {
    warn(lineOf("name"), `left out: ${JSON.stringify(name)} cannot be a name: no blanks, slashes or ( ) * ?`);
    return undefined;
  }
  const description = (textField(head, "description") ?? "").replace(/\s+/g, " ").trim();
  if (description === "") {
    warn(lineOf("description"), "left out: it has no description that says when to use it");
    return undefined;
  }
  const model = textField(head, "model")?.trim();
  const rights = rightsOf(head, (key, problem) => warn(lineOf(key), problem));
  return {
    name: namedIn(bundle, name),
    description: description.slice(0, MAX_DESCRIPTION).toWellFormed(),
    prompt: withBundleRoot(head.body.trim(), bundle?.root),
    ...rights,
    ...toolsOf(head, rights.readOnly),
    ...numbersOf(head, (key, problem) => warn(lineOf(key), problem)),
    ...(model === undefined || model === "" || model === "inherit" ? {} : { model }),
    ...(textField(head, "isolation") === "worktree" ? { isolation: "worktree" } : {}),
    scope,
    file,
  };
}

type WarnKey = (key: string, problem: string) => void;

function rightsOf(
  head: Frontmatter,
  warn: WarnKey,
): Pick<AgentDefinition, "readOnly" | "deny" | "ask"> {
  const key = head.fields.permission === undefined ? "permissionMode" : "permission";
  const given = head.fields[key];
  if (given === undefined) return { readOnly: false };
  if (typeof given === "string") {
    const mode = given.trim();
    if (WRITING.has(mode)) return { readOnly: false };
    const problem = "is not known and taken as read-only; write read-only or workspace-write";
    if (!READING.has(mode)) warn(key, `${key} ${JSON.stringify(mode)} ${problem}`);
    return { readOnly: true };
  }
  if (Array.isArray(given)) {
    warn(key, `${key} is a list and taken as read-only; write read-only, workspace-write or a map`);
    return { readOnly: true };
  }
  return mappedRights(Object.entries(given), (problem) => warn(key, problem));
}

/** Rights by family, such as `{ edit: deny, bash: ask }`; what the user does not allow, no file can. */
function mappedRights(
  entries: readonly (readonly [string, string])[],
  warn: (problem: string) => void,
): Pick<AgentDefinition, "readOnly" | "deny" | "ask"> {
  const rules = { deny: [] as string[], ask: [] as string[] };
  for (const [name, answer] of entries) {
    const family = FAMILIES[name.toLowerCase()];
    if (family === undefined) warn(`permission of ${JSON.stringify(name)} has no counterpart`);
    else if (answer === "deny" || answer === "ask") rules[answer].push(family);
    else if (answer === "allow") warn(`permission ${name}: allow has no effect; only your own rules allow`);
    else {
      warn(`permission ${name}: ${JSON.stringify(answer)} is taken as deny; write deny or ask`);
      rules.deny.push(family);
    }
  }
  const some = (list: string[]) => list.length > 0 ? list : undefined;
  return { readOnly: false, ...defined({ deny: some(rules.deny), ask: some(rules.ask) }) };
}

function toolsOf(head: Frontmatter, readOnly: boolean): Pick<AgentDefinition, "tools" | "withoutTools"> {
  const { tools } = head.fields;
  const isMap = typeof tools === "object" && !Array.isArray(tools);
  const off = isMap ? Object.entries(tools).filter(([, on]) => on === "false").map(([name]) => name) : [];
  const without = [...off, ...listField(head, "disallowedTools")].flatMap(named);
  const listed = isMap ? [] : listField(head, "tools").filter((name) => name !== "*").flatMap(named);
  const wanted = listed.length > 0 ? listed : readOnly ? RESEARCH_TOOLS : undefined;
  return {
    ...(wanted ? { tools: [...new Set(wanted)] } : {}),
    ...(without.length > 0 ? { withoutTools: [...new Set(without)] } : {}),
  };
}

/** The tools of an entry; text in parentheses is a rule of another program. */
function named(entry: string): readonly string[] {
  return toolsNamed(entry.replace(/\(.*$/, ""));
}

function numbersOf(
  head: Frontmatter,
  warn: WarnKey,
): Pick<AgentDefinition, "maxSteps" | "temperature" | "topP"> {
  const number = (keys: readonly string[], fits: (value: number) => boolean, form: string) => {
    const key = keys.find((candidate) => head.fields[candidate] !== undefined);
    if (key === undefined) return undefined;
    const value = Number(textField(head, key));
    if (textField(head, key) !== "" && fits(value)) return value;
    warn(key, `${key} ${JSON.stringify(head.fields[key])} is passed over; write ${form}`);
  };
  const maxSteps = number(
    ["max_steps", "maxSteps", "maxTurns", "steps"],
    (value) => Number.isInteger(value) && value > 0,
    "a whole number above 0",
  );
  const temperature = number(["temperature"], (value) => value >= 0, "a number from 0");
  const topP = number(["top_p", "topP"], (value) => value >= 0 && value <= 1, "a number from 0 to 1");
  return defined({ maxSteps, temperature, topP });
}

function lineOfKey(text: string, key: string): number {
  const at = text.split("\n").findIndex((line) => line.replace(/^\uFEFF/, "").startsWith(`${key}:`));
  return at < 0 ? 1 : at + 1;
}

const MAX_FILES = 100;
const MAX_BYTES = 256 * 1024;

/** Reads the agents below these roots, strongest first; those of a project count once they are trusted. */
export async function discoverAgents(
  roots: readonly SkillRoot[],
  isTrusted: (item: TrustItem) => Promise<boolean>,
): Promise<AgentFiles> {
  const found = new Map<string, AgentDefinition>();
  const untrusted: AgentDefinition[] = [];
  const warnings: AgentWarning[] = [];
  for (const root of roots) {
    for (const file of agentFiles(root, warnings)) {
      const agent = await fileAgent(file, root, warnings);
      if (!agent || found.has(agent.name)) continue;
      if (agent.scope === "project" && !await isTrusted(agentTrustItem(agent))) untrusted.push(agent);
      else found.set(agent.name, agent);
    }
  }
  return { agents: sorted([...found.values()]), warnings, untrusted: sorted(untrusted) };
}

/** Makes the trust item of an agent of the project: its file as it is. */
export function agentTrustItem(
  { name, description, file = "", readOnly, tools, model }: AgentDefinition,
): TrustItem {
  return {
    kind: "agent",
    name,
    definition: { file },
    files: [file],
    place: { file },
    lines: [
      `for: ${description}`,
      readOnly ? "it only reads" : `its tools: ${tools?.join(", ") ?? "those of the run"}`,
      ...(model === undefined ? [] : [`its model: ${model}`]),
    ],
  };
}

function sorted(agents: readonly AgentDefinition[]): AgentDefinition[] {
  return [...agents].sort((a, b) => a.name < b.name ? -1 : 1);
}

async function fileAgent(
  file: string,
  { scope, bundle }: SkillRoot,
  warnings: AgentWarning[],
): Promise<AgentDefinition | undefined> {
  const warn = (line: number, text: string) => void warnings.push({ path: file, line, text });
  try {
    const { isFile, size } = await Deno.stat(file);
    if (!isFile || size > MAX_BYTES) {
      warn(1, "left out: it is no text file of at most 256 KiB");
      return undefined;
    }
    return readAgent(
      { file, text: await Deno.readTextFile(file), scope, ...(bundle ? { bundle } : {}) },
      warn,
    );
  } catch (error) {
    warn(1, `could not be read: ${errorMessage(error)}`);
    return undefined;
  }
}

function agentFiles(root: SkillRoot, warnings: AgentWarning[]): string[] {
  const fence = root.within === undefined ? undefined : Deno.realPathSync(root.within);
  if (fence !== undefined && !staysInside(root.path, fence)) {
    warnings.push({ path: root.path, line: 1, text: "left out: it is a link that leads out of the project" });
    return [];
  }
  if (root.path.endsWith(".md")) return [root.path];
  const files = sortedEntries(root.path).filter(({ name }) => /^[^.].*\.md$/i.test(name));
  if (files.length > MAX_FILES) {
    warnings.push({ path: root.path, line: 1, text: `only its first ${MAX_FILES} agents are read` });
  }
  return files.slice(0, MAX_FILES).flatMap((entry) => {
    const path = `${root.path}/${entry.name}`;
    if (entry.isDirectory) return [];
    if (!entry.isSymlink || fence === undefined || staysInside(path, fence)) return [path];
    warnings.push({ path, line: 1, text: "left out: it is a link that leads out of the project" });
    return [];
  });
}
