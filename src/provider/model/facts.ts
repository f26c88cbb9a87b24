import { type ProviderEntry, vendorAt, VENDORS } from "../../config/mod.ts";
import { ReasonixError } from "../../core/mod.ts";
import { FACT_TABLES, type FactsTable, FETCHED, type ModelFacts } from "./tables.ts";

type FactsOwner = Pick<ProviderEntry, "name" | "base_url" | "facts">;

/** The facts of one model, and from when and where they are. */
export interface FoundFacts extends ModelFacts {
  readonly date: string;
  readonly source: string;
}

/**
 * Returns what the tables say of a model: those that the user fetched (below `home`), else those that come
 * with the program. Undefined: nothing. Rejects with a
 * ReasonixError of exit "config" when the entry names a table that is not there.
 */
export async function factsOf(
  entry: FactsOwner,
  model: string,
  home?: string,
): Promise<FoundFacts | undefined> {
  const table = await tableOf(entry, home);
  return table && findIn(table, model);
}

/** Names of all models in the table that counts for an entry. */
export async function tableModels(entry: FactsOwner, home: string): Promise<readonly string[]> {
  return Object.keys((await tableOf(entry, home))?.models ?? {});
}

async function tableOf(entry: FactsOwner, home: string | undefined): Promise<FactsTable | undefined> {
  const found = vendorAt(entry.base_url);
  const vendor = entry.facts || found?.facts || found?.name;
  const builtIn = vendor !== undefined && Object.hasOwn(FACT_TABLES, vendor)
    ? FACT_TABLES[vendor]
    : undefined;
  const fetched = home === undefined ? undefined : await fetchedTable(home, vendor, entry.base_url);
  const table = fetched ?? await builtIn?.();
  if (table === undefined && entry.facts !== "") throw noTable(entry);
  return table;
}

/** Who fetched no tables pays for one look. */
async function fetchedTable(
  home: string,
  vendor: string | undefined,
  url: string,
): Promise<FactsTable | undefined> {
  const file = `${home}/${FETCHED}`;
  try {
    Deno.statSync(file);
  } catch {
    return undefined;
  }
  const { readFetched } = await import("./fetched.ts");
  return readFetched(file, vendor, url);
}

/** Vendors put a day behind the name of a model that stays the same. */
const DAY = /-(?:\d{8}|\d{4}-\d{2}-\d{2})$/;

function findIn({ date, source, models }: FactsTable, model: string): FoundFacts | undefined {
  const names = [model, model.replace(DAY, "")];
  const name = names.find((each) => Object.hasOwn(models, each));
  const facts = name === undefined ? undefined : models[name];
  return facts && { ...facts, date, source };
}

function noTable({ name, facts }: Pick<ProviderEntry, "name" | "facts">): ReasonixError {
  const known = VENDORS.map((vendor) => vendor.name).filter((vendor) => Object.hasOwn(FACT_TABLES, vendor));
  return new ReasonixError(`Provider "${name}" names facts of "${facts}", of which there is no table`, {
    exit: "config",
    said: [["noSuchFacts", name, facts], ["writeOneOf", known.join("、")]],
    remedy: `set facts to one of ${known.join(", ")}, or to a provider of a list that was fetched`,
  });
}
