import { type Block, spendingLine, type ToolBlock, type Transcript } from "./transcript.ts";
import { oneLine } from "../../util/terminal_text.ts";

/** The session as a Markdown page. */
export function toMarkdown({ title, state, blocks }: Transcript): string {
  const facts = [
    state.session && `Session ${state.session}`,
    state.created,
    state.cwd && code(state.cwd),
    state.model && code(state.model),
  ].filter((fact) => fact);
  const parts = [
    `# ${oneLine(title, Infinity)}`,
    facts.join(" · "),
    spendingLine(state),
    ...blockTexts(blocks),
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

/** The texts of all blocks. Who speaks is said once for all steps of a turn. */
function blockTexts(blocks: readonly Block[]): string[] {
  let speaker = "";
  return blocks.map((block) => {
    const begins = speaker !== "assistant";
    if (block.kind === "assistant" || block.kind === "user" || block.kind === "turn") speaker = block.kind;
    return blockText(block, begins);
  });
}

function blockText(block: Block, begins: boolean): string {
  switch (block.kind) {
    case "turn":
      return `## Turn ${block.turn}`;
    case "user": {
      const images = block.images > 0 ? `\n\n_${block.images} image(s)_` : "";
      return `### You\n\n${quoted(block.text)}${images}`;
    }
    case "harness":
      return details(`Harness (${block.origin})`, fenced(block.text, ""));
    case "assistant": {
      const thought = block.reasoning === ""
        ? ""
        : `${details("Reasoning", fenced(block.reasoning, ""))}\n\n`;
      const end = block.interrupted ? "\n\n_interrupted_" : "";
      const heading = begins ? "### Reasonix\n\n" : "";
      return `${heading}${thought}${closed(block.text)}${end}`.trimEnd();
    }
    case "tool":
      return toolText(block);
    case "note":
      return `> ${oneLine(block.text, Infinity)}`;
  }
}

function toolText(block: ToolBlock): string {
  const diffs = block.diffs.map((diff) => fenced(diff, "diff"));
  const parts = [fenced(block.arguments, "json"), ...diffs, fenced(block.output, "")];
  return details(`${block.name}: ${block.outcome}, ${oneLine(block.summary, Infinity)}`, parts.join("\n\n"));
}

function details(summary: string, body: string): string {
  const safe = summary.replace(
    /[&<>]/g,
    (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[sign] ?? sign,
  );
  return `<details>\n<summary>${safe}</summary>\n\n${body}\n\n</details>`;
}

/** A fence longer than any in the text, so that nothing in it can end it. */
function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text.replace(/\n$/, "")}\n${fence}`;
}

/** Quotes what a person typed, which may be anything; as a quotation nothing in it reaches beyond it. */
function quoted(text: string): string {
  return text.split("\n").map((line) => `> ${line}`.trimEnd()).join("\n");
}

/** A reply that broke off inside a code block would take the rest of the page into it. */
function closed(text: string): string {
  let open = "";
  for (const [, fence = "", rest = ""] of text.matchAll(/^ {0,3}(`{3,}|~{3,})(.*)$/gm)) {
    if (open === "") open = fence;
    else if (fence.startsWith(open) && rest.trim() === "") open = "";
  }
  return open === "" ? text : `${text}\n${open}`;
}

function code(text: string): string {
  return text.includes("`") ? text : `\`${text}\``;
}
