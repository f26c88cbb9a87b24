import type { LoadedConfig } from "../../config/mod.ts";
import type { Recorder } from "../../control/mod.ts";
import { detectLocale, loadTexts } from "../../i18n/mod.ts";
import { loadElicitation, loadSampling } from "../../mcp/mod.ts";
import type { Provider } from "../../provider/mod.ts";
import type { Asker } from "../../tool/mod.ts";
import { lazy } from "../../util/lazy.ts";
import { openInBrowser } from "../../util/network/browser.ts";
import type { RunPaths } from "../run_paths.ts";
import { type RunQuestions, workspaceRoot } from "./run_plugins.ts";

export interface QuestionParts {
  readonly paths: RunPaths;
  readonly loaded: LoadedConfig;
  readonly recorder: Recorder;
  readonly provider: Provider;
  readonly asker: Asker | undefined;
}

/** What the servers of a run may ask: its directory, the person, and the session's model. */
export function serverQuestions({ paths, loaded, recorder, provider, asker }: QuestionParts): RunQuestions {
  const { language, tools: { mcp_sampling_tokens: budget } } = loaded.config;
  const desk = {
    asker,
    texts: lazy(() => loadTexts("mcp_questions", detectLocale({ env: paths.env, language }).locale)),
    tell: (text: string, level: "info" | "warning" = "warning") =>
      void recorder.record({ type: "notice", level, code: "mcp", text }),
    open: (address: URL) => openInBrowser(address, [paths.cwd]),
  };
  const elicit = lazy(async () => (await loadElicitation()).elicitation(desk));
  const sampling = lazy(async () => {
    const { Sampling } = await loadSampling();
    return new Sampling({ ...desk, provider, budget, record: (event) => recorder.record(event) });
  });
  return {
    notSaved: async (...facts) => (await desk.texts()).trustNotSaved(...facts),
    roots: () => [workspaceRoot(paths.cwd)],
    elicit: async (...question) => await (await elicit())(...question),
    ...(budget > 0 ? { sample: async (...question) => await (await sampling()).sample(...question) } : {}),
  };
}
