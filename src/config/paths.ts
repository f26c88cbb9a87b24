import { ReasonixError } from "../core/mod.ts";

/** Looks up an environment variable. */
export type EnvLookup = (name: string) => string | undefined;

const WINDOWS = Deno.build.os === "windows";
const SEPARATOR = WINDOWS ? "\\" : "/";

/** The folder of everything Reasonix keeps for a user: `$REASONIX_HOME`, else `~/.reasonix` (`%AppData%\reasonix`). */
export function reasonixHome(env: EnvLookup, cwd: string): string {
  const chosen = env("REASONIX_HOME");
  if (chosen) return resolvePath(chosen, cwd, env);
  const appData = WINDOWS ? env("APPDATA") : undefined;
  if (appData) return `${appData}\\reasonix`;
  const user = userHome(env);
  if (user) return joinPath(user, ".reasonix");
  // The working folder would do, but then a repository could bring the user's own configuration along.
  throw new ReasonixError("Cannot find your home folder: HOME is not set and the system names none", {
    exit: "config",
    remedy: "set REASONIX_HOME to a folder of your own",
  });
}

export function userConfigFile(home: string): string {
  return joinPath(home, "config.toml");
}

export function projectConfigFile(cwd: string): string {
  return joinPath(cwd, "reasonix.toml");
}

export function joinPath(folder: string, name: string): string {
  return folder.endsWith(SEPARATOR) ? folder + name : folder + SEPARATOR + name;
}

/** Absolute and without `.` and `..`; `~/` is the user's home. Text only: links are not followed. */
export function resolvePath(path: string, base: string, env: EnvLookup): string {
  const home = /^~(?=$|[\/\\])/.test(path) ? userHome(env) : undefined;
  const full = home === undefined ? path : home + path.slice(1);
  return normalize(isAbsolute(full) ? full : joinPath(base, full));
}

/** Whether a path is the folder or lies in it. Follows links as far as the path exists. */
export function isInside(path: string, folder: string): boolean {
  const real = realPath(path);
  const root = realPath(folder);
  return real === root || real.startsWith(root.endsWith(SEPARATOR) ? root : root + SEPARATOR);
}

function realPath(path: string): string {
  try {
    return Deno.realPathSync(path);
  } catch {
    const cut = path.lastIndexOf(SEPARATOR);
    return cut <= 0 ? path : joinPath(realPath(path.slice(0, cut)), path.slice(cut + 1));
  }
}

function userHome(env: EnvLookup): string | undefined {
  return env("HOME") || env("USERPROFILE");
}

function isAbsolute(path: string): boolean {
  return path.startsWith("/") || (WINDOWS && /^([A-Za-z]:)?[\/\\]/.test(path));
}

function normalize(path: string): string {
  const parts: string[] = [];
  for (const part of path.split(WINDOWS ? /[\/\\]+/ : /\/+/)) {
    if (part === "..") parts.length > 1 && parts.pop();
    else if (part !== "." && (part !== "" || parts.length === 0)) parts.push(part);
  }
  return parts.length === 1 ? parts[0] + SEPARATOR : parts.join(SEPARATOR);
}
