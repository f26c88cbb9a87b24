import { ConfigError, type LoadedConfig } from "../../../src/config/mod.ts";
import { EXIT } from "../../../src/core/mod.ts";
import { loadTexts, type Texts } from "../../../src/i18n/mod.ts";
import { loadTrustedConfig, type RunPaths } from "../../../src/assembly/mod.ts";
import { padDisplay } from "../../../src/util/display_width.ts";
import { diagnose, type Report } from "./report.ts";
import { languageNotice, languageOf } from "../../terminal/language.ts";
import { ruleLine } from "../../terminal/rule_rows.ts";
import type { CliContext } from "../../terminal/process.ts";
import { forReader } from "../../terminal/narrow.ts";
import { runPaths } from "../../terminal/working_directory.ts";

interface DoctorFlags {
  readonly json?: boolean;
  readonly online?: boolean;
  readonly dir?: string;
}

/** Looks at everything a run depends on and says what is wrong. Secrets never appear. */
export async function doctor(this: CliContext, flags: DoctorFlags): Promise<void> {
  const paths = runPaths(this, flags.dir);
  const loaded = await tryConfig(paths);
  const usable = loaded instanceof ConfigError ? undefined : loaded;
  // Machines read English, whatever the user speaks.
  const locale = flags.json ? "en" : languageOf(this, usable).locale;
  const texts = await loadTexts("doctor", locale);
  const notice = usable && await languageNotice(this, usable);
  const report = await diagnose(paths, {
    online: flags.online ?? false,
    loaded,
    locale,
    texts,
    warnings: notice === undefined ? [] : [notice],
  });
  this.process.stdout.write(
    flags.json ? `${JSON.stringify(report, null, 2)}\n` : forReader(asText(report, texts)),
  );
  this.process.exitCode = report.problems.length === 0
    ? EXIT.done
    : report.config.error
    ? EXIT.config
    : EXIT.failed;
}

async function tryConfig(paths: RunPaths): Promise<LoadedConfig | ConfigError> {
  try {
    return await loadTrustedConfig(paths, { ignoreUntrusted: true });
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
}

function asText(report: Report, texts: Texts["doctor"]): string {
  const { versions, permissions, paths, config, rules, providers, sandbox, sessions } = report;
  const section = (title: string, rows: readonly string[]) =>
    `${title}\n${rows.map((row) => `  ${row}\n`).join("")}`;
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
    section(texts.sandbox, [
      sandbox.summary,
      ...sandbox.rejected.map((row) => `${row.backend}: ${row.reason}`),
      ...listed(texts.withoutJail, sandbox.standing),
      ...listed(texts.withFullAccess, sandbox.fullAccess),
    ]),
    section(texts.sessions, [
      texts.sessionCount(sessions.count, size(sessions.bytes, texts), size(sessions.homeBytes, texts)),
    ]),
    report.problems.length === 0
      ? `${texts.noProblems}\n`
      : section(texts.problems, report.problems.map((text) => `✗ ${text}`)),
  ].join("\n");
}

function size(bytes: number, texts: Texts["doctor"]): string {
  if (bytes < 1000) return texts.bytes(bytes);
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

function listed(title: string, rows: readonly string[] = []): string[] {
  return rows.length === 0 ? [] : [title, ...rows.map((row) => `- ${row}`)];
}
