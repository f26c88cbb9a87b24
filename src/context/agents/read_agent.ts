import { toolsNamed } from "../../tool/mod.ts";
import { type Frontmatter, listField, parseFrontmatter, textField } from "../../util/frontmatter.ts";
import type { SkillScope } from "../skills/skill.ts";
import type { AgentDefinition } from "./agent.ts";
import { RESEARCH_TOOLS } from "./builtin.ts";

interface AgentSource {
  /** Absolute. */
  readonly file: string;
  readonly text: string;
  readonly scope: SkillScope;
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
export function readAgent({ file, text, scope }: AgentSource, warn: Warn): AgentDefinition | undefined {
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
    warn(lineOf("description"), "left out: it has no description, so nobody could tell when to use it");
    return undefined;
  }
  const model = textField(head, "model")?.trim();
  const rights = rightsOf(head, (key, problem) => warn(lineOf(key), problem));
  return {
    name,
    description: description.slice(0, MAX_DESCRIPTION).toWellFormed(),
    prompt: head.body.trim(),
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
    if (!READING.has(mode) && !WRITING.has(mode)) {
      warn(
        key,
        `${key} ${
          JSON.stringify(mode)
        } is not known and taken as read-only; write read-only or workspace-write`,
      );
      return { readOnly: true };
    }
    return { readOnly: READING.has(mode) };
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
  return {
    readOnly: false,
    ...(rules.deny.length > 0 ? { deny: rules.deny } : {}),
    ...(rules.ask.length > 0 ? { ask: rules.ask } : {}),
  };
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

/** The tools of an entry; what stands in parentheses is a rule of another program's. */
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
  return {
    ...(maxSteps === undefined ? {} : { maxSteps }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { topP }),
  };
}

function lineOfKey(text: string, key: string): number {
  const at = text.split("\n").findIndex((line) => line.replace(/^\uFEFF/, "").startsWith(`${key}:`));
  return at < 0 ? 1 : at + 1;
}
