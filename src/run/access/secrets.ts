import { type EnvironmentSecrets, environmentSecrets, type LoadedConfig } from "../../config/mod.ts";
import { processEnvironment } from "../../path/read_env.ts";
import { createRedactor } from "../../util/redact.ts";

/** Returns what of this process's environment stays out of children and texts. */
export function secretsOf(loaded: LoadedConfig): EnvironmentSecrets {
  return environmentSecrets(loaded, processEnvironment());
}

/** Takes what the configuration and the environment know of secrets out of a text. */
export function redactorOf(loaded: LoadedConfig): (text: string) => string {
  return createRedactor(secretsOf(loaded).redacted);
}
