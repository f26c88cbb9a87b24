import type { AgentRow, HookRow } from "../features/mod.ts";
import { findSkillSet, loadRuleRows, type RunPaths } from "../run/mod.ts";
import type { LoadedConfig } from "../config/mod.ts";
import { loadSkills } from "../context/mod.ts";
import { formatLocation } from "../core/mod.ts";
import type { Texts } from "../i18n/mod.ts";
import { isDirectory } from "../path/probe.ts";
import { TrustStore } from "../trust/mod.ts";
import { fitDisplay } from "../util/display_width.ts";
import { oneLine } from "../util/terminal_text.ts";

type ReportTexts = Texts["report_commands"];

const UNCUT = 2_000;

/** A name with its description on a line of this width, and facts below it. */
function item(head: string, facts: readonly string[], width = UNCUT): string {
  return `${fitDisplay(head, width)}\n  ${facts.join(" · ")}\n`;
}

export function agentsText(
  agents: readonly AgentRow[],
  { agents: texts }: ReportTexts,
  width?: number,
): string {
  return agents.map((agent) =>
    item(`${agent.name}  ${oneLine(agent.description, UNCUT)}`, agentFacts(agent, texts), width)
  ).join("");
}

/** Scope, rights, model, trust and file of an agent, each in a few words. */
export function agentFacts(
  { scope, readOnly, usable, reference, fellBack, isolation, skill, file }: AgentRow,
  texts: ReportTexts["agents"],
): string[] {
  return [
    scope,
    ...(skill === undefined ? [] : [texts.skill]),
    ...(readOnly ? [texts.readOnly] : []),
    ...(reference === undefined ? [] : [texts.model(reference)]),
    ...(fellBack === undefined ? [] : [fellBack]),
    ...(isolation === undefined ? [] : [texts.worktree]),
    ...(usable ? [] : [texts.untrusted]),
    ...(file === undefined ? [] : [file]),
  ];
}

export function hooksText(rows: readonly HookRow[], { hooks: texts }: ReportTexts): string {
  if (rows.length === 0) return `${texts.none}\n`;
  return rows.map(({ event, matcher, command, place, source, state, why, ...rest }) => {
    const { timeoutSeconds, failure, confined } = rest;
    const about = matcher === "" || matcher === "*" ? "" : ` ${matcher}`;
    const facts = [
      texts.states[state],
      source,
      ...(failure === "closed" ? [texts.closed] : []),
      ...(timeoutSeconds === 60 ? [] : [timeoutSeconds === 0 ? texts.noLimit : `${timeoutSeconds} s`]),
      ...(confined ? [texts.confined] : []),
      ...(place ? [formatLocation(place)] : []),
    ];
    const reason = why === undefined ? "" : `  ${why}\n`;
    return item(`${event}${about}  ${oneLine(command, 400)}`, facts) + reason;
  }).join("");
}

type SkillSet = Awaited<ReturnType<typeof findSkillSet>>;

/** The skills of a directory with scope, trust and faults, and the files that are not used. */
export async function skillsText(
  found: SkillSet,
  { paths, loaded }: { readonly paths: RunPaths; readonly loaded: LoadedConfig },
  { skillList: texts }: ReportTexts,
  width?: number,
): Promise<string> {
  const { Skills, validateSkill } = await loadSkills();
  const items = new Skills({ set: found }).trustItems();
  const { untrusted } = await new TrustStore({ home: paths.home, project: paths.cwd }).inspect(items);
  const waiting = new Set(items.filter((item) => untrusted.includes(item)).map(({ name }) => name));
  const lines = found.skills.flatMap(({ name, description, scope, dir, file }) => [
    item(`${name}  ${oneLine(description, UNCUT)}`, [
      scope,
      ...(waiting.has(name) ? [texts.untrusted] : []),
      file,
    ], width),
    ...validateSkill(dir).map(({ level, text }) =>
      `  ${level === "error" ? "✗" : "!"} ${oneLine(text, UNCUT)}\n`
    ),
  ]);
  const shadowed = found.shadowed.map(({ name, file }) => `${texts.shadowed(file, name)}\n`);
  const none = found.skills.length === 0
    ? [`${texts.none(SKILL_ROOTS.join(", "), loaded.config.skills.paths.join(", "))}\n`]
    : [];
  const unused = none.length > 0 && isDirectory(`${paths.cwd}/skills`) ? [`${texts.unusedDirectory}\n`] : [];
  return [...lines, ...shadowed, ...none, ...unused].join("");
}

const SKILL_ROOTS = [".reasonix/skills", ".agents/skills", ".claude/skills"];

/** The permission rules in force with their location, and those of the project that wait for trust. */
export async function rulesText(loaded: LoadedConfig): Promise<string> {
  const { ruleLine, ruleRows } = await loadRuleRows();
  const lines = [`mode ${loaded.config.permissions.mode}`, ...ruleRows(loaded).map(ruleLine)];
  return lines.map((line) => `${line}\n`).join("");
}
