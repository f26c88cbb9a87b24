/**
 * Writes the manual pages: `deno run -A scripts/release/man.ts [directory]`, by default dist/man. The pages
 * of commands are made from their help, as docs/commands.md is, the others from docs/config.md and
 * docs/events.md.
 */
import { generateHelpTextForAllCommands, run } from "@stricli/core";
import { lexer, type Token, type Tokens } from "marked";
import { appFor } from "../../cli/app.ts";
import { installHelp } from "../../cli/help.ts";
import { VERSION } from "../../src/util/version.ts";
import { say } from "../process.ts";
import { releaseDate } from "./date.ts";

const DOCS = new URL("../../docs/", import.meta.url);
/** Columns of a source line; `mandoc -Tlint` wants at most 80. */
const WIDTH = 78;

/** Returns the pages by the names of their files, such as `reasonix-run.1`. */
export async function manPages(date: Date): Promise<ReadonlyMap<string, string>> {
  const commands = await commandPages();
  const names = commands.map(({ name }) => name);
  const page = (name: string, section: number, brief: string, body: string) =>
    [
      `${name}.${section}`,
      `.TH ${name.toUpperCase()} ${section} ${
        date.toISOString().slice(0, 10)
      } "Reasonix ${VERSION}"\n.nh\n.ad l\n` +
      `.SH NAME\n${literal(name)} \\- ${plain(brief)}\n${body}.SH SEE ALSO\n${seeAlso(name, names)}`,
    ] as const;
  const config = `.SH DESCRIPTION\n${markdown(await Deno.readTextFile(new URL("config.md", DOCS)))}`;
  const events = `.SH DESCRIPTION\n${markdown(await Deno.readTextFile(new URL("events.md", DOCS)))}`;
  return new Map([
    ...commands.map(({ name, brief, body }) => page(name, 1, brief, body)),
    page("reasonix.toml", 5, "configuration of Reasonix", config),
    page("reasonix-events", 7, "events of a session of Reasonix", events),
  ]);
}

function seeAlso(name: string, commands: readonly string[]): string {
  const near = name === "reasonix" ? commands : ["reasonix"];
  const others = [...near.map((each) => `${each} 1`), "reasonix.toml 5", "reasonix-events 7"]
    .filter((each) => !each.startsWith(`${name} `));
  return others.map((each, at) => reference(each, at < others.length - 1 ? "," : "")).join("");
}

/** A line with the name of a page in bold and its section. */
function reference(page: string, end = ""): string {
  const [name = "", section] = page.split(" ");
  return `.BR ${literal(name)} (${section})${end}\n`;
}

interface Page {
  readonly name: string;
  readonly brief: string;
  readonly body: string;
}

/** Returns a page for the program and one for each command; commands of a group share a page. */
async function commandPages(): Promise<readonly Page[]> {
  const app = await appFor("all");
  installHelp(app, { all: true });
  const helps = new Map(
    generateHelpTextForAllCommands(app as never).map(([name, text]) => [name, parseHelp(text)]),
  );
  let text = "";
  const output = { write: (part: string) => void (text += part) };
  await run(app, ["--help"], { process: { stdout: output, stderr: output } } as never);
  const root = parseHelp(text);
  const commands = "getAllEntries" in app.root ? app.root.getAllEntries() : [];
  const briefs = commands.filter(({ hidden }) => !hidden).map(({ name, target }) =>
    [name["convert-camel-to-kebab"], lowered(target.brief)] as const
  );
  const pages = briefs.map(([command, brief]): Page => {
    const own = helps.get(`reasonix ${command}`);
    const group = [...helps].filter(([name]) => name.startsWith(`reasonix ${command} `));
    const body = own === undefined ? groupBody(brief, group) : commandBody(own);
    return { name: `reasonix-${command}`, brief, body };
  });
  const [brief = ""] = root.about.split("\n");
  return [{ name: "reasonix", brief: lowered(brief), body: await rootBody(root, briefs) }, ...pages];
}

function lowered(brief: string): string {
  return brief.replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase());
}

