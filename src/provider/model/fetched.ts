import { isRecord } from "../../util/json.ts";
import type { FactsTable } from "./tables.ts";

/**
 * The first line of the file of fetched tables. A line per provider follows; a run reads the one that it
 * needs by its place behind the first line, in bytes.
 */
export interface FetchedHeader {
  readonly date: string;
  readonly source: string;
  readonly tables: Readonly<Record<string, readonly [at: number, length: number]>>;
  readonly hosts: Readonly<Record<string, string>>;
}

/**
 * Returns the fetched table of a vendor, or of whoever has this address. Undefined: there is none, or the
 * file is damaged, so that the built-in tables count.
 */
export function readFetched(file: string, vendor: string | undefined, url: string): FactsTable | undefined {
  try {
    const bytes = Deno.readFileSync(file);
    const end = bytes.indexOf(10);
    const read = (from: number, to: number) => JSON.parse(new TextDecoder().decode(bytes.subarray(from, to)));
    const { date, source, tables, hosts }: FetchedHeader = read(0, end);
    const name = vendor ?? hosts[URL.parse(url)?.host ?? ""];
    if (name === undefined || !Object.hasOwn(tables, name)) return undefined;
    const [at, length] = tables[name] ?? [0, 0];
    const models = read(end + 1 + at, end + 1 + at + length);
    return isRecord(models) ? { date, source, models: models as FactsTable["models"] } : undefined;
  } catch {
    return undefined;
  }
}
