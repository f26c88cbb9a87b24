import { forEachChild, type SyntaxNode } from "unbash";
import { ANY, ONE, SEP, STAR } from "../../rule/mod.ts";
import { parseScript } from "./parse.ts";
import { deedText } from "./deeds.ts";
import { type Effects, type FileUse, type Line, program } from "./types.ts";

/** Tells what the three passes understood of a line, as text for people. */
export interface LineDescription {
  readonly parse: readonly string[];
  readonly expand: readonly string[];
  readonly effects: readonly string[];
}

/** Describes a line pass by pass, for `permissions check --explain`. */
export function describeLine(source: string, line: Line): LineDescription {
  return {
    parse: outline(parseScript(source).tree, source, 0),
    expand: line.commands.map(commandText),
    effects: [
      ...line.commands.map(effectsText),
      ...line.dynamic === undefined ? [] : [`the line as a whole is dynamic: ${line.dynamic}`],
    ],
  };
}

/** Nodes that only group others, or that are parts of a word. */
const UNSHOWN =
  /^(?:Script|Statement|CompoundList|Word|Literal|\w*Quoted|AnsiCQuoted|Glob|Redirect|Assignment)$/;

function outline(node: SyntaxNode, source: string, depth: number): string[] {
  const shown = !UNSHOWN.test(node.type);
  const lines = shown
    ? [`${"  ".repeat(depth)}${node.type}: ${brief(source.slice(node.pos, node.end))}`]
    : [];
  forEachChild(node, (child) => void lines.push(...outline(child, source, depth + (shown ? 1 : 0))));
  return lines;
}

function brief(text: string): string {
  const line = readable(text).replace(/\s+/g, " ").trim();
  return line.length > 100 ? `${line.slice(0, 99)}…` : line;
}

function readable(text: string): string {
  return text.replaceAll(ANY, "…").replaceAll(STAR, "*").replaceAll(ONE, "?").replaceAll(SEP, " ");
}

function commandText({ command }: Effects): string {
  const { argv, assigns, input, cwds, supply } = command;
  const words = argv.map((word) => JSON.stringify(readable(word))).join(" ");
  return [
    words === "" ? `(no program) ${brief(command.text)}` : words,
    ...assigns.map(({ name, value }) => `sets ${name} to ${brief(value)}`),
    ...(input.kind === "inherited" ? [] : [`input: ${input.kind}`]),
    ...(supply ? [`words from ${supply.folders.map(readable).join(", ")}`] : []),
    `in ${cwds?.map(readable).join(" or ") ?? "an unknown directory"}`,
  ].join("; ");
}

function effectsText(effects: Effects): string {
  const { via, reads, writes, network, destructive, dynamic, guarded, risk, readOnly, command } = effects;
  const paths = (uses: readonly FileUse[]) => uses.map(({ path }) => brief(path)).join(", ");
  const runs = program(effects).map(readable).join(" ");
  return [
    runs === "" ? brief(command.text) : `runs ${brief(runs)}`,
    ...(via.length > 0 ? [`through ${via.join(", ")}`] : []),
    ...(reads.length > 0 ? [`reads ${paths(reads)}`] : []),
    ...(writes.length > 0 ? [`writes ${paths(writes)}`] : []),
    ...(network ? ["uses the network"] : []),
    ...destructive.map(({ deed, paths }) =>
      `may destroy: ${deedText(deed)} ${paths?.map(brief).join(", ") ?? ""}`.trim()
    ),
    ...[dynamic, guarded, risk].flatMap((reason) => reason === undefined ? [] : [reason]),
    ...(readOnly ? ["only reads"] : []),
  ].join("; ");
}
