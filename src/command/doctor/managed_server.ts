import { modelsOf, type ProviderEntry } from "../../config/mod.ts";
import { errorMessage, ReasonixError } from "../../core/mod.ts";
import type { Texts } from "../../i18n/mod.ts";
import { loadServerState } from "../../provider/mod.ts";
import type { OnlineFinding } from "./online.ts";

/** Reports whether the program itself runs the server of an entry. */
export function hasManagedServer({ kind }: ProviderEntry): boolean {
  return kind === "llamacpp";
}

/** What a server that the program starts is doing; it is not started for that. */
export async function managedServerPart(
  entry: ProviderEntry,
  home: string,
  texts: Texts["doctor"],
): Promise<OnlineFinding> {
  const [model = ""] = modelsOf(entry);
  try {
    const { serverState } = await loadServerState();
    const { running } = await serverState(entry, { model, home });
    if (!running) return { summary: texts.serverStopped, problems: [] };
    return { summary: texts.serverRuns(running.pid, running.port, running.users.length), problems: [] };
  } catch (error) {
    const remedy = error instanceof ReasonixError ? error.remedy : undefined;
    const message = errorMessage(error);
    return {
      summary: texts.serverUnusable,
      problems: [remedy === undefined ? message : texts.withRemedy(message, remedy)],
    };
  }
}
