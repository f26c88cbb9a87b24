import { formatProblem, sayProblem } from "../config/mod.ts";
import type { ToolRegistry } from "../tool/mod.ts";
import type { Remark, RunScope } from "./access/access_scope.ts";
import type { PromptInputs } from "./context/prompt_inputs.ts";
import type { AssemblyOptions } from "./run_options.ts";
import type { RunSession } from "./session/session.ts";

interface Remarkable {
  readonly paths: AssemblyOptions["paths"];
  readonly loaded: AssemblyOptions["loaded"];
  readonly scope: RunScope;
  readonly session: RunSession;
  readonly registry: ToolRegistry;
  readonly inputs: Pick<PromptInputs, "instructions">;
}

/** Returns what the user is told before the first turn. */
export function remarks({ paths, loaded, scope, session, registry, inputs }: Remarkable): Remark[] {
  return [
    ...loaded.warnings.map((warning) => ({ text: formatProblem(warning), said: sayProblem(warning) })),
    ...scope.notices,
    ...registry.unknown.map((name): Remark => ({
      text: `Unknown tool "${name}" in [tools] was passed over`,
      said: [["unknownTool", name]],
    })),
    ...registry.unknownParameters.map(({ alias, parameter }): Remark => ({
      text: `Unknown parameter "${parameter}" of [tools.alias] ${alias} was passed over`,
      said: [["unknownParameter", parameter, alias]],
    })),
    ...loaded.config.agent.plan_mode_allowed_tools.filter((name) => !name.startsWith("mcp__"))
      .map((name): Remark => ({
        text: `[agent] plan_mode_allowed_tools names "${name}", which has no effect: ` +
          "only MCP tools can be named, as mcp__server__tool",
        said: [["notForPlanMode", name]],
      })),
    ...inputs.instructions.notices.map(({ path, problem }): Remark => ({ text: `${path} ${problem}` })),
    ...elsewhere(session.state.cwd, paths.cwd),
  ];
}

/** Says where a run works that goes on with a session of another directory. */
function elsewhere(began: string | undefined, cwd: string): Remark[] {
  if (!began || began === cwd) return [];
  return [{
    text: `The session is from ${began}, this run works in ${cwd}; --dir ${began} works there`,
    said: [["elsewhere", began, cwd]],
  }];
}
