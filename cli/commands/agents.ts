import { argument, type CommandGroup, entry, JSON_FLAG } from "../command.ts";
import { type AgentRow, loadAgentList } from "../../src/assembly/mod.ts";
import { loadConfig } from "../../src/config/mod.ts";
import { ReasonixError } from "../../src/core/mod.ts";
import { fitDisplay } from "../../src/util/display_width.ts";
import { suggestNames } from "../../src/util/suggest.ts";
import { oneLine } from "../../src/util/terminal_text.ts";
import type { CliContext } from "../terminal/process.ts";
import { outputWidth } from "../terminal/table.ts";
import { runPaths } from "../terminal/working_directory.ts";

/** Longer than any description may be. */
const UNCUT = 2_000;

/** The agents of this directory, and what is wrong with their files. */
async function list(this: CliContext, flags: { readonly json?: boolean }): Promise<void> {
  const paths = runPaths(this);
  const { agents, warnings } = await (await loadAgentList()).agentList(paths, await loadConfig(paths));
  const { stdout, stderr } = this.process;
  if (flags.json) {
    stdout.json({ agents, warnings });
    return;
  }
  const width = outputWidth() ?? UNCUT;
  for (const agent of agents) {
    stdout.write(`${fitDisplay(`${agent.name}  ${oneLine(agent.description, UNCUT)}`, width)}\n`);
    stdout.write(`  ${factsOf(agent).join(" · ")}\n`);
  }
  for (const { path, line, text } of warnings) {
    stderr.write(`! ${path}:${line}: ${text}\n`);
  }
}

/** One agent: what it may do, its model, and what it is told. */
async function show(
  this: CliContext,
  flags: { readonly json?: boolean },
  name: string,
): Promise<void> {
  const paths = runPaths(this);
  const { agents } = await (await loadAgentList()).agentList(paths, await loadConfig(paths));
  const agent = agents.find((candidate) => candidate.name === name);
  if (!agent) {
    const names = agents.map((candidate) => candidate.name);
    const near = suggestNames(name, names, 1)[0];
    throw new ReasonixError(`Cannot find an agent "${name}"`, {
      exit: "usage",
      remedy: near ? `did you mean ${near}?` : `there are ${names.join(", ")}`,
    });
  }
  const { stdout } = this.process;
  if (flags.json) {
    stdout.json(agent);
    return;
  }
  const rows = [
    ["agent", agent.name],
    ["for", agent.description],
    ["is", factsOf(agent).join(" · ")],
    ["tools", agent.tools?.join(", ") ?? "those of the run"],
    ["not", agent.withoutTools?.join(", ")],
    ["denies", agent.deny?.join(", ")],
    ["asks about", agent.ask?.join(", ")],
    ["steps", agent.maxSteps === undefined ? undefined : `at most ${agent.maxSteps}`],
    ["temperature", agent.temperature?.toString()],
    ["top_p", agent.topP?.toString()],
  ].flatMap(([title = "", value]) =>
    value === undefined ? [] : [`${title.padEnd(12)}${oneLine(value, UNCUT)}`]
  );
  const body = agent.prompt === "" ? [] : ["", agent.prompt];
  stdout.write(`${[...rows, ...body].join("\n")}\n`);
}

function factsOf(
  { scope, readOnly, usable, reference, fellBack, isolation, skill, file }: AgentRow,
): string[] {
  return [
    scope,
    ...(skill === undefined ? [] : ["skill"]),
    ...(readOnly ? ["read-only"] : []),
    ...(reference === undefined ? [] : [`model ${reference}`]),
    ...(fellBack === undefined ? [] : [fellBack]),
    ...(isolation === undefined ? [] : ["worktree of its own"]),
    ...(usable ? [] : ["not trusted (reasonix trust)"]),
    ...(file === undefined ? [] : [file]),
  ];
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