function raised(text: string): string {
  return text.replace(/^[a-z]/, (letter) => letter.toUpperCase());
}

type Row = readonly [name: string, description: string];

interface Help {
  readonly about: string;
  readonly sections: ReadonlyMap<string, readonly Row[]>;
}

/** Parses the help of a command: paragraphs, and sections with a name and a description in each row. */
function parseHelp(help: string): Help {
  const [about = "", rest = ""] = help.trim().split(/\n\n(?=Usage\n)/);
  const isSection = (part: string) => /^\S.*\n {2}/.test(part);
  const parts = rest.split("\n\n");
  const sections = parts.filter(isSection).map((part): [string, readonly Row[]] => {
    const [title = "", ...lines] = part.split("\n");
    return [
      title,
      lines.map((line): Row => {
        const [, name = "", about = ""] = /^ {2,}(\S+(?: \S+)*)(?: {2,}(.*))?$/.exec(line) ?? [];
        return [name, about];
      }),
    ];
  });
  const notes = parts.filter((part) => !isSection(part));
  return { about: [about, ...notes].join("\n\n").trim(), sections: new Map(sections) };
}

async function rootBody(help: Help, commands: readonly Row[]): Promise<string> {
  const exits = lexer(await Deno.readTextFile(new URL("exit-codes.md", DOCS)));
  const table = exits.findIndex(({ type }) => type === "table");
  const list = commands.map(([name, brief]) => `.TP\n${reference(`reasonix-${name} 1`)}${plain(brief)}\n`);
  return [
    synopsis(help),
    `.SH DESCRIPTION\n${paragraphs(help.about)}`,
    `.SH COMMANDS\n${list.join("")}`,
    `.SH EXAMPLES\n${rowList(help.sections.get("Examples") ?? [], (line) => bold(literal(line)))}`,
    `.SH EXIT STATUS\n${blocks(exits.slice(1, table + 1))}`,
  ].join("");
}

function commandBody(help: Help): string {
  return `${synopsis(help)}.SH DESCRIPTION\n${paragraphs(help.about)}${options(help, true)}`;
}

function groupBody(brief: string, group: readonly (readonly [string, Help])[]): string {
  const usages = group.flatMap(([, help]) => usage(help)).join(".br\n");
  const commands = group.map(([name, help]) =>
    `.SS ${literal(name)}\n${paragraphs(help.about)}${options(help)}`
  );
  return `.SH SYNOPSIS\n${usages}.SH DESCRIPTION\n${paragraphs(raised(brief))}.SH COMMANDS\n${
    commands.join("")
  }`;
}

function synopsis(help: Help): string {
  return `.SH SYNOPSIS\n${usage(help).join(".br\n")}`;
}

/** The lines of the usage: what is typed as it is in bold, values in italics. */
function usage(help: Help): readonly string[] {
  return (help.sections.get("Usage") ?? []).map(([line]) => {
    const words = line.match(/\[[^\]]*\](?:\.{3})?|<[^>]*>(?:\.{3})?|\S+/g) ?? [];
    const shown = words.map((word) => {
      const [, open = "", value = "", end = ""] = /^([[<])(.*?)((?:\.{3})?[\]>](?:\.{3})?)$/.exec(word) ?? [];
      if (open !== "") return open.replace("<", "") + italic(literal(value)) + end.replace(">", "");
      return /^(?:[A-Z]+|".*")$/.test(word) ? italic(literal(word)) : bold(literal(word));
    });
    return `${filled(shown.join(" "))}\n`;
  });
}

/** Arguments and flags of a command; on a page of one command each of several groups has its title. */
function options(help: Help, isPage = false): string {
  const groups = [...help.sections].filter(([name]) => name !== "Usage");
  const lists = groups.map(([name, rows]) => {
    const title = isPage && groups.length > 2 && name !== "Arguments" ? `.SS ${name}\n` : "";
    return title + rowList(rows, flagText);
  });
  return (isPage && lists.length > 0 ? ".SH OPTIONS\n" : "") + lists.join("");
}

