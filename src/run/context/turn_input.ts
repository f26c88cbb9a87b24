import {
  loadReferences,
  loadRoughTokens,
  type ReferenceOptions,
  type References,
  type ResourceText,
} from "../../context/mod.ts";
import type { Recorder } from "../../control/mod.ts";
import { message, type PreparedCall, ReasonixError, textFields, type UserInput } from "../../core/mod.ts";
import type { LoadedConfig } from "../../config/mod.ts";
import { detectLocale, loadTexts } from "../../i18n/mod.ts";
import type { Gate } from "../../permission/mod.ts";
import type { ModelInfo, Provider } from "../../provider/mod.ts";
import type { Asker } from "../../tool/mod.ts";
import { findSession, loadEvents } from "../../session/mod.ts";
import { userText } from "../../util/user_text.ts";
import type { RunPaths, TurnInput } from "../run_options.ts";
import type { AdmitImages } from "../run_features.ts";
import type { Workspace } from "../../sandbox/mod.ts";
import { grouped } from "../../view/mod.ts";
import type { PromptInputs } from "./prompt_inputs.ts";

export interface TurnInputDeps {
  readonly cwd: string;
  readonly workspace: Workspace;
  readonly provider: Provider;
  readonly recorder: Recorder;
  readonly gate: Gate;
  /** Tokens that a conversation of the model can have, where declared; 0 or absent: unknown. */
  readonly window: number | undefined;
  /** Reads a resource of an MCP server; absent: there are none. */
  readonly resource: ReferenceOptions["resource"] | undefined;
  readonly loaded: LoadedConfig;
  readonly paths: RunPaths;
  /** Absent: no prompt. */
  readonly asker?: Asker | undefined;
  /** Looks at the images of the message. */
  readonly admit: AdmitImages;
  readonly signal: AbortSignal;
}

const NO_REFERENCES: References = { blocks: [], images: [], notices: [] };

/** Records the instructions of the skill and adds what the text refers to. */
export async function resolveInput(input: TurnInput, deps: TurnInputDeps): Promise<UserInput> {
  const { cwd, workspace, provider: { model }, recorder, gate, resource } = deps;
  const { skill, references = [], images = [], ...given } = input;
  const { readOnly: _mode, rules: _rules, model: _model, literal = false, ...rest } = given;
  if (skill !== undefined) await recorder.record({ type: "message.user", content: skill, origin: "context" });
  const found = literal || !input.text.includes("@")
    ? NO_REFERENCES
    : await (await loadReferences()).resolveReferences(input.text, {
      cwd,
      read: attachmentReader(gate, workspace),
      hidden: (path) => workspace.hidden(path),
      vision: takesImages(model, deps.loaded),
      ...(resource ? { resource } : {}),
    });
  for (const text of found.notices) {
    await recorder.record({ type: "notice", level: "warning", code: "reference", text });
  }
  if (images.length > 0 && !takesImages(model, deps.loaded)) {
    const { id } = model;
    const text =
      message`${id} takes no images: it only learns that there was one (set \`vision = true\` of the provider if it takes images)`;
    await recorder.record({ type: "notice", level: "warning", code: "reference", ...textFields(text) });
  }
  const admitted = await deps.admit([...images, ...found.images], model, deps.signal);
  const blocks = [...references, ...found.blocks, ...admitted.notes];
  await requireRoom([rest.text, ...blocks], deps);
  return {
    ...rest,
    references: blocks,
    images: admitted.images,
  };
}

/** The sources of `@agent:NAME` and `@session:ID`. */
export interface MentionDeps {
  readonly paths: RunPaths;
  readonly inputs: PromptInputs;
}

/** Reads `@agent:NAME` and `@session:ID`; undefined for everything else. */
export function mentioned(
  kind: string,
  name: string,
  deps: MentionDeps,
): Promise<ResourceText> | undefined {
  if (!/^[\w.-]+$/.test(name)) return undefined;
  if (kind === "agent") return agentText(name, deps);
  return kind === "session" ? Promise.try(() => sessionText(name, deps)) : undefined;
}

async function agentText(name: string, { inputs }: MentionDeps): Promise<ResourceText> {
  const { agentNamed } = await import("../agents.ts");
  const agent = await agentNamed(name, inputs);
  if (typeof agent === "string") throw new ReasonixError(agent);
  const tool = agent.readOnly ? "task or read_only_task" : "task";
  return { text: `The user wants the agent "${agent.name}" to do this: call ${tool} with it.`, images: [] };
}

