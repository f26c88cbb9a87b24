/** Agents, skills and hooks of a directory, and the trust in what the project has of them. */
import { argument, command, type CommandGroup, entry, flag, JSON_FLAG, option } from "../command.ts";
import { outputWidth } from "../terminal/display.ts";
import { textsFor } from "../terminal/language.ts";
import { forReader } from "../terminal/narrow.ts";
import { confirmed, openConfig } from "../terminal/open.ts";
import { runPaths } from "../terminal/process.ts";
import { loadMarkdownCommands } from "../../src/command/mod.ts";
import { loadConfig, type LoadedConfig } from "../../src/config/mod.ts";
import { loadSkills } from "../../src/context/mod.ts";
import { EXIT, formatLocation, message, usageError } from "../../src/core/mod.ts";
import { loadAgentList, loadHookList, loadVerifyList } from "../../src/features/mod.ts";
import { loadLists, rowsText } from "../../src/reports/mod.ts";
import { findSkillSet, type RunPaths } from "../../src/run/mod.ts";
import { describeItem, type TrustItem, TrustStore } from "../../src/trust/mod.ts";
import { defined } from "../../src/util/json.ts";
import { suggestNames } from "../../src/util/suggest.ts";
import { oneLine } from "../../src/util/terminal_text.ts";

