import type { Assembly } from "../../../src/assembly/mod.ts";
import type { Line, SlashCommand } from "../../../src/command/mod.ts";
import type { Locale } from "../../../src/i18n/mod.ts";
import { lazy } from "../../../src/util/lazy.ts";

/** Few runs begin with a slash; the others do not pay for commands. */
const loadCommands = lazy(() => import("../../../src/command/mod.ts"));

/** Reads what a run was given: a command of the program, or text for the model. */
export async function lineOf(text: string, assembly: Assembly, locale?: Locale): Promise<Line> {
  if (!text.startsWith("/")) return { kind: "text", input: { text } };
  const { loadHeadless } = await loadCommands();
  return await (await loadHeadless()).readLine(text, assembly, locale);
}

/** What the program and the project offer; without a session only the program. */
export async function commandList(assembly?: Assembly): Promise<readonly SlashCommand[]> {
  const { allCommands } = await loadCommands();
  return await allCommands({
    headless: true,
    ...(assembly ? { session: () => Promise.resolve(assembly) } : {}),
  });
}

/** Names of the commands that a line can begin with, without the slash. */
export async function commandNames(assembly: Assembly): Promise<readonly string[]> {
  return (await commandList(assembly)).map(({ name }) => name);
}
