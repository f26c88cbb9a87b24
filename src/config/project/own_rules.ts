import { projectDir } from "../../path/project_dir.ts";
import { exists } from "../../path/probe.ts";
import type { RuleList } from "../../rule/mod.ts";
import { rewriteConfig, writeConfig } from "../edit/edit.ts";
import { checkLayer, type Layer, parseToml } from "../load/layer.ts";
import { readText } from "../load/read_text.ts";
import type { ConfigProblem } from "../problem.ts";
import { isTable, type TomlTable } from "../schema/json_schema.ts";

/** The project of saved rules, and the directory that holds them. */
export interface OwnRulesPlace {
  /** The Reasonix home. Nothing in it comes with a project, and neither tools nor commands write there. */
  readonly home: string;
  /** The directory of the project; a real path. */
  readonly cwd: string;
}

const LISTS: readonly RuleList[] = ["allow", "ask", "deny"];

const HEADER = "# Permission rules that you saved for one project, which /permissions shows and removes.\n" +
  "# They count in this directory alone: neither in a copy of it nor in another one of its name.";

/** The user's own rules for one project. */
export function ownRulesFile({ home, cwd }: OwnRulesPlace): string {
  return `${projectDir(home, cwd)}/rules.toml`;
}

/**
 * Reads them; undefined where there are none. What they allow counts only in the very directory that they
 * were saved for: another one may have taken its place, and then only what they refuse or ask about stays.
 */
export function readOwnRules(place: OwnRulesPlace, problems: ConfigProblem[]): Layer | undefined {
  const file = ownRulesFile(place);
  if (!exists(file)) return undefined;
  const text = readText(file, problems);
  const table = text === undefined ? undefined : parseToml(text, file, problems);
  if (text === undefined || !table) return undefined;
  const whose = ownerOf(table, place);
  if (whose === "another path") return undefined;
  const { allow, ...strict } = isTable(table.permissions) ? table.permissions : {};
  const counts = whose === "this project" && allow !== undefined ? { ...strict, allow } : strict;
  const kept = Object.fromEntries(LISTS.flatMap((list) => list in counts ? [[list, counts[list]]] : []));
  const layer: Layer = { source: "user", file, text, table: { permissions: kept } };
  problems.push(...checkLayer(layer));
  if (whose === "another directory" && Array.isArray(allow) && allow.length > 0) {
    problems.push({
      level: "warning",
      message:
        `What ${file} allows does not count: it was saved for a directory that another one has replaced`,
      remedy: "allow it anew when you are asked, which takes the old rules away, or remove the file",
      said: [["replacedDirectory", file], ["allowAnew"]],
      place: { file },
    });
  }
  return layer;
}

/** Saves a rule for the project. Throws a ReasonixError that says why it could not. */
export async function addOwnRule(place: OwnRulesPlace, list: RuleList, rule: string): Promise<void> {
  await edit(place, (permissions) => {
    const rules = listOf(permissions, list);
    if (!rules.includes(rule)) permissions[list] = [...rules, rule];
  });
}

/** Takes a rule out of every list. */
export async function removeOwnRule(place: OwnRulesPlace, rule: string): Promise<void> {
  await edit(place, (permissions) => {
    for (const list of LISTS) {
      const rules = listOf(permissions, list);
      if (rules.includes(rule)) permissions[list] = rules.filter((each) => each !== rule);
    }
  });
}

async function edit(place: OwnRulesPlace, change: (permissions: TomlTable) => void): Promise<void> {
  const file = ownRulesFile(place);
  const { before, after } = await rewriteConfig(file, (table) => {
    const whose = ownerOf(table, place);
    const permissions: TomlTable = whose === "another path" || !isTable(table.permissions)
      ? {}
      : table.permissions;
    // Nobody allowed this directory what the one before it was allowed.
    if (whose !== "this project") delete permissions.allow;
    change(permissions);
    table.project = identityOf(place);
    table.permissions = permissions;
  }, HEADER);
  if (before !== after) await writeConfig(file, after, {});
}

function listOf(permissions: TomlTable, list: RuleList): readonly unknown[] {
  const rules = permissions[list];
  return Array.isArray(rules) ? rules : [];
}

/** The directory that the rules of a file were saved for, beside the one they are read in. */
function ownerOf(
  { project }: TomlTable,
  place: OwnRulesPlace,
): "this project" | "another directory" | "another path" {
  const now = identityOf(place);
  if (!isTable(project) || project.directory !== now.directory) return "another path";
  const isSame = project.made === undefined || now.made === undefined || project.made === now.made;
  return isSame ? "this project" : "another directory";
}

/** A directory by its path and, where the file system knows it, the moment at which it was made. */
function identityOf({ cwd }: OwnRulesPlace): { readonly directory: string; readonly made?: string } {
  const made = birthOf(cwd);
  return { directory: cwd, ...(made === undefined ? {} : { made }) };
}

function birthOf(directory: string): string | undefined {
  try {
    return Deno.statSync(directory).birthtime?.toISOString();
  } catch {
    return undefined;
  }
}
