import { type LoadedEvents, loadEvents } from "../../../src/session/mod.ts";
import type { Event, Message } from "../../../src/core/mod.ts";
import type { RecordedRequest } from "../../support/model_server.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import type { Tree } from "./files.ts";
import type { Effect } from "./script.ts";

/** Begins the message that asks for a summary. */
const SUMMARY = "[The conversation is about to be shortened";

/** The last read state of a workspace's session files. Recorded events may never change. */
export class Witness {
  readonly #directory: string;
  readonly #seen = new Map<string, { readonly bytes: Uint8Array; readonly lastSeq: number }>();
  readonly #begun = new Set<string>();

  /** `directory` holds the session files. */
  constructor(directory: string) {
    this.#directory = directory;
  }

  /**
   * Reads what was written since the last look. Throws where a line is damaged, one is gone or changed, or
   * numbers do not follow one another. Returns the new events by file.
   */
  look(): Map<string, Event[]> {
    const added = new Map<string, Event[]>();
    for (const path of sessionFiles(this.#directory)) {
      const bytes = Deno.readFileSync(path);
      const before = this.#seen.get(path);
      if (before?.bytes.length === bytes.length) continue;
      // A kill can come between making the file and its first event.
      if (bytes.length === 0 && !before) continue;
      const whole = before?.bytes.subarray(0, before.bytes.lastIndexOf(10) + 1) ?? new Uint8Array(0);
      assert(startsWith(bytes, whole), `${path}: what was written before has changed`);
      const events: Event[] = [];
      const loaded = loadEvents(path, (event) => events.push(event));
      assertEquals(loaded.notices, [], path);
      checkNumbers(path, events);
      const { lastSeq } = loaded.state;
      this.#seen.set(path, { bytes, lastSeq });
      const [head] = events;
      const copied = head?.type === "session.start" && head.parent?.agent === undefined
        ? head.parent?.seq
        : 0;
      if (!before && copied) assert(lastSeq >= copied, `${path} has ${lastSeq} of ${copied} events`);
      added.set(path, events.filter(({ seq }) => seq > (before?.lastSeq ?? copied ?? 0)));
    }
    return added;
  }

  /**
   * Checks the effects of calls in the workspace: all of a successful call, all or nothing of a begun call,
   * nothing of others.
   */
  checkEffects(events: readonly Event[], effects: ReadonlyMap<string, Effect>, tree: Tree): void {
    for (const event of events) {
      if (event.type === "tool.start") this.#begun.add(event.call.id);
      if (event.type !== "tool.end") continue;
      const effect = effects.get(event.callId);
      if (!effect) continue;
      const isThere = has(tree, effect);
      if (event.outcome === "ok") assert(isThere, `${event.callId} succeeded; ${effect.path} has none of it`);
      if (event.outcome === "error" && event.name !== "bash") {
        assert(!isThere, `${event.callId} failed; ${effect.path} has it: ${event.content}`);
      }
    }
    for (const [id, effect] of effects) {
      const text = tree.get(effect.path);
      if (effect.whole && text !== undefined) assertEquals(text, effect.text, "half a file");
      if (has(tree, effect)) assert(this.#begun.has(id), `${id} left its mark and was never begun`);
    }
  }
}

function sessionFiles(directory: string): string[] {
  const found: string[] = [];
  try {
    for (const { name, isDirectory } of Deno.readDirSync(directory)) {
      if (isDirectory) found.push(...sessionFiles(`${directory}/${name}/agents`));
      else if (name.endsWith(".jsonl")) found.push(`${directory}/${name}`);
    }
  } catch { /* not made yet */ }
  return found;
}

function startsWith(bytes: Uint8Array, begin: Uint8Array): boolean {
  return bytes.length >= begin.length && begin.every((byte, at) => bytes[at] === byte);
}

/** A copy begins with a separate line and continues with the numbers of the original. */
function checkNumbers(path: string, events: readonly Event[]): void {
  const numbers = events.map(({ seq }) => seq);
  assertEquals(numbers, numbers.map((_, at) => at + 1), path);
}

/** Checks that the file has every shown event unchanged. */
export function checkShown(path: string, shown: readonly Event[]): void {
  if (shown.length === 0) return;
  const stored = new Map<number, Event>();
  loadEvents(path, (event) => stored.set(event.seq, event));
  for (const event of shown) assertEquals(stored.get(event.seq), event, `shown, and not in ${path}`);
}

function has(tree: Tree, { path, text, whole }: Effect): boolean {
  const found = tree.get(path);
  return whole ? found === text : found?.split("\n").includes(text) ?? false;
}

export function asksForSummary(request: RecordedRequest): boolean {
  return String(request.json.messages.at(-1)?.content).startsWith(SUMMARY);
}

/**
 * The request is exactly the conversation that the file holds while it is sent: no text for
 * the model exists in memory only, and nothing in the file is left out.
 */
export function checkRequest(request: RecordedRequest, { state }: LoadedEvents): void {
  const isSummary = asksForSummary(request);
  const said = (message: WireMessage) => line(isSummary ? withoutOutput(message) : message);
  const [system, ...sent] = request.json.messages.map(said);
  assertEquals(system, line({ role: "system", content: state.prefix?.system ?? "" }));
  if (isSummary) sent.pop();
  const kept = state.messages.map((message) => said(onTheWire(message)));
  const at = sent.findIndex((text: string, index: number) => text !== kept[index]);
  const [theirs, ours] = [sent[at] ?? "nothing", kept[at] ?? "nothing"];
  let from = 0;
  while (from < theirs.length && theirs[from] === ours[from]) from++;
  const shown = (text: string) => text.slice(Math.max(0, from - 60), from + 200);
  assert(at < 0, `message ${at} of a request is … ${shown(theirs)}, in the file … ${shown(ours)}`);
  assertEquals(sent.length, kept.length, "messages of the file that were not sent");
}

/** A request for a summary may have outputs shortened, so that it fits. */
function withoutOutput(message: WireMessage): WireMessage {
  return message.role === "tool" ? { ...message, content: "" } : message;
}

interface WireMessage {
  readonly role: string;
  readonly content: unknown;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly function: Readonly<Record<string, string>>;
  }[];
}

function line({ role, content, tool_call_id, tool_calls }: WireMessage): string {
  const calls = tool_calls?.map((call) => [call.id, call.function.name, call.function.arguments]);
  return JSON.stringify([role, content, tool_call_id, calls]);
}

function onTheWire(message: Message): WireMessage {
  if (message.role === "tool") {
    return { role: "tool", content: message.content, tool_call_id: message.callId };
  }
  if (message.role === "user") return { role: "user", content: message.content };
  const calls = message.calls?.map(({ id, name, arguments: text }) => ({
    id,
    function: { name, arguments: text },
  }));
  return { role: "assistant", content: message.content || null, ...(calls ? { tool_calls: calls } : {}) };
}
