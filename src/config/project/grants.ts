import { contains } from "../../path/contains.ts";
import { relativeTo } from "../../path/lexical.ts";
import { isSystemDirectory } from "../../path/protected.ts";
import { realPath } from "../../path/real_path.ts";
import { isFault, isProblem, parseRule, readRule, type Rule } from "../../rule/mod.ts";
import { canonicalJson } from "../../util/json.ts";
import { formatKey } from "../problem.ts";
import { type Layer, placeOf } from "../load/layer.ts";
import type { PermissionGrant } from "../../trust/mod.ts";
import type { ProjectInput, ProjectResult, Restrictable } from "./project_policy.ts";
import { CONFIG_SCHEMA, isTable, type JsonSchema, type TomlTable } from "../schema/json_schema.ts";

export interface GrantInput extends Pick<ProjectInput, "layer" | "cwd" | "env"> {
  /** The Reasonix home, absolute. */
  readonly home: string;
  /** All layers of the project, as written. */
  readonly project: readonly Layer[];
  /** The preset that closes the network, such as "preset offline": no project opens it again. */
  readonly offline?: string | undefined;
}

/**
 * Finds what the lists of a project's file add to what the user allows: one decision for the file, keyed by
 * all of it and by everything the project restricts. A warning names what a project can never have.
 */
export function findGrants(
  { grantLists }: Pick<ProjectResult, "grantLists">,
  input: GrantInput,
): Restrictable | undefined {
  const grants: PermissionGrant[] = [];
  // The decision is about the file, and the same with every preset.
  const decided: [string, string][] = [];
  const withheld: (() => void)[] = [];
  for (const { path, table, values, refuse } of grantLists) {
    const key = formatKey(path);
    const harmless: string[] = [];
    const all: string[] = [];
    for (const [index, written] of values.entries()) {
      const found = effectOf(key, written, input);
      if (found === "never") {
        refuse(index, `Only your own file can open ${JSON.stringify(written)} for writing`);
      } else if (found === "nothing") all.push(written);
      else if (found === "inside") all.push(written), harmless.push(written);
      else if (key === "sandbox.network_hosts" && input.offline !== undefined) {
        decided.push([key, found.value]);
        refuse(index, `With ${input.offline} a project cannot open the host ${JSON.stringify(written)}`);
      } else {
        decided.push([key, found.value]);
        all.push(found.value);
        // Looked up when it is shown: thousands of them would each cost a pass over the text.
        grants.push({
          key,
          ...found,
          get place() {
            return placeOf(input.layer, [...path, index]) ?? { file: "" };
          },
        });
      }
    }
    const name = String(path.at(-1));
    table[name] = all;
    withheld.push(() => {
      if (harmless.length > 0) table[name] = harmless;
      else delete table[name];
    });
  }
  const [first] = grants;
  if (!first) return undefined;
  const file = input.layer.file ?? "";
  const name = relativeTo(file, input.cwd) ?? file;
  const restrictions = input.project.map((layer) => restrictionsOf(layer.table));
  const definition = canonicalJson([decided, restrictions]);
  const reason = "it would allow more than you do";
  return {
    item: { kind: "widening", name, reason, definition, place: first.place, grants },
    withhold: () => withheld.forEach((withhold) => withhold()),
  };
}

/** Nothing, nothing beyond the project itself, more than a project can ever have, or what the value says. */
function effectOf(
  key: string,
  value: string,
  context: GrantInput,
): "nothing" | "inside" | "never" | Pick<PermissionGrant, "value" | "words"> {
  if (key === "permissions.allow") {
    return isFault(readRule(value)) ? "nothing" : { value, words: ruleWords(value) };
  }
  if (key === "sandbox.network_hosts") return { value, words: `connect to ${hostWords(value)}` };
  const real = resolved(value);
  if (real === undefined) return "never";
  if (contains(resolved(context.cwd) ?? context.cwd, real)) return "inside";
  return isTooWide(real, context) ? "never" : { value: real, words: `write in ${real}` };
}

function resolved(path: string): string | undefined {
  try {
    return realPath(path);
  } catch {
    return undefined;
  }
}

/** System directories, whatever holds the user's home, and where this program keeps what the user decided. */
function isTooWide(real: string, { home, env }: GrantInput): boolean {
  const userHome = env("HOME") || env("USERPROFILE");
  const own = resolved(home) ?? home;
  return isSystemDirectory(real, userHome && (resolved(userHome) ?? userHome)) ||
    contains(real, own) || contains(own, real);
}

function hostWords(entry: string): string {
  return entry === "*" ? "any host" : entry.startsWith("*.") ? `every host below ${entry.slice(2)}` : entry;
}

const FAMILY_WORDS = {
  Bash: "run every command",
  Read: "read every file it can reach",
  Edit: "edit every file of the workspace",
  Mcp: "use every tool of every MCP server",
  Task: "let every agent work on parts of a task",
} as const;

/** Describes an allow rule in plain words. */
function ruleWords(text: string): string {
  const rule = parseRule({ text }, "allow");
  if (isProblem(rule)) return text;
  const { family, spec, tool } = rule;
  if (!spec) {
    if (family !== undefined) return FAMILY_WORDS[family];
    return tool === "*" ? "use every tool for anything" : `use ${tool}`;
  }
  if (spec.kind === "command") return commandWords(spec);
  const what = spec.kind === "literal" ? JSON.stringify(spec.text) : spec.raw;
  if (family === "Bash") return `run ${what}`;
  if (family === "Read" || family === "Edit") return `${family.toLowerCase()} files named ${what}`;
  return family === "Task" ? `let the agent ${what} work on parts of a task` : `use ${tool} for ${what}`;
}

function commandWords({ raw }: Extract<Rule["spec"], { kind: "command" }>): string {
  const prefix = /^(.*?)(?:\s*:\*|\s+\*)$/s.exec(raw)?.[1];
  if (prefix !== undefined && !/[*?]/.test(prefix)) {
    return `run commands that begin with ${JSON.stringify(prefix)}`;
  }
  return /[*?]/.test(raw) ? `run commands of the form ${JSON.stringify(raw)}` : `run ${JSON.stringify(raw)}`;
}

const RESTRICTING: ReadonlySet<string | undefined> = new Set(["adds", "stricter", "off", "subset"]);

/**
 * Returns the settings of a project that restrict. Grants were trusted together with them, so without one of
 * them they are others.
 */
function restrictionsOf(table: TomlTable, schema: JsonSchema = CONFIG_SCHEMA): TomlTable {
  return Object.fromEntries(
    Object.entries(table).flatMap(([name, value]): [string, unknown][] => {
      const child = schema.properties?.[name];
      if (child?.properties && isTable(value)) {
        const inner = restrictionsOf(value, child);
        return Object.keys(inner).length > 0 ? [[name, inner]] : [];
      }
      return RESTRICTING.has(child?.project) ? [[name, value]] : [];
    }),
  );
}
