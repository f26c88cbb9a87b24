import { message, withRemedy } from "../../core/mod.ts";
import { rewriteConfig, writeConfig } from "../edit/edit.ts";
import { checkLayer, type Layer, parseToml, readText } from "../load/layer.ts";
import type { ConfigProblem } from "../problem.ts";
import { isTable, tableOf, type TomlTable } from "../schema/json_schema.ts";
import { exists } from "../../path/probe.ts";
import { projectDir } from "../../path/project_dir.ts";
import type { RuleList } from "../../rule/mod.ts";
import { attempt } from "../../util/lazy.ts";

export interface SavedRulesLocation {
  /** The Reasonix home. Nothing in it comes with a project, and neither tools nor commands write there. */
  readonly home: string;
  readonly cwd: string;
}

const LISTS: readonly RuleList[] = ["allow", "ask", "deny"];

const HEADER =
  "# Permission rules and network hosts that you saved for one project, which /permissions shows and removes.\n" +
  "# They count in this directory alone: neither in a copy of it nor in another one of its name.";

export function savedRulesFile({ home, cwd }: SavedRulesLocation): string {
  return `${projectDir(home, cwd)}/rules.toml`;
}

/**
 * Reads the saved rules of a project. Allow rules count only in the very directory that they were saved for:
 * when another one has replaced it, only deny and ask rules stay.
 */
export function readSavedRules(place: SavedRulesLocation, problems: ConfigProblem[]): Layer | undefined {
  const file = savedRulesFile(place);
  if (!exists(file)) return undefined;
  const text = readText(file, problems);
  const table = text === undefined ? undefined : parseToml(text, file, problems);
  if (text === undefined || !table) return undefined;
  const whose = ownerOf(table, place);
  if (whose === "another path") return undefined;
  const { allow, ...strict } = tableOf(table.permissions);
  const counts = whose === "this project" && allow !== undefined ? { ...strict, allow } : strict;
  const kept = Object.fromEntries(LISTS.flatMap((list) => list in counts ? [[list, counts[list]]] : []));
  const hosts = isTable(table.sandbox) ? table.sandbox.network_hosts : undefined;
  const open = whose === "this project" && hosts !== undefined ? { sandbox: { network_hosts: hosts } } : {};
  const layer: Layer = { source: "user", file, text, table: { permissions: kept, ...open } };
  problems.push(...checkLayer(layer));
  if (whose === "another directory" && Array.isArray(allow) && allow.length > 0) {
    problems.push({
      level: "warning",
      ...withRemedy(
        message`The allow rules of ${file} are ignored: they were saved for a directory that another one has replaced`,
        message`allow it again when you are asked, which removes the old rules, or remove the file`,
      ),
      place: { file },
    });
  }
  return layer;
}

/** Saves a rule for the project. Throws a ReasonixError when that fails. */
export async function addSavedRule(place: SavedRulesLocation, list: RuleList, rule: string): Promise<void> {
  await edit(place, (permissions) => {
    const rules = listOf(permissions, list);
    if (!rules.includes(rule)) permissions[list] = [...rules, rule];
  });
}

/** Allows network hosts for commands of the project. Throws a ReasonixError when that fails. */
export async function addSavedHosts(place: SavedRulesLocation, hosts: readonly string[]): Promise<void> {
  await edit(place, (_, sandbox) => {
    sandbox.network_hosts = [...new Set([...listOf(sandbox, "network_hosts"), ...hosts])];
  });
}

/** Removes a rule or a host from every list. */
export async function removeSavedRule(place: SavedRulesLocation, rule: string): Promise<void> {
  await edit(place, (permissions, sandbox) => {
    for (const table of [permissions, sandbox]) {
      for (const list of [...LISTS, "network_hosts"]) {
        const rules = listOf(table, list);
        if (rules.includes(rule)) table[list] = rules.filter((each) => each !== rule);
      }
    }
  });
}

type Change = (permissions: TomlTable, sandbox: TomlTable) => void;

async function edit(place: SavedRulesLocation, change: Change): Promise<void> {
  const file = savedRulesFile(place);
  const { before, after } = await rewriteConfig(file, (table) => {
    const whose = ownerOf(table, place);
    const permissions: TomlTable = whose === "another path" || !isTable(table.permissions)
      ? {}
      : table.permissions;
    // The rules allowed another directory at this path.
    if (whose !== "this project") delete permissions.allow;
    const sandbox = tableOf(whose === "this project" ? table.sandbox : undefined);
    change(permissions, sandbox);
    table.project = identityOf(place);
    table.permissions = permissions;
    if (Object.keys(sandbox).length > 0) table.sandbox = sandbox;
    else delete table.sandbox;
  }, HEADER);
  if (before !== after) await writeConfig(file, after, {});
}

function listOf(table: TomlTable, list: string): readonly unknown[] {
  const rules = table[list];
  return Array.isArray(rules) ? rules : [];
}

/** Compares the directory that the rules were saved for with this one. */
function ownerOf(
  { project }: TomlTable,
  place: SavedRulesLocation,
): "this project" | "another directory" | "another path" {
  const now = identityOf(place);
  if (!isTable(project) || project.directory !== now.directory) return "another path";
  const isSame = project.made === undefined || now.made === undefined || project.made === now.made;
  return isSame ? "this project" : "another directory";
}

/** A directory by its path and, where the file system knows it, the moment at which it was made. */
function identityOf({ cwd }: SavedRulesLocation): { readonly directory: string; readonly made?: string } {
  const made = birthOf(cwd);
  return { directory: cwd, ...(made === undefined ? {} : { made }) };
}

function birthOf(directory: string): string | undefined {
  return attempt(() => Deno.statSync(directory).birthtime?.toISOString());
}
