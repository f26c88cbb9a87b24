/** The end of the process: texts and exit codes of errors, and signals. */
import { EXIT, formatLocation, ReasonixError } from "../../src/core/mod.ts";

/**
 * Returns an error of a command as the user reads it: place, message, remedy. Anything that is not meant for
 * the user is a defect and says so.
 */
export function errorText(error: unknown): string {
  const word = "error: ";
  if (isIncomplete(error)) return `${word}${error.message}`;
  if (!(error instanceof ReasonixError)) {
    const text = error instanceof Error ? error.stack ?? error.message : String(error);
    return `${word}Internal error; please report it\n${text}`;
  }
  const remedy = error.remedy ? `\n${" ".repeat(word.length)}${error.remedy}` : "";
  const place = error.place ? `${formatLocation(error.place)}: ` : "";
  return `${word}${place}${error.message}${remedy}`;
}

/** Reports whether a file of the program is missing; the loader of the bundle names it and the remedy. */
function isIncomplete(error: unknown): error is Error {
  return error instanceof Error && error.name === "IncompleteInstallation";
}

/** Returns the exit code of an error; a defect counts as a failure. */
export function exitCodeOf(error: unknown): number {
  return EXIT[error instanceof ReasonixError ? error.exit : "failed"];
}

export interface SignalHandlers {
  /** The first Ctrl-C, or a request to terminate: stop cleanly. */
  readonly stop: (reason: "interrupted" | "terminated") => void;
  readonly exit: (code: number) => void;
}

/**
 * Ctrl-C reaches every process of the job, and a launcher that waits for this one passes it on: within this
 * time it is the same one.
 */
const SAME_SIGNAL_MS = 300;

/** Listens until the returned function is called. */
export function onSignals(handlers: SignalHandlers): () => void {
  let stopping = false;
  let first = -Infinity;
  const hasLauncher = Deno.env.get("REASONIX_LAUNCHED")?.includes(`:${Deno.pid}:`) === true;
  const listen = (signal: Deno.Signal, reason: "interrupted" | "terminated", code: number): () => void => {
    const listener = () => {
      if (hasLauncher && performance.now() - first < SAME_SIGNAL_MS) return;
      if (stopping) handlers.exit(code);
      stopping = true;
      first = performance.now();
      handlers.stop(reason);
    };
    Deno.addSignalListener(signal, listener);
    return () => Deno.removeSignalListener(signal, listener);
  };
  const removers = [listen("SIGINT", "interrupted", EXIT.interrupt)];
  if (Deno.build.os === "windows") removers.push(listen("SIGBREAK", "terminated", EXIT.terminated));
  else {
    removers.push(
      listen("SIGTERM", "terminated", EXIT.terminated),
      listen("SIGHUP", "terminated", EXIT.terminated),
    );
  }
  return () => removers.forEach((remove) => remove());
}
