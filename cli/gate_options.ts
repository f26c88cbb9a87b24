import { addConfigItem, type LoadedConfig, sourceOf, userConfigFile } from "../src/config/mod.ts";
import { formatPlace } from "../src/core/mod.ts";
import type { GateOptions, PermissionMode, RuleList, RuleText } from "../src/permission/mod.ts";
import type { Jail, Workspace } from "../src/sandbox/mod.ts";
import { insteadOfWriting, type WritePolicy } from "../src/tool/mod.ts";
import type { Place } from "./place.ts";
import type { Reach } from "./reach.ts";

interface GateSources {
  readonly place: Place;
  readonly loaded: LoadedConfig;
  readonly reach: Pick<Reach, "rooted" | "workspace">;
  readonly openJail: () => Promise<Jail>;
  readonly onAsk: GateOptions["onAsk"];
  readonly permissionMode: PermissionMode | undefined;
  readonly record: GateOptions["record"];
  readonly shellFolder?: () => string | undefined;
}

/** What a gate takes from the configuration. The environment is listed when a command is judged: it takes milliseconds. */
export function gateOptions(sources: GateSources): GateOptions {
  const { place, loaded, reach, onAsk, permissionMode, record, shellFolder } = sources;
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
    posture: "ask",
    ...(permissionMode === undefined ? {} : { permissionMode }),
    onAsk,
    cwd: place.cwd,
    home: place.env("HOME") ?? place.env("USERPROFILE") ?? place.home,
    protectedFiles: [userConfigFile(place.home)],
    roots: reach.rooted.roots,
    get env() {
      return env ??= Deno.env.toObject();
    },
    confirm: safety.confirm,
    record,
    ...readersOnly(loaded.config.tools.writes, sources.openJail),
    saveRule: (rule) => addConfigItem(userConfigFile(place.home), "permissions.allow", rule),
    ...(shellFolder ? { shellFolder } : {}),
    shell: Deno.build.os === "windows" ? "other" : "posix",
  };
}

/** Where files must not change and no jail sees to it, the gate lets only readers through. A jail that fails ends its command itself. */
function readersOnly(writes: WritePolicy, openJail: () => Promise<Jail>): Pick<GateOptions, "readersOnly"> {
  if (writes === "allow") return {};
  const reason = `there is no jail to keep commands from changing files ([tools] writes = "${writes}"); ` +
    insteadOfWriting(writes);
  return {
    readersOnly: () => openJail().then((jail) => jail.confined ? undefined : reason, () => undefined),
  };
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
