import { errorMessage, isAbort, ReasonixError } from "../../core/mod.ts";
import { checkedPath, kindOf } from "../file/text_file.ts";
import { errorResult, failure, type ToolContext, type ToolResult } from "../tool.ts";
import { below, searchRoot } from "./path_filter.ts";

/** The directory or file a search tool was pointed at. All paths are real, with `/` between names. */
export interface SearchTarget {
  readonly path: string;
  readonly isFile: boolean;
  readonly cwd: string;
}

export async function searchTarget(context: ToolContext, path: unknown): Promise<SearchTarget> {
  const wanted = checkedPath(searchRoot(path));
  const [real, cwd] = await Promise.all([context.paths.read(wanted), Deno.realPath(context.cwd)]);
  try {
    const info = await Deno.stat(real);
    if (!info.isDirectory && !info.isFile) {
      // Opening one can block forever.
      throw new ReasonixError(`Cannot look into ${wanted}: it is a ${kindOf(info)}`, {
        remedy: "name a directory or a file",
      });
    }
    return { path: slashes(real), isFile: !info.isDirectory, cwd: slashes(cwd) };
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    const { suggestPaths: nearPaths } = await import("../file/suggest_paths.ts");
    const near = await nearPaths({ path: slashes(real), shown: wanted }, context);
    const remedy = near.length > 0 ? `near names: ${near.join(", ")}` : "list the directory above it with ls";
    throw new ReasonixError(`Cannot find ${wanted}`, { remedy });
  }
}

function slashes(path: string): string {
  return Deno.build.os === "windows" ? path.replaceAll("\\", "/") : path;
}

/** A path as the model should write it: from the working directory when it is inside. */
export function shown(path: string, target: SearchTarget): string {
  return below(path, target.cwd);
}

/** Turns what a search tool throws into a result; an abort is rethrown. */
export async function reported(run: () => Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await run();
  } catch (error) {
    if (isAbort(error)) throw error;
    if (error instanceof ReasonixError) return errorResult(error);
    return failure(`Cannot search: ${errorMessage(error)}`);
  }
}
