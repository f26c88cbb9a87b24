import { isFault, readRule, ruleRemark } from "../../../rule/mod.ts";
import type { Scope } from "../plan.ts";

export type RuleListName = "deny" | "ask" | "allow";

/** The rule of ours that says no more than the foreign one allows, and no less than it forbids. */
export type Translation =
  | { readonly rule: string; readonly note?: string }
  | { readonly why: string };

/** A foreign rule taken apart, and where it stands. */
interface Foreign {
  readonly tool: string;
  readonly inner: string;
  readonly list: RuleListName;
  readonly scope: Scope;
}

/** Turns a permission rule of Claude Code into ours. */
export function claudeRule(text: string, list: RuleListName, scope: Scope): Translation {
  const split = /^\s*([^\s(]+?)\s*(?:\(([\s\S]*)\))?\s*$/.exec(text);
  if (!split) return { why: "it is no rule: Tool or Tool(what)" };
  const [, tool = "", between] = split;
  const inner = between?.trim();
  if (inner === "") return { why: "nothing stands in its parentheses" };
  const foreign = { tool, inner: inner ?? "*", list, scope };
  return checked(translated(foreign), list);
}

function translated(foreign: Foreign): Translation {
  const { tool, inner, list } = foreign;
  if (tool === "Bash" || tool === "PowerShell") return commandRule(foreign);
  if (/^(?:Read|Edit|Write|MultiEdit|NotebookEdit|NotebookRead|Grep|Glob|LS)$/.test(tool)) {
    return pathRule(foreign);
  }
  if (tool === "WebFetch") return fetchRule(foreign);
  if (tool === "Task" || tool === "Agent") return { rule: inner === "*" ? "Task" : `Task(${inner})` };
  if (inner === "*") return { rule: tool };
  if (list !== "allow") return { rule: tool, note: "stricter: it names every call of the tool" };
  if (tool === "Skill" && !/[*?:[{]/.test(inner)) return { rule: `Skill(${inner})` };
  return { why: `an allowance for ${tool} with arguments has no counterpart` };
}

/** Rules that cannot be read here, or would only earn a warning, are not written. */
function checked(result: Translation, list: RuleListName): Translation {
  if ("why" in result) return result;
  const read = readRule(result.rule);
  if (isFault(read)) return { why: lowered(read.message) };
  const remark = ruleRemark(read);
  if (remark) return { why: lowered(remark.message) };
  return list === "allow" || result.note === undefined || result.note !== "" ? result : { rule: result.rule };
}

function lowered(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

const OPERATORS = /\s*(?:&&|\|\|?|;|\n)/;

function commandRule({ inner, list }: Foreign): Translation {
  if (inner === "*") return { rule: "Bash" };
  const head = inner.replace(/"(?:[^"\\]|\\.)*"|'[^']*'/g, (quoted) => "x".repeat(quoted.length));
  const at = head.search(OPERATORS);
  if (at >= 0) {
    if (list === "allow") return { why: "it names a whole line; a rule here names one command of it" };
    const first = inner.slice(0, at).trim();
    if (first === "") return { why: "it begins with an operator of the shell" };
    return { rule: `Bash(${first})`, note: "stricter: a rule names one command of a line, here the first" };
  }
  if (list === "allow" && inner.includes("?")) {
    return { why: "a ? is any character here, so it would allow more" };
  }
  return { rule: `Bash(${inner})` };
}

function pathRule({ tool, inner, list, scope }: Foreign): Translation {
  const name = list === "allow" ? OWN_TOOL[tool] ?? tool : tool === "NotebookRead" ? "Read" : tool;
  if (inner === "*" || inner === "**") return { rule: name };
  const fromProject = /^\/(?!\/)/.test(inner);
  if (list === "allow") {
    if (fromProject && scope === "user") return { why: "it counts from the directory of its settings file" };
    if (allowsMore(inner)) {
      return { why: "a * also matches / here, so it would allow more; ** says the same in both" };
    }
  }
  const glob = fromProject ? inner.slice(1) : inner.replace(/^\.\//, "");
  const note = fromProject && scope === "user" ? "counts from the working directory here" : undefined;
  return { rule: `${name}(${glob})`, ...(note === undefined ? {} : { note }) };
}

/** There an allowance for one of these tools is none for the others of the family. */
const OWN_TOOL: Readonly<Record<string, string>> = {
  Write: "write_file",
  MultiEdit: "multi_edit",
  NotebookEdit: "notebook_edit",
  NotebookRead: "Read",
};

/**
 * Reports whether a path pattern as in .gitignore files would match more here, where `*` and `?` also match
 * `/`. They say the same in the last part when it may lie at any depth, and as the whole last part.
 */
function allowsMore(glob: string): boolean {
  if (glob.includes("?")) return true;
  const parts = glob.replace(/^\.?\/+|^~\//, "").split("/");
  const anywhere = !/^(?:~|\.?\/)/.test(glob) && parts.length === 1;
  return parts.some((part, index) => {
    if (!/[*[{]/.test(part) || part === "**") return false;
    const isLast = index === parts.length - 1;
    return !isLast || !(part === "*" || anywhere || parts[index - 1] === "**");
  });
}

function fetchRule({ inner, list }: Foreign): Translation {
  if (inner === "*") return { rule: "WebFetch" };
  const host = /^domain:([\w.*-]+)$/.exec(inner)?.[1];
  if (host === undefined) {
    return list === "allow"
      ? { why: "only domain:HOST has a counterpart" }
      : { rule: "WebFetch", note: "stricter: it names every address" };
  }
  if (list !== "allow") return { rule: `web_fetch(*${host.replace(/^\*\.?/, "")}*)`, note: "" };
  if (host.includes("*")) return { why: "a * also matches / here, so it would allow more" };
  return { rule: `web_fetch(https://${host}/*)`, note: "https only" };
}
