import type { ProcessGuard } from "../services/services.ts";
import { spawnOwn } from "./spawn_session.ts";

/** Environment variable that all commands of a session carry. */
const MARK = "REASONIX_GUARD";

/** Ends what carries the mark `$1`, after each of the pauses, where /proc shows environments. */
const SWEEP = `for pause in $pauses; do
  sleep "$pause"
  for file in $(grep -lsF -- "$1" /proc/[0-9]*/environ); do
    pid=\${file#/proc/}
    kill -KILL "\${pid%/environ}"
  done
done`;

/**
 * Reads `+group` and `-group` lines until its input ends, which happens when the program ends, however that
 * comes about. Then it ends the groups that are left and what carries the mark of this session. A program
 * that was killed, and so has not said `=`, may have been about to start a command, whose mark shows a
 * moment later.
 */
const SCRIPT = `trap '' HUP INT TERM QUIT
groups=' '
pauses='0 0 0.05 0.2'
while read -r line; do
  group=\${line#?}
  case $line in
    +*) groups="$groups$group " ;;
    -*) case $groups in *" $group "*) groups="\${groups%% $group *} \${groups#* $group }" ;; esac ;;
    =) pauses='0 0' ;;
  esac
done
for group in $groups; do kill -KILL "-$group"; done
${SWEEP}`;

/**
 * One small shell a session, started with its first command and outside of every group, so that not even a
 * SIGKILL of the program leaves a process behind. It works wherever there is a shell, on all Unix systems.
 */
export class GuardProcess implements ProcessGuard {
  readonly mark: Readonly<Record<string, string>>;
  #child: Deno.ChildProcess | undefined;
  #writer: WritableStreamDefaultWriter<Uint8Array> | undefined;
  #off: boolean;
  readonly #value = crypto.randomUUID();

  constructor() {
    this.#off = Deno.build.os === "windows";
    this.mark = this.#off ? {} : { [MARK]: this.#value };
  }

  start(): void {
    if (!this.#off && !this.#writer) this.#spawn();
  }

  add(group: number): void {
    this.#tell(`+${group}\n`);
  }

  remove(group: number): void {
    this.#tell(`-${group}\n`);
  }

  /**
   * Lets the guard do its work, which goes on after the program if need be. Nothing can be added afterwards.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#off = true;
    await this.#writer?.write(new TextEncoder().encode("=\n")).catch(() => {});
    await this.#writer?.close().catch(() => {});
  }

  /** Resolves when the guard has ended, some time after its disposal. */
  async ended(): Promise<void> {
    this.#child?.ref();
    await this.#child?.status;
  }

  #tell(line: string): void {
    this.start();
    this.#writer?.write(new TextEncoder().encode(line)).catch(() => {});
  }

  #spawn(): void {
    try {
      const child = spawnOwn(["/bin/sh", "-c", SCRIPT, "guard", `${MARK}=${this.#value}`], {
        clearEnv: true,
        env: { PATH: "/usr/bin:/bin" },
        cwd: "/",
        stdin: "piped",
        stdout: "null",
        stderr: "null",
      });
      child.unref();
      this.#child = child;
      this.#writer = child.stdin.getWriter();
    } catch {
      // No such shell, or not allowed to run one: commands still end with their call.
      this.#off = true;
    }
  }
}
