import { type Assembly, contextReportOf } from "../../../../src/assembly/mod.ts";
import { ReasonixError } from "../../../../src/core/mod.ts";
import { VERSION } from "../../../../src/util/version.ts";
import { claudeMode, isClaudeMode } from "../claude_names.ts";
import { commandList } from "../line.ts";
import type { RunFlags } from "../../../run_flags.ts";
import type { Fields, RequestHandlers } from "./control_channel.ts";
import { serverRequests } from "./server_requests.ts";

/** A conversation as far as an SDK controls it. */
export interface ControlledConversation {
  /** The parts of the conversation, once the first message has come. */
  readonly assembly: Assembly | undefined;
  /** Turns before each message of the user, by the name of the message. */
  readonly turns: ReadonlyMap<string, number>;
  /** Another model from the next turn on; none: the one it began with. Rejects when there is none such. */
  changeModel(model: string | undefined): Promise<void>;
  /** Another permission mode from the next turn on; for questions at once. */
  changeMode(mode: NonNullable<RunFlags["permissionMode"]>): void;
  /** Takes what `initialize` brings. Rejects when it cannot be used. */
  initialize(fields: Fields): Promise<void>;
  /** Stops the turn. */
  interrupt(): void;
  /** Names of waiting messages; with `drop` they will not be answered. */
  queued(drop: boolean): readonly string[];
  /** Models of the configuration, `provider/model`. */
  models(): Promise<readonly string[]>;
}

/** The requests that can be carried out; every other one is answered with an error. */
export function requestHandlers(conversation: ControlledConversation): RequestHandlers {
  return {
    async initialize(fields) {
      await conversation.initialize(fields);
      return {
        commands: (await commandList()).map(({ name, brief, argumentHint = "" }) => ({
          name,
          description: brief,
          argumentHint,
        })),
        agents: [],
        output_style: "default",
        available_output_styles: ["default"],
        models: modelInfos(await conversation.models()),
        account: {},
        ...(fields.hooks ? { hooks_applied: false } : {}),
      };
    },
    interrupt({ cancel_queued }) {
      const names = conversation.queued(cancel_queued === true);
      conversation.interrupt();
      return cancel_queued === true ? { still_queued: [], cancelled: names } : { still_queued: names };
    },
    async set_model({ model }) {
      const named = typeof model === "string" && model !== "default";
      await conversation.changeModel(named ? model : undefined);
      return {};
    },
    set_permission_mode({ mode }) {
      const name = String(mode);
      if (name !== "plan" && !isClaudeMode(name)) {
        throw new ReasonixError(`Cannot change to the permission mode "${name}": there is no such mode`);
      }
      conversation.changeMode(name);
      return { mode: claudeMode(name) };
    },
    set_max_thinking_tokens({ max_thinking_tokens }) {
      if (max_thinking_tokens == null) return {};
      throw new ReasonixError("Cannot set a number of thinking tokens: models are given an effort", {
        remedy: "start with --effort",
      });
    },
    ...serverRequests(conversation),
    list_models: async () => ({ models: modelInfos(await conversation.models()) }),
    get_binary_version: () => ({ version: VERSION }),
    get_context_usage: () => contextUsage(begun(conversation)),
    async rename_session({ title }) {
      if (typeof title !== "string" || title.trim() === "") {
        throw new ReasonixError("Cannot rename the session: the title is empty");
      }
      await begun(conversation).controller.recorder.record({ type: "session.rename", title: title.trim() });
      return {};
    },
    rewind_files: ({ user_message_id, dry_run }) =>
      rewindFiles(conversation, String(user_message_id), dry_run === true),
  };
}

function begun({ assembly }: ControlledConversation): Assembly {
  if (assembly) return assembly;
  throw new ReasonixError("Cannot tell before the first message: the conversation has not begun");
}

function modelInfos(names: readonly string[]): Fields[] {
  return names.map((value) => ({ value, displayName: value, description: "" }));
}

async function contextUsage({ loaded, inputs, session, servers }: Assembly): Promise<Fields> {
  const report = await contextReportOf({ loaded, inputs, state: session.state, servers });
  const { tokens, window, percent, compactsAt } = report;
  return {
    categories: report.categories.map((row) => ({ ...row, color: "", kind: "used" })),
    totalTokens: tokens,
    maxTokens: window,
    rawMaxTokens: window,
    percentage: percent ?? 0,
    gridRows: [],
    model: report.model,
    memoryFiles: report.loaded.filter(({ kind }) => kind.endsWith("instructions"))
      .map((file) => ({ path: file.from ?? file.name, type: file.kind, tokens: file.tokens })),
    mcpTools: [],
    agents: [],
    isAutoCompactEnabled: compactsAt !== undefined,
    ...(compactsAt === undefined ? {} : { autoCompactThreshold: compactsAt }),
    apiUsage: null,
  };
}

/** Brings files back to before the message of that name. */
async function rewindFiles(
  conversation: ControlledConversation,
  message: string,
  dryRun: boolean,
): Promise<Fields> {
  const turn = conversation.turns.get(message);
  if (turn === undefined) {
    return { canRewind: false, error: `There is no message of the user with the uuid ${message}` };
  }
  if (dryRun) return { canRewind: true };
  const { restored, failed } = await begun(conversation).rewind(turn, "code");
  const filesChanged = restored.map(({ path }) => path);
  if (failed.length === 0) return { canRewind: true, filesChanged };
  const names = failed.map(({ path }) => path).join(", ");
  return { canRewind: filesChanged.length > 0, filesChanged, error: `Not brought back: ${names}` };
}
