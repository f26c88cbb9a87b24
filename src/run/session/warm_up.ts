import type { EventSink } from "../../core/mod.ts";
import { type ControlledDeps, Controller, MemoryStore, Recorder } from "../../control/mod.ts";
import { type OpeningDeps, recordOpening } from "./session.ts";

export interface WarmUpDeps {
  readonly turn: ControlledDeps;
  readonly opening: OpeningDeps;
  readonly redact: (text: string) => string;
  /** Is shown the events. */
  readonly sink: EventSink;
}

/**
 * Runs a first turn in memory: what it executes is loaded and compiled then, and the runtime has made its
 * HTTP client, which together take longer than everything else between a message and its request. The request
 * goes nowhere. Nothing of it is kept, so that the real turn takes everything as it is then.
 */
export async function warmUpTurn({ turn, opening, redact, sink }: WarmUpDeps): Promise<void> {
  const { provider } = turn;
  if (!provider.warmUp) return;
  const recorder = new Recorder(new MemoryStore(redact));
  recorder.subscribe(sink);
  const { head } = opening.session;
  const session = { state: recorder.state, ...(head ? { head } : {}) };
  // Plugins are not waited for: what is theirs is not known before they are asked.
  await recordOpening(recorder, { ...opening, session, plugins: undefined });
  const stream = provider.warmUp.bind(provider);
  const controller = new Controller(recorder, { ...turn, provider: { ...provider, stream } });
  await controller.submit({ type: "turn", input: { text: "." } });
}
