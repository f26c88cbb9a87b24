import { formatLocation } from "../../core/mod.ts";
import { join, parentOf } from "../../path/lexical.ts";
import { exists } from "../../path/probe.ts";
import { canonicalJson } from "../../util/json.ts";
import { isUserOnly, rewriteConfig } from "../edit/edit.ts";
import { checkLayer } from "../load/layer.ts";
import { readProjectText } from "../load/read_text.ts";
import { isTable, type TomlTable } from "../schema/json_schema.ts";
import { parseKeyPath, schemaAt, valueAt } from "../schema/key_path.ts";
import type { Change, ImportPlan, Left, Step } from "./plan.ts";

/** The result of a step: it is written, is present already, or is overridden by our file. */
export interface Outcome extends Step {
  readonly file: string;
  readonly state: "new" | "present" | "kept";
}

/** One of our files, as it is and as it would be. */
export interface TargetFile {
  readonly path: string;
  /** Others read it, too: it belongs to the project. */
  readonly shared: boolean;
  /** The text that is there; empty when there is no file. */
  readonly before: string;
  readonly after: string;
}

interface Resolved {
  readonly outcomes: readonly Outcome[];
  readonly left: readonly Left[];
  /** Our configuration file, then the other files that steps ask for. */
  readonly files: readonly TargetFile[];
}

const HEADER =
  "# Reasonix configuration, begun by `reasonix config import`. Every setting: reasonix config show\n";

/**
 * Lays the steps of one scope over a file of ours, and lists the files that steps add to `directory`. What is
 * there already is kept; entries of lists are added. Nothing is written.
 *
 * @throws {ReasonixError} when the file cannot be read or changed
 */
export async function resolveSteps(
  plan: ImportPlan,
  { path, directory, shared }: {
    readonly path: string;
    readonly directory: string;
    readonly shared: boolean;
  },
): Promise<Resolved> {
  const steps = plan.steps.filter(({ origin }) => (origin.scope === "project") === shared);
  const outcomes: Outcome[] = [];
  const left: Left[] = [];
  const added = new NewFiles(directory, shared);
  const { before, after } = await rewriteConfig(path, (table) => {
    const file = new Overlay(table, steps);
    for (const { origin, change, note } of steps) {
      if (change.kind === "file") {
        outcomes.push(added.lay({ origin, change, ...(note === undefined ? {} : { note }) }, change));
        continue;
      }
      if (shared && change.kind !== "entry" && isUserOnly(change.key)) {
        left.push({
          origin,
          why: `only your own file can set ${change.key}, where it would count everywhere`,
        });
        continue;
      }
      const fault = faultOf(change);
      if (fault !== undefined) {
        left.push({ origin, why: fault });
        continue;
      }
      const { state, why } = file.lay({ origin, change });
      const said = state === "new" ? note : why;
      outcomes.push({ origin, change, ...(said === undefined ? {} : { note: said }), file: path, state });
    }
  }, HEADER);
  return { outcomes, left, files: [{ path, shared, before, after }, ...added.files] };
}

type FileChange = Extract<Change, { kind: "file" }>;

/** The files that steps add; one that is there stays as it is. */
class NewFiles {
  readonly files: TargetFile[] = [];
  readonly #directory: string;
  readonly #shared: boolean;

  constructor(directory: string, shared: boolean) {
    this.#directory = directory;
    this.#shared = shared;
  }

