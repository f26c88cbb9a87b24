/**
 * The moment a process began, as text that only this process of this number has; undefined when none runs.
 * What has ended and only waits to be collected does not run.
 */
export function processStart(pid: number): string | undefined {
  if (!Number.isInteger(pid) || pid <= 1) return undefined;
  return Deno.build.os === "linux" ? startInProc(pid) : startFromPs(pid);
}

function startInProc(pid: number): string | undefined {
  try {
    const text = Deno.readTextFileSync(`/proc/${pid}/stat`);
    // The name of the program stands in parentheses and may hold any of them.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const [state] = fields;
    return state === "Z" || state === "X" ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

function startFromPs(pid: number): string | undefined {
  try {
    const { success, stdout } = new Deno.Command("ps", {
      args: ["-o", "stat=,lstart=", "-p", String(pid)],
      env: { LC_ALL: "C" },
      stderr: "null",
    }).outputSync();
    const line = new TextDecoder().decode(stdout).trim();
    return success && line !== "" && !line.startsWith("Z") ? line.replace(/^\S+\s+/, "") : undefined;
  } catch {
    return undefined;
  }
}
