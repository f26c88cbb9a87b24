/**
 * The start flags of the program: bundle, executables, tasks and the install lines of docs/start.md. It
 * needs files, programs, network, environment and system information, since that is what an agent works with,
 * but neither native code nor remote modules.
 *
 * Each permission has a name here: `deno install` makes `-A --deny-…` into `--allow-all`. And `--deny-import`
 * next to named permissions still lets modules of some well-known hosts through; `--no-remote` does not.
 */
const ALLOWED = ["--allow-read", "--allow-write", "--allow-net", "--allow-env", "--allow-run", "--allow-sys"];
const DENIED = ["--deny-ffi", "--deny-import", "--no-remote"];
/** Without it the runtime clears rows of the terminal when it has loaded a large file for the first time. */
const SILENT = "--quiet";
/**
 * Most objects of an agent are short-lived or stay. The young generation would grow to 16 MB while an answer
 * streams; held at 1 MB it takes 8 to 13 MB less and no more time.
 */
const SMALL_YOUNG_GENERATION = "--v8-flags=--max-semi-space-size=1";

export const START_FLAGS = [SILENT, SMALL_YOUNG_GENERATION, ...ALLOWED, ...DENIED];

/**
 * The flags for a program at this address. A remote module may import from its own host,
 * and nothing else is.
 */
export function startFlagsFor(program: string): string[] {
  const { protocol, host } = new URL(program);
  if (protocol !== "http:" && protocol !== "https:") return START_FLAGS;
  const local = ["--deny-import", "--no-remote"];
  return [...START_FLAGS.filter((flag) => !local.includes(flag)), `--allow-import=${host}`];
}
