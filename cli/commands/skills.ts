import { argument, type CommandGroup, entry, JSON_FLAG } from "../command.ts";
import { outputWidth } from "../terminal/display.ts";
import { textsFor } from "../terminal/language.ts";
import { forReader } from "../terminal/narrow.ts";
import { type CliContext, runPaths } from "../terminal/process.ts";
import { findSkillSet } from "../../src/run/mod.ts";
import { loadConfig } from "../../src/config/mod.ts";
import { loadSkills } from "../../src/context/mod.ts";
import { EXIT, formatLocation } from "../../src/core/mod.ts";
import { loadLists } from "../../src/reports/mod.ts";

/** The skills of this directory with scope, trust and faults, and the files that are not used. */
async function list(this: CliContext, flags: { readonly json?: boolean }): Promise<void> {
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
  for (const { path, text } of found.warnings) if (!listed.has(path)) stderr.write(`! ${path}: ${text}\n`);
}

/** Checks one skill directory against the Agent Skills specification. */
async function validate(this: CliContext, _flags: unknown, folder: string): Promise<void> {
  const { cwd } = runPaths(this);
  const { validateSkill } = await loadSkills();
  const findings = validateSkill(folder.startsWith("/") ? folder : `${cwd}/${folder.replace(/\/+$/, "")}`);
  for (const { level, path, line, text } of findings) {
    this.process.stdout.write(
      `${level}: ${formatLocation({ file: path, ...(line === undefined ? {} : { line }) })}: ${text}\n`,
    );
  }
  const failed = findings.some((finding) => finding.level === "error");
  if (!failed) this.process.stdout.write("The skill is valid\n");
  this.process.exitCode = failed ? EXIT.failed : EXIT.done;
}

export const skillsCommands: CommandGroup = {
  commands: {
    list: entry("List the skills of this directory", { flags: { json: JSON_FLAG }, run: list }),
    validate: entry("Check a skill against the specification", {
      args: [argument("Directory of the skill", "directory")],
      run: validate,
    }),
  },
};
