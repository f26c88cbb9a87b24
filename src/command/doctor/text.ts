import { loadRuleRows } from "../../assembly/mod.ts";
import type { Texts } from "../../i18n/mod.ts";
import { padDisplay } from "../../util/display_width.ts";
import { terminalSafe } from "../../util/terminal_text.ts";
import { localServerLines } from "./local_servers.ts";
import type { Report } from "./report.ts";

/** The report for people. */
export async function reportText(report: Report, texts: Texts["doctor"]): Promise<string> {
  const { ruleLine } = await loadRuleRows();
  const {
    versions,
    permissions,
    paths,
    config,
    rules,
    providers,
    localServers,
    servers,
    sandbox,
    sessions,
  } = report;
  const section = (title: string, rows: readonly string[]) =>
    `${title}\n${rows.map((row) => `  ${terminalSafe(row)}\n`).join("")}`;
  return [
    section(texts.versions, Object.entries(versions).map(([name, value]) => `${name.padEnd(10)} ${value}`)),
    section(
      texts.permissions,
      (["allowed", "limited", "denied"] as const).filter((group) => permissions[group].length > 0)
        .map((group) => `${padDisplay(texts[group], 10)} ${permissions[group].join(", ")}`),
    ),
    section(texts.paths, Object.entries(paths).map(([name, value]) => `${name.padEnd(10)} ${value}`)),
    section(texts.configuration, [
      ...config.files.map((file) => `${file.found ? texts.found : texts.absent} ${file.path}`),
      ...config.settings.map((row) => `${row.key} = ${row.value}  # ${row.origin}`),
      ...config.warnings.map((warning) => `! ${warning}`),
    ]),
    ...(rules.length === 0 ? [] : [section(texts.rules, rules.map(ruleLine))]),
    section(
      texts.providers,
      providers.map((row) =>
        `${row.name}  ${row.models.join(", ") || texts.noModel}  ${texts.keyIs(row.key)}${
          row.online ? `  ${row.online}` : ""
        }`
      ),
    ),
    ...(localServers.length === 0 ? [] : [section(
      texts.localServers,
      localServers.flatMap((server) => localServerLines(server, texts)),
    )]),
    ...(servers.length === 0 ? [] : [section(
      texts.servers,
      servers.map(({ name, state, place }) =>
        `${name}  ${state}${place === undefined ? "" : `  (${place})`}`
      ),
    )]),
    ...languageServerRows(report, texts).map((rows) => section(texts.languageServers, rows)),
    section(texts.sandbox, sandboxRows(sandbox, texts)),
    ...worktreeRows(report, texts).map((rows) => section(texts.worktrees, rows)),
    section(texts.sessions, [
      texts.sessionCount(sessions.count, size(sessions.bytes, texts), size(sessions.homeBytes, texts)),
    ]),
    report.problems.length === 0
      ? `${texts.noProblems}\n`
      : section(texts.problems, report.problems.map((text) => `✗ ${text}`)),
  ].join("\n");
}

function sandboxRows(sandbox: Report["sandbox"], texts: Texts["doctor"]): string[] {
  return [
    sandbox.summary,
    ...sandbox.rejected.map((row) => `${row.backend}: ${row.reason}`),
    ...listed(texts.withoutJail, sandbox.standing),
    ...listed(texts.withFullAccess, sandbox.fullAccess),
  ];
}

/** The rows of a section, or no section. */
function worktreeRows(
  { worktrees: { inUse, waiting, removed } }: Report,
  texts: Texts["doctor"],
): string[][] {
  const rows = [
    ...inUse.map((tree) => texts.worktreeUsed(tree)),
    ...waiting.map((tree) => texts.worktreeWaits(tree)),
    ...(removed.length > 0 ? [texts.worktreesRemoved(removed.length)] : []),
  ];
  return rows.length === 0 ? [] : [rows];
}

function size(bytes: number, texts: Texts["doctor"]): string {
  if (bytes < 1000) return texts.bytes(bytes);
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

function listed(title: string, rows: readonly string[] = []): string[] {
  return rows.length === 0 ? [] : [title, ...rows.map((row) => `- ${row}`)];
}

/** The rows of the section about language servers, where they are wanted. */
function languageServerRows({ languageServers }: Report, texts: Texts["doctor"]): string[][] {
  const rows = languageServers.map(({ name, program = texts.notInstalled }) =>
    `${padDisplay(name, 10)} ${program}`
  );
  return rows.length === 0 ? [] : [rows];
}
