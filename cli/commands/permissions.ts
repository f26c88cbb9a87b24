import { buildAccessScope, buildRegistry, gateOptions, SandboxSession } from "../../src/assembly/mod.ts";
import { formatProblem, loadConfig, sourceOf } from "../../src/config/mod.ts";
import { EXIT, formatPlace, type PreparedCall, ReasonixError } from "../../src/core/mod.ts";
import { createGate, type Explanation, type PermissionMode } from "../../src/permission/mod.ts";
import { BUILTINS, preparedCall, type Tool, type ToolRegistry } from "../../src/tool/mod.ts";
import { terminalSafe } from "../../src/util/terminal_text.ts";
import type { CliContext } from "../terminal/process.ts";
import { runPaths } from "../terminal/working_directory.ts";

interface CheckFlags {
  readonly json?: boolean;
  readonly explain?: boolean;
  readonly tool?: string;
  readonly permissionMode?: PermissionMode;
}

/**
 * Explains what would happen to a command (or to another tool's call): segments, rules, origins, decision.
 */
export async function check(this: CliContext, flags: CheckFlags, subject: string): Promise<void> {
  const paths = runPaths(this);
  const loaded = await loadConfig(paths);
  const { permissionMode } = flags;
  const scope = buildAccessScope(paths, loaded.config, permissionMode);
  const jail = new SandboxSession({ paths, loaded, workspace: scope.workspace, unconfined: scope.full });
  const record = () => {};
  const gate = createGate(
    gateOptions({ paths, loaded, scope, openJail: jail.open, onAsk: undefined, permissionMode, record }),
  );
  for (const warning of loaded.warnings) this.process.stderr.write(`! ${formatProblem(warning)}\n`);
  const registry = buildRegistry(loaded.config, { builtin: BUILTINS.map(({ name }) => name) });
  const { passes, ...explanation } = await gate.explain(
    await callOf(registry, flags.tool ?? "bash", subject),
  )
    .finally(() => jail.close());
  const shown = flags.explain && passes ? { ...explanation, passes } : explanation;
  this.process.stdout.write(flags.json ? `${JSON.stringify(shown, null, 2)}\n` : explanationText(shown));
  this.process.exitCode = explanation.headless === "allow" ? EXIT.done : EXIT.blocked;
}

/**
 * The call of a tool, as the registry of a run prepares it: from JSON, or from the one argument that matters
 * most.
 */
async function callOf(registry: ToolRegistry, name: string, subject: string): Promise<PreparedCall> {
  const tool = registry.get(name);
  if (!tool) {
    throw new ReasonixError(`Unknown tool "${name}"`, {
      exit: "usage",
      remedy: `use one of ${registry.tools().map((candidate) => candidate.name).join(", ")}`,
    });
  }
  const call = { id: "check", name, arguments: subject };
  if (!/^\s*\{/.test(subject) || tool.command) {
    const args = { [argumentOf(tool, subject)]: subject };
    return preparedCall({ ...call, arguments: JSON.stringify(args) }, tool, args);
  }
  const prepared = await registry.prepare(call);
  if (typeof prepared === "string") throw new ReasonixError(prepared, { exit: "usage" });
  return prepared;
}

/** The argument that names what the tool works on. */
function argumentOf(tool: Tool, subject: string): string {
  const properties = Object.keys((tool.schema.properties ?? {}) as Record<string, unknown>);
  const required = Array.isArray(tool.schema.required) ? tool.schema.required.map(String) : [];
  const path = properties.find((key) =>
    [...tool.reads?.({ [key]: subject }) ?? [], ...tool.writes?.({ [key]: subject }) ?? []].includes(subject)
  );
  return path ?? required[0] ?? properties[0] ?? "path";
}

function explanationText(explanation: Explanation): string {
  const origin = (text?: string) => text === undefined ? "" : ` (${text})`;
  const lines = [
    `${explanation.decision}: ${explanation.reason}`,
    `  decided by ${explanation.source}${
      explanation.rule ? `, rule ${explanation.rule}${origin(explanation.origin)}` : ""
    }`,
    `  with nobody to ask: ${explanation.headless}`,
    ...(explanation.unparsable === undefined ? [] : [`  could not be parsed: ${explanation.unparsable}`]),
    ...explanation.segments.map((segment) => {
      const via = segment.via.length > 0 ? ` (through ${segment.via.join(", ")})` : "";
      return `  · ${segment.text}${via}: ${segment.outcome}, ${segment.reason}${origin(segment.origin)}`;
    }),
    ...explanation.destructive.flatMap((finding) => [
      `  ! ${finding.command}: ${finding.reason}`,
      ...finding.targets.map((target) =>
        `      ${target.path}${
          target.files === undefined ? "" : `, ${target.files}${target.more ? "+" : ""} files`
        }`
      ),
    ]),
    ...(explanation.always === undefined ? [] : [`  "always" would save: ${explanation.always}`]),
    ...(explanation.alwaysPrefix === undefined ? [] : [`  or, wider: ${explanation.alwaysPrefix}`]),
    ...Object.entries(explanation.passes ?? {}).flatMap(([name, found]) => [
      `  ${name}:`,
      ...found.map((text: string) => `    ${text}`),
    ]),
  ];
  return lines.map((line) => `${terminalSafe(line)}\n`).join("");
}

/** Lists the rules in force with their place. */
export async function list(this: CliContext): Promise<void> {
  const loaded = await loadConfig(runPaths(this));
  this.process.stdout.write(`mode ${loaded.config.permissions.mode}\n`);
  for (const name of ["deny", "ask", "allow"] as const) {
    for (const [index, rule] of loaded.config.permissions[name].entries()) {
      const { file, line, column } = sourceOf(loaded, `permissions.${name}[${index}]`);
      const place = file === undefined
        ? ""
        : formatPlace({ file, ...(line ? { line } : {}), ...(column ? { column } : {}) });
      this.process.stdout.write(`${name.padEnd(5)} ${rule}  ${place}\n`);
    }
  }
}
