/**
 * The converter `document`: bytes of a document → Markdown. It runs in a bounded worker, finds out by the
 * content what the document is, and loads the reader of its kind.
 */
import { PluginError } from "../common/plugin.ts";
import { cleanLine, cleanText } from "../common/material.ts";
import { type Archive, archiveOf } from "./archive.ts";
import type { DocumentInput, DocumentResult, OutlineEntry, Reading, Request } from "./reading.ts";

interface Kind {
  readonly brief: string;
  /** Its pages are pages, slides or sheets. */
  readonly paged?: boolean;
  read(request: Request): Promise<Reading>;
}

const KINDS: Readonly<Record<string, Kind>> = {
  pdf: { brief: "a PDF", paged: true, read: async (input) => (await import("./pdf.ts")).readPdf(input) },
  docx: { brief: "a Word document", read: async (input) => (await import("./office.ts")).readDocx(input) },
  xlsx: {
    brief: "an Excel workbook",
    paged: true,
    read: async (input) => (await import("./office.ts")).readXlsx(input),
  },
  pptx: {
    brief: "a PowerPoint presentation",
    paged: true,
    read: async (input) => (await import("./office.ts")).readPptx(input),
  },
  odt: { brief: "an OpenDocument text", read: async (input) => (await import("./books.ts")).readOdt(input) },
  epub: { brief: "an EPUB book", read: async (input) => (await import("./books.ts")).readEpub(input) },
  html: { brief: "an HTML page", read: async (input) => (await import("./text.ts")).readHtml(input) },
  ipynb: { brief: "a notebook", read: async (input) => (await import("./text.ts")).readNotebook(input) },
  eml: { brief: "an email", read: async (input) => (await import("./text.ts")).readEmail(input) },
  csv: { brief: "a table in text", read: async (input) => (await import("./text.ts")).readCsv(input) },
  text: { brief: "a text", read: async (input) => (await import("./text.ts")).readText(input) },
};

/** Kinds without a reader, each with the way out. */
const REFUSED: Readonly<Record<string, readonly [brief: string, remedy: string]>> = {
  encrypted: ["an Office document that is encrypted with a password", "save it without the password"],
  xls: ["a workbook in the old format .xls", "save it as .xlsx"],
  xlsb: ["a workbook in the binary format .xlsb", "save it as .xlsx"],
  doc: ["a Word document in the old format .doc", "save it as .docx"],
  ppt: ["a presentation in the old format .ppt", "save it as .pptx"],
  msg: ["a message in the format .msg of Outlook", "save it as .eml"],
  ole: ["an Office document in an old format", "save it in a format of today, such as .docx"],
  rtf: ["a document in the format RTF", "save it as .docx"],
  opendocument: ["an OpenDocument file other than a text", "save it as .xlsx or .pptx"],
  image: ["an image", "show it to the model as an image: name it with @ in a message"],
  zip: ["a ZIP archive", "unpack it, and read one of its files"],
  binary: ["a binary file of an unknown kind", "convert it to a document that can be read"],
};

export const KIND_NAMES = "PDF, docx, xlsx, pptx, odt, epub, ipynb, eml, csv, html and text";

/** Rejects with a {@linkcode PluginError} that names the file, its kind and the remedy. */
export async function convert(input: DocumentInput): Promise<DocumentResult> {
  const { bytes, name, pages } = input;
  if (bytes.length === 0) throw new PluginError(`Cannot read ${name}: the file is empty`);
  const archive = archiveOf(bytes, name);
  const found = kindOf(bytes, name, archive);
  const kind = KINDS[found];
  if (!kind) {
    const [brief = "", remedy] = REFUSED[found] ?? [];
    throw new PluginError(`Cannot read ${name}: it is ${brief}`, remedy);
  }
  if (pages && !kind.paged) {
    throw new PluginError(
      `Cannot select pages of ${name}: ${kind.brief} has none`,
      "use offset and limit, which count lines",
    );
  }
  const { markdown, title, date, notes = [], outline, ...reading } = await read(kind, { ...input, archive });
  const text = cleanText(markdown).replace(/[ \t]+$/gm, "").replace(/\n{3,}/g, "\n\n").trim();
  return {
    ...reading,
    markdown: text,
    converter: found,
    title: title === undefined ? undefined : cleanLine(title, 300),
    date: /^\d{4}-\d\d-\d\d/.exec(date ?? "")?.[0],
    outline: outline ?? headingsOf(text),
    notes: archive.macros ? [...notes, "its macros are left out"] : notes,
  };
}

