import type { Event, EventOf } from "../../core/mod.ts";

/** Words of a command line that only change with time and chance. */
const VARYING = /\b(?:[0-9a-f]{8,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b|\d+/gi;
const MAX_OUTPUT = 20_000;

/**
 * Tells what is new of what calls do, as long as a goal is worked towards: a change of a file or an output of
 * a command that were there before are none, so going back and forth is no progress.
 */
export class EffectTracker {
  readonly #seen = new Set<string>();
  readonly #calls = new Map<string, { readonly reads: boolean; readonly args: string }>();
  #effect: "effect" | "read" | "none" = "none";

  /** Takes an event of the session. */
  event(event: Event): void {
    if (event.type === "tool.start") {
      this.#calls.set(event.call.id, { reads: event.readOnly, args: event.call.arguments });
    } else if (event.type === "tool.end") this.#end(event);
    else if (event.type === "subagent.end" && event.outcome === "ok") this.#note("effect", event.summary);
  }

  /** Something that is worth as much as reading was added. */
  added(text: string): void {
    this.#note("read", text);
  }

  /** Returns what has been done since the last time. */
  take(): "effect" | "read" | "none" {
    const effect = this.#effect;
    this.#effect = "none";
    return effect;
  }

  #end({ callId, name, outcome, content, changes = [] }: EventOf<"tool.end">): void {
    const call = this.#calls.get(callId);
    this.#calls.delete(callId);
    if (!call || OWN_TOOLS.has(name)) return;
    const written = changes.filter(({ change, written }) => change !== "unchanged" && written !== false);
    for (const { path, change, diff, added, removed } of written) {
      this.#note("effect", `${path}\0${change}\0${diff ?? `${added} ${removed}`}`);
    }
    // A failing command may tell more than one that works; a call that was refused tells nothing.
    if (written.length > 0 || (outcome !== "ok" && outcome !== "error")) return;
    if (call.reads) return this.#note("read", `${name}\0${call.args}\0${content.slice(0, MAX_OUTPUT)}`);
    // One that prints nothing is known by what it was called with.
    const shown = content.trim() === "" || content === "(no output)" ? call.args : content;
    this.#note("effect", `${name}\0${shown.slice(0, MAX_OUTPUT).replace(VARYING, "#").replace(/\s+/g, " ")}`);
  }

  #note(kind: "effect" | "read", text: string): void {
    const key = `${kind}\0${digest(text)}`;
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    if (this.#effect !== "effect") this.#effect = kind;
  }
}

/** Tools whose calls are about the work, and not the work. */
const OWN_TOOLS: ReadonlySet<string> = new Set(["update_goal", "todo_write", "todo_read", "ask"]);

/** Two sums of 32 bits (FNV-1a and a multiplicative one) and the length: a clash would cost one turn. */
function digest(text: string): string {
  let [a, b] = [0x811c9dc5, 5381];
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b, 33) + unit | 0;
  }
  return `${text.length}:${a}:${b}`;
}