function rowList(rows: readonly Row[], tag: (name: string) => string): string {
  return rows.map(([name, about]) => `.TP\n${tag(name)}\n${plain(about)}\n`).join("");
}

/** `-m, --model NAME`: the flags in bold, the value in italics; an argument is a value. */
function flagText(name: string): string {
  if (!name.startsWith("-")) return italic(literal(name));
  return name.split(", ").map((flag) => {
    const [word = "", ...value] = flag.split(" ");
    return [bold(literal(word)), ...value.map((each) => italic(literal(each)))].join(" ");
  }).join(", ");
}

/** Paragraphs of plain text as sentences, and indented lines as examples; no space before the first. */
function paragraphs(text: string): string {
  const parts = text.split(/\n\n/).flatMap((part) =>
    part.match(/^(?: {2}.*\n?)+|^(?:(?! {2}).*\n?)+/gm) ?? []
  );
  return parts.map((part, at) => {
    const space = at === 0 ? "" : ".PP\n";
    if (part.startsWith("  ")) return example(part.trim().replaceAll(/^ {2}/gm, ""), space);
    return `${space}${plain(part.trim().replace(/[\w)]$/, "$&."))}\n`;
  }).join("");
}

function example(text: string, space: string): string {
  return `${space}.EX\n${text.split("\n").map(codeLine).join("\n")}\n.EE\n`;
}

/** Returns the blocks of a page below its title, without the note for those who change it. */
export function markdown(page: string): string {
  const isLeftOut = (token: Token) =>
    token.type === "heading" ? token.depth === 1 : token.raw.startsWith("This page is generated");
  return blocks(lexer(page).filter((token) => !isLeftOut(token)));
}

function blocks(tokens: readonly Token[]): string {
  let isFirst = true;
  const parts = tokens.map((token) => {
    const text = block(token as Tokens.Generic, isFirst);
    if (text !== "") isFirst = token.type === "heading";
    return text;
  });
  return parts.join("");
}

/** Returns a block; the first one after a heading needs no space before it. */
function block(token: Tokens.Generic, isFirst: boolean): string {
  const space = isFirst ? "" : ".PP\n";
  switch (token.type) {
    case "heading":
      return token.depth === 2
        ? `.SS ${filled(inline(token.tokens)).replaceAll("\n", " ")}\n`
        : `${space}${bold(filled(inline(token.tokens)))}\n`;
    case "paragraph":
    case "text":
      return `${space}${filled(inline(token.tokens))}\n`;
    case "list":
      return token.items.map((item: Tokens.ListItem, at: number) => {
        const mark = token.ordered ? `${Number(token.start) + at}. 4` : "\\(bu 2";
        const [first, ...rest] = item.tokens;
        const more = blocks(rest);
        return `.IP ${mark}\n${first ? blocks([first]) : ""}${more === "" ? "" : `.RS\n.PP\n${more}.RE\n`}`;
      }).join("");
    case "table":
      return tableRows(token as Tokens.Table);
    case "code":
      return example(token.text, space);
    case "blockquote":
      return `.RS 4\n${space}${blocks(token.tokens ?? [])}.RE\n`;
    case "space":
    case "html":
      return "";
    default:
      throw new Error(`Cannot write ${token.type} as a manual page: ${token.raw}`);
  }
}

/** A row of a table is a paragraph with its first cell as the tag; cells in the middle have their titles. */
function tableRows({ header, rows }: Tokens.Table): string {
  return rows.map((row) => {
    const [tag, ...cells] = row.map(({ tokens }) => inline(tokens));
    const last = cells.pop() ?? "";
    const facts = cells.flatMap((cell, at) =>
      cell === "" ? [] : [`${raised(inline(header[at + 1]?.tokens ?? []))}: ${cell}.`]
    );
    return `.TP\n${tag || "\\&"}\n${filled([...facts, last].join(" ")) || "\\&"}\n`;
  }).join("");
}

function codeLine(line: string): string {
  return guarded(literal(line.trimEnd()));
}

