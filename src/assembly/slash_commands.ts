import { type CompactionReport, loadSkills } from "../context/mod.ts";
import { ReasonixError } from "../core/mod.ts";
import { suggestNames } from "../util/suggest.ts";
import type { Assembly } from "./assembly.ts";

/** A command that the program itself carries out: nothing of it is said to the model. */
interface SlashCommand {
  /** Whether it works on a conversation that has begun. */
  readonly needsSession?: true;
  /** Returns what the user is told. Throws ReasonixError. */
  run(assembly: Assembly, argument: string): Promise<string>;
}

/** By name; every front end has the same ones. */
const SLASH_COMMANDS: Readonly<Record<string, SlashCommand>> = {
  compact: {
    // What follows the name is kept in particular.
    needsSession: true,
    async run({ controller, open }, hint) {
      await open();
      const report = await controller.compact(hint === "" ? undefined : hint);
      const { messages, sources } = controller.recorder.state;
      const summary = messages[sources.findLastIndex(({ kind }) => kind === "summary")];
      return compactionText(report, summary?.content);
    },
  },
  context: {
    async run({ loaded, knowledge, log }) {
      const { contextReportOf, contextText } = await import("./context_report.ts");
      return contextText(await contextReportOf({ loaded, knowledge, state: log.state }));
    },
  },
};

/** What a line that begins with `/` means. */
export type Slash =
  | { readonly kind: "command"; readonly command: SlashCommand; readonly argument: string }
  /** The task goes to the model, after these instructions. */
  | { readonly kind: "skill"; readonly context: string };

/**
 * Reads a line that may begin with `/name`. Undefined for everything that is only text, such as a path. Throws ReasonixError
 * (usage) for a name that is nearly one.
 */
export async function readSlash(text: string, assembly: Assembly): Promise<Slash | undefined> {
  const match = /^\/([A-Za-z][^\s/]*)(?:\s+([\s\S]*))?$/.exec(text.trim());
  const [, name = "", argument = ""] = match ?? [];
  if (!match) return undefined;
  const command = Object.hasOwn(SLASH_COMMANDS, name) ? SLASH_COMMANDS[name] : undefined;
  if (command) {
    if (command.needsSession && assembly.log.state.lastSeq === 0) throw nothingYet(name);
    return { kind: "command", command, argument: argument.trim() };
  }
  const { skills } = assembly.knowledge;
  const skill = skills && await (await loadSkills()).resolveSlash(text, skills);
  if (skill) return { kind: "skill", context: skill.context };
  const known = skills?.set.skills.filter(({ slash }) => slash).map((each) => each.name) ?? [];
  const near = suggestNames(name, [...Object.keys(SLASH_COMMANDS), ...known]).filter((other) =>
    Math.abs(other.length - name.length) <= 2
  );
  if (near.length === 0) return undefined;
  throw new ReasonixError(`Cannot run /${name}: there is no such command or skill`, {
    exit: "usage",
    remedy: `write /${near.join(" or /")}; with a word in front of it the line is sent as it is`,
  });
}

function nothingYet(name: string): ReasonixError {
  return new ReasonixError(`Cannot run /${name}: the session has nothing in it yet`, {
    exit: "usage",
    remedy: `name a session: reasonix run --continue "/${name}", or --resume ID`,
  });
}

function compactionText(report: CompactionReport, summary: string | undefined): string {
  const { method, tokensBefore, tokensAfter, removed = 0, archive, problem } = report;
  if (method === "none") {
    return `Nothing was compacted: too little can be left out of ${tokensBefore} tokens\n`;
  }
  const lines = [
    `Compacted ${removed} messages (${method}): ${tokensBefore} → ${tokensAfter} tokens`,
    ...(problem === undefined ? [] : [`No better method worked: ${problem}`]),
    ...(archive === undefined ? [] : [`The originals are in ${archive}`]),
    ...(method === "drop" || summary === undefined ? [] : ["", summary]),
  ];
  return `${lines.join("\n")}\n`;
}
