import { formatLocation, type SourceLocation } from "../../core/mod.ts";
import type { ConfigSource } from "./settings.ts";

/** The source of a value, as `config show --origin` and `doctor` print it. */
export function originText(origin: ConfigSource): string {
  const { source, file, line, column } = origin;
  if (file === undefined) return source;
  const place: SourceLocation = {
    file,
    ...(line === undefined ? {} : { line }),
    ...(column === undefined ? {} : { column }),
  };
  return source === "preset" ? formatLocation(place) : `${source} ${formatLocation(place)}`;
}
