import { createRedactor } from "../../util/redact.ts";
import { hideSecrets, holdsSecret } from "../query/hide_secrets.ts";
import { isTable, type TomlTable } from "../schema/json_schema.ts";
import type { ImportPlan, Origin } from "./plan.ts";

const MARK = "\u0000";
const MARKS = /\[(?:secret|redacted)\]/g;
const redact = createRedactor([]);

/** Names a variable after several words: `my server`, `api-key` → `MY_SERVER_API_KEY`. */
export function variableName(...words: string[]): string {
  const name = words.join("_").toUpperCase().replace(/[^A-Z0-9]+/g, "_").replace(/^_+|_+$/g, "");
  return /^\d/.test(name) || name === "" ? `_${name}` : name;
}

/** The owner of values: a server or provider, for the names of its keys. */
interface Owner {
  readonly plan: ImportPlan;
  readonly origin: Origin;
  readonly name: string;
}

/** Environment variables with `${NAME}` in place of what is secret. */
export function safeEnvironment(values: unknown, owner: Owner): Record<string, string> {
  return mapTexts(values, (value, name) => {
    if (isReference(value)) return value;
    if (holdsSecret(name, value)) return reference(owner, value, name);
    return safeText(value, owner, name);
  });
}

/** Headers with `${NAME}` in place of what is secret; the scheme (`Bearer`) stays. */
export function safeHeaders(values: unknown, owner: Owner): Record<string, string> {
  return mapTexts(values, (value, name) => {
    if (isReference(value)) return value;
    const scheme = /^(?:Bearer|Basic|Token)\s+/i.exec(value)?.[0] ?? "";
    const secret = scheme !== "" || holdsSecret(name.replaceAll("-", "_"), value) ||
      /auth|cookie/i.test(name);
    if (!secret) return safeText(value, owner, name);
    const word = name.toLowerCase() === "authorization" ? "token" : name;
    return scheme + reference(owner, value.slice(scheme.length), variableName(owner.name, word));
  });
}

/** Arguments with `${NAME}` in place of what follows `--token` and its like. */
export function safeArguments(values: unknown, owner: Owner): string[] {
  const list = Array.isArray(values) ? values.map(String) : [];
  const hidden = hideSecrets(list) as string[];
  return list.map((text, index) => {
    const flag = /^--?([\w-]+)/.exec(/^--?[\w-]+=/.test(text) ? text : list[index - 1] ?? "")?.[1] ?? "key";
    return isReference(text) ? text : cover(text, redact(hidden[index] ?? text), owner, flag);
  });
}

/** An address or any other text with `${NAME}` in place of keys. */
export function safeText(text: string, owner: Owner, word = "key"): string {
  return isReference(text) ? text : cover(text, redact(String(hideSecrets(text))), owner, word);
}

function isReference(text: string): boolean {
  return /\$\{[A-Za-z_]/.test(text);
}

/** Puts a reference where the hidden text has its mark. */
function cover(text: string, hidden: string, owner: Owner, word: string): string {
  if (hidden === text) return text;
  const name = variableName(owner.name, word);
  const parts = hidden.replace(MARKS, MARK).split(MARK);
  const [before = "", after = ""] = parts;
  const fits = parts.length === 2 && text.startsWith(before) && text.endsWith(after);
  if (!fits) return reference(owner, text, name);
  return before + reference(owner, text.slice(before.length, text.length - after.length), name) + after;
}

function reference({ plan, origin, name: owner }: Owner, value: string, name: string): string {
  return `\${${plan.key({ name, value, origin }, variableName(owner, name))}}`;
}

function mapTexts(values: unknown, map: (value: string, name: string) => string): Record<string, string> {
  const entries = Object.entries(isTable(values) ? values : {} as TomlTable);
  return Object.fromEntries(
    entries.filter(([, value]) => value !== null && typeof value !== "object")
      .map(([name, value]) => [name, map(String(value), name)]),
  );
}