export const agentsCommands: CommandGroup = {
  commands: {
    list: entry("List the agents of this directory", {
      flags: { json: JSON_FLAG },
      async run(flags) {
        const paths = runPaths(this);
        const loaded = await loadConfig(paths);
        const { agents, warnings } = await (await loadAgentList()).agentList(paths, loaded);
        const { stdout, stderr } = this.process;
        if (flags.json) return stdout.json({ agents, warnings });
        const { agentsText } = await loadLists();
        stdout.write(agentsText(agents, await textsFor("report_commands", this, loaded), outputWidth()));
        for (const { path, line, text } of warnings) stderr.write(`! ${path}:${line}: ${text}\n`);
      },
    }),
    show: entry("Show the rights and the prompt of an agent", {
      flags: { json: JSON_FLAG },
      args: [argument("Name of the agent", "name")],
      async run(flags, name) {
        const paths = runPaths(this);
        const loaded = await loadConfig(paths);
        const { agents } = await (await loadAgentList()).agentList(paths, loaded);
        const agent = agents.find((candidate) => candidate.name === name);
        if (!agent) {
          const names = agents.map((candidate) => candidate.name);
          const [near] = suggestNames(name, names, 1);
          const remedy = near ? `did you mean ${near}?` : `there are ${names.join(", ")}`;
          throw usageError(message`Cannot find an agent "${name}"`, remedy);
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
        stdout.write(rows + (agent.prompt === "" ? "" : `\n${agent.prompt}\n`));
      },
    }),
  },
};

export const skillsCommands: CommandGroup = {
  commands: {
    list: entry("List the skills of this directory", {
      flags: { json: JSON_FLAG },
      async run(flags) {
        const paths = runPaths(this);
        const loaded = await loadConfig(paths);
        const found = await findSkillSet(paths, loaded);
        const { stdout, stderr } = this.process;
        if (flags.json) return stdout.json(found);
        const { skillsText } = await loadLists();
        const texts = await textsFor("report_commands", this, loaded);
        const text = await skillsText(found, { paths, loaded }, texts, outputWidth());
        stdout.write(found.skills.length === 0 ? forReader(text) : text);
        // Faults of a listed skill are below it.
        const listed = new Set(found.skills.map(({ file }) => file));
        const others = found.warnings.filter(({ path }) => !listed.has(path));
        for (const { path, text } of others) stderr.write(`! ${path}: ${text}\n`);
      },
    }),
    validate: entry("Check a skill against the specification", {
      args: [argument("Directory of the skill", "directory")],
      async run(_flags, path) {
        const { cwd } = runPaths(this);
        const { validateSkill } = await loadSkills();
        const findings = validateSkill(path.startsWith("/") ? path : `${cwd}/${path.replace(/\/+$/, "")}`);
        const { stdout } = this.process;
        for (const { level, path: file, line, text } of findings) {
          stdout.write(`${level}: ${formatLocation({ file, ...defined({ line }) })}: ${text}\n`);
        }
        const failed = findings.some(({ level }) => level === "error");
        if (!failed) stdout.write("The skill is valid\n");
        this.process.exitCode = failed ? EXIT.failed : EXIT.done;
      },
    }),
  },
};

export const hooksCommands: CommandGroup = {
  commands: {
    list: entry("List the hooks of this directory", {
      flags: { json: JSON_FLAG },
      async run(flags) {
        const { paths, loaded } = await openConfig(this);
        const rows = await (await loadHookList()).hookRows(loaded, paths);
        const { stdout, stderr } = this.process;
        if (flags.json) return stdout.json(rows);
        const { hooksText } = await loadLists();
        stdout.write(forReader(hooksText(rows, await textsFor("report_commands", this, loaded))));
        for (const { message, place } of loaded.warnings.filter(({ message }) => /hook/i.test(message))) {
          stderr.write(`! ${place ? `${formatLocation(place)}: ` : ""}${message}\n`);
        }
      },
    }),
    test: entry("Run the hooks of an event with a made-up input", {
      flags: {
        tool: option("Tool of the made-up call, such as Edit (default: Bash)", "tool"),
        input: option("JSON: its arguments, or fields of the event", "json"),
        json: JSON_FLAG,
      },
      args: [argument("Event, such as PreToolUse", "event")],
      async run({ tool, input, json }, event) {
        const open = await openConfig(this);
        const { tryHooks } = await loadHookList();
        const signal = new AbortController().signal;
        const tried = await tryHooks({ event, tool, input }, { ...open, signal });
        const decided = tried.verdict;
        const isRefused = decided?.decision === "deny" || decided?.stop !== undefined;
        this.process.exitCode = isRefused ? EXIT.blocked : EXIT.done;
        if (json) return this.process.stdout.json(tried);
        const lines = [
          `input: ${JSON.stringify(tried.input)}`,
          ...tried.runs.flatMap(({ command, outcome, decision, durationMs, text }) => {
            const facts = [outcome, ...(decision ? [decision] : []), `${durationMs} ms`].join(" · ");
            return [oneLine(command, 200), `  ${facts}${text ? `: ${oneLine(text, 400)}` : ""}`];
          }),
          ...tried.notices.map((notice) => `! ${notice}`),
        ];
        if (!decided) lines.push("No hook is meant by this");
        else {
          const { decision, reason, stop, updatedInput, contexts } = decided;
          lines.push(`decision: ${decision ?? "none"}${reason ? ` (${reason})` : ""}`);
          if (stop !== undefined) lines.push(`ends the run: ${stop}`);
          if (updatedInput !== undefined) lines.push(`updatedInput: ${JSON.stringify(updatedInput)}`);
          lines.push(...contexts.map((text) => `context for the model: ${text}`));
        }
        this.process.stdout.write(`${lines.join("\n")}\n`);
      },
    }),
  },
};

export const trustCommand = command({
  flags: {
    yes: flag("Do not ask"),
    list: flag("List what is trusted here"),
    revoke: flag("Trust nothing here"),
  },
  async run(flags) {
    const paths = runPaths(this);
    const { stdout } = this.process;
    const store = new TrustStore({ home: paths.home, project: paths.cwd });
    if (flags.revoke) {
      await store.revoke();
      return stdout.write(`Nothing in ${paths.cwd} is trusted any more\n`);
    }
    if (flags.list) {
      const trusted = await store.list();
      if (trusted.length === 0) return stdout.write(`Nothing in ${paths.cwd} is trusted\n`);
      const lines = trusted.map(({ kind, name, time }) => `${time.slice(0, 10)}  ${kind}  ${name}\n`);
      return stdout.write(lines.join(""));
    }
    const { untrusted } = await store.inspect(await projectItems(paths, await loadConfig(paths)));
    const count = untrusted.length;
    if (count === 0) return stdout.write(forReader("Nothing in this project waits for a trust decision\n"));
    for (const item of untrusted) stdout.write(forReader(`${describeItem(item).join("\n  ")}\n`));
    const agreed = flags.yes || confirmed("Trust all of this?", {
      action: "trust this",
      exit: "blocked",
      remedy: "read the list, then add --yes",
    });
    if (!agreed) return stdout.write("Nothing was trusted\n");
    await store.trust(untrusted);
    stdout.write(
      `Trusted ${count} ${count === 1 ? "item" : "items"}. If one changes, you are asked again.\n`,
    );
  },
});

/** The items of a project that need a decision, with and without one. */
async function projectItems(paths: RunPaths, loaded: LoadedConfig): Promise<TrustItem[]> {
  const { commandsOf, trustItemOf } = await loadMarkdownCommands();
  const { agentTrustItems } = await loadAgentList();
  const { verifyCommands, verifyItem } = await loadVerifyList();
  const set = await findSkillSet(paths, loaded);
  return [
    ...loaded.needsTrust,
    ...commandsOf({ paths, loaded }).commands.flatMap((command) => trustItemOf(command) ?? []),
    ...await agentTrustItems(paths, loaded),
    ...(await verifyCommands(loaded.config.workflow, paths.cwd))
      .flatMap((command) => command.defined ? [verifyItem(command, paths.cwd)] : []),
    ...(set.skills.length === 0 ? [] : new (await loadSkills()).Skills({ set }).trustItems()),
  ];
}
