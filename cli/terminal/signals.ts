import { EXIT } from "../../src/core/mod.ts";

/** The effect of a signal on a run. */
export interface SignalHandlers {
  /** The first Ctrl-C, or a request to terminate: stop cleanly. */
  readonly stop: (reason: "interrupted" | "terminated") => void;
  /** A second one: end at once. */
  readonly exit: (code: number) => void;
}

/** Listens until the returned function is called. */
export function onSignals(handlers: SignalHandlers): () => void {
  let stopping = false;
  const listen = (signal: Deno.Signal, reason: "interrupted" | "terminated", code: number): () => void => {
    const listener = () => {
      if (stopping) handlers.exit(code);
      stopping = true;
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
