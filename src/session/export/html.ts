import { escapeHtml, markdownHtml } from "./markdown_html.ts";
import { type Block, spendingLine, type ToolBlock, type Transcript } from "./transcript.ts";

const STYLE: Readonly<Record<string, string>> = {
  ":root": "color-scheme: light dark; --line: #8884; --soft: #8881",
  "body": "font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem",
  "h2": "border-top: 1px solid var(--line); padding-top: 1rem; font-size: 1rem",
  ".facts, .note": "color: #777; font-size: .875rem",
  ".user, .assistant": "overflow-wrap: anywhere; margin: 1rem 0",
  ".assistant table": "border-collapse: collapse",
  ".assistant :is(td, th)": "border: 1px solid var(--line); padding: .25rem .5rem",
  ".assistant :is(h1, h2, h3)": "border: 0; padding: 0; font-size: 1.125rem",
  ".user": "white-space: pre-wrap; background: var(--soft); border-radius: .5rem; padding: .75rem 1rem",
  "details": "border: 1px solid var(--line); border-radius: .5rem; margin: .5rem 0; padding: .25rem .75rem",
  "summary": "cursor: pointer; font: .875rem ui-monospace, monospace",
  "pre": "white-space: pre-wrap; overflow-wrap: anywhere; font-size: .8125rem",
  ".add": "color: #187c2f",
  ".del": "color: #b3261e",
};

/** Nothing is loaded and nothing runs, whatever the session holds. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'";

/** The session as one HTML page that needs nothing else and runs nothing. */
export function toHtml({ title, state, blocks }: Transcript): string {
  const facts = [state.session, state.created, state.cwd, state.model, spendingLine(state)];
  const head = [
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<meta http-equiv="Content-Security-Policy" content="${POLICY}">`,
    `<title>${escapeHtml(title)}</title>`,
    `<style>\n${Object.entries(STYLE).map(([name, rules]) => `${name} { ${rules} }\n`).join("")}</style>`,
  ];
  const body = [
    `<h1>${escapeHtml(title)}</h1>`,
    `<p class="facts">${
      facts.map((fact) => escapeHtml(fact ?? "")).filter((fact) => fact !== "").join(" · ")
    }</p>`,
    ...blocks.map(blockHtml),
  ];
  const page = ["<!doctype html>", '<html lang="en">', "<head>", ...head, "</head>", "<body>", ...body];
  return `${[...page, "</body>", "</html>"].join("\n")}\n`;
}

function blockHtml(block: Block): string {
  switch (block.kind) {
    case "turn":
      return `<h2>Turn ${block.turn}</h2>`;
    case "user": {
      const images = block.images > 0 ? `\n[${block.images} image(s)]` : "";
      return `<div class="user">${escapeHtml(block.text + images)}</div>`;
    }
    case "harness":
      return details(`Harness (${block.origin})`, pre(block.text));
    case "assistant": {
      const thought = block.reasoning === "" ? "" : details("Reasoning", pre(block.reasoning));
      const end = block.interrupted ? "\n<p>[interrupted]</p>" : "";
      return `${thought}<div class="assistant">${markdownHtml(block.text)}${end}</div>`;
    }
    case "tool":
      return toolHtml(block);
    case "note":
      return `<p class="note">${escapeHtml(block.text)}</p>`;
  }
}

function toolHtml(block: ToolBlock): string {
  const body = [pre(block.arguments), ...block.diffs.map(diffHtml), pre(block.output)].join("");
  return details(`${block.name}: ${block.outcome}, ${block.summary}`, body);
}

function diffHtml(diff: string): string {
  const lines = diff.split("\n").map((line) => {
    const kind = /^\+(?!\+\+)/.test(line) ? "add" : /^-(?!--)/.test(line) ? "del" : "";
    return kind === "" ? escapeHtml(line) : `<span class="${kind}">${escapeHtml(line)}</span>`;
  });
  return `<pre>${lines.join("\n")}</pre>`;
}

function details(summary: string, body: string): string {
  return `<details><summary>${escapeHtml(summary)}</summary>${body}</details>`;
}

function pre(text: string): string {
  return `<pre>${escapeHtml(text)}</pre>`;
}
