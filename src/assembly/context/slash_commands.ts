import type { LoadedConfig } from "../../config/mod.ts";
import { type CompactionReport, loadSkills } from "../../context/mod.ts";
import type { Controller } from "../../control/mod.ts";
import { addSpending, type Cost, NO_SPENDING, ReasonixError, totalCost, type Usage } from "../../core/mod.ts";
import type { Provider } from "../../provider/mod.ts";
import { exists } from "../../path/probe.ts";
import { oneLine } from "../../util/terminal_text.ts";
import { suggestNames } from "../../util/suggest.ts";
import { grouped } from "../../view/mod.ts";
import { SLASH_COMMANDS } from "./slash_names.ts";
import type { PromptInputs } from "./prompt_inputs.ts";
import type { RunSession } from "../session/session.ts";

/** The objects that the commands of the program work on. */
interface RunningSession {
  readonly controller: Controller;
  readonly session: RunSession;
  readonly provider: Provider;
  readonly loaded: LoadedConfig;
  readonly inputs: PromptInputs;
  open(): Promise<unknown>;
  /** Does a piece of work that an abort interrupts. */
  stoppable<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T>;
}

/** A command that the program itself carries out: nothing of it is said to the model. */
interface SlashCommand {
  /** What it does, with what can follow the name. */
  readonly brief: string;
  /** Says whether it works on a conversation that has begun. */
  readonly needsSession?: true;
  /** Returns what the user is told. Throws ReasonixError. */
  run(running: RunningSession, argument: string): Promise<string>;
}

/** By name; every front end has the same ones. */
const COMMANDS: Readonly<Record<(typeof SLASH_COMMANDS)[number], SlashCommand>> = {
  compact: {
    brief: "compact [hint]: fold the conversation now; keep the hint in particular",
    needsSession: true,
    async run(running, hint) {
      const { controller } = running;
      await running.open();
      const report = await controller.compact(hint === "" ? undefined : hint);
      const { messages, sources } = controller.recorder.state;
      const summary = messages[sources.findLastIndex(({ kind }) => kind === "summary")];
      return compactionText(report, summary?.content);
    },
  },
  context: {
    brief: "context: what the model is told, by category",
    async run({ loaded, inputs, session }) {
      const { contextReportOf, contextText } = await import("./context_report.ts");
      return contextText(await contextReportOf({ loaded, inputs, state: session.state }));
    },
  },
  help: {
    brief: "help: this list",
    run({ inputs }) {
      const own = Object.values(COMMANDS).map(({ brief }) => `/${brief}\n`).join("");
      const skills = skillLines(inputs);
      return Promise.resolve(skills === "" ? own : `${own}\nSkills:\n${skills}`);
    },
  },
  skills: {
    brief: "skills: the skills of this directory",
    run({ inputs }) {
      return Promise.resolve(
        skillLines(inputs) || "No skills here; `reasonix skills list` says where it looked\n",
      );
    },
  },
};

/** Only what a line may begin with: other skills are the model's to choose. */
function skillLines({ skills }: PromptInputs): string {
  const named = skills?.set.skills.filter(({ slash }) => slash) ?? [];
  return named.map(({ name, description }) => `/${name}: ${oneLine(description, 160)}\n`).join("");
}

/** The meaning of a line. */
export type Line =
  | { readonly kind: "command"; readonly run: (signal?: AbortSignal) => Promise<CommandReport> }
  /** Text for the model, after these instructions of a skill. */
  | { readonly kind: "text"; readonly skill?: string };

/** The text that a command gave the user, and its cost. */
export interface CommandReport {
  readonly text: string;
  readonly usage: Usage;
  /** Absent when the price is unknown. */
  readonly cost?: Cost;
  readonly durationMs: number;
}

/**
 * Reads a line that may begin with `/name`. Everything that is no command, such as a path, is only text.
 * Throws ReasonixError (usage) for a name that is nearly one.
 */
export async function readLine(text: string, running: RunningSession): Promise<Line> {
  const match = /^\/([A-Za-z][^\s/]*)(?:\s+([\s\S]*))?$/.exec(text.trim());
  const [, name = "", argument = ""] = match ?? [];
  if (!match) return { kind: "text" };
  const command = Object.entries(COMMANDS).find(([known]) => known === name)?.[1];
  if (command) {
    if (command.needsSession && running.session.state.lastSeq === 0) throw nothingYet(name);
    const work = () => measured(running, () => command.run(running, argument.trim()));
    return { kind: "command", run: (signal) => running.stoppable(signal, work) };
  }
  const { skills } = running.inputs;
  const skill = skills && await (await loadSkills()).resolveSlash(text, skills);
  if (skill) return { kind: "text", skill: skill.context };
  const known = skills?.set.skills.filter(({ slash }) => slash).map((each) => each.name) ?? [];
  const near = suggestNames(name, [...SLASH_COMMANDS, ...known]).filter((other) =>
    Math.abs(other.length - name.length) <= 2
  );
  if (near.length === 0 && exists(`/${name}`)) return { kind: "text" };
  const advice = near.length === 0 ? "/help lists what there is." : `did you mean /${near.join(" or /")}?`;
  throw new ReasonixError(`Cannot run /${name}: there is no such command or skill`, {
    exit: "usage",
    remedy: `${advice} To send the text itself, put a word before it`,
  });
}

async function measured(
  { controller, provider }: RunningSession,
  work: () => Promise<string>,
): Promise<CommandReport> {
  const started = performance.now();
  let spending = NO_SPENDING;
  const unsubscribe = controller.subscribe((event) => {
    if (event.type === "message.end") spending = addSpending(spending, event);
  });
  try {
    const text = await work();
    const cost = totalCost(spending, provider.model.price?.currency);
    const durationMs = Math.round(performance.now() - started);
    return { text, usage: spending.usage, durationMs, ...(cost ? { cost } : {}) };
  } finally {
    unsubscribe();
  }
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
    return `Nothing was compacted: too little can be left out of ${grouped(tokensBefore)} tokens\n`;
  }
  const lines = [
    `Compacted ${removed === 1 ? "1 message" : `${grouped(removed)} messages`} (${method}): ` +
    `${grouped(tokensBefore)} → ${grouped(tokensAfter)} tokens`,
    ...(problem === undefined ? [] : [`No better method worked: ${problem}`]),
    ...(archive === undefined ? [] : [`The originals are in ${archive}`]),
    ...(method === "drop" || summary === undefined ? [] : ["", summary]),
  ];
  return `${lines.join("\n")}\n`;
}
