import { findSkillSet } from "../../src/assembly/mod.ts";
import { loadConfig } from "../../src/config/mod.ts";
import { loadSkills } from "../../src/context/mod.ts";
import { EXIT, formatPlace } from "../../src/core/mod.ts";
import { oneLine, terminalSafe } from "../../src/util/terminal_text.ts";
import type { CliContext } from "../terminal/process.ts";
import { runPaths } from "../terminal/working_directory.ts";

/** The skills of this directory with where they come from, and what was passed over. */
export async function list(this: CliContext, flags: { readonly json?: boolean }): Promise<void> {
  const paths = runPaths(this);
  const found = await findSkillSet(paths, await loadConfig(paths));
  if (flags.json) {
    this.process.stdout.write(`${JSON.stringify(found, null, 2)}\n`);
    return;
  }
  for (const skill of found.skills) {
    this.process.stdout.write(
      `${skill.name}  ${oneLine(skill.description, 60)}\n  ${terminalSafe(skill.file)}\n`,
    );
  }
  if (found.skills.length === 0) this.process.stdout.write("No skills here\n");
  for (const warning of found.warnings) this.process.stderr.write(`! ${warning.path}: ${warning.text}\n`);
}

/** Checks one skill directory against the Agent Skills specification. */
export async function validate(this: CliContext, _flags: unknown, folder: string): Promise<void> {
  const { cwd } = runPaths(this);
  const { validateSkill } = await loadSkills();
  const findings = validateSkill(folder.startsWith("/") ? folder : `${cwd}/${folder.replace(/\/+$/, "")}`);
  for (const { level, path, line, text } of findings) {
    this.process.stdout.write(
      `${level}: ${formatPlace({ file: path, ...(line === undefined ? {} : { line }) })}: ${text}\n`,
    );
  }
  const failed = findings.some((finding) => finding.level === "error");
  if (!failed) this.process.stdout.write("The skill is valid\n");
  this.process.exitCode = failed ? EXIT.failed : EXIT.done;
}
