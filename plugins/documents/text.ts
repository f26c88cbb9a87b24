/** Kinds of text → Markdown: HTML, notebooks, emails, tables and plain text. */
import { convert as convertPage } from "../web/page/convert.ts";
import { decodePage } from "../web/page/charset.ts";
import { counted, type Reading, type Request, tableOf } from "./reading.ts";

/** Base of links in documents, which have no address; it is taken out of the result again. */
const BASE = "https://document.invalid/";

export async function markdownOfHtml(html: string): Promise<string> {
  const contentType = "text/html; charset=utf-8";
  const { markdown } = await convertPage({
    bytes: new TextEncoder().encode(html),
    url: BASE,
    contentType,
    part: "page",
  });
  return markdown.replaceAll(BASE, "");
}

export async function readHtml({ bytes }: Request): Promise<Reading> {
  const { markdown, title, date, notes } = await convertPage({ bytes, url: BASE });
  return { markdown: markdown.replaceAll(BASE, ""), title: title || undefined, date, notes };
}

export function readText({ bytes }: Request): Promise<Reading> {
  const { text, notes } = decode(bytes);
  return Promise.resolve({ markdown: text, notes });
}

function decode(bytes: Uint8Array): { readonly text: string; readonly notes: readonly string[] } {
  const { text, charset, guessed, replaced } = eastAsian(bytes) ?? decodePage(bytes);
  const notes = guessed ? [`read as ${charset}, which is a guess`] : [];
  return {
    text,
    notes: replaced > 0 ? [...notes, `${replaced} characters are not readable as ${charset}`] : notes,
  };
}

/**
 * Short tables have too little text for a guess by frequent signs. Nearly all signs of one of these charsets
 * are where it has the usual ones, and in the same bytes read as the other one hardly any is.
 */
function eastAsian(bytes: Uint8Array): ReturnType<typeof decodePage> | undefined {
  const sample = bytes.subarray(0, 65_536);
  const found = { shift_jis: 0, gb18030: 0, late: 0, other: 0 };
  for (let at = 0; at < sample.length; at++) {
    const [lead = 0, trail = 0] = [sample[at], sample[at + 1]];
    if (lead < 0x80) continue;
    if (lead < 0xa0 || lead > 0xdf || trail > 0xa0) at++;
    if (lead <= 0x83 || (lead >= 0x88 && lead <= 0x97)) found.shift_jis++;
    else if (lead >= 0xb0 && lead <= 0xd7 && trail > 0xa0) found.gb18030++;
    else if ((lead < 0xa1 || lead > 0xa3) || trail < 0xa1) found.other++;
    // Korean has no signs there.
    if (lead > 0xc8 && trail > 0xa0) found.late++;
  }
  const charset = found.shift_jis > 1 && found.shift_jis > 4 * (found.gb18030 + found.other)
    ? "shift_jis"
    : found.late > 0 && found.gb18030 > 4 * (found.shift_jis + found.other)
    ? "gb18030"
    : undefined;
  try {
    if (charset === undefined) return undefined;
    return {
      text: new TextDecoder(charset, { fatal: true }).decode(bytes),
      charset,
      guessed: true,
      replaced: 0,
    };
  } catch {
    return undefined;
  }
}

export function readCsv({ bytes, name }: Request): Promise<Reading> {
  const { text, notes } = decode(bytes);
  const [, named] = /^sep=(.)\r?\n/.exec(text) ?? [];
  const body = named === undefined ? text : text.replace(/^.*\n/, "");
  const rows = rowsOf(body, named ?? delimiterOf(body, /\.tsv$/i.test(name)));
  return Promise.resolve({ markdown: tableOf(rows), notes: [counted(rows.length, "row"), ...notes] });
}

/** The separator that gives most of the first lines the same number of cells. */
function delimiterOf(text: string, tabs: boolean): string {
  if (tabs) return "\t";
  const sample = text.slice(0, 20_000);
  const score = (delimiter: string) => {
    const counts = rowsOf(sample, delimiter).slice(0, 20).map((row) => row.length);
    const [first = 0] = counts;
    return first < 2 ? 0 : counts.filter((count) => count === first).length * 100 + first;
  };
  return [",", ";", "\t", "|"].reduce((best, each) => score(each) > score(best) ? each : best);
}

