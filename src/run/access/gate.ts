import {
  addConfigItem,
  addSavedHosts,
  addSavedRule,
  type LoadedConfig,
  savedRulesFile,
  sourceOf,
  userConfigFile,
} from "../../config/mod.ts";
import type { SkillActivation } from "../../context/mod.ts";
import type { Recorder } from "../../control/mod.ts";
import { type Event, formatLocation, message, textFields } from "../../core/mod.ts";
import { processEnvironment } from "../../path/read_env.ts";
import {
  type ApprovalMode,
  type CommandEnvironment,
  createGate,
  type Gate,
  type GateOptions,
  type PermissionGate,
  type PermissionMode,
} from "../../permission/mod.ts";
import type { RuleList, RuleText } from "../../rule/mod.ts";
import type { Jail, Workspace } from "../../sandbox/mod.ts";
import { insteadOfWriting, type WritePolicy } from "../../tool/mod.ts";
import { contains } from "../../path/contains.ts";
import { escapeGlob } from "../../path/glob.ts";
import { type AccessScope, linkedSettings } from "./access_scope.ts";
import type { AssemblyOptions } from "../run_options.ts";
import type { RunPaths } from "../run_paths.ts";

interface GateSources extends Pick<GateOptions, "onAsk" | "record"> {
  readonly approvalMode?: ApprovalMode | undefined;
  readonly paths: RunPaths;
  readonly loaded: LoadedConfig;
  readonly scope: Pick<AccessScope, "rooted" | "workspace">;
  readonly openJail: () => Promise<Jail>;
  readonly permissionMode?: PermissionMode | undefined;
}

/** Returns what a gate takes from the configuration. */
export function gateOptions(sources: GateSources): GateOptions {
  const { paths, loaded, scope, openJail, onAsk, permissionMode, record } = sources;
  const { permissions, safety } = loaded.config;
  const rules = (list: RuleList) => configuredRules(loaded, list);
  const saveRule = (rule: string) => addConfigItem(userConfigFile(paths), "permissions.allow", rule);
  const saved = {
    saveRule,
    savedIn: userConfigFile(paths),
    saveProjectRule: (rule: string) => addSavedRule(paths, "allow", rule),
    saveHosts: (hosts: readonly string[]) => addSavedHosts(paths, hosts),
  };
  return {
    policy: {
      mode: permissions.mode,
      allow: rules("allow"),
      ask: rules("ask"),
      deny: [...rules("deny"), ...forbidden(scope.workspace)],
    },
    approvalMode: sources.approvalMode ?? "ask",
    onAsk,
    record,
    ...(permissionMode === undefined ? {} : { permissionMode }),
    cwd: paths.cwd,
    home: paths.env("HOME") ?? paths.env("USERPROFILE") ?? paths.home,
    protectedFiles: [userConfigFile(paths), savedRulesFile(paths), ...linkedSettings(loaded)],
    roots: scope.rooted.roots,
    env: processEnvironment,
    confirm: safety.confirm,
    dangerous: safety.dangerous.map((text) => ({ text })),
    filesStay: loaded.config.tools.writes !== "allow",
    unconfined: () => withoutJail(openJail, loaded.config.tools.writes),
    surroundings: () => surroundings(openJail),
    ...(loaded.files.length > 0 ? saved : {}),
    shell: Deno.build.os === "windows" ? "other" : "posix",
  };
}

/** Returns the permission rules of the configuration. */
export function configuredRules(loaded: LoadedConfig, list: RuleList): RuleText[] {
  return loaded.config.permissions[list].map((text, index) => ruleText(loaded, list, { text, index }));
}

/** Says what commands find around them; without a jail, that is the open machine. */
function surroundings(openJail: () => Promise<Jail>): Promise<CommandEnvironment> {
  return openJail().then(
    ({ privateDirectories, network }) => ({ privateDirectories, network }),
    () => ({ privateDirectories: [], network: true }),
  );
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
 * Returns what may not be read and lies where files can be written: the workspace keeps it from being read,
 * and these rules keep the directories above it from being moved, after which it would have another path.
 */
function forbidden(workspace: Workspace): RuleText[] {
  return workspace.forbidden
    .filter((path) => workspace.roots.some((root) => root !== path && contains(root, path)))
    .map((path) => ({ text: `Read(${escapeGlob(path)})`, origin: "[sandbox] forbid_read" }));
}

/**
 * The place of a rule is looked up when somebody wants to see it: positions in a file cost a pass over its
 * text.
 */
function ruleText(loaded: LoadedConfig, list: RuleList, rule: { text: string; index: number }): RuleText {
  return {
    text: rule.text,
    get origin() {
      const { file, line, column, source } = sourceOf(loaded, `permissions.${list}[${rule.index}]`);
      if (file === undefined) return source;
      const place = formatLocation({
        file,
        ...(line === undefined ? {} : { line }),
        ...(column === undefined ? {} : { column }),
      });
      return source === "project" && list === "allow" ? `${place}, trusted` : place;
    },
  };
}

interface GateDeps extends Required<Pick<GateOptions, "temporaryRules">> {
  readonly options: AssemblyOptions;
  readonly scope: AccessScope;
  readonly recorder: Recorder;
  readonly tools:
    & Required<Pick<GateOptions, "shellFolder" | "preview" | "sandbox">>
    & Pick<GateSources, "openJail">;
  readonly plugins: Required<Pick<GateOptions, "trustedReadOnly" | "saveTrust">> | undefined;
}

/** The permission gate of a run. */
export function buildGate(
  { options, scope, recorder, tools, plugins, temporaryRules }: GateDeps,
): PermissionGate {
  const { openJail, shellFolder, preview, sandbox } = tools;
  const { approver, parent } = options;
  const above = parent && isWhole(parent.gate) ? { above: parent.gate } : {};
  const record: GateOptions["record"] = (event) => recorder.record(event);
  const configured = gateOptions({ ...options, scope, openJail, record });
  return createGate({
    ...configured,
    shellFolder,
    preview,
    sandbox,
    temporaryRules,
    ...(plugins ? { trustedReadOnly: plugins.trustedReadOnly } : {}),
    ...(plugins && configured.saveRule ? { saveTrust: plugins.saveTrust } : {}),
    ...(approver ? { approver } : {}),
    ...above,
  });
}

/** Reports whether permission rules judge, and not something of an embedding program's own. */
function isWhole(gate: Gate & Partial<PermissionGate>): gate is PermissionGate {
  return gate.grants !== undefined;
}

/** The `allowed-tools` of skills and commands: they count from their activation to the end of that turn. */
export class SkillRules {
  readonly #recorder: Recorder;
  #rules: readonly RuleText[] = [];

  constructor(recorder: Recorder) {
    this.#recorder = recorder;
  }

  readonly onEvent = (event: Event): undefined => {
    if (event.type === "turn.end" && this.#rules.length > 0) this.#rules = [];
  };

  /** The rules in force; another array whenever they change. */
  readonly current = (): readonly RuleText[] => this.#rules;

  readonly add = (rules: readonly RuleText[]): void => {
    if (rules.length > 0) this.#rules = [...this.#rules, ...rules];
  };

  readonly activated = ({ skill, approved }: SkillActivation): void => {
    if (skill.allowedTools.length === 0) return;
    if (approved) {
      return this.add(skill.allowedTools.map((text) => ({ text, origin: skill.file })));
    }
    void this.#recorder.record({
      type: "notice",
      level: "warning",
      code: "skill",
      ...textFields(
        message`The allowed-tools of skill ${skill.name} are ignored: the project contains it, and it is not trusted yet with \`reasonix trust\``,
      ),
    });
  };
}
