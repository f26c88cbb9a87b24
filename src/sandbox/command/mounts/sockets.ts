import { contains } from "../../../path/contains.ts";
import { isSystemDirectory } from "../../../path/protected.ts";
import { runProgram } from "../../../util/process.ts";
import { TEMPORARY } from "./temporary.ts";

/**
 * Sockets of programs that act for whoever connects: key agents, containers, the desktop, editors, other
 * terminals. A read-only mount stops nobody from connecting, and a network namespace only covers sockets
 * without a path.
 */

/** Directories in the user's home where agents and connections make sockets while a session goes on. */
const AGENT_DIRECTORIES = [
  ".ssh",
  ".ssh/agent",
  ".gnupg",
  ".1password",
  ".docker/run",
  ".docker/desktop",
] as const;

/** Directories that a jail replaces, so that nothing in them is seen. */
const REPLACED = [...TEMPORARY, "/run", "/dev", "/proc", "/sys"];

/**
 * Looks at the kernel's list; by a program, since the runtime does not let itself be shown files of /proc.
 */
export async function boundSockets(): Promise<string[]> {
  if (Deno.build.os !== "linux") return [];
  try {
    const { text } = await runProgram(["/bin/sh", "-c", "cat /proc/net/unix"], {
      env: { PATH: "/usr/bin:/bin:/run/current-system/sw/bin" },
    });
    return socketPaths(text);
  } catch {
    return [];
  }
}

/** The paths in /proc/net/unix; names that begin with @ have none. */
function socketPaths(table: string): string[] {
  return [...table.matchAll(/^[0-9a-f]+: (?:\S+ +){5}\d+ +(\/.*)$/gm)].map((match) => match[1] ?? "");
}

/** Sockets that variables lead to, such as SSH_AUTH_SOCK, DOCKER_HOST and TMUX. */
export function namedSockets(env: Readonly<Record<string, string>>): string[] {
  const found = new Set<string>();
  for (const [name, value] of Object.entries(env)) {
    if (name === "PATH" || value.length > 4096) continue;
    for (const piece of value.split(/[,;:=]/)) {
      const path = piece.replace(/^\/+/, "/");
      if (path.startsWith("/") && isSocket(path)) found.add(path);
    }
  }
  return [...found];
}

/** Sockets in the directories of agents, as they are now. */
export function agentSockets(userHome: string | undefined): string[] {
  return userHome === undefined ? [] : AGENT_DIRECTORIES.flatMap((name) => {
    try {
      return [...Deno.readDirSync(`${userHome}/${name}`)]
        .filter((entry) => !entry.isFile && !entry.isDirectory && !entry.isSymlink)
        .map((entry) => `${userHome}/${name}/${entry.name}`);
    } catch {
      return [];
    }
  });
}

/** What a jail shows. Absolute paths. */
export interface Visible {
  readonly roots: readonly string[];
  readonly userHome?: string | undefined;
  /** Directories that are shown although they lie in one that the jail replaces. */
  readonly shown?: readonly string[];
}

/**
 * Which of these a jail has to hide: those it would show. A socket in a project belongs to the project, but
 * not in a root as wide as the home directory.
 */
export function unlistedSockets(sockets: readonly string[], visible: Visible): string[] {
  const { roots, userHome, shown = [] } = visible;
  const projects = roots.filter((root) => !isSystemDirectory(root, userHome));
  const covered = REPLACED.filter((directory) => !roots.some((root) => contains(root, directory)));
  const within = (directories: readonly string[], path: string) =>
    directories.some((directory) => contains(directory, path));
  return sockets.filter((path) => !within(projects, path) && (within(shown, path) || !within(covered, path)));
}

function isSocket(path: string): boolean {
  try {
    return Deno.statSync(path).isSocket === true;
  } catch {
    return false;
  }
}
