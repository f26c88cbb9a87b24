import * as z from "zod/mini";

/**
 * The rights of a project file over a key. A repository is not the user: it may narrow, never widen.
 * - any: set it freely
 * - ignored: only the user's own file counts
 * - adds: its items join the user's list
 * - stricter: only towards the front of the enum, whose values are written from strict to loose
 * - off: may only switch it off
 * - lower: only a lower, non-zero limit
 * - subset: only a part of the user's list (anything, when the user has no list)
 * - inside: only paths inside the project directory
 * - own: at an endpoint of the user's only the user's value counts
 * - trust: waits until the user trusts this content
 * - widens: what goes beyond the user's list waits until the user trusts the content of the file
 */
export type ProjectRule =
  | "any"
  | "ignored"
  | "adds"
  | "stricter"
  | "off"
  | "lower"
  | "subset"
  | "inside"
  | "own"
  | "trust"
  | "widens";

/** Facts about a key beside its type; they become `x-` keywords of the JSON Schema. */
export interface KeyNotes {
  readonly project?: ProjectRule;
  /** `${VAR}` and `${VAR:-default}` are replaced in its strings. */
  readonly expand?: true;
  /**
   * Strings are paths: `~/` is replaced, relative ones count from the file that names them or from the
   * working directory.
   */
  readonly path?: "file" | "cwd";
  /** The lists of all layers are joined instead of the highest one winning. */
  readonly merge?: "concat";
  /** The value is never shown in a message. */
  readonly secret?: true;
  /** Accepted, and nothing reads it: in this version, or in any. Holds for all keys of a table or entry. */
  readonly idle?: "yet" | "obsolete";
  /** The key that took over; a value here is read as if it were written there. */
  readonly alias?: string;
}

/** Attaches description and notes to a schema. */
export function key<S extends z.ZodMiniType>(schema: S, description: string, notes: KeyNotes = {}): S {
  const keywords = Object.entries(notes).map(([name, value]) => [`x-${name}`, value]);
  z.globalRegistry.add(schema, { description, ...Object.fromEntries(keywords) });
  return schema;
}

export const text = (value = "") => z._default(z.string(), value);
export const texts = () => z._default(z.array(z.string()), []);
export const textMap = () => z._default(z.record(z.string(), z.string()), {});
export const flag = (value: boolean) => z._default(z.boolean(), value);
export const count = (value: number) => z._default(z.int().check(z.nonnegative()), value);
export const amount = (value: number) => z._default(z.number().check(z.nonnegative()), value);
