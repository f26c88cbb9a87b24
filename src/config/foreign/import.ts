/** Takes over the settings of other agents: what our files would become, and what has no counterpart. */
import { lstatSync } from "node:fs";
import { projectConfigFile, userConfigFile } from "../config_paths.ts";
import { isUserOnly, rewriteConfig } from "../edit/edit.ts";
import { planClaude } from "./claude.ts";
import { planCodex } from "./codex.ts";
import { readSource, type SourceDocument, type SourceFile } from "./document.ts";
import type { ImportContext } from "./files.ts";
import { planOpencode } from "./opencode.ts";
import {
  type AgentName,
  type Change,
  type FoundKey,
  ImportPlan,
  type Left,
  lowered,
  type Origin,
  serversOf,
  type Step,
} from "./plan.ts";
import { planReasonix } from "./reasonix.ts";
import { checkLayer, lazyDotenv, readProjectText, readText } from "../load/layer.ts";
import type { ConfigProblem } from "../problem.ts";
import { isTable, parseKeyPath, schemaAt, type TomlTable, valueAt } from "../schema/json_schema.ts";
import { formatLocation, message, type SourceLocation, type Text } from "../../core/mod.ts";
import { join, parentOf } from "../../path/lexical.ts";
import { exists } from "../../path/probe.ts";
import { canonicalJson, defined } from "../../util/json.ts";
import { attempt } from "../../util/lazy.ts";

export { writeConfig } from "../edit/edit.ts";
export { AGENTS, filesFrom, findFiles, usualFiles } from "./files.ts";

/** The result of a step: it is written, is present already, or is overridden by our file. */
export interface Outcome extends Step {
  readonly file: string;
  readonly state: "new" | "present" | "kept";
}

/** One of our files, as it is and as it would be. */
interface TargetFile {
  readonly path: string;
  /** Others read it, too: it belongs to the project. */
  readonly shared: boolean;
  /** The present text; empty when there is no file. */
  readonly before: string;
  readonly after: string;
}

/** Everything that an import would do, and what it cannot do. */
export interface ImportPreview {
  readonly outcomes: readonly Outcome[];
  readonly left: readonly Left[];
  readonly keys: readonly (FoundKey & {
    /** Source of a value that the user has under this name. */
    readonly known: "saved" | "environment" | undefined;
  })[];
  readonly notices: readonly Text[];
  readonly problems: readonly ConfigProblem[];
  readonly files: readonly TargetFile[];
}

type Planner = (documents: readonly SourceDocument[], cwd: string) => void | Promise<void>;

const PLANNERS: Readonly<Record<AgentName, Planner>> = {
  claude: planClaude,
  codex: planCodex,
  opencode: planOpencode,
  reasonix: planReasonix,
};

/**
 * Reads files of other agents and works out what our own would become. A file that cannot be used is a
 * problem, and the others count. `only` leaves out what is no MCP server.
 *
 * @throws {ReasonixError} when one of our files cannot be read
 */
export async function previewImport(
  sources: readonly SourceFile[],
  { cwd, home, env }: ImportContext,
  only?: "servers",
): Promise<ImportPreview> {
  const whole = new ImportPlan();
  const documents: SourceDocument[] = [];
  for (const source of sources) {
    const document = await readSource(source, whole);
    if (document) documents.push(document);
  }
  for (const [agent, plan] of Object.entries(PLANNERS)) {
    await plan(documents.filter((document) => document.agent === agent), cwd);
  }
  const plan = only === "servers" ? serversOf(whole) : whole;
  const user = new Target(userConfigFile({ home, env }), home, false);
  const project = new Target(projectConfigFile(cwd), `${cwd}/.reasonix`, true);
  await user.apply(plan.steps.filter(({ origin }) => origin.scope === "user"));
  await project.apply(plan.steps.filter(({ origin }) => origin.scope === "project"));
  const saved = lazyDotenv(() => readText(`${home}/.env`, []));
  return {
    outcomes: [...user.outcomes, ...project.outcomes],
    left: [...plan.left, ...user.left, ...project.left],
    keys: plan.keys.map((key) => ({
      ...key,
      known: saved().has(key.name) ? "saved" : env(key.name) ? "environment" : undefined,
    })),
    notices: plan.notices,
    problems: plan.problems,
    files: [...user.files, ...project.files].filter(({ before, after }) => before !== after),
  };
}

const HEADER =
  "# Reasonix configuration, begun by `reasonix config import`. Every setting: reasonix config show\n";

type FileChange = Extract<Change, { kind: "file" }>;
type Setting = Exclude<Change, FileChange>;
type Result = Pick<Outcome, "state"> & { readonly note?: Text | undefined };

/**
 * Our configuration file of one scope, and the Markdown files that steps add to its directory. What is there
 * already is kept; entries of lists are added. Nothing is written.
 */
class Target {
  readonly outcomes: Outcome[] = [];
  readonly left: Left[] = [];
  readonly files: TargetFile[] = [];
  readonly #path: string;
  readonly #directory: string;
  readonly #shared: boolean;
  #table: TomlTable = {};
  #hasProviders = false;
  #steps: readonly Step[] = [];
  /** The location that set something first, by what it sets. */
  readonly #first = new Map<string, SourceLocation>();

  constructor(path: string, directory: string, shared: boolean) {
    this.#path = path;
    this.#directory = directory;
    this.#shared = shared;
  }

