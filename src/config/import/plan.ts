import type { SourcePlace } from "../../core/mod.ts";
import { createRedactor } from "../../util/redact.ts";
import type { ProviderTable } from "../edit/provider.ts";
import { isTable, type TomlTable } from "../schema/json_schema.ts";
import { hideSecrets } from "../query/hide_secrets.ts";
import type { ConfigProblem } from "../problem.ts";

export type AgentName = "claude" | "codex" | "opencode" | "reasonix";

/** Whose settings a file holds, and with that which of our files takes them. */
export type Scope = "user" | "project";

/** A setting of another agent, as its file has it. */
export interface Origin {
  /** Such as `permissions.allow "Bash(git:*)"`; fit to be shown. */
  readonly text: string;
  readonly place: SourcePlace;
  readonly scope: Scope;
}

/** A setting of our own file, or a file of its own. */
export type Change =
  | { readonly kind: "set"; readonly key: string; readonly value: unknown }
  | { readonly kind: "item"; readonly key: string; readonly item: string | TomlTable }
  /** A Markdown file; `path` starts in the Reasonix home, or in `.reasonix` of the project. */
  | { readonly kind: "file"; readonly path: string; readonly text: string }
  | { readonly kind: "entry"; readonly list: "providers" | "plugins"; readonly entry: ProviderTable };

export interface Step {
  readonly origin: Origin;
  readonly change: Change;
  /** How it differs from what it was there. */
  readonly note?: string;
}

/** Something that is not taken over. */
export interface Left {
  readonly origin: Origin;
  readonly why: string;
}

/** A key that stands in a file. Its value is never shown and never written into a configuration. */
export interface FoundKey {
  readonly name: string;
  readonly value: string;
  readonly origin: Origin;
}

const redact = createRedactor([]);

function looksLikeKey(text: string): boolean {
  return redact(String(hideSecrets(text))) !== text;
}

function textsIn(change: Exclude<Change, { kind: "entry" }>): string[] {
  if (change.kind === "file") return [change.text];
  const value = change.kind === "set" ? change.value : change.item;
  return isTable(value) ? Object.values(value).map(String) : [String(value)];
}

/** Collects what an import would do, in the order of the files. */
export class ImportPlan {
  readonly steps: Step[] = [];
  readonly left: Left[] = [];
  readonly keys: FoundKey[] = [];
  readonly problems: ConfigProblem[] = [];
  /** Things to know that belong to no single setting. */
  readonly notices: string[] = [];

  take(origin: Origin, change: Change, note?: string): void {
    if (change.kind !== "entry" && textsIn(change).some(looksLikeKey)) {
      return this.leave(origin, "a key stands in it");
    }
    this.steps.push({ origin, change, ...(note === undefined ? {} : { note }) });
  }

  leave(origin: Origin, why: string): void {
    this.left.push({ origin, why });
  }

  /**
   * Remembers a key under its name, or under `other` where another value has that name already; a value that
   * is there keeps its name. Returns the name.
   */
  key(found: FoundKey, other: string): string {
    const same = this.keys.find(({ value, origin }) =>
      value === found.value && origin.scope === found.origin.scope
    );
    if (same) return same.name;
    const name = this.keys.some((known) => known.name === found.name) ? other : found.name;
    this.keys.push({ ...found, name });
    return name;
  }
}
