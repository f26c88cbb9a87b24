import { addConfigItem, type LoadedConfig, sourceOf, userConfigFile } from "../config/mod.ts";
import { formatPlace, type PreparedCall, ReasonixError } from "../core/mod.ts";
import {
  createGate,
  type Gate,
  type GateOptions,
  type PermissionGate,
  type PermissionMode,
} from "../permission/mod.ts";
import type { RuleList, RuleText } from "../rule/mod.ts";
import type { Jail, Workspace } from "../sandbox/mod.ts";
import { insteadOfWriting, type WritePolicy } from "../tool/mod.ts";
import type { RunPaths } from "./run_paths.ts";
import type { AccessScope } from "./access_scope.ts";

import type { Recorder } from "../control/mod.ts";
import type { RunOptions } from "./run_options.ts";
interface GateSources {
  readonly paths: RunPaths;
  readonly loaded: LoadedConfig;
  readonly reach: Pick<AccessScope, "rooted" | "workspace">;
  readonly openJail: () => Promise<Jail>;
  readonly onAsk: GateOptions["onAsk"];
  readonly permissionMode: PermissionMode | undefined;
  readonly record: GateOptions["record"];
  readonly shellFolder?: () => string | undefined;
}

/** What a gate takes from the configuration. The environment is listed when a command is judged: it takes milliseconds. */
export function gateOptions(sources: GateSources): GateOptions {
  const { paths, loaded, reach, onAsk, permissionMode, record, shellFolder } = sources;
  let env: Record<string, string> | undefined;
  const { permissions, safety } = loaded.config;
  const rules = (list: RuleList): RuleText[] =>
    permissions[list].map((text, index) => ruleText(loaded, list, { text, index }));
  return {
    policy: {
      mode: permissions.mode,
      allow: rules("allow"),
      ask: rules("ask"),
      deny: [...rules("deny"), ...forbidden(reach.workspace)],
    },
    approvalMode: "ask",
    ...(permissionMode === undefined ? {} : { permissionMode }),
    onAsk,
    cwd: paths.cwd,
    home: paths.env("HOME") ?? paths.env("USERPROFILE") ?? paths.home,
    protectedFiles: [userConfigFile(paths.home)],
    roots: reach.rooted.roots,
    get env() {
      return env ??= Deno.env.toObject();
    },
    confirm: safety.confirm,
    record,
    filesStay: loaded.config.tools.writes !== "allow",
    unconfined: () => withoutJail(sources.openJail, loaded.config.tools.writes),
    saveRule: (rule) => addConfigItem(userConfigFile(paths.home), "permissions.allow", rule),
    ...(shellFolder ? { shellFolder } : {}),
    shell: Deno.build.os === "windows" ? "other" : "posix",
  };
}

/** Says why there is no jail, and what to do. One that fails ends its command itself. */
function withoutJail(openJail: () => Promise<Jail>, writes: WritePolicy): Promise<string | undefined> {
  const remedy = writes === "allow" ? "use the tools that read" : insteadOfWriting(writes);
  return openJail().then(
    (jail) => jail.confined ? undefined : `there is no jail to see to that; ${remedy}`,
    () => undefined,
  );
}

/**
 * What may not be read and lies where files can be written: the workspace keeps it from being read, and these rules keep the folders
 * above it from being moved, after which it would have another path.
 */
function forbidden(workspace: Workspace): RuleText[] {
  return workspace.forbidden
    .filter((path) => workspace.roots.some((root) => root === "/" || path.startsWith(`${root}/`)))
    .map((path) => ({ text: `Read(${path})`, origin: "[sandbox] forbid_read" }));
}

/** The place of a rule is looked up when somebody wants to see it: positions in a file cost a pass over its text. */
function ruleText(loaded: LoadedConfig, list: RuleList, rule: { text: string; index: number }): RuleText {
  return {
    text: rule.text,
    get origin() {
      const { file, line, column, source } = sourceOf(loaded, `permissions.${list}[${rule.index}]`);
      if (file === undefined) return source;
      return formatPlace({
        file,
        ...(line === undefined ? {} : { line }),
        ...(column === undefined ? {} : { column }),
      });
    },
  };
}

export interface GateParts {
  readonly paths: RunPaths;
  readonly options: RunOptions;
  readonly loaded: LoadedConfig;
  readonly reach: AccessScope;
  readonly recorder: Recorder;
  readonly tools: {
    readonly shellFolder: () => string | undefined;
    readonly openJail: () => Promise<Jail>;
  };
}

/** The permission gate of a run without a person in front of it. */
export function buildGate({ paths, options, loaded, reach, recorder, tools }: GateParts): PermissionGate {
  const { onAsk, permissionMode } = options;
  const record: GateOptions["record"] = (event) => recorder.record(event);
  return createGate(gateOptions({ paths, loaded, reach, ...tools, onAsk, permissionMode, record }));
}

/**
 * Resolves a file that the user's message names to its real path. Rejects when the workspace hides it, or when the gate
 * would not let a tool read it: what is attached goes to the model as well.
 */
export function attachmentReader(gate: Gate, workspace: Workspace): (path: string) => Promise<string> {
  return async (path) => {
    const real = await workspace.read(path);
    const decision = await gate.check(readOf(path), new AbortController().signal);
    if (decision.decision === "allow") return real;
    throw new ReasonixError(decision.reason ?? "refused by the permission policy");
  };
}

function readOf(path: string): PreparedCall {
  return {
    call: { id: "attachment", name: "read_file", arguments: JSON.stringify({ path }) },
    tool: "read_file",
    args: { path },
    family: "Read",
    readOnly: true,
    reads: [path],
    writes: [],
    subjects: [],
    runsIn: "main",
  };
}
