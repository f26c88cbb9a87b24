import { type Recorder, TurnCheckpoints } from "../src/control/mod.ts";
import type { Workspace } from "../src/sandbox/mod.ts";
import type { SessionLog } from "../src/session/mod.ts";
import type { ToolRegistry } from "../src/tool/mod.ts";
import type { Place } from "./place.ts";

export interface KeepChangesParts {
  readonly place: Place;
  readonly log: SessionLog;
  readonly recorder: Recorder;
  readonly workspace: Workspace;
  /** Absent where no tool runs. */
  readonly registry?: ToolRegistry;
  /** See {@linkcode TurnCheckpoints}. */
  readonly meanwhile?: () => Promise<unknown>;
}

/** Checkpoints of a session's workspace: everything in it but what is hidden from tools and the Reasonix home. */
export function keepChanges(
  { place, log, recorder, workspace, registry, meanwhile }: KeepChangesParts,
): TurnCheckpoints {
  const { forbidden, options } = workspace;
  // Asked for every file, so it is asked only where the workspace has something to hide.
  const hides = [place.home, ...forbidden, ...options.forbidRead ?? []].some((area) =>
    meets(area, place.cwd)
  );
  const home = `${place.home}/`;
  return new TurnCheckpoints({
    recorder,
    dir: log.paths.dir,
    root: place.cwd,
    ...(hides ? { skip: (path) => `${path}/`.startsWith(home) || workspace.forbids(path) } : {}),
    ...(meanwhile ? { concurrentWarmup: meanwhile } : {}),
    writesFiles: (tool) => registry?.get(tool)?.writes !== undefined,
    resolve: (path) => workspace.write(path),
  });
}

/** Whether one of the folders holds the other; what is not absolute counts from the workspace. */
function meets(area: string, folder: string): boolean {
  const [a, b] = [area, folder].map((path) =>
    `${path.replaceAll("\\", "/").replace(/\/+$/, "")}/`.toLowerCase()
  );
  return !/^([a-z]:)?\//.test(a ?? "") || a?.startsWith(b ?? "") === true || b?.startsWith(a ?? "") === true;
}
