import { argument, choice, type CommandGroup, entry, flag, JSON_FLAG, option } from "../command.ts";
import { PERMISSION_MODES } from "../run_flags.ts";
import { forReader } from "../terminal/narrow.ts";
import { openConfig } from "../terminal/open.ts";
import { loadConfig, type LoadedConfig } from "../../src/config/mod.ts";
import { EXIT, message, type PreparedCall, usageError } from "../../src/core/mod.ts";
import { loadServerWork } from "../../src/features/mod.ts";
import type { Explanation } from "../../src/permission/mod.ts";
import { loadLists } from "../../src/reports/mod.ts";
import { buildRegistry, type RunPaths } from "../../src/run/mod.ts";
import { BUILTINS, preparedCall, type Tool, type ToolRegistry } from "../../src/tool/mod.ts";
import { defined } from "../../src/util/json.ts";
import { explainCall } from "../explain_call.ts";

interface Question {
  readonly paths: RunPaths;
  readonly subject: string;
  readonly tool?: string | undefined;
  readonly permissionMode?: (typeof PERMISSION_MODES)[number] | undefined;
}

export const permissionsCommands: CommandGroup = {
  commands: {
    check: entry("Explain what would happen to a call", {
      flags: {
        json: JSON_FLAG,
        explain: flag("Also print how the command line was parsed"),
        tool: option("Judge a call of this tool; default: bash", "name"),
        permissionMode: choice("Judge in this mode", PERMISSION_MODES),
      },
      args: [argument("Command line, or path for a file tool", "subject")],
      async run({ json, explain: isLong, tool, permissionMode }, subject) {
        const { paths, loaded } = await openConfig(this, { warn: true });
        const question = { paths, subject, tool, permissionMode };
        const { passes, ...explanation } = await explain(question, loaded);
        const trusted = await explainTrusted(question, loaded);
        const shown = {
          ...explanation,
          ...(isLong ? defined({ passes }) : {}),
          ...(trusted && trusted.decision !== explanation.decision ? { afterTrust: trusted } : {}),
        };
        const { stdout } = this.process;
        if (json) stdout.json(shown);
        else stdout.write(forReader(explanationText(shown)));
        this.process.exitCode = explanation.headless === "allow" ? EXIT.done : EXIT.blocked;
      },
    }),
    list: entry("List the rules and their files", {
      async run() {
        const { loaded } = await openConfig(this, { warn: true });
        this.process.stdout.write(await (await loadLists()).rulesText(loaded));
      },
    }),
  },
};

async function explain(
  { paths, subject, tool = "bash", permissionMode }: Question,
  loaded: LoadedConfig,
): Promise<Explanation> {
  const registry = buildRegistry(loaded.config, { builtin: BUILTINS.map(({ name }) => name) });
  if (tool.startsWith("mcp_") && loaded.config.plugins.length > 0) {
    const { withServers } = await loadServerWork();
    // Servers that a run has met are known; nothing is started for a look at rules.
    await withServers({ paths, loaded }, (servers) => {
      registry.setPluginTools(servers.tools());
      return Promise.resolve();
    });
  }
  return await explainCall(await callOf(registry, tool, subject), { paths, loaded, permissionMode });
}

type TrustedOutcome = Pick<Explanation, "decision" | "rule" | "origin">;

/** The decision with the rules of the project that need `reasonix trust`. */
async function explainTrusted(
  question: Question,
  loaded: LoadedConfig,
): Promise<TrustedOutcome | undefined> {
  if (!loaded.needsTrust.some(({ kind }) => kind === "widening")) return undefined;
  const trusted = await loadConfig({ ...question.paths, trust: ({ kind }) => kind === "widening" });
  const { decision, segments, ...whole } = await explain(question, trusted);
  const { rule, origin } = whole.rule === undefined ? segments.find((each) => each.rule) ?? {} : whole;
  return { decision, ...defined({ rule, origin: origin?.replace(/, trusted$/, "") }) };
}

/** The prepared call of a tool: from JSON, or from the argument that matters most. */
async function callOf(registry: ToolRegistry, name: string, subject: string): Promise<PreparedCall> {
  const tool = registry.get(name);
  if (!tool) {
    const names = registry.tools().map((candidate) => candidate.name).join(", ");
    throw usageError(message`Unknown tool "${name}"`, message`use one of ${names}`);
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
function argumentOf({ schema, reads, writes }: Tool, subject: string): string {
  const properties = Object.keys((schema.properties ?? {}) as Record<string, unknown>);
  const required = Array.isArray(schema.required) ? schema.required.map(String) : [];
  const path = properties.find((key) =>
    [...reads?.({ [key]: subject }) ?? [], ...writes?.({ [key]: subject }) ?? []].includes(subject)
  );
  return path ?? required[0] ?? properties[0] ?? "path";
}

function explanationText(explanation: Explanation & { readonly afterTrust?: TrustedOutcome }): string {
  const originOf = (text?: string) => text === undefined ? "" : ` (${text})`;
  const ruleOf = ({ rule, origin }: Pick<Explanation, "rule" | "origin">) =>
    rule ? `, rule ${rule}${originOf(origin)}` : "";
  const { decision, reason, source, headless, afterTrust, unparsable, always, alwaysPrefix } = explanation;
  const lines = [
    `${decision}: ${reason}`,
    `  decided by ${source}${ruleOf(explanation)}`,
    `  without a prompt: ${headless}`,
    ...(afterTrust ? [`  after \`reasonix trust\`: ${afterTrust.decision}${ruleOf(afterTrust)}`] : []),
    ...(unparsable === undefined ? [] : [`  could not be parsed: ${unparsable}`]),
    ...explanation.segments.map(({ text, via, outcome, reason, origin }) => {
      const through = via.length > 0 ? ` (through ${via.join(", ")})` : "";
      return `  · ${text}${through}: ${outcome}, ${reason}${originOf(origin)}`;
    }),
    ...explanation.destructive.flatMap(({ command, reason, targets }) => [
      `  ! ${command}: ${reason}`,
      ...targets.map(({ path, files, more }) =>
        `      ${path}${files === undefined ? "" : `, ${files}${more ? "+" : ""} files`}`
      ),
    ]),
    ...(always === undefined ? [] : [`  "always" would save: ${always}`]),
    ...(alwaysPrefix === undefined ? [] : [`  or, wider: ${alwaysPrefix}`]),
    ...Object.entries(explanation.passes ?? {}).flatMap(([name, found]) => [
      `  ${name}:`,
      ...found.map((text: string) => `    ${text}`),
    ]),
  ];
  return lines.map((line) => `${line}\n`).join("");
}
