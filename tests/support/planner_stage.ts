/** Two scripted servers, one of which plays the model that plans. */
import { type ModelServer, type ScriptedTurn, startModelServer } from "./model_server.ts";
import { mockConfig } from "./program.ts";

/** A task large enough to be planned. */
export const TASK =
  "Add a flag --json to the list command, cover it with a test and describe it in the readme";

/** A reply that hands in a plan. */
export function planOf(objective: string, ...steps: string[]) {
  return { calls: [{ name: "submit_plan", args: { objective, steps } }] };
}

/** The text of the last message of a request. */
export function lastText({ json }: { readonly json: { messages: { content: unknown }[] } }): string {
  return String(json.messages.at(-1)?.content);
}

/** The executor as "mock" and the planner as "deep"; both hold that each request extends the one before. */
export interface PlannerStage extends AsyncDisposable {
  readonly main: ModelServer;
  readonly planner: ModelServer;
  /** Configuration of both. */
  readonly config: (extra?: string, price?: string) => string;
}

export function startPlannerStage(
  { main: acts, planner: plans }: {
    readonly main: readonly ScriptedTurn[];
    readonly planner: readonly ScriptedTurn[];
  },
): PlannerStage {
  const [main, planner] = [startModelServer(acts), startModelServer(plans)];
  return {
    main,
    planner,
    config: (extra = "", price = "") =>
      mockConfig(main.url, `agent.planner_model = "deep"\n${extra}`, price) +
      `[[providers]]\nname = "deep"\nkind = "openai"\nbase_url = "${planner.url}"\nmodel = "deep-1"\n` +
      `max_attempts = 2\nmax_wait_seconds = 3\n${price}\n`,
    async [Symbol.asyncDispose]() {
      await Promise.all([main[Symbol.asyncDispose](), planner[Symbol.asyncDispose]()]);
    },
  };
}
