import { type EnvLookup, isInside, reasonixHome, resolvePath, userConfigFile } from "../config_paths.ts";
import type { SourceFile } from "./document.ts";
import type { AgentName, Scope } from "./plan.ts";
import { message, ReasonixError, usageError } from "../../core/mod.ts";
import { join } from "../../path/lexical.ts";
import { exists, isDirectory, isFile, sortedEntries } from "../../path/probe.ts";
import { existingRealPath } from "../../path/real_path.ts";

export interface ImportContext {
  readonly cwd: string;
  readonly home: string;
  readonly env: EnvLookup;
}

export const AGENTS: readonly { readonly name: AgentName; readonly label: string }[] = [
  { name: "claude", label: "Claude Code" },
  { name: "codex", label: "codex" },
  { name: "opencode", label: "opencode" },
  { name: "reasonix", label: "the Go Reasonix" },
];

/** Lists the usual settings files of an agent, the user's first, whether or not they exist. */
export function usualFiles(agent: AgentName, context: ImportContext): SourceFile[] {
  const { cwd, env } = context;
  const at = (scope: Scope) => (path: string): SourceFile => ({
    agent,
    scope,
    path: resolvePath(path, cwd, env),
  });
  const [user, project] = LOCATIONS[agent](context);
  const files = [...user.map(at("user")), ...project.map(at("project"))];
  return files.filter(({ path }, index) => files.findIndex((other) => other.path === path) === index);
}

/** Lists those that exist; a link counts once, as its target. */
export function findFiles(agent: AgentName, context: ImportContext): SourceFile[] {
  const seen = new Set([realOf(userConfigFile(context)), realOf(join(context.cwd, "reasonix.toml"))]);
  return usualFiles(agent, context).filter(({ path }) => {
    const real = exists(path) ? realOf(path) : undefined;
    if (real === undefined || seen.has(real)) return false;
    seen.add(real);
    return true;
  });
}

type Locations = (context: ImportContext) => readonly [user: readonly string[], project: readonly string[]];

const LOCATIONS: Readonly<Record<AgentName, Locations>> = {
  claude: ({ env, cwd }) => {
    const chosen = env("CLAUDE_CONFIG_DIR");
    return [
      chosen
        ? [`${chosen}/settings.json`, `${chosen}/.claude.json`]
        : ["~/.claude/settings.json", "~/.claude.json"],
      [`${cwd}/.claude/settings.json`, `${cwd}/.claude/settings.local.json`, `${cwd}/.mcp.json`],
    ];
  },
  codex: ({ env, cwd }) => {
    const home = resolvePath(env("CODEX_HOME") || "~/.codex", cwd, env);
    const filesIn = (directory: string) => [
      `${directory}/config.toml`,
      ...namesIn(`${directory}/rules`, ".rules"),
    ];
    return [filesIn(home), filesIn(`${cwd}/.codex`)];
  },
  opencode: ({ env, cwd }) => {
    const directory = `${env("XDG_CONFIG_HOME") || "~/.config"}/opencode`;
    const further = [env("OPENCODE_CONFIG"), env("OPENCODE_CONFIG_DIR")].filter((path) => path !== undefined);
    return [
      [
        ...both(`${directory}/opencode`),
        `${directory}/config.json`,
        ...further.flatMap(named),
        ...markdownIn(resolvePath(directory, cwd, env)),
      ],
      [
        ...both(`${cwd}/opencode`),
        ...both(`${cwd}/.opencode/opencode`),
        ...markdownIn(`${cwd}/.opencode`),
      ],
    ];
  },
  reasonix: ({ env, cwd }) => {
    const withoutOurs: EnvLookup = (name) =>
      name === "REASONIX_HOME" || name === "AGENT_CONFIG_PATH" ? undefined : env(name);
    return [
      [
        userConfigFile({ home: reasonixHome(withoutOurs, cwd), env: withoutOurs }),
        `${env("XDG_CONFIG_HOME") || "~/.config"}/reasonix/config.toml`,
        "~/Library/Application Support/reasonix/config.toml",
      ],
      [],
    ];
  },
};

function markdownIn(directory: string): string[] {
  return ["agent", "agents", "command", "commands"].flatMap((kind) => namesIn(`${directory}/${kind}`, ".md"));
}

function namesIn(directory: string, ending: string): string[] {
  return sortedEntries(directory).filter(({ name }) => name.endsWith(ending))
    .map(({ name }) => `${directory}/${name}`);
}

function both(stem: string): string[] {
  return [`${stem}.json`, `${stem}.jsonc`];
}

function named(path: string): string[] {
  return /\.jsonc?$/.test(path) ? [path] : both(`${path}/opencode`);
}

function realOf(path: string): string {
  return existingRealPath(path) ?? path;
}

/**
 * Returns the file `from`, or the files of a usual name in that directory. Files in the project belong to it.
 *
 * @throws {ReasonixError} (usage) when there is none, or when its agent is unknown
 */
export function filesFrom(from: string, agent: AgentName | undefined, context: ImportContext): SourceFile[] {
  const path = resolvePath(from, context.cwd, context.env);
  const scope = isInside(path, context.cwd) && !isInside(resolvePath("~/", "/", context.env), context.cwd)
    ? "project"
    : "user";
  if (!exists(path)) throw unusable(from, "there is no such file", "name an existing file or directory");
  const candidates = isDirectory(path)
    ? NAMES.filter((name) => isFile(join(path, name))).map((name) => join(path, name))
    : [path];
  const files = candidates.flatMap((candidate) => {
    const owner = agent ?? agentOf(candidate);
    return owner && (candidate === path || (agentOf(candidate) ?? owner) === owner)
      ? [{ agent: owner, path: candidate, scope } as const]
      : [];
  });
  if (files.length > 0) return files;
  throw unusable(
    from,
    "its agent is unknown",
    "name the agent: claude, codex, opencode or reasonix",
  );
}

/** Files of all agents in a directory of settings or in a project. */
const NAMES = [
  "settings.json",
  "settings.local.json",
  ".claude.json",
  ".mcp.json",
  ".claude/settings.json",
  ".claude/settings.local.json",
  "config.toml",
  ".codex/config.toml",
  ...both("opencode"),
  ...both(".opencode/opencode"),
  "reasonix.toml",
];

function unusable(from: string, reason: string, remedy: string): ReasonixError {
  return usageError(message`Cannot import from ${from}: ${reason}`, remedy);
}

/** Finds the agent of a file by its name and directory. */
function agentOf(path: string): AgentName | undefined {
  const slashed = path.replaceAll("\\", "/");
  if (/(?:^|\/)(?:\.claude\.json|\.mcp\.json|settings(?:\.local)?\.json)$/.test(slashed)) return "claude";
  if (/(?:^|\/)(?:opencode\.jsonc?|\.?opencode\/config\.json)$/.test(slashed)) return "opencode";
  if (/\.?opencode\/(?:agent|command)s?\/[^/]+\.md$/.test(slashed)) return "opencode";
  if (/\.codex\/[^/]+\.toml$|\.rules$/.test(slashed)) return "codex";
  return /(?:^|\/)reasonix(?:\.toml|\/config\.toml)$|\.reasonix\//.test(slashed) ? "reasonix" : undefined;
}
