/**
 * Line coverage of the packages with a limit, from the raw data of `deno test --coverage`. Alone:
 * `deno task cov` prints the last run's table.
 */
import { run, say } from "./process.ts";
import { missingPaths } from "./test_stages.ts";

/** Packages that must not fall below their percentage. */
const REQUIRED: Readonly<Record<string, number>> = {
  agent: 85,
  config: 85,
  core: 85,
  mcp: 85,
  path: 90,
  permission: 90,
  provider: 85,
  rule: 90,
  sandbox: 85,
  session: 85,
  tool: 85,
};

export interface Lines {
  readonly hit: number;
  readonly found: number;
}

export interface CoverageReport {
  readonly table: string;
  readonly problems: readonly string[];
}

/** Lines per package of an LCOV file. A package is a directory of `src`, or a top directory such as `cli`. */
export function linesByPackage(lcov: string, root: string): Map<string, Lines> {
  const packages = new Map<string, Lines>();
  let name: string | undefined;
  for (const line of lcov.split("\n")) {
    if (line.startsWith("SF:")) name = packageOf(line.slice(3), root);
    const field = /^(LF|LH):(\d+)/.exec(line);
    if (field === null || name === undefined) continue;
    const old = packages.get(name) ?? { hit: 0, found: 0 };
    const count = Number(field[2]);
    packages.set(
      name,
      field[1] === "LF" ? { ...old, found: old.found + count } : { ...old, hit: old.hit + count },
    );
  }
  return packages;
}

function packageOf(file: string, root: string): string | undefined {
  if (!file.startsWith(root)) return undefined;
  const [top, second] = file.slice(root.length).replaceAll("\\", "/").replace(/^\/+/, "").split("/");
  return top === "src" ? second : top === "cli" || top === "plugins" ? top : undefined;
}

/**
 * The table of these packages and a line for each that fell short. Packages that are not there yet are not
 * asked for.
 */
export async function coverageReport(rawDir: string): Promise<CoverageReport> {
  await dropTornFiles(rawDir);
  const done = await run(Deno.execPath(), { args: ["coverage", "--quiet", "--lcov", rawDir] });
  if (done.code !== 0) return { table: done.output, problems: [`Cannot compute coverage from ${rawDir}`] };
  const packages = linesByPackage(done.output, Deno.cwd());
  // Of other packages not all tests are measured.
  const limited = [...packages].filter(([name]) => name in REQUIRED);
  const rows = limited.sort(([a], [b]) => a < b ? -1 : 1).map(([name, lines]) =>
    `${name.padEnd(12)} ${percent(lines).toFixed(1).padStart(5)} %  ${lines.hit}/${lines.found} lines`
  );
  const problems: string[] = [];
  for (const [name, least] of Object.entries(REQUIRED)) {
    if ((await missingPaths([`src/${name}`])).length > 0) continue;
    const reached = percent(packages.get(name) ?? { hit: 0, found: 0 });
    if (reached < least) {
      problems.push(
        `Line coverage of src/${name} is ${reached.toFixed(1)} %; at least ${least} % is required`,
      );
    }
  }
  return { table: rows.join("\n"), problems };
}

/**
 * Takes away what a killed child process left half written; `deno coverage` would refuse the whole directory
 * for it.
 */
export async function dropTornFiles(rawDir: string): Promise<void> {
  if ((await missingPaths([rawDir])).length > 0) return;
  for await (const entry of Deno.readDir(rawDir)) {
    const path = `${rawDir}/${entry.name}`;
    if (!entry.isFile || !entry.name.endsWith(".json")) continue;
    try {
      JSON.parse(await Deno.readTextFile(path));
    } catch {
      await Deno.remove(path);
    }
  }
}

function percent(lines: Lines): number {
  return lines.found === 0 ? 0 : (100 * lines.hit) / lines.found;
}

if (import.meta.main) {
  const report = await coverageReport(Deno.args[0] ?? "coverage/raw");
  say([report.table, ...report.problems].join("\n"));
}
