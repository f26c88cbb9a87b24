import { readEnv } from "../../path/read_env.ts";
import { findProgram } from "../process.ts";

const WINDOWS = Deno.build.os === "windows";

/**
 * Opens a web address with `$BROWSER` or the system's program. False without one, as on a machine without a
 * display, and for other addresses, which could start programs.
 */
export function openInBrowser(address: URL, untrusted: readonly string[]): boolean {
  if (address.protocol !== "https:" && address.protocol !== "http:") return false;
  for (const [name = "", ...args] of openers(address.href)) {
    const program = /[\\/]/.test(name) ? name : findProgram(name, readEnv("PATH") ?? "", untrusted);
    if (program === undefined) continue;
    try {
      // No shell sees the address, which a server has written; an interrupt here spares the browser.
      const quiet = { stdin: "null", stdout: "null", stderr: "null" } as const;
      new Deno.Command(program, { args, ...quiet, detached: !WINDOWS }).spawn().unref();
      return true;
    } catch {
      // The next one.
    }
  }
  return false;
}

function openers(address: string): string[][] {
  const chosen = readEnv("BROWSER") ?? "";
  if (chosen !== "") {
    // Several are separated like directories of PATH; %s is the address.
    return chosen.split(WINDOWS ? ";" : ":").filter((one) => one !== "").map((one) => {
      const words = one.trim().split(/\s+/);
      return words.includes("%s") ? words.map((word) => word === "%s" ? address : word) : [...words, address];
    });
  }
  if (Deno.build.os === "darwin") return [["open", address]];
  if (WINDOWS) return [["rundll32", "url.dll,FileProtocolHandler", address]];
  const display = readEnv("DISPLAY") ?? readEnv("WAYLAND_DISPLAY");
  return display === undefined ? [] : [["xdg-open", address]];
}
