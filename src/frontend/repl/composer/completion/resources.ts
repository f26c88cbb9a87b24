import type { Assembly } from "../../../../assembly/mod.ts";
import { resourceReference, serverAndUri } from "../../../../path/reference_text.ts";
import { oneLine } from "../../../../util/terminal_text.ts";
import type { CompletionItem } from "./completion.ts";

type Servers = NonNullable<Assembly["servers"]>;
type Entry = ReturnType<Servers["resources"]>[number];

/** Resources of one server that stand beside the files; a server with more is an entry of its own. */
const MOST_BESIDE_FILES = 10;
const COMPLETION_MS = 3_000;

/** The resources for what is written behind `@`; with `server:` those of one server alone. */
export async function resourceItems(written: string, servers: Servers): Promise<CompletionItem[]> {
  const named = serverAndUri(written);
  if (!named) return besideFiles(servers.resources());
  const entries = servers.resources().filter(({ server }) => server === named.server);
  const values = await valuesFor(named.uri, entries, servers);
  return values.length > 0 ? values : entries.map(itemOf);
}

function besideFiles(entries: readonly Entry[]): CompletionItem[] {
  return [...Map.groupBy(entries, ({ server }) => server)].flatMap(([server, own]) => {
    if (own.length <= MOST_BESIDE_FILES) return own.map(itemOf);
    return [{ label: `${server}:`, insert: `@${server}:`, more: true, detail: `${own.length}` }];
  });
}

function itemOf({ server, resource: { uri, name, description }, template }: Entry): CompletionItem {
  const detail = oneLine(description || (name === uri ? "" : name), 100);
  const whole = !template;
  const fixed = template ? uri.slice(0, openBrace(uri)) : uri;
  const reference = resourceReference(`${server}:${fixed}`, whole) ?? `@${server}:`;
  return {
    label: `${server}:${uri}`,
    insert: whole ? `${reference} ` : reference,
    ...(template ? { more: true } : {}),
    ...(detail === "" ? {} : { detail }),
  };
}

/** Values of the part of a template that is being written. */
async function valuesFor(
  uri: string,
  entries: readonly Entry[],
  servers: Servers,
): Promise<CompletionItem[]> {
  const found = await Promise.all(
    entries.filter(({ template }) => template).map(async ({ server, resource }) => {
      const part = openPart(resource.uri, uri);
      if (!part) return [];
      const { name, value, before, after, last } = part;
      const query = { ref: { template: resource.uri }, argument: name, value };
      const signal = AbortSignal.timeout(COMPLETION_MS);
      const values = await servers.complete(server, query, signal).catch(() => []);
      return values.map((each): CompletionItem => {
        const label = `${server}:${before}${encoded(each)}${after}`;
        const reference = resourceReference(label, last) ?? label;
        return { label, insert: last ? `${reference} ` : reference, ...(last ? {} : { more: true }) };
      });
    }),
  );
  return found.flat();
}

/** A value inside an address: only what would break the address apart is written otherwise. */
function encoded(value: string): string {
  return value.replace(/[\s"%?#]/g, encodeURIComponent);
}

/** Index of the first part in braces; the length where there is none. */
function openBrace(template: string): number {
  const at = template.indexOf("{");
  return at < 0 ? template.length : at;
}

interface OpenPart {
  readonly name: string;
  /** What of its value is written. */
  readonly value: string;
  /** The address up to the value. */
  readonly before: string;
  /** What follows up to the next part. */
  readonly after: string;
  /** No part follows. */
  readonly last: boolean;
}

/** The part of a template that an address, which is being written, has come to. */
function openPart(template: string, uri: string): OpenPart | undefined {
  const pieces = template.split(/\{[+#./;?&]?([^}]*)\}/);
  let rest = uri;
  for (let at = 0; at < pieces.length; at += 2) {
    const literal = pieces[at] ?? "";
    const name = pieces[at + 1];
    if (!rest.startsWith(literal) || name === undefined) return undefined;
    rest = rest.slice(literal.length);
    const after = pieces[at + 2] ?? "";
    const end = after === "" ? -1 : rest.indexOf(after);
    if (end < 0) {
      const before = uri.slice(0, uri.length - rest.length);
      const variable = name.split(",")[0]?.replace(/[*:].*$/, "") ?? "";
      return { name: variable, value: rest, before, after, last: at + 4 > pieces.length };
    }
    rest = rest.slice(end);
  }
  return undefined;
}
