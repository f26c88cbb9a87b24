import { assemble } from "../../../../src/features/mod.ts";
import { type Assembly, type GoalRequest, loadTrustedConfig } from "../../../../src/run/mod.ts";
import type { Event, Message } from "../../../../src/core/mod.ts";
import type { TurnOutcome } from "../../../../src/agent/mod.ts";
import type { ConfigInput } from "../../../../src/config/mod.ts";
import { call, type Reply, scriptedProvider } from "../../../support/agent_fixture.ts";
import { removeTree } from "../../../support/remove_tree.ts";

/** A clock that advances only by waits and by the duration of model requests. */
export class StoppedClock {
  #now = 0;
  readonly waits: number[] = [];

  now(): number {
    return this.#now;
  }

  date(): number {
    return Date.UTC(2031, 0, 2, 3, 4, 5) + this.#now;
  }

  pass(ms: number): void {
    this.#now += ms;
  }

  wait(ms: number): Promise<void> {
    this.waits.push(ms);
    this.pass(ms);
    return Promise.resolve();
  }
}

export interface GoalStage {
  readonly assembly: Assembly;
  readonly clock: StoppedClock;
  readonly events: Event[];
  readonly requests: readonly (readonly Message[])[];
  readonly cwd: string;
  /** Runs a goal to its end. */
  pursue(request: GoalRequest): Promise<TurnOutcome>;
}

/** Runs a function with a session whose model depends on the number of the request. */
export async function onGoalStage(
  model: (request: number, clock: StoppedClock, messages: readonly Message[]) => Reply,
  work: (stage: GoalStage) => Promise<void>,
  config: ConfigInput = {},
): Promise<void> {
  const root = await Deno.realPath(await Deno.makeTempDir({ prefix: "reasonix-goal-" }));
  const paths = { cwd: `${root}/work`, home: `${root}/home`, env: (name: string) => Deno.env.get(name) };
  await Promise.all([Deno.mkdir(paths.cwd), Deno.mkdir(paths.home)]);
  const clock = new StoppedClock();
  const replies = Array.from({ length: 300 }, (_, n): Reply =>
    async function* (_signal, request) {
      const reply = model(n, clock, request.messages);
      yield* typeof reply === "function" ? reply(_signal, request) : reply;
    });
  const provider = scriptedProvider(replies);
  const flags = { sandbox: { bash: "off" as const }, ...config };
  try {
    await using assembly = await assemble({
      paths,
      loaded: await loadTrustedConfig({ ...paths, flags, noFiles: true }, {}),
      inMemory: true,
      provider,
      onAsk: "allow",
      goalClock: clock,
    });
    const events: Event[] = [];
    assembly.controller.subscribe((event) => void events.push(event));
    await work({
      assembly,
      clock,
      events,
      requests: provider.requests,
      cwd: paths.cwd,
      async pursue(request) {
        const goals = await assembly.goals();
        return await assembly.run(await goals.begin(request));
      },
    });
  } finally {
    await removeTree(root);
  }
}

let ids = 0;

/** A reply that calls one tool. */
export function calling(name: string, args: unknown): Reply {
  return [call(`c${++ids}`, name, args), { type: "done", reason: "tool_calls" }];
}

export function reporting(status: string, note: string, entry?: string): Reply {
  return calling("update_goal", { status, note, ...(entry === undefined ? {} : { entry }) });
}
