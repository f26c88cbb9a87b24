import { command, flag, type FlagsOf } from "../command.ts";
import { forReader } from "../terminal/narrow.ts";
import { type CliContext, runPaths } from "../terminal/process.ts";
import { loadAgentList, loadVerifyList } from "../../src/features/mod.ts";
import { findSkillSet, type RunPaths } from "../../src/run/mod.ts";
import { loadMarkdownCommands } from "../../src/command/mod.ts";
import { loadConfig, type LoadedConfig } from "../../src/config/mod.ts";
import { loadSkills } from "../../src/context/mod.ts";
import { ReasonixError } from "../../src/core/mod.ts";
import { describeItem, type TrustItem, TrustStore } from "../../src/trust/mod.ts";

const FLAGS = {
  yes: flag("Do not ask"),
  list: flag("List what is trusted here"),
  revoke: flag("Trust nothing here"),
};

/** Shows the project's items that would run or grant more, and saves the trust in them as they are. */
async function trust(this: CliContext, flags: FlagsOf<typeof FLAGS>): Promise<void> {
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
  const { untrusted } = await store.inspect(await collect(paths, await loadConfig(paths)));
  if (untrusted.length === 0) {
    this.process.stdout.write(forReader("Nothing in this project waits for a trust decision\n"));
    return;
  }
  for (const item of untrusted) {
    this.process.stdout.write(forReader(`${describeItem(item).join("\n  ")}\n`));
  }
  if (!flags.yes && !confirmed()) {
    this.process.stdout.write("Nothing was trusted\n");
    return;
  }
  await store.trust(untrusted);
  this.process.stdout.write(
    `Trusted ${untrusted.length} ${
      untrusted.length === 1 ? "item" : "items"
    }. If one changes, you are asked again.\n`,
  );
}

/** Collects the items of a project, with and without a decision. */
async function collect(paths: RunPaths, loaded: LoadedConfig): Promise<TrustItem[]> {
  const { commandsOf, trustItemOf } = await loadMarkdownCommands();
  const { agentTrustItems } = await loadAgentList();
  const { verifyCommands, verifyItem } = await loadVerifyList();
  const commands = commandsOf({ paths }).commands.flatMap((command) => trustItemOf(command) ?? []);
  const agents = await agentTrustItems(paths);
  const verified = (await verifyCommands(loaded.config.workflow, paths.cwd))
    .flatMap((command) => command.defined ? [verifyItem(command, paths.cwd)] : []);
  const set = await findSkillSet(paths, loaded);
  const skills = set.skills.length === 0 ? [] : new (await loadSkills()).Skills({ set }).trustItems();
  return [...loaded.needsTrust, ...commands, ...agents, ...verified, ...skills];
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

export const trustCommand = command({ flags: FLAGS, run: trust });