  /** @throws {ReasonixError} when the file cannot be read or changed */
  async apply(steps: readonly Step[]): Promise<void> {
    const { before, after } = await rewriteConfig(this.#path, (table) => {
      this.#table = table;
      this.#hasProviders = Array.isArray(table.providers) && table.providers.length > 0;
      this.#steps = steps;
      for (const step of steps) this.#step(step);
    }, HEADER);
    this.files.unshift({ path: this.#path, shared: this.#shared, before, after });
  }

  #step({ origin, change, note }: Step): void {
    if (change.kind === "file") {
      const file = join(this.#directory, change.path);
      const result = this.#addFile(file, change.text);
      return void this.outcomes.push(
        defined({ origin, change, file, state: result.state, note: result.note ?? note }),
      );
    }
    const isRefused = this.#shared && change.kind !== "entry" && isUserOnly(change.key);
    const why = isRefused
      ? message`only your own file can set ${change.key}, where it would count everywhere`
      : faultOf(change);
    if (why !== undefined) return void this.left.push({ origin, why });
    const result = this.#set(origin, change);
    const { state } = result;
    const shown = state === "new" ? note : result.note;
    this.outcomes.push(defined({ origin, change, file: this.#path, state, note: shown }));
  }

  /** Adds a file; one that is there stays as it is. */
  #addFile(file: string, text: string): Result {
    // A link of the project could lead the file anywhere.
    if (this.#shared && [this.#directory, parentOf(file)].some(isLink)) {
      return { state: "kept", note: message`its directory is a link` };
    }
    const planned = this.files.find((other) => other.path === file)?.after;
    const present = planned ?? readProjectText(file, []) ?? (exists(file) ? "" : undefined);
    if (present === undefined) {
      this.files.push({ path: file, shared: this.#shared, before: "", after: text });
      return { state: "new" };
    }
    if (present !== text) return { state: "kept", note: message`there is such a file; yours is kept` };
    return { state: "present", note: planned === undefined ? message`there already` : message`said above` };
  }

  #set({ place }: Origin, change: Setting): Result {
    const stricter = this.#stricter(change);
    if (stricter) {
      return { state: "kept", note: message`${formatLocation(stricter.origin.place)} is stricter` };
    }
    const name = nameOf(change);
    const first = this.#first.get(name);
    const present = this.#present(change);
    if (present === undefined) {
      if (change.kind === "set" && change.key === "default_model" && this.#hasProviders) {
        return { state: "kept", note: message`your first provider stays the default one` };
      }
      apply(this.#table, change);
      this.#first.set(name, place);
      return { state: "new" };
    }
    if (isSame(present, change)) {
      return { state: "present", note: first ? message`said above` : message`there already` };
    }
    if (first) return { state: "kept", note: message`${formatLocation(first)} says it first` };
    const yours = change.kind === "entry"
      ? message`your file has an entry ${JSON.stringify(change.entry.name)}`
      : message`your file says ${JSON.stringify(present)}`;
    return { state: "kept", note: message`${yours}; yours is kept` };
  }

  /** Finds the step with a stricter value of the same setting. */
  #stricter(change: Setting): Step | undefined {
    if (change.kind !== "set") return undefined;
    const schema = schemaAt(parseKeyPath(change.key));
    const order = schema.project === "stricter" ? schema.enum ?? [] : [];
    const rank = order.indexOf(String(change.value));
    return this.#steps.find(({ change: other }) =>
      other.kind === "set" && other.key === change.key && order.indexOf(String(other.value)) < rank
    );
  }

  /** Returns what the file has in place of a change: the entry of that name, the item, or the value. */
  #present(change: Setting): unknown {
    if (change.kind === "entry") return valueAt(this.#table, [change.list, change.entry.name]);
    const value = valueAt(this.#table, parseKeyPath(change.key));
    if (change.kind === "set") return value;
    return Array.isArray(value) ? value.find((item) => isSame(item, change)) : undefined;
  }
}

/** Reports whether a value is the changed one; of an entry only the changed keys count. */
function isSame(present: unknown, change: Setting): boolean {
  if (change.kind !== "entry") {
    return canonicalJson(present) === canonicalJson(change.kind === "set" ? change.value : change.item);
  }
  return isTable(present) &&
    Object.entries(change.entry).every(([key, value]) =>
      canonicalJson(present[key]) === canonicalJson(value)
    );
}

function isLink(path: string): boolean {
  return attempt(() => lstatSync(path).isSymbolicLink()) ?? false;
}

/** Returns the reason why our file cannot hold a change: another program may have accepted any value. */
function faultOf(change: Setting): Text | undefined {
  const table: TomlTable = {};
  apply(table, change);
  const fault = checkLayer({ source: "user", table }).find(({ level }) => level === "error");
  return fault && lowered(fault.texts?.message ?? fault.message);
}

/** A setting or entry by one name, whatever its value. */
function nameOf(change: Setting): string {
  if (change.kind === "entry") return `${change.list}.${change.entry.name}`;
  return change.kind === "set" ? change.key : `${change.key} ${canonicalJson(change.item)}`;
}

function apply(table: TomlTable, change: Setting): void {
  const path = change.kind === "entry" ? [change.list] : parseKeyPath(change.key).map(String);
  const last = path.pop() ?? "";
  let here = table;
  for (const part of path) {
    const next = here[part];
    here = isTable(next) ? next : (here[part] = {}) as TomlTable;
  }
  if (change.kind === "set") here[last] = change.value;
  else {
    const list = Array.isArray(here[last]) ? here[last] : [];
    here[last] = [...list, change.kind === "entry" ? change.entry : change.item];
  }
}
