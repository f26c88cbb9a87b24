import type { SourceLocation } from "../core/mod.ts";
import { contains } from "../path/contains.ts";
import { isFile } from "../path/probe.ts";
import { canonicalJson } from "../util/json.ts";

/**
 * Repository content that stays without effect until the user trusts exactly this content: one provider, MCP
 * server, hook, shell, command, skill, agent, verify command, or the permission grants of one file. The kind,
 * the name, the definition and the contents of the files are the key of a decision.
 */
export interface TrustItem {
  /** The kind, such as "plugin", "hook", "command", "skill"; "widening" for the grants of a file. */
  readonly kind: string;
  /** The name by which the user knows it. */
  readonly name: string;
  /**
   * Everything that decides what would run: command, arguments, environment, URL. Plain JSON; the order of
   * keys does not count. It may hold secrets. Of an entry of a configuration file its canonical text as
   * written, without replaced variables.
   */
  readonly definition: unknown;
  /** Absolute paths of the repository's files that it runs; an item whose file is missing is not trusted. */
  readonly files?: readonly string[];
  /** Absolute paths that its words name. Files of the project among them count like `files`. */
  readonly paths?: readonly string[];
  readonly place: SourceLocation;
  /** The reason why an entry needs trust, for people: "it would …". */
  readonly reason?: string;
  /** All facts for people, without values that may be secrets. Absent: the reason and the definition. */
  readonly lines?: readonly string[] | undefined;
  /** Places of values that may be secrets in the file. */
  readonly hidden?: readonly SourceLocation[] | undefined;
  /** The single permissions that the item grants. */
  readonly grants?: readonly PermissionGrant[];
}

/** One permission that a project would grant beyond the user's. */
export interface PermissionGrant {
  /** The setting, such as `permissions.allow`. */
  readonly key: string;
  /** The value that would count; of a directory its real path, so that a link cannot lead elsewhere later. */
  readonly value: string;
  /** Continues "it would be allowed to", for people. */
  readonly words: string;
  readonly place: SourceLocation;
}

/** An entry of a configuration file that needs trust. */
export interface TrustEntry extends Pick<TrustItem, "kind" | "name" | "paths"> {
  readonly written: unknown;
  /** Called only when the facts are shown, which most runs never do. */
  readonly describe: () => Pick<TrustItem, "lines" | "hidden"> & { readonly reason: string };
}

/** Makes the item of an entry of the project in `cwd`. Paths, place and facts are found on first use. */
export function entryItem(
  { kind, name, written, paths = [], describe }: TrustEntry,
  { cwd, place }: { readonly cwd: string; readonly place: () => SourceLocation },
): TrustItem & { readonly reason: string } {
  const definition = canonicalJson(written);
  let described: ReturnType<TrustEntry["describe"]> | undefined;
  const facts = () => described ??= describe();
  return {
    kind,
    name,
    definition,
    get paths() {
      const words = definition.match(/[^\s"'[\]{},:=]+/g) ?? [];
      const named = words.map((word) => word.startsWith("/") ? word : `${cwd}/${word}`);
      return [...new Set([...named, ...paths])];
    },
    get place() {
      return place();
    },
    get reason() {
      return facts().reason;
    },
    get lines() {
      return facts().lines;
    },
    get hidden() {
      return facts().hidden;
    },
  };
}

/** Lists the files whose contents are part of an item. */
export function filesOf(
  { files = [], paths = [] }: TrustItem,
  project: string,
  isThere: (path: string) => boolean = isFile,
): string[] {
  return [...files, ...paths.filter((path) => contains(project, path) && isThere(path))];
}
