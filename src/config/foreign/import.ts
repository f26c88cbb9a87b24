import { projectConfigFile, userConfigFile } from "../config_paths.ts";
import { planClaude } from "./claude_import.ts";
import { planCodex } from "./codex.ts";
import { type ForeignDocument, type ForeignFile, readForeign } from "./document.ts";
import type { Surroundings } from "./foreign_files.ts";
import { planOpencode } from "./opencode.ts";
import { type AgentName, type FoundKey, ImportPlan, type Left, serversOf } from "./plan.ts";
import { planReasonix } from "./reasonix.ts";
import { type Outcome, resolveSteps, type TargetFile } from "./target.ts";
import { lazyDotenv, readText } from "../load/layer.ts";
import type { ConfigProblem } from "../problem.ts";

export { writeConfig } from "../edit/edit.ts";
export { AGENTS, filesFrom, findFiles, type Surroundings, usualFiles } from "./foreign_files.ts";

/** Everything that an import would do, and what it cannot do. */
export interface ImportPreview {
  readonly outcomes: readonly Outcome[];
  readonly left: readonly Left[];
  readonly keys: readonly (FoundKey & {
    /** Source of a value that the user has under this name. */
    readonly known: "saved" | "environment" | undefined;
  })[];
  readonly notices: readonly string[];
  /** Files that could not be used. */
  readonly problems: readonly ConfigProblem[];
  /** Our own files that would change. */
  readonly files: readonly TargetFile[];
}

type Planner = (documents: readonly ForeignDocument[], cwd: string) => void | Promise<void>;

const PLANNERS: Readonly<Record<AgentName, Planner>> = {
  claude: planClaude,
  codex: planCodex,
  opencode: planOpencode,
  reasonix: planReasonix,
};

/**
 * Reads files of other agents and works out what our own would become. A file that cannot be used is a
 * problem, and the others count. `only` leaves out what is no MCP server.
 *
 * @throws {ReasonixError} when one of our own files cannot be read
 */
export async function previewImport(
  sources: readonly ForeignFile[],
  { cwd, home, env }: Surroundings,
  only?: "servers",
): Promise<ImportPreview> {
  const whole = new ImportPlan();
  const documents: ForeignDocument[] = [];
  for (const source of sources) {
    const document = await readForeign(source, whole);
    if (document) documents.push(document);
  }
  for (const agent of Object.keys(PLANNERS) as AgentName[]) {
    await PLANNERS[agent](documents.filter((document) => document.agent === agent), cwd);
  }
  const plan = only === "servers" ? serversOf(whole) : whole;
  const user = await resolveSteps(plan, {
    path: userConfigFile({ home, env }),
    directory: home,
    shared: false,
  });
  const project = await resolveSteps(plan, {
    path: projectConfigFile(cwd),
    directory: `${cwd}/.reasonix`,
    shared: true,
  });
  const saved = lazyDotenv(() => readText(`${home}/.env`, []));
  return {
    outcomes: [...user.outcomes, ...project.outcomes],
    left: [...plan.left, ...user.left, ...project.left],
    keys: plan.keys.map((key) => ({
      ...key,
      known: saved().has(key.name) ? "saved" : env(key.name) ? "environment" : undefined,
    })),
    notices: plan.notices,
    problems: plan.problems,
    files: [...user.files, ...project.files].filter(({ before, after }) => before !== after),
  };
}
