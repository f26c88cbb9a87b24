import { absolutePath } from "../../path/lexical.ts";
import { isKnown, type PathContext } from "../../rule/mod.ts";
import { type Effects, isDiscardDevice } from "../command/types.ts";
import { isFile } from "../../path/probe.ts";

const COMMANDS = /^(?:rm|mv|chmod|chown|dd|mkfs(?:\..*)?|shutdown|reboot)$/;

/** The wide class of `[safety] confirm = "strict"`; see docs/permissions.md. */
export function strictFinding(
  name: string,
  { writes, cwds: directories }: Effects,
  places: PathContext,
): string | undefined {
  if (COMMANDS.test(name)) return `strict mode confirms every ${name}`;
  const target = writes.find((use) => use.redirect && !use.append && !isDiscardDevice(use.path));
  if (!target) return undefined;
  const cwds = directories ?? [places.cwd];
  const there = !isKnown(target.path) ||
    cwds.some((cwd) => isFile(absolutePath(target.path, { cwd, home: places.home })));
  return there
    ? `strict mode confirms writing over an existing file (${isKnown(target.path) ? target.path : "…"})`
    : undefined;
}
