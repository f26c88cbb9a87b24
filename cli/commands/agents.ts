import { argument, type CommandGroup, entry, JSON_FLAG } from "../command.ts";
import { outputWidth } from "../terminal/display.ts";
import { textsFor } from "../terminal/language.ts";
import { type CliContext, runPaths } from "../terminal/process.ts";
import { loadAgentList } from "../../src/features/mod.ts";
import { loadConfig } from "../../src/config/mod.ts";
import { usageError } from "../../src/core/mod.ts";
import { loadLists, rowsText } from "../../src/reports/mod.ts";
import { suggestNames } from "../../src/util/suggest.ts";
import { oneLine } from "../../src/util/terminal_text.ts";

/** The agents of this directory, and the faults in their files. */
async function list(this: CliContext, flags: { readonly json?: boolean }): Promise<void> {
  const paths = runPaths(this);
  const loaded = await loadConfig(paths);
  const { agents, warnings } = await (await loadAgentList()).agentList(paths, loaded);
  const { stdout, stderr } = this.process;
  if (flags.json) return stdout.json({ agents, warnings });
  const { agentsText } = await loadLists();
  stdout.write(agentsText(agents, await textsFor("report_commands", this, loaded), outputWidth()));
  for (const { path, line, text } of warnings) stderr.write(`! ${path}:${line}: ${text}\n`);
}

/** One agent: rights, model and prompt. */
async function show(
  this: CliContext,
  flags: { readonly json?: boolean },
  name: string,
): Promise<void> {
  const paths = runPaths(this);
  const loaded = await loadConfig(paths);
  const { agents } = await (await loadAgentList()).agentList(paths, loaded);
  const agent = agents.find((candidate) => candidate.name === name);
  if (!agent) {
    const names = agents.map((candidate) => candidate.name);
    const near = suggestNames(name, names, 1)[0];
    throw usageError(
      `Cannot find an agent "${name}"`,
      near ? `did you mean ${near}?` : `there are ${names.join(", ")}`,
    );
  }
  const { stdout } = this.process;
  if (flags.json) return stdout.json(agent);
  const { agentFacts } = await loadLists();
  const { agents: texts } = await textsFor("report_commands", this, loaded);
  const rows = rowsText([
    ["agent", agent.name],
    ["for", oneLine(agent.description, 2_000)],
    ["is", agentFacts(agent, texts).join(" · ")],
    ["tools", agent.tools?.join(", ") ?? "those of the run"],
    ["not", agent.withoutTools?.join(", ")],
    ["denies", agent.deny?.join(", ")],
    ["asks about", agent.ask?.join(", ")],
    ["steps", agent.maxSteps === undefined ? undefined : `at most ${agent.maxSteps}`],
    ["temperature", agent.temperature?.toString()],
    ["top_p", agent.topP?.toString()],
  ]);
  const body = agent.prompt === "" ? "" : `\n${agent.prompt}\n`;
  stdout.write(rows + body);
}

export const agentsCommands: CommandGroup = {
  commands: {
    list: entry("List the agents of this directory", { flags: { json: JSON_FLAG }, run: list }),
    show: entry("Show the rights and the prompt of an agent", {
      flags: { json: JSON_FLAG },
      args: [argument("Name of the agent", "name")],
      run: show,
    }),
  },
};