/** RFC 4180, and rows of any length. */
function rowsOf(text: string, delimiter: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let at = 0;
  while (at < text.length) {
    let cell = "";
    if (text[at] === '"') {
      for (at++; at < text.length; at++) {
        const quote = text.indexOf('"', at);
        const end = quote < 0 ? text.length : quote;
        cell += text.slice(at, end);
        at = end + 1;
        if (text[at] !== '"') break;
        cell += '"';
      }
    }
    const rest = /[\r\n]/g;
    rest.lastIndex = at;
    const line = rest.exec(text)?.index ?? text.length;
    const next = text.indexOf(delimiter, at);
    const end = next >= 0 && next < line ? next : line;
    row.push(cell + text.slice(at, end));
    at = end + 1;
    if (end === line) {
      if (text[line] === "\r" && text[line + 1] === "\n") at++;
      if (row.length > 1 || row[0] !== "") rows.push(row);
      row = [];
    }
  }
  if (row.length > 0) rows.push(row);
  return rows;
}

interface Cell {
  readonly cell_type?: string;
  readonly source?: string | readonly string[];
  readonly outputs?: readonly {
    readonly text?: string | readonly string[];
    readonly data?: Readonly<Record<string, string | readonly string[]>>;
    readonly ename?: string;
    readonly evalue?: string;
  }[];
}

export function readNotebook({ bytes }: Request): Promise<Reading> {
  const notebook = JSON.parse(decode(bytes).text) as {
    readonly cells?: readonly Cell[];
    readonly worksheets?: readonly { readonly cells?: readonly Cell[] }[];
    readonly metadata?: {
      readonly title?: string;
      readonly kernelspec?: { readonly language?: string };
      readonly language_info?: { readonly name?: string };
    };
  };
  const { title, kernelspec, language_info: info } = notebook.metadata ?? {};
  const language = info?.name ?? kernelspec?.language ?? "python";
  const cells = notebook.cells ?? notebook.worksheets?.flatMap((sheet) => sheet.cells ?? []) ?? [];
  const blocks = cells.flatMap(({ cell_type: type, source, outputs = [] }) => {
    const text = joined(source);
    if (type === "markdown") return [text];
    const shown = outputs.map(({ text, data, ename, evalue }) =>
      ename === undefined
        ? joined(text ?? data?.["text/markdown"] ?? data?.["text/plain"])
        : `${ename}: ${evalue ?? ""}`
    ).filter((output) => output.trim() !== "");
    return [fenced(text, type === "code" ? language : ""), ...shown.map((output) => fenced(output, ""))];
  });
  return Promise.resolve({ markdown: blocks.join("\n\n"), title, notes: [counted(cells.length, "cell")] });
}

function joined(text: string | readonly string[] | undefined): string {
  return typeof text === "string" ? text : text?.join("") ?? "";
}

/** A fence longer than any in the text. */
function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language.replace(/[^\w+#.-]/g, "")}\n${text.replace(/\n$/, "")}\n${fence}`;
}

export async function readEmail({ bytes }: Request): Promise<Reading> {
  const { default: PostalMime } = await import("postal-mime");
  const email = await PostalMime.parse(bytes, { maxNestingDepth: 50, attachmentEncoding: "arraybuffer" });
  type Addresses = readonly { readonly name?: string; readonly address?: string }[];
  const people = (list: Addresses | undefined) =>
    (list ?? []).map(({ name, address }) => name ? `${name} <${address ?? ""}>` : address ?? "").join(", ");
  const headers = Object.entries({
    From: people(email.from && [email.from as { name?: string; address?: string }]),
    To: people(email.to as Addresses | undefined),
    Cc: people(email.cc as Addresses | undefined),
    Date: email.date ?? "",
  }).filter(([, value]) => value !== "").map(([key, value]) => `**${key}:** ${value}`);
  const text = email.text?.trim() || await markdownOfHtml(email.html ?? "");
  const attachments = email.attachments.map(({ filename, mimeType, content }) => {
    const size = typeof content === "string" ? content.length : content.byteLength;
    return `- ${filename ?? "without a name"} (${mimeType}, ${size} bytes)`;
  });
  const blocks = [
    `# ${email.subject ?? "Without a subject"}`,
    headers.join("\n"),
    text,
    ...(attachments.length === 0 ? [] : ["## Attachments", attachments.join("\n")]),
  ];
  return { markdown: blocks.join("\n\n"), title: email.subject, date: email.date };
}
