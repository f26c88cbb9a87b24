/**
 * Writes docs/events.md from the event schema: types from the schema itself, explanations from its comments.
 * `deno run -A scripts/gen_events.ts`; a test fails while the page is not current.
 */
import * as z from "zod/mini";
import { EVENT_KINDS } from "../src/core/event_schema.ts";
import { LIVE_ONLY } from "../src/core/event.ts";

const SOURCE = new URL("../src/core/event_schema.ts", import.meta.url);
const PAGE = new URL("../docs/events.md", import.meta.url);

export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly string[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

/** Comment above each key, as "kind" or "kind/field". */
function readComments(source: string): Map<string, string> {
  const comments = new Map<string, string>();
  let kind = "";
  let pending = "";
  const joined = source.replace(
    /\/\*\*(.*?)\*\//gs,
    (_, text: string) => `/** ${text.replace(/\s*\n\s*\*?\s*/g, " ").trim()} */`,
  );
  for (const line of joined.split("\n")) {
    const comment = line.match(/^\s*\/\*\* (.*) \*\/$/);
    const key = line.match(/^ {2}(?:"([\w.]+)"|(\w+)): z\./);
    const field = line.match(/^ {4}(\w+): z|^ {4}(\w+),$/);
    if (comment) {
      pending = comment[1] ?? "";
      continue;
    }
    if (key) kind = key[1] ?? key[2] ?? "";
    const name = key ? kind : field ? `${kind}/${field[1] ?? field[2]}` : "";
    if (name !== "" && pending !== "") comments.set(name, pending);
    pending = "";
  }
  return comments;
}

export function typeText(schema: Schema): string {
  if (schema.$ref) return "message";
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.anyOf) return schema.anyOf.map(typeText).join(" | ");
  if (schema.enum) return schema.enum.map((value) => `"${value}"`).join(" | ");
  if (schema.type === "array") return `array of ${schema.items ? typeText(schema.items) : "values"}`;
  if (schema.type === "object" && schema.properties) {
    const required = new Set(schema.required);
    const fields = Object.entries(schema.properties).map(([name, field]) =>
      `${name}${required.has(name) ? "" : "?"}: ${typeText(field)}`
    );
    return `{ ${fields.join(", ")} }`;
  }
  return schema.type ?? "value";
}

function section(kind: string, schema: Schema, comments: Map<string, string>): string {
  const required = new Set(schema.required);
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => {
    const optional = required.has(name) ? "" : " (optional)";
    const meaning = comments.get(`${kind}/${name}`);
    return `- \`${name}\`${optional}: \`${typeText(field)}\`${meaning ? `. ${meaning}` : ""}`;
  });
  const explanation = comments.get(kind);
  if (!explanation) throw new Error(`The event kind ${kind} has no comment in src/core`);
  return [`## ${kind}`, "", explanation, "", ...fields].join("\n");
}

/** Long lines are wrapped as the formatter of the repository wants them. */
export async function formatted(text: string, ext = "md"): Promise<string> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["fmt", "--ext", ext, "--line-width", "110", "-"],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(text));
  await writer.close();
  const { success, stdout } = await child.output();
  if (!success) throw new Error("Cannot format a generated page: deno fmt failed");
  return new TextDecoder().decode(stdout);
}

/** The whole page. */
export async function eventsPage(): Promise<string> {
  const comments = readComments(await Deno.readTextFile(SOURCE));
  const sections = Object.entries(EVENT_KINDS).map(([kind, schema]) =>
    section(kind, z.toJSONSchema(schema) as Schema, comments)
  );
  return await formatted(`# Events

Everything that happens in a session is an event. The session file is these events, one JSON object a line
([session-format.md](session-format.md)); \`--output-format jsonl\` prints the same objects.

This page is generated from \`src/core/event_schema.ts\` by \`scripts/gen_events.ts\`.

Every event begins with the same four fields: \`v\`, the format version, 1; \`seq\`, its place in the session (1, 2, …);
\`time\` (RFC 3339, UTC); \`type\`, one of the kinds below. Readers ignore kinds and fields they do not know. Events of the
kinds ${
    [...LIVE_ONLY].map((kind) => `\`${kind}\``).join(", ")
  } are streamed to readers with \`seq\` 0 and never stored.

${sections.join("\n\n")}
`);
}

if (import.meta.main) await Deno.writeTextFile(PAGE, await eventsPage());
