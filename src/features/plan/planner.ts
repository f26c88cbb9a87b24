import type { AgentDefinition } from "../../context/mod.ts";
import { errorMessage, message, newNotice } from "../../core/mod.ts";
import {
  type Features,
  type RunContext,
  settingModel,
  type TurnExtension,
  type TurnInput,
} from "../../run/mod.ts";
import { newSessionId, type SessionState } from "../../session/mod.ts";
import { type AgentReport, failure, type Tool } from "../../tool/mod.ts";
import { isRecord } from "../../util/json.ts";
import { userText } from "../../util/user_text.ts";
import { isTaskToPlan } from "./session_plans.ts";
import prompt from "./planner.md" with { type: "text" };

/** Failures in a row after which the planner is left alone: each may have waited for a server. */
const MOST_FAILURES = 2;

/** Tools that control the run, ask, or work in the background: no research. */
const WORKFLOW = [
  "bash",
  "job_output",
  "job_kill",
  "jobs",
  "todo_write",
  "todo_read",
  "ask",
  "skill",
  "task",
  "read_only_task",
  "task_output",
  "task_stop",
];

/** Lets another model plan, unless it is that of the run. Throws a ReasonixError where there is none. */
export async function attach(run: RunContext, { agents }: Features): Promise<void> {
  const { loaded } = run;
  const model = await settingModel(loaded, "agent.planner_model", loaded.config.agent.planner_model);
  const { provider, id } = run.provider.model;
  if (model !== `${provider}/${id}`) run.extensions.add(new Coordinator(run, agents, model));
}

/**
 * Lets another model plan before the model of the run acts. Each has its own session, which only grows;
 * the plan reaches the other as a user message.
 */
class Coordinator implements TurnExtension {
  readonly #run: RunContext;
  readonly #agents: Features["agents"];
  /** As `provider/model`. */
  readonly #model: string;
  /** Turns that the planner has heard of; undefined: none of this process. */
  #heard: number | undefined;
  #failures = 0;

  constructor(run: RunContext, agents: Features["agents"], model: string) {
    this.#run = run;
    this.#agents = agents;
    this.#model = model;
  }

  async before(input: TurnInput, signal: AbortSignal): Promise<TurnInput> {
    if (this.#failures >= MOST_FAILURES || !isToPlan(input)) return input;
    const report = await this.#plan(input, signal);
    if (signal.aborted) return input;
    if (typeof report === "string" || report.state !== "ok" || report.answer.trim() === "") {
      await this.#failed(typeof report === "string" ? report : report.problem ?? "it said nothing");
      return input;
    }
    this.#failures = 0;
    const { modes, recorder } = this.#run;
    const plan = report.answer.trim();
    this.#heard = recorder.state.turns.length;
    await recorder.record(newNotice("info", "planner", message`Plan of ${this.#model}:\n${plan}`));
    const block = handOff(plan, this.#model, modes.collaboration === "plan");
    return { ...input, references: [...input.references ?? [], block] };
  }

  /** A string says why it could not begin. */
  async #plan(
    { text, references = [], images }: TurnInput,
    signal: AbortSignal,
  ): Promise<AgentReport | string> {
    const { session, recorder, options } = this.#run;
    const directory = `${session.paths.dir}/planner`;
    const since = sinceThen(recorder.state.turns, this.#heard);
    try {
      const earlier = await latestSession(directory);
      return await (await this.#agents()).own({
        ...earlier ?? { id: newSessionId(new Date()) },
        agent: plannerOf(options.loaded.config.agent.planner_max_steps),
        model: this.#model,
        system: prompt.trim(),
        tools: [SUBMIT_PLAN],
        directory,
        prompt: text,
        input: {
          references: [...since === undefined ? [] : [since], ...references],
          ...(images ? { images } : {}),
        },
      }, signal);
    } catch (error) {
      return errorMessage(error);
    }
  }

  async #failed(why: string): Promise<void> {
    this.#failures += 1;
    const rests = this.#failures >= MOST_FAILURES;
    await this.#run.recorder.record(
      newNotice(
        "warning",
        "planner",
        rests
          ? message`No plan from ${this.#model}: ${why}. The turn continues without one; it is not asked again in this run`
          : message`No plan from ${this.#model}: ${why}. The turn continues without one`,
      ),
    );
  }
}

/** New tasks of the user; automatic turns, commands and read-only turns are none. */
function isToPlan({ text, origin = "user", skill, readOnly }: TurnInput): boolean {
  return origin === "user" && skill === undefined && !readOnly && isTaskToPlan(text);
}