  lay(step: Step, { path, text }: FileChange): Outcome {
    const file = join(this.#directory, path);
    // A link of the project could lead the file anywhere.
    if (this.#shared && [this.#directory, parentOf(file)].some(isLink)) {
      return { ...step, file, state: "kept", note: "its directory is a link" };
    }
    const planned = this.files.find((other) => other.path === file)?.after;
    const there = planned ?? readProjectText(file, []) ?? (exists(file) ? "" : undefined);
    if (there === undefined) {
      this.files.push({ path: file, shared: this.#shared, before: "", after: text });
      return { ...step, file, state: "new" };
    }
    if (there === text) {
      return {
        ...step,
        file,
        state: "present",
        note: planned === undefined ? "there already" : "said above",
      };
    }
    return { ...step, file, state: "kept", note: "there is such a file; yours is kept" };
  }
}

function isLink(path: string): boolean {
  try {
    return Deno.lstatSync(path).isSymlink;
  } catch {
    return false;
  }
}

/** A change of our configuration file. */
type Setting = Exclude<Change, FileChange>;
type SettingStep = Step & { readonly change: Setting };

/** Returns the reason why our file cannot hold a change: another program may have taken any value. */
function faultOf(change: Setting): string | undefined {
  const table: TomlTable = {};
  apply(table, change);
  const message = checkLayer({ source: "user", table }).find(({ level }) => level === "error")?.message;
  return message === undefined ? undefined : message.charAt(0).toLowerCase() + message.slice(1);
}

/** A file's table that takes one step after the other. */
class Overlay {
  readonly #table: TomlTable;
  readonly #hasProviders: boolean;
  readonly #steps: readonly Step[];
  /** The step that said something first, by what it sets. */
  readonly #first = new Map<string, SettingStep>();

  constructor(table: TomlTable, steps: readonly Step[]) {
    this.#table = table;
    this.#steps = steps;
    this.#hasProviders = Array.isArray(table.providers) && table.providers.length > 0;
  }

  lay(step: SettingStep): { readonly state: Outcome["state"]; readonly why?: string } {
    const { change } = step;
    const stricter = this.#stricter(change);
    if (stricter) return { state: "kept", why: `${formatLocation(stricter.origin.place)} is stricter` };
    const first = this.#first.get(nameOf(change));
    const present = this.#present(change);
    if (present === undefined) {
      if (change.kind === "set" && change.key === "default_model" && this.#hasProviders) {
        return { state: "kept", why: "your first provider stays the default one" };
      }
      apply(this.#table, change);
      this.#first.set(nameOf(change), step);
      return { state: "new" };
    }
    if (present) return { state: "present", why: first ? "said above" : "there already" };
    if (first) return { state: "kept", why: `${formatLocation(first.origin.place)} says it first` };
    return { state: "kept", why: this.#yours(change) };
  }

  /** Finds the step of another agent with a stricter value of the same setting. */
  #stricter(change: Setting): Step | undefined {
    if (change.kind !== "set") return undefined;
    const schema = schemaAt(parseKeyPath(change.key));
    const order = schema.project === "stricter" ? schema.enum ?? [] : [];
    const own = order.indexOf(String(change.value));
    return this.#steps.find(({ change: other }) =>
      other.kind === "set" && other.key === change.key && order.indexOf(String(other.value)) < own
    );
  }

  /** Compares a change with the table; undefined when the table has no such value. */
  #present(change: Setting): boolean | undefined {
    if (change.kind === "entry") {
      const present = this.#entry(change);
      return present &&
        Object.entries(change.entry).every(([key, value]) =>
          canonicalJson(present[key]) === canonicalJson(value)
        );
    }
    const value = valueAt(this.#table, parseKeyPath(change.key));
    if (change.kind === "item") {
      const same = canonicalJson(change.item);
      return Array.isArray(value) && value.some((item) => canonicalJson(item) === same) ? true : undefined;
    }
    return value === undefined ? undefined : canonicalJson(value) === canonicalJson(change.value);
  }

  #entry({ list, entry }: Extract<Change, { kind: "entry" }>): TomlTable | undefined {
    const entries = this.#table[list];
    return Array.isArray(entries)
      ? entries.filter(isTable).find(({ name }) => name === entry.name)
      : undefined;
  }

  #yours(change: Setting): string {
    if (change.kind === "entry") {
      return `your file has an entry ${JSON.stringify(change.entry.name)}; yours is kept`;
    }
    const value = valueAt(this.#table, parseKeyPath(change.key));
    return `your file says ${JSON.stringify(value)}; yours is kept`;
  }
}

/** A setting or entry by one name, whatever its value. */
function nameOf(change: Setting): string {
  if (change.kind === "entry") return `${change.list}.${change.entry.name}`;
  return change.kind === "set" ? change.key : `${change.key} ${canonicalJson(change.item)}`;
}

function apply(table: TomlTable, change: Setting): void {
  if (change.kind === "entry") {
    const list = table[change.list];
    table[change.list] = [...(Array.isArray(list) ? list : []), change.entry];
    return;
  }
  const path = parseKeyPath(change.key).map(String);
  const last = path.pop() ?? "";
  let here = table;
  for (const part of path) {
    const next = here[part];
    here = isTable(next) ? next : (here[part] = {}) as TomlTable;
  }
  const value = here[last];
  here[last] = change.kind === "set" ? change.value : [...(Array.isArray(value) ? value : []), change.item];
}
