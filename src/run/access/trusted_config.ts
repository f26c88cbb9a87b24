import { contains } from "../../path/contains.ts";
import { loadConfig, type LoadedConfig, type LoadOptions, type TrustItem } from "../../config/mod.ts";
import { formatPlace, ReasonixError } from "../../core/mod.ts";
import { type TrustItem as Trustable, TrustStore } from "../../sandbox/mod.ts";
import { isFile, sortedEntries } from "../../path/probe.ts";
import type { RunOptions } from "../run_options.ts";
import type { RunPaths } from "../run_paths.ts";

export interface TrustOptions extends Pick<RunOptions, "trustProject" | "ignoreUntrusted"> {
  /** Asks a person about what nobody has decided on yet; absent: nobody can be asked. */
  readonly decide?: ((items: readonly TrustItem[]) => Promise<"trust" | "ignore">) | undefined;
}

/**
 * The configuration of a run with what the user trusts of the project. Anything executable that the project
 * brings and that nobody trusted ends a run without a person in front of it (exit 3), unless the options say
 * to use it or to leave it out; where there is a person, `decide` asks them. What it would only allow beyond
 * the user, and its hooks, are left out until they are trusted.
 */
export async function loadTrustedConfig(
  load: Omit<LoadOptions, "trust"> & RunPaths,
  options: TrustOptions,
): Promise<LoadedConfig> {
  const store = new TrustStore({ home: load.home, project: load.cwd });
  const isThere = fileFinder(load.cwd);
  const inStore = async (item: TrustItem) =>
    (await store.inspect([trustable(load, item, isThere)])).untrusted.length === 0;
  const loaded = await loadConfig({ ...load, trust: (item) => options.trustProject || inStore(item) });
  const refused = loaded.needsTrust.filter(({ kind }) => !WAITING.has(kind));
  const [first] = refused;
  if (!first || options.ignoreUntrusted) return loaded;
  if (options.decide) {
    const items = loaded.needsTrust;
    if (await options.decide(items) === "ignore") return loaded;
    await store.trust(items.map((item) => trustable(load, item)));
    return await loadTrustedConfig(load, { ...options, ignoreUntrusted: true });
  }
  const names = refused.map((item) =>
    `${item.kind} ${item.name} (${formatPlace(item.place)}): ${item.reason}`
  );
  throw new ReasonixError(
    `This project contains items that you have not trusted yet:\n  ${names.join("\n  ")}`,
    {
      exit: "blocked",
      said: [["untrusted", names.map((name) => `  ${name}`).join("\n")], ["trustItems"]],
      place: first.place,
      remedy:
        "look at it, then `reasonix trust`; or add --trust-project for this run, or --ignore-untrusted to leave it out",
    },
  );
}

/** What a run can do without: it is named, and left out. */
const WAITING: ReadonlySet<TrustItem["kind"]> = new Set(["widening", "hook"]);

/** The item as the trust store keys it: the entry as written, and the project's own files it names. */
export function trustable(
  { cwd }: Pick<RunPaths, "cwd">,
  item: TrustItem,
  isThere: (path: string) => boolean = isFile,
): Trustable {
  // What rules name stays what they name, whatever the file holds.
  if (item.kind === "widening") return { kind: item.kind, name: item.name, definition: item.content };
  const words = item.content.match(/[^\s"'[\]{},:=]+/g) ?? [];
  const named = words.map((word) => word.startsWith("/") ? word : `${cwd}/${word}`);
  const files = [...new Set([...named, ...item.paths ?? []])].filter((path) =>
    contains(cwd, path) && isThere(path)
  );
  return { kind: item.kind, name: item.name, definition: item.content, files };
}

/**
 * Asks for files of a project and remembers the answers, for a look at many items. Most words of a command
 * name none; where nothing of the project begins like them the system is not asked.
 */
function fileFinder(cwd: string): (path: string) => boolean {
  const known = new Map<string, boolean>();
  let first: ReadonlySet<string> | undefined;
  const plain = (name: string) => name.normalize("NFC").toLowerCase();
  return (path) => {
    first ??= new Set(sortedEntries(cwd).map(({ name }) => plain(name)));
    const below = path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : "";
    const [segment = ""] = below.split("/");
    // What is no plain name (`..`, an empty one) is looked at as it is.
    if (first.size > 0 && /^[^.]|^\.[^.]/.test(segment) && !first.has(plain(segment))) return false;
    let found = known.get(path);
    if (found === undefined) known.set(path, found = isFile(path));
    return found;
  };
}
