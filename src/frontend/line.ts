import type { Assembly } from "../run/mod.ts";
import type { LineOptions, LineOutcome, SlashCommand } from "../command/mod.ts";
import { lazy } from "../util/lazy.ts";

/** Few runs begin with a slash; the others do not pay for commands. */
const loadCommands = lazy(() => import("../command/mod.ts"));

/** Carries out what a run was given, where it is a command; other lines are text for the model. */
export async function executeLine(
  text: string,
  assembly: Assembly,
  options: LineOptions = {},
): Promise<LineOutcome> {
  if (!text.startsWith("/")) return { input: { text } };
  const { loadHeadless } = await loadCommands();
  return await (await loadHeadless()).executeLine(text, assembly, options);
}

/** Commands of the program and the project; without a session only of the program. */
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