/** Returns running text with fonts, not yet in lines. */
function inline(tokens: readonly Token[] = []): string {
  return tokens.map((each) => {
    const token = each as Tokens.Generic;
    switch (token.type) {
      case "codespan":
        return bold(literal(token.text));
      case "strong":
        return bold(inline(token.tokens));
      case "em":
        return italic(inline(token.tokens));
      case "br":
        return " ";
      case "link":
        return linkText(token as Tokens.Link);
      case "text":
      case "escape":
      case "html":
        return token.tokens ? inline(token.tokens) : prose(token.text);
      default:
        throw new Error(`Cannot write ${token.type} in a manual page: ${token.raw}`);
    }
  }).join("");
}

/** A page of the documentation is named as `reasonix docs` knows it, an address follows its text. */
function linkText({ href, text, tokens }: Tokens.Link): string {
  const [, page] = /^([\w/-]+)\.md(?:#.*)?$/.exec(href) ?? [];
  if (page !== undefined && text.endsWith(".md")) return bold(literal(`reasonix docs ${page}`));
  return /^https?:/.test(href) && text !== href ? `${inline(tokens)} <${literal(href)}>` : inline(tokens);
}

function bold(text: string): string {
  return `\\fB${text}\\fR`;
}

function italic(text: string): string {
  return `\\fI${text}\\fR`;
}

/** Plain text in lines. */
function plain(text: string): string {
  return filled(prose(text));
}

/** Escapes text that is typed or shown as it is. */
function literal(text: string): string {
  return escaped(text).replaceAll("-", "\\-").replaceAll("'", "\\(aq");
}

/** Escapes running text: apostrophes and hyphens of words may become typographic, those of code may not. */
function prose(text: string): string {
  return text.split(/(\s+)/).map((word) => {
    const isCode = /(?:^|[^\p{L}\p{N}])-|[\w)]-$|[/_=~$]|\w[.:]\w/u.test(word);
    return isCode ? literal(word) : escaped(word).replaceAll(/(?<!\p{L})'|'(?!\p{L})/gu, "\\(aq");
  }).join("");
}

const NAMED: Readonly<Record<string, string>> = { "\\": "\\e", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti" };

function escaped(text: string): string {
  return text.replaceAll(
    /[\\`^~]|[^\x20-\x7e\s]/gu,
    (char) => NAMED[char] ?? `\\[u${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}]`,
  );
}

const ABBREVIATION = /^\W*(?:e\.g|i\.e|etc|cf|vs)\.$/i;

/** Breaks text into lines. A sentence ends its line; elsewhere no line looks like the end of one. */
function filled(text: string): string {
  const words = text.trim().split(/\s+/);
  const lines: string[] = [];
  let line = "";
  words.forEach((word, at) => {
    if (line !== "" && line.length + 1 + word.length > WIDTH) {
      lines.push(/[.!?]["')\]]*$/.test(line) ? `${line}\\&` : line);
      line = "";
    }
    line = line === "" ? guarded(word) : `${line} ${word}`;
    const next = words[at + 1] ?? "";
    const isSentence = /\w[\w)"'\]]*(?:\\fR)?[.!?]["')\]]*$/.test(word) &&
      /^(?:["'([]|\\f[BI])*[A-Z]/.test(next);
    if (isSentence && !ABBREVIATION.test(word)) {
      lines.push(line);
      line = "";
    }
  });
  return [...lines, ...(line === "" ? [] : [line])].join("\n");
}

/** A dot or an apostrophe at the beginning of a line would make it a request. */
function guarded(line: string): string {
  return /^[.']/.test(line) ? `\\&${line}` : line;
}

if (import.meta.main) {
  const directory = Deno.args[0] ?? new URL("../../dist/man", import.meta.url).pathname;
  const date = await releaseDate(VERSION);
  if (date === undefined) {
    throw new Error("Cannot date the manual pages: there is no git history; set SOURCE_DATE_EPOCH");
  }
  await Deno.mkdir(directory, { recursive: true });
  const pages = await manPages(date);
  for (const [name, text] of pages) await Deno.writeTextFile(`${directory}/${name}`, text);
  say(`${directory}  ${pages.size} pages`);
}
