/**
 * The moment a process began, as text that only this process of this number has; undefined when none runs.
 * What has ended and only waits to be collected does not run.
 */
export function processStart(pid: number): string | undefined {
  if (!Number.isInteger(pid) || pid <= 1) return undefined;
  return Deno.build.os === "linux" ? startInProc(pid) : startFromPs(pid);
}

function startInProc(pid: number): string | undefined {
  const text = systemText([`/proc/${pid}/stat`]);
  // The name of the program stands in parentheses and may hold any of them.
  const [state, ...fields] = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return text === "" || state === "Z" || state === "X" ? undefined : fields[18];
}

function startFromPs(pid: number): string | undefined {
  const line = outputOf("ps", ["-o", "stat=,lstart=", "-p", String(pid)]).trim();
  return line !== "" && !line.startsWith("Z") ? line.replace(/^\S+\s+/, "") : undefined;
}

/**
 * The text of files by which the system tells of itself, one behind the other; "" when there are none. The
 * runtime lets nobody read those without all permissions, so a program does.
 */
export function systemText(paths: readonly string[]): string {
  return outputOf("cat", ["--", ...paths]);
}

/** What a short-lived program prints; "" when there is none. */
export function outputOf(program: string, args: readonly string[]): string {
  try {
    const { stdout } = new Deno.Command(program, {
      args: [...args],
      env: { LC_ALL: "C" },
      stdin: "null",
      stderr: "null",
    }).outputSync();
    return new TextDecoder().decode(stdout);
  } catch {
    return "";
  }
}
