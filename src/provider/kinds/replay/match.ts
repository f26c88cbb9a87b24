import type { RecordedMessage, RecordedRequest } from "../../cassette/format.ts";
import { type Template, toolPrints } from "../../cassette/template.ts";
import type { ModelRequest } from "../../provider.ts";

const CONTEXT = 40;

export interface Matcher {
  readonly template: Template;
  readonly normalise: (text: string) => string;
  readonly loose: ReadonlySet<string>;
}

/** Describes where a request departs from the recorded one, or undefined when it does not. */
export function divergence(
  recorded: RecordedRequest,
  request: ModelRequest,
  { template, normalise, loose }: Matcher,
): string | undefined {
  if (!loose.has("system") && recorded.system !== undefined) {
    const found = difference(normalise(recorded.system), normalise(template.hide(request.prefix.system)));
    if (found) return `the system prompt differs ${found}`;
  }
  if (!loose.has("tools") && recorded.tools !== undefined) {
    const found = toolDifference(recorded.tools, toolPrints(request.prefix.tools));
    if (found) return found;
  }
  if (loose.has("messages")) return undefined;
  const incoming = request.messages.slice(recorded.from).map((message) => template.message(message));
  const count = Math.max(incoming.length, recorded.messages.length);
  for (let at = 0; at < count; at++) {
    const found = messageDifference(recorded.messages[at], incoming[at], normalise);
    if (found) return `message ${recorded.from + at} ${found}`;
  }
  return undefined;
}

function messageDifference(
  recorded: RecordedMessage | undefined,
  now: RecordedMessage | undefined,
  normalise: (text: string) => string,
): string | undefined {
  if (recorded === undefined) {
    return `(${now?.role}) is not in the recording: ${excerpt(now?.content ?? "", 0)}`;
  }
  if (now === undefined) {
    return `(${recorded.role}) of the recording is missing: ${excerpt(recorded.content, 0)}`;
  }
  const before = label(recorded);
  if (before !== label(now)) return `is ${label(now)} where ${before} was recorded`;
  const content = difference(normalise(recorded.content), normalise(now.content));
  if (content) return `(${before}) differs ${content}`;
  if ((recorded.images ?? 0) !== (now.images ?? 0)) {
    return `(${before}) has ${now.images ?? 0} images where ${recorded.images ?? 0} were recorded`;
  }
  const calls = difference(callText(recorded, normalise), callText(now, normalise));
  return calls ? `(${before}) differs in its calls ${calls}` : undefined;
}

function label(message: RecordedMessage): string {
  return message.name === undefined ? message.role : `${message.role} ${message.name}`;
}

function callText(message: RecordedMessage, normalise: (text: string) => string): string {
  return normalise((message.calls ?? []).map((call) => `${call.name}(${call.arguments})`).join(" "));
}

function toolDifference(recorded: readonly string[], now: readonly string[]): string | undefined {
  if (recorded.join() === now.join()) return undefined;
  const gone = recorded.filter((tool) => !now.includes(tool)).map(nameIn);
  const added = now.filter((tool) => !recorded.includes(tool)).map(nameIn);
  const changed = gone.filter((name) => added.includes(name));
  const parts = [
    listed("changed", changed),
    listed("missing", gone.filter((name) => !changed.includes(name))),
    listed("new", added.filter((name) => !changed.includes(name))),
  ].filter((part) => part !== "");
  return `the tools differ (${parts.length > 0 ? parts.join("; ") : "other order"})`;
}

function nameIn(print: string): string {
  return print.slice(0, print.lastIndexOf("#"));
}

function listed(what: string, names: readonly string[]): string {
  return names.length === 0 ? "" : `${what}: ${names.join(", ")}`;
}

/** The first differing characters of two texts. */
function difference(recorded: string, now: string): string | undefined {
  if (recorded === now) return undefined;
  let at = 0;
  while (at < recorded.length && recorded[at] === now[at]) at++;
  return `at character ${at}: recorded ${excerpt(recorded, at)}, now ${excerpt(now, at)}`;
}

function excerpt(text: string, at: number): string {
  const from = Math.max(0, at - CONTEXT / 2);
  const piece = text.slice(from, at + CONTEXT).toWellFormed();
  return JSON.stringify(`${from > 0 ? "…" : ""}${piece}${at + CONTEXT < text.length ? "…" : ""}`);
}
