import { absolutePath } from "../../path/lexical.ts";
import { isKnown, type PathContext } from "../../rule/mod.ts";
import type { Segment } from "../shell/line.ts";
import { isSink } from "../shell/readers.ts";
import { isFile } from "../../path/probe.ts";

const COMMANDS = /^(?:rm|mv|chmod|chown|dd|mkfs(?:\..*)?|shutdown|reboot)$/;

/** The wide class of `[safety] confirm = "strict"`; see docs/permissions.md. */
export function strictFinding(name: string, segment: Segment, places: PathContext): string | undefined {
  if (COMMANDS.test(name)) return `strict mode confirms every ${name}`;
  const target = segment.uses.find((use) =>
    use.redirect && use.access === "write" && !use.append && !isSink(use.path)
  );
  if (!target) return undefined;
  const cwds = segment.cwds ?? [places.cwd];
  const there = !isKnown(target.path) ||
    cwds.some((cwd) => isFile(absolutePath(target.path, { cwd, home: places.home })));
  return there
    ? `strict mode confirms writing over an existing file (${isKnown(target.path) ? target.path : "…"})`
    : undefined;
}
