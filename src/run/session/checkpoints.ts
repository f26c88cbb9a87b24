import { type Recorder, TurnCheckpoints } from "../../control/mod.ts";
import { realPath } from "../../path/real_path.ts";
import { worktreeIdOf } from "../../path/project_dir.ts";
import type { Workspace } from "../../sandbox/mod.ts";
import type { RunPaths } from "../run_paths.ts";
import type { RunSession } from "./session.ts";

export interface CheckpointerParts {
  readonly paths: RunPaths;
  readonly session: Pick<RunSession, "paths">;
  readonly recorder: Recorder;
  readonly workspace: Workspace;
  /** See {@linkcode TurnCheckpoints}. */
  readonly beforeLook?: () => Promise<unknown>;
}

/**
 * Checkpoints of a session's workspace: everything in it but what is hidden from tools and the Reasonix home.
 */
export function createCheckpointer(
  { paths, session, recorder, workspace, beforeLook }: CheckpointerParts,
): TurnCheckpoints {
  const { forbidden, options } = workspace;
  // Asked for every file, so it is asked only where the workspace has something to hide.
  const hides = [paths.home, ...forbidden, ...options.forbidRead ?? []].some((area) =>
    meets(area, paths.cwd)
  );
  const own = worktreeIdOf(realPath(paths.home), paths.cwd) !== undefined;
  const ofHome = (path: string) => !own && `${path}/`.startsWith(`${paths.home}/`);
  return new TurnCheckpoints({
    recorder,
    dir: session.paths.dir,
    root: paths.cwd,
    ...(hides ? { skip: (path) => ofHome(path) || workspace.forbids(path) } : {}),
    ...(beforeLook ? { beforeLook } : {}),
    resolve: (path) => workspace.write(path),
  });
}

/** Reports whether one of the directories holds the other; what is not absolute counts from the workspace. */
function meets(area: string, folder: string): boolean {
  const [a, b] = [area, folder].map((path) =>
    `${path.replaceAll("\\", "/").replace(/\/+$/, "")}/`.toLowerCase()
  );
  return !/^([a-z]:)?\//.test(a ?? "") || a?.startsWith(b ?? "") === true || b?.startsWith(a ?? "") === true;
}
