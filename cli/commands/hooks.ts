import { argument, type CommandGroup, entry, type FlagsOf, JSON_FLAG, option } from "../command.ts";
import { textsFor } from "../terminal/language.ts";
import { forReader } from "../terminal/narrow.ts";
import { type CliContext, runPaths } from "../terminal/process.ts";
import { loadHookList } from "../../src/features/mod.ts";
import { loadTrustedConfig } from "../../src/run/mod.ts";
import { EXIT, formatLocation } from "../../src/core/mod.ts";
import { loadLists } from "../../src/reports/mod.ts";
import { oneLine } from "../../src/util/terminal_text.ts";

/** The hooks of this directory with location and trust, in the order in which their answers count. */
async function list(this: CliContext, flags: { readonly json?: boolean }): Promise<void> {
  const paths = runPaths(this);
  const loaded = await loadTrustedConfig(paths, { ignoreUntrusted: true });
  const rows = await (await loadHookList()).hookRows(loaded, paths);
  const { stdout, stderr } = this.process;
  if (flags.json) return stdout.json(rows);
  const { hooksText } = await loadLists();
  stdout.write(forReader(hooksText(rows, await textsFor("report_commands", this, loaded))));
  for (const { message, place } of loaded.warnings.filter(({ message }) => /hook/i.test(message))) {
    stderr.write(`! ${place ? `${formatLocation(place)}: ` : ""}${message}\n`);
  }
}

const TEST_FLAGS = {
  tool: option("Tool of the made-up call, such as Edit (default: Bash)", "tool"),
  input: option("JSON: its arguments, or fields of the event", "json"),
  json: JSON_FLAG,
};

/** Runs the hooks of an event with a made-up input and shows what they decide. */
async function test(
  this: CliContext,
  { tool, input, json }: FlagsOf<typeof TEST_FLAGS>,
  event: string,
): Promise<void> {
  const paths = runPaths(this);
  const loaded = await loadTrustedConfig(paths, { ignoreUntrusted: true });
  const { tryHooks } = await loadHookList();
  const signal = new AbortController().signal;
  const tried = await tryHooks({ event, tool, input }, { loaded, paths, signal });
  const { stdout } = this.process;
  this.process.exitCode = tried.verdict?.decision === "deny" || tried.verdict?.stop !== undefined
    ? EXIT.blocked
    : EXIT.done;
  if (json) {
    stdout.json(tried);
    return;
  }
  stdout.write(`input: ${JSON.stringify(tried.input)}\n`);
  for (const { command, outcome, decision, durationMs, text } of tried.runs) {
    const facts = [outcome, ...(decision ? [decision] : []), `${durationMs} ms`].join(" · ");
    stdout.write(
      `${oneLine(command, 200)}\n  ${facts}${text ? `: ${oneLine(text, 400)}` : ""}\n`,
    );
  }
  for (const notice of tried.notices) stdout.write(`! ${notice}\n`);
  stdout.write(`${decided(tried.verdict).join("\n")}\n`);
}

function decided(
  verdict: Awaited<ReturnType<Awaited<ReturnType<typeof loadHookList>>["tryHooks"]>>["verdict"],
): string[] {
  if (!verdict) return ["No hook is meant by this"];
  const { decision, reason, stop, updatedInput, contexts } = verdict;
  return [
    `decision: ${decision ?? "none"}${reason ? ` (${reason})` : ""}`,
    ...(stop === undefined ? [] : [`ends the run: ${stop}`]),
    ...(updatedInput === undefined ? [] : [`updatedInput: ${JSON.stringify(updatedInput)}`]),
    ...contexts.map((text) => `tells the model: ${text}`),
  ];
}

export const hooksCommands: CommandGroup = {
  commands: {
    list: entry("List the hooks of this directory", { flags: { json: JSON_FLAG }, run: list }),
    test: entry("Run the hooks of an event with a made-up input", {
      flags: TEST_FLAGS,
      args: [argument("Event, such as PreToolUse", "event")],
      run: test,
    }),
  },
};
