import {
  findSkillSet,
  loadAgentList,
  loadVerifyList,
  type RunPaths,
  trustable,
} from "../../src/assembly/mod.ts";
import { loadMarkdownCommands } from "../../src/command/mod.ts";
import { loadConfig, type LoadedConfig, type TrustItem as ConfigItem } from "../../src/config/mod.ts";
import { loadSkills, type SkillTrustItem } from "../../src/context/mod.ts";
import { formatPlace, ReasonixError } from "../../src/core/mod.ts";
import { type TrustItem, TrustStore } from "../../src/sandbox/mod.ts";
import type { CliContext } from "../terminal/process.ts";
import { runPaths } from "../terminal/working_directory.ts";
import { forReader } from "../terminal/narrow.ts";

interface TrustFlags {
  readonly yes?: boolean;
  readonly list?: boolean;
  readonly revoke?: boolean;
}

/**
 * Shows what the project brings that would run or allow more, and remembers that the user trusts it as it is
 * now.
 */
export async function trust(this: CliContext, flags: TrustFlags): Promise<void> {
  const paths = runPaths(this);
  const store = new TrustStore({ home: paths.home, project: paths.cwd });
  if (flags.revoke) {
    await store.revoke();
    this.process.stdout.write(`Nothing in ${paths.cwd} is trusted any more\n`);
    return;
  }
  if (flags.list) {
    const trusted = await store.list();
    if (trusted.length === 0) this.process.stdout.write(`Nothing in ${paths.cwd} is trusted\n`);
    for (const { kind, name, time } of trusted) {
      this.process.stdout.write(`${time.slice(0, 10)}  ${kind}  ${name}\n`);
    }
    return;
  }
  const found = await candidates(paths, await loadConfig(paths));
  const { untrusted } = await store.inspect(found.map(({ item }) => item));
  const waiting = found.filter(({ item }) => untrusted.includes(item));
  if (waiting.length === 0) {
    this.process.stdout.write(forReader("Nothing in this project waits for a trust decision\n"));
    return;
  }
  for (const { lines } of waiting) {
    this.process.stdout.write(forReader(`${lines.join("\n  ")}\n`));
  }
  if (!flags.yes && !confirmed()) {
    this.process.stdout.write("Nothing was trusted\n");
    return;
  }
  await store.trust(untrusted);
  this.process.stdout.write(
    `Trusted ${waiting.length} ${
      waiting.length === 1 ? "item" : "items"
    }. If one changes, you are asked again.\n`,
  );
}

interface Candidate {
  readonly item: TrustItem;
  /** The lines that the user is shown of it. */
  readonly lines: readonly string[];
}

async function candidates(paths: RunPaths, loaded: LoadedConfig): Promise<Candidate[]> {
  const configured = loaded.needsTrust.map((item): Candidate => ({
    item: trustable(paths, item),
    lines: item.widens ? wideningLines(item) : [
      `${item.kind} ${item.name}  ${formatPlace(item.place)}`,
      ...item.lines ?? [item.reason, item.content],
    ],
  }));
  configured.push(...await commandCandidates(paths), ...await agentCandidates(paths));
  configured.push(...await verifyCandidates(paths, loaded));
  const set = await findSkillSet(paths, loaded);
  if (set.skills.length === 0) return configured;
  const { Skills } = await loadSkills();
  const skills = new Skills({ set }).trustItems().map((item): Candidate => ({
    item,
    lines: skillLines(item),
  }));
  return [...configured, ...skills];
}

/** Command files that run lines of the shell, or have calls run without a question. */
async function commandCandidates(paths: RunPaths): Promise<Candidate[]> {
  const { commandsOf, trustItemOf } = await loadMarkdownCommands();
  return commandsOf({ paths }).commands.flatMap((command): Candidate[] => {
    const item = trustItemOf(command);
    if (!item) return [];
    const { name, file, allowedTools, pieces } = command;
    const runs = pieces.filter(({ kind }) => kind === "shell").map(({ template }) => template);
    return [{
      item,
      lines: [
        `command /${name}  ${file}`,
        ...(allowedTools.length > 0 ? [`in its turn, without a question: ${allowedTools.join(", ")}`] : []),
        ...runs.map((line) => `runs: ${line}`),
      ],
    }];
  });
}

/** Agents, whose files say what a model is told and which tools it has. */
async function agentCandidates(paths: RunPaths): Promise<Candidate[]> {
  const { untrustedAgents } = await loadAgentList();
  return (await untrustedAgents(paths)).map(({ agent, item }) => ({
    item,
    lines: [
      `agent ${agent.name}  ${agent.file ?? ""}`,
      `for: ${agent.description}`,
      ...(agent.readOnly
        ? ["it only reads"]
        : [`its tools: ${agent.tools?.join(", ") ?? "those of the run"}`]),
      ...(agent.model === undefined ? [] : [`its model: ${agent.model}`]),
    ],
  }));
}

/** Commands that would test what the agent changes, as files of the project define them. */
async function verifyCandidates({ cwd }: RunPaths, { config }: LoadedConfig): Promise<Candidate[]> {
  const { verifyCommands, verifyItem } = await loadVerifyList();
  return (await verifyCommands(config.workflow, cwd)).flatMap((command): Candidate[] => {
    const { line, defined } = command;
    if (!defined) return [];
    const runs = defined.text === line ? [] : defined.text.split("\n").map((text) => `runs: ${text}`);
    const lines = [`verify ${line}  ${defined.file}`, "after turns that change files, in the jail", ...runs];
    return [{ item: verifyItem(command, cwd), lines }];
  });
}

/** Every single thing in plain words, with the text that says so and its place. */
function wideningLines({ name, widens = [] }: ConfigItem): string[] {
  return [
    `${name} would allow without a question, below your own deny and ask rules:`,
    ...widens.map(({ words, value, place }) => `${words}  ${value}  ${formatPlace(place)}`),
  ];
}

function skillLines({ name, definition: { dir, allowedTools = [] }, files }: SkillTrustItem): string[] {
  const scripts = files.filter((file) => file !== `${dir}/SKILL.md`).map((file) =>
    file.slice(dir.length + 1)
  );
  return [
    `skill ${name}  ${dir}`,
    ...(allowedTools.length > 0
      ? [`while it is active, without a question: ${allowedTools.join(", ")}`]
      : []),
    ...(scripts.length > 0 ? [`its scripts: ${scripts.join(", ")}`] : []),
  ];
}

function confirmed(): boolean {
  if (!Deno.stdin.isTerminal()) {
    throw new ReasonixError("Cannot ask whether to trust this: there is no terminal", {
      exit: "blocked",
      remedy: "read the list, then add --yes",
    });
  }
  return prompt("Trust all of this? Type yes:") === "yes";
}
