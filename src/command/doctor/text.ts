import { loadRuleRows } from "../../assembly/mod.ts";
import type { Texts } from "../../i18n/mod.ts";
import { padDisplay } from "../../util/display_width.ts";
import { terminalSafe } from "../../util/terminal_text.ts";
import { localServerLines } from "./local_servers.ts";
import type { Report } from "./report.ts";

/** The report for people: what is wrong first. All that there is, when `verbose`. */
export async function reportText(
  report: Report,
  texts: Texts["doctor"],
  { verbose = false }: { readonly verbose?: boolean } = {},
): Promise<string> {
  const { ruleLine } = await loadRuleRows();
  const { versions, permissions, paths, config, providers, servers, sandbox, sessions } = report;
  const section = (title: string, rows: readonly string[]) =>
    rows.length === 0 ? [] : [`${title}\n${rows.map((row) => `  ${terminalSafe(row)}\n`).join("")}`];
  const more = (title: string, rows: readonly string[]) => verbose ? section(title, rows) : [];
  const files = config.files.filter(({ found }) => found || verbose);
  const localServers = report.localServers.filter(({ provider }) => verbose || provider === undefined);
  const remarks = [...config.warnings, ...report.remarks];
  return [
    ...(report.problems.length === 0
      ? [`${texts.noProblems}\n`]
      : section(texts.problems, report.problems.map((text) => `✗ ${text}`))),
    ...section(texts.remarks, remarks.map((text) => `! ${text}`)),
    ...more(texts.versions, Object.entries(versions).map(([name, value]) => `${name.padEnd(10)} ${value}`)),
    ...more(
      texts.permissions,
      (["allowed", "limited", "denied"] as const).filter((group) => permissions[group].length > 0)
        .map((group) => `${padDisplay(texts[group], 10)} ${permissions[group].join(", ")}`),
    ),
    ...more(texts.paths, Object.entries(paths).map(([name, value]) => `${name.padEnd(10)} ${value}`)),
    ...section(texts.configuration, [
      ...files.map((file) => verbose ? `${file.found ? texts.found : texts.absent} ${file.path}` : file.path),
      ...(verbose ? config.settings.map((row) => `${row.key} = ${row.value}  # ${row.origin}`) : []),
    ]),
    ...more(texts.rules, report.rules.map(ruleLine)),
    ...section(
      texts.providers,
      providers.map((row) =>
        `${row.name}  ${row.models.join(", ") || texts.noModel}  ${texts.keyIs(row.key)}${
          row.online ? `  ${row.online}` : ""
        }`
      ),
    ),
    ...section(texts.localServers, localServers.flatMap((server) => localServerLines(server, texts))),
    ...section(
      texts.servers,
      servers.map(({ name, state, place }) =>
        `${name}  ${state}${place === undefined ? "" : `  (${place})`}`
      ),
    ),
    ...more(
      texts.languageServers,
      report.languageServers.map(({ name, program = texts.notInstalled }) =>
        `${padDisplay(name, 10)} ${program}`
      ),
    ),
    ...section(texts.sandbox, [
      sandbox.summary,
      ...(verbose ? sandbox.rejected.map((row) => `${row.backend}: ${row.reason}`) : []),
      ...listed(texts.withoutJail, sandbox.standing),
      ...(verbose ? listed(texts.withFullAccess, sandbox.fullAccess) : []),
    ]),
    ...section(texts.worktrees, worktreeRows(report, texts)),
    ...more(texts.sessions, [
      texts.sessionCount(sessions.count, size(sessions.bytes, texts), size(sessions.homeBytes, texts)),
    ]),
    ...(verbose ? [] : [`${texts.verbose}\n`]),
  ].join("\n");
}

function worktreeRows(
  { worktrees: { inUse, waiting, removed } }: Report,
  texts: Texts["doctor"],
): string[] {
  return [
    ...inUse.map((tree) => texts.worktreeUsed(tree)),
    ...waiting.map((tree) => texts.worktreeWaits(tree)),
    ...(removed.length > 0 ? [texts.worktreesRemoved(removed.length)] : []),
  ];
}

function size(bytes: number, texts: Texts["doctor"]): string {
  if (bytes < 1000) return texts.bytes(bytes);
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

function listed(title: string, rows: readonly string[] = []): string[] {
  return rows.length === 0 ? [] : [title, ...rows.map((row) => `- ${row}`)];
}