/** The limit counts whatever the one of the run is; 0: none. */
function plannerOf(maxSteps: number): AgentDefinition {
  return {
    name: "planner",
    description: "",
    prompt: "",
    readOnly: true,
    scope: "builtin",
    withoutTools: WORKFLOW,
    maxSteps,
  };
}

/** The planner's session in a directory, which holds no others. */
async function latestSession(
  directory: string,
): Promise<{ readonly id: string; readonly file: string } | undefined> {
  const names: string[] = [];
  try {
    for await (const { name } of Deno.readDir(directory)) if (name.endsWith(".jsonl")) names.push(name);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  const name = names.sort().at(-1);
  return name === undefined
    ? undefined
    : { id: name.slice(0, -".jsonl".length), file: `${directory}/${name}` };
}

/** Limit of a plan; a longer one is a broken answer. */
const MAX_PLAN = 20_000;
/** At most this many turns are reported to the planner, with at most this many characters each. */
const MOST_TURNS = 3;
const MAX_ASKED = 400;
const MAX_ANSWERED = 1500;

const TO_CARRY_OUT =
  "This plan for the task below is by a model that could only read. Execute it; where what you find speaks " +
  "against it, do what is right and say so.";
const TO_PROPOSE =
  "This draft of a plan for the task below is by another model. Check it, correct it where it is wrong, and " +
  "propose the plan.";

/** The plan as the executor reads it, before the words of the user. */
function handOff(plan: string, model: string, isProposal: boolean): string {
  const text = beginning(plan.replaceAll(/<(?=\/?plan\b)/g, "< "), MAX_PLAN);
  return `<plan by="${model}">\n${isProposal ? TO_PROPOSE : TO_CARRY_OUT}\n\n${text}\n</plan>`;
}

/**
 * The latest turns, for the planner, which does not see them; `heard` are those that it knows already.
 * Undefined where there is none.
 */
function sinceThen(turns: SessionState["turns"], heard = 0): string | undefined {
  const recent = turns.slice(Math.max(heard, turns.length - MOST_TURNS)).map(({ prompt, answer = "" }) =>
    `The user: ${beginning(userText(prompt), MAX_ASKED)}\nThe executor: ${beginning(answer, MAX_ANSWERED)}`
  );
  return recent.length === 0 ? undefined : `<so-far>\n${recent.join("\n\n")}\n</so-far>`;
}

function beginning(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most).toWellFormed()} […]` : text;
}

/** The tool with which the planner hands in its plan, which ends its turn. */
const SUBMIT_PLAN: Tool = {
  name: "submit_plan",
  description: "Hand in the plan: what it is to reach, and its steps in order. Ends your work.",
  schema: {
    type: "object",
    properties: {
      objective: { type: "string", description: "What is true when the plan is done" },
      steps: { type: "array", items: { type: "string" }, description: "What to do where, in order" },
    },
    required: ["objective", "steps"],
    additionalProperties: false,
  },
  readOnly: true,
  synonyms: { goal: "objective", plan: "steps" },
  title: () => message`hand in the plan`,
  translate: ({ steps, ...rest }) => ({
    ...rest,
    ...(steps === undefined ? {} : { steps: stepTexts(steps) }),
  }),
  subjects: () => [],
  execute: ({ objective, steps }) => {
    const texts = (steps as readonly string[]).map((step) => step.trim()).filter((step) => step !== "");
    if (texts.length === 0) {
      return Promise.resolve(failure("The plan has no steps", "hand it in with at least one"));
    }
    const list = texts.map((step, at) => `${at + 1}. ${step.replaceAll("\n", "\n   ")}`);
    const answer = [`Objective: ${String(objective).trim()}`, "", ...list].join("\n");
    return Promise.resolve({
      content: "The plan was handed in.",
      summary: texts.length === 1 ? message`1 step` : message`${texts.length} steps`,
      endsTurn: { answer },
    });
  },
};

/** Steps as texts: models also send one text with a line each, and objects that have a text. */
function stepTexts(steps: unknown): unknown {
  if (typeof steps === "string") {
    return steps.split("\n").map((line) => line.replace(/^\s*(?:[-*+•]|\d{1,3}[.)])\s+/, ""))
      .filter((line) => line.trim() !== "");
  }
  return Array.isArray(steps) ? steps.map((step) => isRecord(step) ? textOf(step) : step) : steps;
}

function textOf(step: Record<string, unknown>): unknown {
  const texts = ["step", "title", "content", "text", "description"].flatMap((key) => {
    const text = step[key];
    return typeof text === "string" && text !== "" ? [text] : [];
  });
  return texts.length === 0 ? step : texts.join(": ");
}
