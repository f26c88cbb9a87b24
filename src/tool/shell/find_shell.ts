import { ReasonixError } from "../../core/mod.ts";
import { isFile } from "../../path/probe.ts";
import type { ToolSettings } from "../tool.ts";

/** A shell and how a command is given to it. */
export interface Shell {
  readonly kind: "posix" | "powershell";
  readonly path: string;
  /**
   * The argument vector that runs a command; `reporting` also reports where it left off (see {@linkcode
   * DIRECTORY_MARK}).
   */
  argv(command: string, reporting: boolean): string[];
}

/** On standard error: everything after this is the directory in which the command ended, not output. */
export const DIRECTORY_MARK = "\u001e";

// By way of a variable, so that the command has no arguments and its syntax errors show nothing but its own
// text.
const TAKE = `REASONIX_LINE=$1; set --;`;
const RUN = `eval "$REASONIX_LINE";`;

// Both streams go through one pipe, so that lines keep their order; the other pipe carries the directory. The
// command runs without the descriptor of that second pipe, and `exit` inside it still runs the trap.
const REPORTING =
  `${TAKE} exec 9>&2 2>&1; trap '{ printf "\\036"; pwd -P; } 2>/dev/null >&9' EXIT; { ${RUN} } 9>&-`;
const PLAIN = `exec 2>&1; ${TAKE} ${RUN}`;

// The console's own code page would garble everything that is not ASCII.
const UTF8 =
  "[Console]::OutputEncoding = [Text.UTF8Encoding]::new($false); $OutputEncoding = [Console]::OutputEncoding; ";
const EXIT = "\nif ($null -ne $LASTEXITCODE) { exit $LASTEXITCODE } elseif (-not $?) { exit 1 }";

const known = new Map<string, Shell>();

/** The shell of the settings: a given path, else the preferred one, else what the system has. */
export function findShell(settings: ToolSettings["shell"], searchPath: string): Shell {
  const key = `${settings.prefer}\0${settings.path ?? ""}\0${searchPath}`;
  const found = known.get(key) ?? look(settings, searchPath);
  known.set(key, found);
  return found;
}

function look(settings: ToolSettings["shell"], searchPath: string): Shell {
  const windows = Deno.build.os === "windows";
  const names = candidates(settings.prefer, windows);
  if (settings.path) return shellAt(settings.path);
  for (const name of names) {
    const path = inSearchPath(name, searchPath, windows);
    if (path !== undefined) return shellAt(path);
  }
  throw new ReasonixError(`Cannot find a shell (looked for ${names.join(", ")})`, {
    remedy: "set [tools.shell] path in the configuration",
  });
}

function candidates(prefer: ToolSettings["shell"]["prefer"], windows: boolean): string[] {
  if (prefer === "bash") return ["bash", "sh"];
  if (prefer === "pwsh") return ["pwsh", "powershell"];
  if (prefer === "powershell") return ["powershell", "pwsh"];
  return windows ? ["pwsh", "powershell"] : ["bash", "sh"];
}

function inSearchPath(name: string, searchPath: string, windows: boolean): string | undefined {
  const usual = windows ? [] : ["/bin", "/usr/bin", "/usr/local/bin"];
  for (const folder of [...usual, ...searchPath.split(windows ? ";" : ":")]) {
    // A relative directory would let the workspace choose the shell.
    if (!/^(?:\/|[A-Za-z]:)/.test(folder)) continue;
    const path = windows ? `${folder}\\${name}.exe` : `${folder}/${name}`;
    if (isFile(path)) return path;
  }
  return undefined;
}

function shellAt(path: string): Shell {
  const name = path.replace(/^.*[\\/]/, "").toLowerCase();
  if (/^(?:pwsh|powershell)/.test(name)) {
    return {
      kind: "powershell",
      path,
      argv: (
        command,
      ) => [path, "-NoLogo", "-NoProfile", "-NonInteractive", "-Command", UTF8 + command + EXIT],
    };
  }
  const shell = /^bash/.test(name) ? [path, "--noprofile", "--norc"] : [path];
  return {
    kind: "posix",
    path,
    argv: (command, reporting) => [...shell, "-c", reporting ? REPORTING : PLAIN, "bash", command],
  };
}
