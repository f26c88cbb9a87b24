import { assemble } from "../../src/features/mod.ts";
import { type Assembly, loadTrustedConfig, type PlanAnswer } from "../../src/run/mod.ts";
import type { Event, EventOf, EventType, Message } from "../../src/core/mod.ts";
import type { ConfigInput } from "../../src/config/mod.ts";
import type { ApprovalRequest } from "../../src/permission/mod.ts";
import { type Reply, scriptedProvider } from "./agent_fixture.ts";
import { removeTree } from "./remove_tree.ts";

export interface PlanStage {
  readonly assembly: Assembly;
  readonly cwd: string;
  readonly events: Event[];
  readonly requests: readonly (readonly Message[])[];
  /** Plans that the user was shown. */
  readonly shown: string[];
  /** Subjects of the calls that the user was prompted for. */
  readonly asked: string[];
  /** The events of a kind. */
  all<T extends EventType>(type: T): EventOf<T>[];
}

export interface PlanStageOptions extends Partial<Parameters<typeof assemble>[0]> {
  readonly replies: readonly Reply[];
  /** The user's decision about each plan, in order; absent: no user. */
  readonly answers?: readonly (PlanAnswer | undefined)[];
  readonly config?: ConfigInput;
  /** Answers a question about a call; absent: no prompt appears. */
  readonly allow?: (request: ApprovalRequest) => boolean;
  /** The lifetime of an answer; default: once. */
  readonly scope?: "once" | "session";
  readonly takesProse?: boolean;
  /** Continues with the directories of another stage. */
  readonly root?: string;
}

/** A session in plan mode with the given answers of the user. */
export async function onPlanStage(
  { replies, answers, config = {}, allow, scope = "once", takesProse, root: given, ...options }:
    PlanStageOptions,
  work: (stage: PlanStage) => Promise<void>,
): Promise<void> {
  const root = given ?? await Deno.realPath(await Deno.makeTempDir({ prefix: "reasonix-plan-" }));
  const paths = { cwd: `${root}/work`, home: `${root}/home`, env: (name: string) => Deno.env.get(name) };
  await Promise.all(
    [paths.cwd, paths.home].map((path) => Deno.mkdir(path, { recursive: true })),
  );
  const flags: ConfigInput = { ...config, sandbox: { bash: "off", ...config.sandbox } };
  const provider = scriptedProvider(replies);
  const [shown, asked]: [string[], string[]] = [[], []];
  const waiting = [...answers ?? []];
  await using assembly = await assemble({
    paths,
    loaded: await loadTrustedConfig({ ...paths, flags, noFiles: true }, {}),
    inMemory: given === undefined,
    permissionMode: "plan",
    provider,
    ...(answers
      ? {
        planReviewer: {
          review({ plan }) {
            shown.push(plan);
            return Promise.resolve(waiting.shift());
          },
          ...(takesProse ? { takesProse } : {}),
        },
      }
      : {}),
    ...(allow
      ? {
        approver: {
          ask(request: ApprovalRequest) {
            asked.push(request.subject);
            return Promise.resolve({ allow: allow(request), scope });
          },
        },
      }
      : {}),
    ...options,
  });
  const events: Event[] = [];
  assembly.controller.subscribe((event) => void events.push(event));
  const all = <T extends EventType>(type: T) =>
    events.filter((event): event is EventOf<T> => event.type === type);
  await work({ assembly, cwd: paths.cwd, events, requests: provider.requests, shown, asked, all });
  if (given === undefined) await removeTree(root);
}