async function read(kind: Kind, request: Request): Promise<Reading> {
  try {
    return await kind.read(request);
  } catch (error) {
    if (error instanceof PluginError) throw error;
    const reason = cleanLine(error instanceof Error ? error.message : String(error), 200);
    throw new PluginError(
      `Cannot read ${request.name} as ${kind.brief}: it is damaged or incomplete (${reason})`,
      "open it in the program that made it, and save it again",
    );
  }
}

const OLE_STREAMS: readonly (readonly [name: string, kind: string])[] = [
  ["EncryptedPackage", "encrypted"],
  ["Workbook", "xls"],
  ["WordDocument", "doc"],
  ["PowerPoint Document", "ppt"],
  ["__substg1.0_", "msg"],
];
const IMAGES = /^(?:.PNG\r|\xff\xd8\xff|GIF8|RIFF....WEBP|BM|II\*\0|MM\0\*)/s;
const EMAIL_HEADER =
  /^(?:return-path|received|from|to|subject|date|message-id|mime-version|delivered-to|x-[\w-]+):/i;

/** The content decides. The name decides only between kinds of text. */
function kindOf(bytes: Uint8Array, name: string, archive: Archive): string {
  const start = latin(bytes.subarray(0, 4096));
  const ending = /\.(\w+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
  if (start.slice(0, 1024).includes("%PDF-")) return "pdf";
  if (archive.isZip) return archiveKind(archive);
  if (start.startsWith("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")) {
    const names = latin(bytes).replaceAll("\0", "");
    return OLE_STREAMS.find(([stream]) => names.includes(stream))?.[1] ?? "ole";
  }
  if (start.startsWith("{\\rtf")) return "rtf";
  if (IMAGES.test(start)) return "image";
  const isWide = /^(?:\xff\xfe|\xfe\xff)/.test(start);
  if (!isWide && bytes.subarray(0, 65_536).includes(0)) return "binary";
  if (/^\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype html|html)\b/is.test(start)) return "html";
  if (/^\s*\{/.test(start) && (ending === "ipynb" || latin(bytes).includes('"nbformat"'))) return "ipynb";
  if (ending === "eml" || ending === "mht" || ending === "mhtml") return "eml";
  if (EMAIL_HEADER.test(start) && /^mime-version:|^message-id:|^received:/im.test(start)) return "eml";
  if (/^x?html?$/.test(ending)) return "html";
  return ending === "csv" || ending === "tsv" ? "csv" : "text";
}

function archiveKind({ names, text }: Archive): string {
  const has = (name: string) => names.includes(name);
  if (has("word/document.xml")) return "docx";
  if (has("xl/workbook.bin")) return "xlsb";
  if (has("xl/workbook.xml")) return "xlsx";
  if (has("ppt/presentation.xml")) return "pptx";
  const type = has("mimetype") ? text("mimetype").trim() : "";
  if (type.startsWith("application/vnd.oasis.opendocument.text") && has("content.xml")) return "odt";
  if (type.startsWith("application/vnd.oasis.opendocument.")) return "opendocument";
  if (type === "application/epub+zip" || has("META-INF/container.xml")) return "epub";
  // Not every program names the parts in the usual way.
  const types = has("[Content_Types].xml") ? text("[Content_Types].xml") : "";
  return /wordprocessingml\.document\.main|word\.document\.macro/.test(types) ? "docx" : "zip";
}

function latin(bytes: Uint8Array): string {
  return new TextDecoder("latin1").decode(bytes);
}

/** Headings outside of code. */
function headingsOf(markdown: string): OutlineEntry[] {
  const found: OutlineEntry[] = [];
  let fence = "";
  for (const [index, line] of markdown.split("\n").entries()) {
    const mark = /^\s{0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? "";
    if (fence !== "") {
      if (mark.startsWith(fence)) fence = "";
      continue;
    }
    fence = mark;
    const [, hashes = "", title = ""] = /^(#{1,6})\s+(.+)$/.exec(line) ?? [];
    if (hashes !== "") found.push({ level: hashes.length, title, line: index + 1 });
  }
  return found;
}
