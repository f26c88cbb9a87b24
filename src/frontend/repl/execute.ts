import type { Assembly } from "../../assembly/mod.ts";
import type { TurnOutcome } from "../../agent/mod.ts";
import { type CommandHost, readCommand } from "../../command/mod.ts";
import type { ChatTexts } from "./chat_texts.ts";
import type { Sent } from "./turn_queue.ts";

export interface ExecuteDeps {
  readonly commands: CommandHost;
  readonly session: () => Promise<Assembly>;
  readonly texts: ChatTexts;
  /** Runs a command below its line. */
  readonly headed?: <T>(line: string, run: () => Promise<T>, signal?: AbortSignal) => Promise<T>;
}

/**
 * Does what a message asks for: `/name` is a command, `!line` a line of the shell, `# fact` something to
 * remember; all else is for the model, with `//` as a slash that begins a text. A blank before it makes any
 * of them a text. Returns how the turn ended, where it was one.
 */
export async function carryOut(
  { text, images, input, pasted }: Pick<Sent, "text" | "images" | "input" | "pasted">,
  { commands, session, texts, headed = (_, run) => run() }: ExecuteDeps,
  signal: AbortSignal,
): Promise<TurnOutcome | undefined> {
  if (input) return await (await session()).run(input, signal);
  const seen = images?.length ? { images } : {};
  switch (text[0]) {
    case "/": {
      if (text[1] === "/") return await (await session()).run({ text: text.slice(1), ...seen }, signal);
      const line = await readCommand(text, { locale: commands.locale, session });
      if (!line) break;
      await headed(text, async () => await line.command.run(commands, line.argument, signal), signal);
      return undefined;
    }
    case "!": {
      const line = text.slice(1).trim();
      if (line === "") break;
      return await (await session()).runShell(line, signal);
    }
    case "#": {
      const fact = factOf({ text, pasted });
      if (fact === undefined) break;
      const { name } = await (await session()).remember(fact);
      commands.say(texts.chat.remembered(fact, name));
      return undefined;
    }
  }
  return await (await session()).run({ text, ...seen }, signal);
}

/** Characters of a fact; a longer line is a message. */
const MAX_FACT = 200;

/** The fact of a typed line `# fact`. Pasted headings, `#word`, `#123` and long lines are text. */
export function factOf({ text, pasted = false }: Pick<Sent, "text" | "pasted">): string | undefined {
  const fact = pasted ? undefined : /^# +(\S.*)$/u.exec(text.trimEnd())?.[1];
  return fact === undefined || fact.length > MAX_FACT ? undefined : fact;
}
