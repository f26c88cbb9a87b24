import { message, ReasonixError } from "../core/mod.ts";
import { absolutePath, contains, isAbsolute, join, normalize } from "../path/lexical.ts";
import { realPath } from "../path/real_path.ts";
import { attempt } from "../util/lazy.ts";

export type EnvLookup = (name: string) => string | undefined;

/**
 * The directory of all that Reasonix keeps for a user: `$REASONIX_HOME`, else `~/.reasonix`
 * (`%AppData%\reasonix`).
 */
export function reasonixHome(env: EnvLookup, cwd: string): string {
  const chosen = env("REASONIX_HOME");
  if (chosen) return resolvePath(chosen, cwd, env);
  const appData = Deno.build.os === "windows" ? env("APPDATA") : undefined;
  if (appData) return `${appData}\\reasonix`;
  const user = userHome(env);
  if (user) return join(user, ".reasonix");
  // The working directory would do, but then a repository could bring the user's own configuration along.
  throw new ReasonixError(
    message`Cannot find your home directory: HOME is not set and the system names none`,
    {
      exit: "config",
      remedy: message`set REASONIX_HOME to your own directory`,
    },
  );
}

/** The user's configuration: `$AGENT_CONFIG_PATH`, else `config.toml` of the Reasonix home. */
export function userConfigFile({ home, env }: { readonly home: string; readonly env: EnvLookup }): string {
  return chosenPath("AGENT_CONFIG_PATH", env) ?? join(home, "config.toml");
}

/**
 * The directory of caches: `$AGENT_CACHE_PATH`, else `cache` of the Reasonix home. Throws a ReasonixError for
 * one in the working directory, where the agent could change what the program relies on.
 */
export function cacheDirectory(
  { home, env, cwd }: { readonly home: string; readonly env: EnvLookup; readonly cwd: string },
): string {
  const chosen = chosenPath("AGENT_CACHE_PATH", env);
  if (chosen === undefined || !contains(cwd, chosen)) return chosen ?? join(home, "cache");
  throw new ReasonixError(message`Cannot use AGENT_CACHE_PATH: ${chosen} is in the working directory`, {
    exit: "config",
    remedy: message`name a directory outside of projects`,
  });
}

/** A relative path would name another file in each directory, also one of a repository. */
function chosenPath(name: string, env: EnvLookup): string | undefined {
  const given = env(name);
  if (!given) return undefined;
  const path = absolutePath(given, { cwd: "", home: userHome(env) });
  if (isAbsolute(given) || given.startsWith("~/")) return normalize(path);
  throw new ReasonixError(message`Cannot use ${name}: ${given} is no absolute path`, {
    exit: "config",
    remedy: message`write it with all directories, beginning with / or ~/`,
  });
}

export function projectConfigFile(cwd: string): string {
  return join(cwd, "reasonix.toml");
}

export function mcpJsonFile(directory: string): string {
  return join(directory, ".mcp.json");
}

/**
 * Returns the path absolute and without `.` and `..`; `~/` is the user's home. Text only: links are not
 * followed.
 */
export function resolvePath(path: string, base: string, env: EnvLookup): string {
  return normalize(absolutePath(path, { cwd: base, home: userHome(env) }));
}

/** Reports whether a path is the directory or in it, links followed; unreadable paths are outside. */
export function isInside(path: string, directory: string): boolean {
  return attempt(() => contains(realPath(directory), realPath(path))) ?? false;
}

export function userHome(env: EnvLookup): string | undefined {
  return env("HOME") || env("USERPROFILE");
}

/** Replaces `${CLAUDE_PLUGIN_ROOT}` in a text of a bundle in this directory; other texts stay as they are. */
export function withBundleRoot(text: string, root: string | undefined): string {
  return root === undefined ? text : text.replaceAll("${CLAUDE_PLUGIN_ROOT}", () => root);
}

/** `bundle:name`, as Claude Code names the parts of a bundle. */
export function namedIn(bundle: { readonly name: string } | undefined, name: string): string {
  return bundle ? `${bundle.name}:${name}` : name;
}