const MAX_TURNS = 10;
const MAX_PROMPT = 1_000;
const MAX_ANSWER = 3_000;

function sessionText(ref: string, { paths: { home, cwd } }: MentionDeps): ResourceText {
  const { path } = findSession(home, ref, { cwd });
  const { state } = loadEvents(path, undefined, "messages");
  const cut = (text: string, most: number) =>
    text.length > most ? `${text.slice(0, most).toWellFormed()} […]` : text;
  const turns = state.turns.slice(-MAX_TURNS).map(({ turn, prompt, answer = "", reason = "unfinished" }) =>
    `## Turn ${turn} (${reason})\nUser: ${cut(userText(prompt).trim(), MAX_PROMPT)}\nAnswer: ${
      cut(answer.trim(), MAX_ANSWER)
    }`
  );
  const head = `Session ${state.session} of ${state.cwd}, last changed ${state.updated}: the latest ` +
    `${turns.length} of ${state.turns.length} turns, shortened. The tool history reads the rest.`;
  return { text: [head, ...turns].join("\n\n"), images: [] };
}

/** Refuses what cannot fit the model's window, and what is large unless the user confirms it. */
async function requireRoom(texts: readonly string[], deps: TurnInputDeps): Promise<void> {
  const { window = 0, provider, loaded: { config: { agent: { large_input_tokens: limit } } } } = deps;
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  const least = Math.min(...[window, limit].filter((bound) => bound > 0));
  // No script takes more than three tokens for a character.
  if (length * 3 < least) return;
  const { roughTokens } = await loadRoughTokens();
  const tokens = texts.reduce((sum, text) => sum + roughTokens(text), 0);
  if (limit > 0 && tokens > limit && !(window > 0 && tokens >= window)) {
    return await confirmLarge(grouped(tokens), grouped(limit), deps);
  }
  if (!window || tokens < window) return;
  throw new ReasonixError(
    message`The input is too long for ${provider.model.id}: about ${grouped(tokens)} tokens of ${
      grouped(window)
    }`,
    {
      exit: "usage",
      remedy: message`write it to a file and name the file in the task, so that parts of it can be read`,
    },
  );
}

/** Asks whether a large input is sent; throws a ReasonixError where it is not. */
async function confirmLarge(
  tokens: string,
  limit: string,
  { asker, paths, loaded, signal }: TurnInputDeps,
): Promise<void> {
  if (asker) {
    const { locale } = detectLocale({ env: paths.env, language: loaded.config.language });
    const { largeInput: { question, send, keep } } = await loadTexts("setting_commands", locale);
    const options = [{ label: send }, { label: keep }];
    const answers = await asker.ask([{ question: question(tokens), options, multiple: false }], signal);
    signal.throwIfAborted();
    if (answers?.[0]?.[0] === send) return;
  }
  throw new ReasonixError(
    message`The input is large and was not sent: about ${tokens} tokens, more than agent.large_input_tokens (${limit})`,
    {
      exit: "usage",
      remedy: message`write it to a file and name the file in the task, or raise agent.large_input_tokens`,
    },
  );
}

/**
 * Resolves a file that the user's message names to its real path. Rejects when the workspace hides it, or
 * when the gate would not let a tool read it: what is attached goes to the model as well.
 */
function attachmentReader(gate: Gate, workspace: Workspace): (path: string) => Promise<string> {
  return async (path) => {
    const real = await workspace.read(path);
    const decision = await gate.check(readOf(path), new AbortController().signal);
    if (decision.decision === "allow") return real;
    throw new ReasonixError(
      decision.reason ? message`blocked: ${decision.reason}` : message`refused by the permission policy`,
    );
  };
}

function readOf(path: string): PreparedCall {
  return {
    call: { id: "attachment", name: "read_file", arguments: JSON.stringify({ path }) },
    tool: "read_file",
    args: { path },
    title: `read ${path}`,
    family: "Read",
    readOnly: true,
    planSafe: true,
    reads: [path],
    writes: [],
    subjects: [],
    runsIn: "main",
  };
}

/** Reports whether the model reads images, or `vision_model` describes them. */
export function takesImages({ vision }: ModelInfo, { config }: Pick<LoadedConfig, "config">): boolean {
  return vision || config.vision_model !== "";
}
