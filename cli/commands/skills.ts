import { argument, type CommandGroup, entry, JSON_FLAG } from "../command.ts";
import { findSkillSet } from "../../src/assembly/mod.ts";
import { loadConfig } from "../../src/config/mod.ts";
import { loadSkills } from "../../src/context/mod.ts";
import { EXIT, formatLocation } from "../../src/core/mod.ts";
import { isDirectory } from "../../src/path/probe.ts";
import { TrustStore } from "../../src/trust/mod.ts";
import { fitDisplay } from "../../src/util/display_width.ts";
import { oneLine } from "../../src/util/terminal_text.ts";
import type { CliContext } from "../terminal/process.ts";
import { outputWidth } from "../terminal/table.ts";
import { runPaths } from "../terminal/working_directory.ts";
import { forReader } from "../terminal/narrow.ts";

/** The skills of this directory with scope, trust and what is wrong with them, and what was passed over. */
async function list(this: CliContext, flags: { readonly json?: boolean }): Promise<void> {
  const paths = runPaths(this);
  const loaded = await loadConfig(paths);
  const found = await findSkillSet(paths, loaded);
  const { stdout, stderr } = this.process;
  if (flags.json) {
    stdout.json(found);
    return;
  }
  const { Skills, validateSkill } = await loadSkills();
  const items = new Skills({ set: found }).trustItems();
  const { untrusted } = await new TrustStore({ home: paths.home, project: paths.cwd }).inspect(items);
  const waiting = new Set(items.filter((item) => untrusted.includes(item)).map(({ name }) => name));
  const width = outputWidth() ?? UNCUT;
  for (const { name, description, scope, dir, file } of found.skills) {
    const trust = waiting.has(name) ? " · scripts not trusted (reasonix trust)" : "";
    stdout.write(`${fitDisplay(`${name}  ${oneLine(description, UNCUT)}`, width)}\n`);
    stdout.write(`  ${scope}${trust} · ${file}\n`);
    for (const { level, text } of validateSkill(dir)) {
      stdout.write(`  ${level === "error" ? "✗" : "!"} ${oneLine(text, UNCUT)}\n`);
    }
  }
  for (const { name, file } of found.shadowed) {
    stdout.write(`not used: ${file} (another skill named ${name} comes first)\n`);
  }
  if (found.skills.length === 0) stdout.write(forReader(whereLooked(paths.cwd, loaded.config.skills.paths)));
  // What concerns a listed skill stands below it.
  const listed = new Set(found.skills.map(({ file }) => file));
  for (const { path, text } of found.warnings) if (!listed.has(path)) stderr.write(`! ${path}: ${text}\n`);
}

/** Longer than any description may be. */
const UNCUT = 2_000;

function whereLooked(cwd: string, configured: readonly string[]): string {
  const places = [".reasonix/skills", ".agents/skills", ".claude/skills"].join(", ");
  const more = configured.length > 0 ? `, in ${configured.join(", ")}` : "";
  const looked = `No skills here. Looked in ${places} from this directory up to the repository root, ` +
    `in your home directory${more}\n`;
  if (!isDirectory(`${cwd}/skills`)) return looked;
  return `${looked}The directory skills/ is used with: reasonix config set --local skills.paths '["skills"]'\n`;
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
