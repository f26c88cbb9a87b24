import type { RunPaths } from "../../../src/assembly/mod.ts";
import { type loadImport, userConfigFile } from "../../../src/config/mod.ts";
import { ReasonixError } from "../../../src/core/mod.ts";
import type { Texts } from "../../../src/i18n/mod.ts";
import { exists } from "../../../src/path/probe.ts";

type Importer = Awaited<ReturnType<typeof loadImport>>;
export type FoundFile = ReturnType<Importer["findFiles"]>[number];
type AgentName = FoundFile["agent"];

interface Wanted {
  readonly agent: string | undefined;
  /** A file, or a directory with files under their usual names. */
  readonly from: string | undefined;
  /** Lets the user choose between several agents. */
  readonly ask: boolean;
  readonly texts: Texts["import"];
}

/** Finds the files to import from. Throws ReasonixError (usage) when there is none. */
export async function chooseFiles(importer: Importer, paths: RunPaths, wanted: Wanted): Promise<FoundFile[]> {
  const { AGENTS, findFiles, filesFrom } = importer;
  const agent = AGENTS.find(({ name }) => name === wanted.agent)?.name;
  if (wanted.agent !== undefined && agent === undefined) {
    throw new ReasonixError(wanted.texts.noSuchAgent(JSON.stringify(wanted.agent)), {
      exit: "usage",
      remedy: wanted.texts.agents(AGENTS.map(({ name }) => name).join(", ")),
    });
  }
  if (wanted.from !== undefined) return filesFrom(wanted.from, agent, paths);
  const names = agent === undefined ? AGENTS.map(({ name }) => name) : [agent];
  const found = names.flatMap((name) => findFiles(name, paths));
  if (found.length === 0) throw nothingFound(importer, { names, paths, texts: wanted.texts });
  if (!wanted.ask || new Set(found.map((file) => file.agent)).size < 2) return found;
  const chosen = await pickAgents(importer, found, wanted.texts);
  return found.filter((file) => chosen.includes(file.agent));
}

function nothingFound(
  importer: Importer,
  { names, paths, texts }: {
    readonly names: readonly AgentName[];
    readonly paths: RunPaths;
    readonly texts: Texts["import"];
  },
): ReasonixError {
  const own = userConfigFile(paths);
  if (names.length === 1 && names[0] === "reasonix" && exists(own)) {
    return new ReasonixError(texts.ownFile(own), { exit: "usage", remedy: texts.ownFileRemedy });
  }
  const places = names.flatMap((name) => importer.usualFiles(name, paths)).map(({ path }) =>
    `         ${path}`
  );
  return new ReasonixError(texts.noneFound, {
    exit: "usage",
    remedy: texts.noneFoundRemedy(places.join("\n")),
  });
}

async function pickAgents(
  { AGENTS }: Importer,
  found: readonly FoundFile[],
  texts: Texts["import"],
): Promise<readonly AgentName[]> {
  const { isCancel, multiselect } = await import("@clack/prompts");
  const agents = [...new Set(found.map((file) => file.agent))];
  const options = agents.map((name) => ({
    value: name,
    label: AGENTS.find((agent) => agent.name === name)?.label ?? name,
    hint: found.filter(({ agent }) => agent === name).map(({ path }) => path).join(", "),
  }));
  const chosen = await multiselect({ message: texts.from, options, initialValues: agents });
  if (isCancel(chosen) || typeof chosen === "symbol") {
    throw new ReasonixError(texts.nothingChosen, { exit: "usage" });
  }
  return chosen;
}
