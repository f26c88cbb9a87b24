import { type Config, formatProblem } from "../config/mod.ts";
import { type ControlledParts, Controller, Recorder } from "../control/mod.ts";
import type { Decision, Gate, PermissionGate } from "../permission/mod.ts";
import type { ToolRegistry } from "../tool/mod.ts";
import { openAccessScope, type Remark, type RunScope } from "./access/access_scope.ts";
import { Assembly } from "./assembly.ts";
import { createCheckpointer } from "./session/checkpoints.ts";
import { manageContext } from "./context/context_management.ts";
import { buildGate, SkillRules } from "./access/gate.ts";
import { gatherPromptInputs, type PromptInputs } from "./context/prompt_inputs.ts";
import { buildModel } from "./provider.ts";
import type { AssemblyOptions } from "./run_options.ts";
import type { PluginParts, RunPlugins } from "./plugins/run_plugins.ts";
import { openSession, type RunSession } from "./session/session.ts";
import { buildRegistry, buildTools } from "./tools/tools.ts";
import type { Limits } from "../agent/mod.ts";

const NOBODY_ASKED: Decision = { decision: "deny", source: "headless", reason: "this run asks nobody" };

/**
 * The composition root: builds every part of a run and connects them. Nothing is recorded before the run is
 * opened.
 */
export async function assemble(options: AssemblyOptions): Promise<Assembly> {
  const { paths, loaded, asker } = options;
  const { config } = loaded;
  const model = await buildModel(options);
  const { provider } = model;
  const scope = await openAccessScope(paths, loaded, options.permissionMode);
  const { workspace } = scope;
  const { session, redact } = await openSession(options);
  const recorder = new Recorder(session);
  const skillRules = new SkillRules(recorder);
  const inputs = await gatherPromptInputs({
    paths,
    loaded,
    workspace,
    redact,
    messages: () => recorder.messages,
    trustProject: options.trustProject ?? false,
    onSkill: skillRules.activated,
    appended: options.appendSystemPrompt,
  });
  const registry = buildRegistry(config, { builtin: inputs.tools, own: options.tools ?? [] });
  const parts = { paths, loaded, scope, workspace, session, recorder, inputs, registry, asker };
  const permissionMode = () => gate.permissionMode ?? options.permissionMode ?? "workspace-write";
  const confirm: PermissionGate["confirm"] | undefined = options.approver && !options.gate
    ? async (...question) => await gate.confirm?.(...question) ?? NOBODY_ASKED
    : undefined;
  const tools = buildTools({ ...parts, permissionMode, confirm, vision: provider.model.vision });
  const ruled = { options, scope, recorder, tools, temporaryRules: skillRules.current };
  const gate: Gate & Partial<PermissionGate> = options.gate ?? buildGate(ruled);
  const plugins = await openPlugins(options, { ...parts, guard: tools.guard });
  const context = await manageContext({ ...parts, model });
  const checkpointer = createCheckpointer({ ...parts, meanwhile: tools.openJail });
  const warming: Promise<unknown>[] = [];
  const controller = new Controller(recorder, {
    provider,
    gate,
    toolbox: tools.toolbox,
    checkpointer,
    ...turnRules(config, options),
    ...context,
    async betweenSteps(signal) {
      await plugins?.betweenSteps();
      await context.betweenSteps(signal);
    },
    warm() {
      plugins?.warm();
      const files = (async () => (await gate.warm?.(), await checkpointer.warm()))();
      warming.push(context.warm(), files.catch(() => {}));
    },
  });
  return new Assembly({
    ...parts,
    provider,
    controller,
    gate,
    checkpointer,
    window: model.choice?.entry.context_window,
    answerForm: options.answerForm,
    effort: options.effort ?? model.choice?.entry.effort,
    allowInTurn: skillRules.add,
    redact,
    warnings: remarks(parts),
    warmedUp: () => Promise.allSettled(warming),
    tools,
    plugins,
  });
}

async function openPlugins(
  { waitForPlugins = true }: AssemblyOptions,
  parts: Omit<PluginParts, "wait" | "questions">,
): Promise<RunPlugins | undefined> {
  if (parts.loaded.config.plugins.length === 0) return undefined;
  const { RunPlugins } = await import("./plugins/run_plugins.ts");
  const { name, uri } = workspaceRoot(parts.paths.cwd);
  return await RunPlugins.open({ ...parts, wait: waitForPlugins, questions: { roots: () => [{ name, uri }] } });
}

function workspaceRoot(cwd: string): { readonly name: string; readonly uri: string } {
  return { name: cwd.slice(cwd.lastIndexOf("/") + 1), uri: `file://${cwd.split("/").map(encodeURIComponent).join("/")}` };
}

interface Remarkable {
  readonly paths: AssemblyOptions["paths"];
  readonly loaded: AssemblyOptions["loaded"];
  readonly scope: RunScope;
  readonly session: RunSession;
  readonly registry: ToolRegistry;
  readonly inputs: PromptInputs;
}

function remarks({ paths, loaded, scope, session, registry, inputs }: Remarkable): Remark[] {
  const texts = [
    ...registry.unknown.map((name) => `Unknown tool "${name}" in [tools] was passed over`),
    ...inputs.instructions.notices.map(({ path, problem }) => `${path} ${problem}`),
    ...inputs.skillSet.warnings.map(({ path, text }) => `${path}: ${text}`),
    ...elsewhere(session.state.cwd, paths.cwd),
  ].map((text) => ({ text }));
  return [
    ...loaded.warnings.map((warning) => ({ text: formatProblem(warning) })),
    ...scope.notices,
    ...texts,
  ];
}

/** Says where a run works that goes on with a session of another directory. */
function elsewhere(began: string | undefined, cwd: string): string[] {
  if (!began || began === cwd) return [];
  return [`The session is from ${began}, this run works in ${cwd}; --dir ${began} works there`];
}

type TurnRules = Pick<
  ControlledParts,
  "limits" | "maxCallsPerStep" | "submit" | "amended" | "answerForm"
>;

/** Limits of each turn, and how it ends. */
function turnRules(config: Config, { amended, answerForm }: AssemblyOptions): TurnRules {
  const { max_calls_per_step, submit } = config.agent;
  return {
    limits: limitsOf(config),
    submit,
    ...(amended ? { amended } : {}),
    ...(answerForm ? { answerForm } : {}),
    ...(max_calls_per_step > 0 ? { maxCallsPerStep: max_calls_per_step } : {}),
  };
}

function limitsOf(config: Config): Limits {
  const { max_steps, time_limit_seconds, max_cost } = config.agent;
  return {
    ...(max_steps > 0 ? { maxSteps: max_steps } : {}),
    ...(time_limit_seconds > 0 ? { timeMs: time_limit_seconds * 1000 } : {}),
    ...(max_cost > 0 ? { cost: max_cost } : {}),
  };
}
