import { EXIT } from "../../../src/core/mod.ts";
import { diagnose, type Report } from "./report.ts";
import { languageOf } from "../../terminal/language.ts";
import type { CliContext } from "../../terminal/process.ts";
import { runPaths } from "../../terminal/working_directory.ts";

interface DoctorFlags {
  readonly json?: boolean;
  readonly online?: boolean;
  readonly dir?: string;
}

/** Looks at everything a run depends on and says what is wrong. Secrets never appear. */
export async function doctor(this: CliContext, flags: DoctorFlags): Promise<void> {
  const report = await diagnose(runPaths(this, flags.dir), {
    online: flags.online ?? false,
    locale: flags.json ? "en" : languageOf(this).locale,
  });
  this.process.stdout.write(flags.json ? `${JSON.stringify(report, null, 2)}\n` : asText(report));
  this.process.exitCode = report.problems.length === 0
    ? EXIT.done
    : report.config.error
    ? EXIT.config
    : EXIT.failed;
}

function asText(report: Report): string {
  const { versions, permissions, paths, config, providers, sandbox, sessions } = report;
  const section = (title: string, rows: readonly string[]) =>
    `${title}\n${rows.map((row) => `  ${row}\n`).join("")}`;
  return [
    section("Versions", Object.entries(versions).map(([name, value]) => `${name.padEnd(10)} ${value}`)),
    section(
      "Permissions of this program",
      Object.entries(permissions).filter(([, names]) => names.length > 0)
        .map(([name, names]) => `${name.padEnd(10)} ${names.join(", ")}`),
    ),
    section("Paths", Object.entries(paths).map(([name, value]) => `${name.padEnd(10)} ${value}`)),
    section("Configuration", [
      ...config.files.map((file) => `${file.found ? "found  " : "absent "} ${file.path}`),
      ...config.settings.map((row) => `${row.key} = ${row.value}  # ${row.origin}`),
      ...config.warnings.map((warning) => `! ${warning}`),
    ]),
    section(
      "Providers",
      providers.map((row) =>
        `${row.name}  ${row.models.join(", ") || "(no model)"}  key: ${row.key}${
          row.online ? `  ${row.online}` : ""
        }`
      ),
    ),
    section("Sandbox", [
      sandbox.summary,
      ...sandbox.rejected.map((row) => `${row.backend}: ${row.reason}`),
      ...listed("Still in force without a jail:", sandbox.standing),
      ...listed("In force with --permission-mode danger-full-access:", sandbox.fullAccess),
    ]),
    section("Sessions", [
      `${sessions.count} of this folder, ${size(sessions.bytes)}; ${size(sessions.homeBytes)} in the home`,
    ]),
    report.problems.length === 0
      ? "No problems found\n"
      : section("Problems", report.problems.map((text) => `✗ ${text}`)),
  ].join("\n");
}

function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

function listed(title: string, rows: readonly string[] = []): string[] {
  return rows.length === 0 ? [] : [title, ...rows.map((row) => `- ${row}`)];
}
