import type { Texts } from "../../i18n/mod.ts";
import type { McpServer, ServerStatus } from "../../mcp/mod.ts";
import { oneLine, terminalSafe } from "../../util/terminal_text.ts";
import { rowsText } from "../rows.ts";

type ServerTexts = Texts["mcp_commands"];

/** One line: the state of a server, what it offers, and what is wrong. */
export function stateText(status: ServerStatus, texts: ServerTexts): string {
  const { state, detail, lastFailure, tools, prompts, resources, problems, restarts } = status;
  const counts = texts.counts;
  const parts = [
    texts.states[state],
    ...(tools > 0 ? [counts.tools(tools)] : []),
    ...(prompts > 0 ? [counts.prompts(prompts)] : []),
    ...(resources > 0 ? [counts.resources(resources)] : []),
    ...(problems.length > 0 ? [counts.problems(problems.length)] : []),
    ...(restarts > 0 ? [counts.restarts(restarts)] : []),
  ].join(" · ");
  const why = detail ?? (state === "idle" ? lastFailure && texts.lastTime(lastFailure) : undefined);
  return why === undefined ? parts : oneLine(texts.because(parts, why), 400);
}

/** All servers, a line each; those that wait for trust at the end. */
export function listText(
  all: readonly ServerStatus[],
  waiting: readonly string[],
  texts: ServerTexts,
): string {
  return rowsText([
    ...all.map((status) => [oneLine(status.name, 60), stateText(status, texts)] as const),
    ...waiting.map((name) => [oneLine(name, 60), texts.waitsForTrust] as const),
  ]);
}

/** The raw name of a tool, and its short name. */
function toolText(name: string, { aliases }: McpServer["spec"]): string {
  const alias = aliases.get(name);
  return alias === undefined ? name : `${name} (${alias})`;
}

/** Everything about one server. */
export function detailText({ status, listing, spec }: McpServer, texts: ServerTexts): string {
  const { about, protocol, problems, log } = status;
  const { fields } = texts;
  const rows = rowsText([
    [fields.state, stateText(status, texts)],
    [fields.server, about && oneLine(`${about.name} ${about.version}`)],
    [fields.protocol, protocol && `MCP ${protocol}, ${spec.type}`],
    [
      fields.command,
      spec.type === "stdio" ? oneLine([spec.command, ...spec.args].join(" "), 300) : undefined,
    ],
    [fields.address, spec.type === "stdio" ? undefined : spec.url],
    [
      fields.tools,
      listing.tools.filter(({ name }) => spec.offers(name)).map(({ name }) => toolText(name, spec)).join(
        ", ",
      ),
    ],
    [fields.prompts, listing.prompts.map(({ name }) => name).join(", ")],
    [fields.resources, [...listing.resources, ...listing.templates].map(({ uri }) => uri).join(", ")],
    [fields.log, log],
  ]);
  const wrong = problems.map((problem) => `! ${terminalSafe(problem)}\n`).join("");
  return rows + wrong;
}
