import {
  argument,
  choice,
  type CommandGroup,
  entry,
  flag,
  type FlagsOf,
  JSON_FLAG,
  option,
} from "../command.ts";
import { PERMISSION_MODES } from "../run_flags.ts";
import { forReader } from "../terminal/narrow.ts";
import { type CliContext, runPaths } from "../terminal/process.ts";
import { loadServerWork } from "../../src/features/mod.ts";
import {
  buildAccessScope,
  buildRegistry,
  gateOptions,
  loadTrustedConfig,
  type RunPaths,
  SandboxSession,
} from "../../src/run/mod.ts";
import { formatProblem, loadConfig, type LoadedConfig } from "../../src/config/mod.ts";
import { EXIT, type PreparedCall, usageError } from "../../src/core/mod.ts";
import { createGate, type Explanation } from "../../src/permission/mod.ts";
import { loadLists } from "../../src/reports/mod.ts";
import { BUILTINS, preparedCall, type Tool, type ToolRegistry } from "../../src/tool/mod.ts";

const CHECK_FLAGS = {
  json: JSON_FLAG,
  explain: flag("Also print how the command line was parsed"),
  tool: option("Judge a call of this tool; default: bash", "name"),
  permissionMode: choice("Judge in this mode", PERMISSION_MODES),
};

type CheckFlags = FlagsOf<typeof CHECK_FLAGS>;

/**
 * Explains what would happen to a command (or to another tool's call): segments, rules, origins, decision.
 */
async function check(this: CliContext, flags: CheckFlags, subject: string): Promise<void> {
  const paths = runPaths(this);
  const loaded = await loadTrustedConfig(paths, { ignoreUntrusted: true });
  for (const warning of loaded.warnings) {
    this.process.stderr.write(`! ${formatProblem(warning)}\n`);
  }
  const { passes, ...explanation } = await explain(paths, loaded, flags, subject);
  const widened = await afterTrust(paths, loaded, flags, subject);
  const shown = {
    ...explanation,
    ...(flags.explain && passes ? { passes } : {}),
    ...(widened && widened.decision !== explanation.decision ? { afterTrust: afterTrustPart(widened) } : {}),
  };
  const { stdout } = this.process;
  if (flags.json) stdout.json(shown);
  else stdout.write(forReader(explanationText(shown)));
  this.process.exitCode = explanation.headless === "allow" ? EXIT.done : EXIT.blocked;
}

async function explain(
  paths: RunPaths,
  loaded: LoadedConfig,
  { permissionMode, tool = "bash" }: CheckFlags,
  subject: string,
): Promise<Explanation> {
  const scope = buildAccessScope(paths, loaded.config, permissionMode);
  const jail = new SandboxSession({ paths, loaded, workspace: scope.workspace, unconfined: scope.full });
  const record = () => {};
  const gate = createGate(
    gateOptions({ paths, loaded, scope, openJail: jail.open, onAsk: undefined, permissionMode, record }),
  );
  const registry = buildRegistry(loaded.config, { builtin: BUILTINS.map(({ name }) => name) });
  if (tool.startsWith("mcp_") && loaded.config.plugins.length > 0) {
    const { withServers } = await loadServerWork();
    // Servers that a run has met are known; nothing is started for a look at rules.
    await withServers({ paths, loaded }, (servers) => {
      registry.setPluginTools(servers.tools());
      return Promise.resolve();
    });
  }
  try {
    return await gate.explain(await callOf(registry, tool, subject));
  } finally {
    await jail.close();
  }
}

/** The decision with the rules of the project that need `reasonix trust`. */
async function afterTrust(
  paths: RunPaths,
  loaded: LoadedConfig,
  flags: CheckFlags,
  subject: string,
): Promise<Explanation | undefined> {
  if (!loaded.needsTrust.some(({ kind }) => kind === "widening")) return undefined;
  const trusted = await loadConfig({ ...paths, trust: ({ kind }) => kind === "widening" });
  return await explain(paths, trusted, flags, subject);
}

type TrustedOutcome = Pick<Explanation, "decision" | "rule" | "origin">;

function afterTrustPart({ decision, segments, ...whole }: Explanation): TrustedOutcome {
  const { rule, origin } = whole.rule === undefined ? segments.find((each) => each.rule) ?? {} : whole;
  return {
    decision,
    ...(rule === undefined ? {} : { rule }),
    ...(origin === undefined ? {} : { origin: origin.replace(/, trusted$/, "") }),
  };
}

/**
 * The call of a tool, as the registry of a run prepares it: from JSON, or from the one argument that matters
 * most.
 */
async function callOf(registry: ToolRegistry, name: string, subject: string): Promise<PreparedCall> {
  const tool = registry.get(name);
  if (!tool) {
    throw usageError(
      `Unknown tool "${name}"`,
      `use one of ${registry.tools().map((candidate) => candidate.name).join(", ")}`,
    );
  }
  const call = { id: "check", name, arguments: subject };
  if (!/^\s*\{/.test(subject) || tool.command) {
    const args = { [argumentOf(tool, subject)]: subject };
    return preparedCall({ ...call, arguments: JSON.stringify(args) }, tool, args);
  }
  const prepared = await registry.prepare(call);
  if (typeof prepared === "string") throw usageError(prepared);
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

function explanationText(explanation: Explanation & { readonly afterTrust?: TrustedOutcome }): string {
  const origin = (text?: string) => text === undefined ? "" : ` (${text})`;
  const lines = [
    `${explanation.decision}: ${explanation.reason}`,
    `  decided by ${explanation.source}${
      explanation.rule ? `, rule ${explanation.rule}${origin(explanation.origin)}` : ""
    }`,
    `  with nobody to ask: ${explanation.headless}`,
    ...(explanation.afterTrust === undefined ? [] : [afterTrustLine(explanation.afterTrust)]),
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
  return lines.map((line) => `${line}\n`).join("");
}

function afterTrustLine({ decision, rule, origin }: TrustedOutcome): string {
  const cause = rule === undefined ? "" : `, rule ${rule}${origin === undefined ? "" : ` (${origin})`}`;
  return `  after \`reasonix trust\`: ${decision}${cause}`;
}

/** Lists the rules in force with their place, and those of the project that wait for a decision. */
async function list(this: CliContext): Promise<void> {
  const loaded = await loadTrustedConfig(runPaths(this), { ignoreUntrusted: true });
  for (const warning of loaded.warnings) {
    this.process.stderr.write(`! ${formatProblem(warning)}\n`);
  }
  this.process.stdout.write(await (await loadLists()).rulesText(loaded));
}

export const permissionsCommands: CommandGroup = {
  commands: {
    check: entry("Explain what would happen to a call", {
      flags: CHECK_FLAGS,
      args: [argument("Command line, or path for a file tool", "subject")],
      run: check,
    }),
    list: entry("List the rules and their files", { run: list }),
  },
};
