import type { SourceLocation } from "../../core/mod.ts";
import type { Layer } from "../load/layer.ts";
import { isTable, type TomlTable } from "../schema/json_schema.ts";

/** A server that a file describes and that does not count, with the reason. */
export interface LeftOutServer {
  readonly name: string;
  /**
   * A variable of it has no value; it cannot be read; another entry of its name counts; the project switches
   * it off.
   */
  readonly why: "variable" | "invalid" | "shadowed" | "switched off";
  /** The reason, to stand behind "is not used:". */
  readonly message: string;
  readonly remedy: string;
  readonly place: SourceLocation;
}

/** The entries of `[[plugins]]` of a layer. */
export function pluginsOf(layer: Pick<Layer, "table">): TomlTable[] {
  const entries = layer.table.plugins;
  return Array.isArray(entries) ? entries.filter(isTable) : [];
}
