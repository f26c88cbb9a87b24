import type { LoadedConfig } from "../config/mod.ts";
import type { Controller } from "../control/mod.ts";
import type { Provider } from "../provider/mod.ts";
import type { Workspace } from "../sandbox/mod.ts";
import type { SessionLog } from "../session/mod.ts";
import type { PromptInputs } from "./prompt_inputs.ts";

/** Everything a run is made of. */
export interface Assembly {
  readonly controller: Controller;
  readonly loaded: LoadedConfig;
  readonly log: SessionLog;
  readonly provider: Provider;
  readonly workspace: Workspace;
  readonly knowledge: PromptInputs;
  /** Real path of a file that the user's message names; rejects when the model may not see it. */
  readonly attachment: (path: string) => Promise<string>;
  /** Takes secrets out of what leaves the run beside its events. */
  readonly redact: (text: string) => string;
  /** Things the user should know before the turn. */
  readonly notices: readonly string[];
  /** Writes the first events of this process: the head of a session, or what a crash left open. */
  open(): Promise<void>;
  /** Ends what runs in the background and closes the log. */
  close(): Promise<void>;
}
