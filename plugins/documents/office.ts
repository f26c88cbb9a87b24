/** Word, Excel and PowerPoint → Markdown. Hidden text, sheets and slides are left out, and so are macros. */
import { Buffer } from "node:buffer";
import { cleanLine } from "../common/material.ts";
import { PluginError } from "../common/plugin.ts";
import { type Archive, partName, readXml } from "./archive.ts";
import { counted, isSelected, type Reading, type Request, requirePages, tableOf } from "./reading.ts";
import { markdownOfHtml } from "./text.ts";

const MAX_ROWS = 50_000;
const MAX_CELLS = 5_000_000;

export async function readDocx({ archive }: Request): Promise<Reading> {
  const { default: mammoth } = await import("mammoth");
  const body = archive.names.find((name) => /^word\/document\d*\.xml$/.test(name)) ?? "word/document.xml";
  const container = archive.repacked(
    (name) => /\.(?:xml|rels)$/.test(name) && !/^customXml\//.test(name),
    { [body]: withoutHiddenRuns(archive.text(body)) },
  );
  let images = 0;
  const convertImage = mammoth.images.imgElement(() => Promise.resolve({ src: `image-${++images}` }));
  const { value } = await mammoth.convertToHtml({ buffer: Buffer.from(container.buffer) }, {
    convertImage,
    styleMap: [
      "comment-reference => sup",
      "p[style-name='Title'] => h1:fresh",
      "p[style-name='Subtitle'] => p:fresh",
    ],
  });
  const properties = propertiesOf(archive);
  const equations = archive.text(body).match(/<m:oMath[\s>]/g)?.length ?? 0;
  const left = ([[images, "image"], [equations, "equation"]] as const).filter(([count]) => count > 0);
  return {
    ...properties,
    markdown: await markdownOfHtml(value),
    notes: left.map(([count, noun]) => `${counted(count, noun)} left out`),
  };
}

/** Runs that a reader does not see: hidden, of at most one point, or white on a page without shading. */
function withoutHiddenRuns(xml: string): string {
  const shaded = /<w:(?:shd|highlight|background)\b/.test(xml);
  const runs: { readonly start: number; hidden: boolean }[] = [];
  const parts: string[] = [];
  let kept = 0;
  readXml(xml, {
    open: (name, { "w:val": value = "" }, start) => {
      const run = runs.at(-1);
      if (name === "w:r") runs.push({ start, hidden: false });
      else if (!run) return;
      else if (name === "w:vanish") run.hidden ||= !/^(?:0|false|off)$/.test(value);
      else if (name === "w:sz") run.hidden ||= Number(value) <= 2;
      else if (name === "w:color") run.hidden ||= !shaded && /^ffffff$/i.test(value);
    },
    close: (name, end) => {
      const run = name === "w:r" ? runs.pop() : undefined;
      if (!run?.hidden || run.start < kept) return;
      parts.push(xml.slice(kept, run.start));
      kept = end;
    },
  });
  return parts.join("") + xml.slice(kept);
}

export async function readXlsx({ archive, name, pages }: Request): Promise<Reading> {
  const { default: readXlsxFile } = await import("read-excel-file/universal");
  const hidden = new Set<string>();
  readXml(archive.text("xl/workbook.xml"), {
    open: (tag, { name: sheet = "", state }) => {
      if (/(?:^|:)sheet$/.test(tag) && /hidden/i.test(state ?? "")) hidden.add(sheet);
    },
  });
  for (const part of archive.names.filter((each) => /^xl\/worksheets\/[^/]+\.xml$/.test(each))) {
    requireDense(archive.text(part), name);
  }
  const container = archive.repacked((part) =>
    /^(?:xl\/|_rels\/|\[Content)/.test(part) && /\.(?:xml|rels)$/.test(part)
  );
  const sheets = await readXlsxFile(container.buffer);
  requirePages(name, sheets.length, pages);
  const notes = [counted(sheets.length, "sheet")];
  const cut: string[] = [];
  const parts = sheets.flatMap(({ sheet, data }, index) => {
    if (!isSelected(index + 1, pages)) return [];
    if (hidden.has(sheet)) {
      notes.push(`hidden sheet ${JSON.stringify(sheet)} left out`);
      return [];
    }
    if (data.length > MAX_ROWS) {
      const title = JSON.stringify(cleanLine(sheet, 100));
      notes.push(`rows from ${MAX_ROWS + 1} of ${title} left out`);
      cut.push(`the first ${MAX_ROWS} of ${data.length} rows of the sheet ${title}`);
    }
    const rows = data.slice(0, MAX_ROWS).map((row) => row.map(cellText));
    while (rows.at(-1)?.every((cell) => cell === "")) rows.pop();
    return [`## ${sheet}`, "", tableOf(rows), ""];
  });
  return { ...propertiesOf(archive), markdown: parts.join("\n"), pages: sheets.length, notes, cut };
}

/** The library makes all cells between those there are. Throws a {@linkcode PluginError} for too many. */
function requireDense(xml: string, name: string): void {
  let [rows, columns] = [0, 0];
  for (const [, letters = "", row = ""] of xml.matchAll(/<(?:\w+:)?c\b[^>]*?\sr="([A-Z]{1,3})(\d{1,7})"/g)) {
    const column = [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0);
    [rows, columns] = [Math.max(rows, Number(row)), Math.max(columns, column)];
  }
  if (rows * columns <= MAX_CELLS) return;
  throw new PluginError(
    `Cannot read ${name}: a sheet spans ${rows} rows and ${columns} columns`,
    "delete the cells that are far away from the others",
  );
}

function cellText(cell: unknown): string {
  if (cell === null || cell === undefined) return "";
  if (!(cell instanceof Date)) return String(cell);
  return Number.isNaN(cell.getTime())
    ? ""
    : cell.toISOString().replace(/T00:00:00\.000Z$/, "").replace(/\.000Z$/, "Z");
}

export function readPptx({ archive, name, pages }: Request): Promise<Reading> {
  const order: string[] = [];
  const relations = relationsOf(archive, "ppt/presentation.xml");
  readXml(archive.text("ppt/presentation.xml"), {
    open: (tag, { "r:id": id = "" }) => {
      if (tag === "p:sldId") order.push(relations.get(id)?.part ?? "");
    },
  });
  requirePages(name, order.length, pages);
  const notes = [counted(order.length, "slide")];
  const parts = order.flatMap((part, index) => {
    if (!isSelected(index + 1, pages)) return [];
    const xml = archive.optional(part);
    if (xml === undefined) {
      notes.push(`slide ${index + 1} is missing`);
      return [];
    }
    if (/<p:sld\b[^>]*\sshow="(?:0|false)"/.test(xml)) {
      notes.push(`hidden slide ${index + 1} left out`);
      return [];
    }
    const { title, blocks } = slideOf(archive, part, xml);
    return [`## Slide ${index + 1}${title === "" ? "" : `: ${title}`}`, "", ...blocks, ""];
  });
  return Promise.resolve({
    ...propertiesOf(archive),
    markdown: parts.join("\n"),
    pages: order.length,
    notes,
  });
}

interface Slide {
  readonly title: string;
  readonly blocks: readonly string[];
}

/** The texts of a slide in the order of its shapes, with tables, charts, pictures and the notes. */
function slideOf(archive: Archive, part: string, xml: string, isNotes = false): Slide {
  const relations = relationsOf(archive, part);
  const blocks: string[] = [];
  let title = "";
  let shape = { placeholder: "", name: "", description: "", lines: [] as string[] };
  let paragraph: { text: string; level: number } | undefined;
  let rows: string[][] | undefined;
  let inText = false;
  readXml(xml, {
    open: (tag, attributes) => {
      if (tag === "p:sp" || tag === "p:pic" || tag === "p:graphicFrame") {
        shape = { placeholder: "", name: "", description: "", lines: [] };
      } else if (tag === "p:cNvPr") {
        shape.name = attributes.name ?? "";
        shape.description = attributes.descr ?? "";
      } else if (tag === "p:ph") shape.placeholder = attributes.type ?? "body";
      else if (tag === "a:p") paragraph = { text: "", level: 0 };
      else if (tag === "a:pPr" && paragraph) paragraph.level = Number(attributes.lvl ?? 0);
      else if (tag === "a:br" && paragraph) paragraph.text += "\n";
      else if (tag === "a:t") inText = true;
      else if (tag === "a:tbl") rows = [];
      else if (tag === "a:tr") rows?.push([]);
      else if (tag === "c:chart") {
        const chart = archive.optional(relations.get(attributes["r:id"] ?? "")?.part ?? "");
        if (chart !== undefined) blocks.push(chartOf(chart), "");
      } else if (tag === "a:blip" && shape.description !== "") {
        const ending = /\.\w+$/.exec(relations.get(attributes["r:embed"] ?? "")?.part ?? "")?.[0] ?? "";
        const picture = shape.name.replace(/[^\p{L}\p{N}]/gu, "");
        blocks.push(`![${shape.description.replace(/\s+/g, " ")}](${picture}${ending})`, "");
      }
    },
    text: (text) => {
      if (inText && paragraph) paragraph.text += text;
    },
    close: (tag) => {
      if (tag === "a:t") inText = false;
      else if (tag === "a:p" && paragraph) {
        const { text, level } = paragraph;
        const bullet = shape.placeholder === "body" && !rows && !isNotes ? `${"  ".repeat(level)}- ` : "";
        if (text.trim() !== "") {
          shape.lines.push(bullet + text.trim().replaceAll("\n", bullet === "" ? "\n" : " "));
        }
        paragraph = undefined;
      } else if (tag === "a:tc") rows?.at(-1)?.push(shape.lines.splice(0).join("\n"));
      else if (tag === "a:tbl") {
        blocks.push(tableOf(rows ?? []), "");
        rows = undefined;
      } else if (tag === "p:sp" && shape.lines.length > 0) {
        if (/^(?:dt|ftr|hdr|sldNum|sldImg)$/.test(shape.placeholder)) return;
        if (/title/i.test(shape.placeholder) && title === "") {
          title = shape.lines.join(" ").replace(/\s+/g, " ");
        } else blocks.push(...shape.lines, "");
      }
    },
  });
  const notes = [...relations.values()].find(({ type }) => type.endsWith("/notesSlide"))?.part;
  const notesXml = isNotes || notes === undefined ? undefined : archive.optional(notes);
  if (notes !== undefined && notesXml !== undefined) {
    const { blocks: lines } = slideOf(archive, notes, notesXml, true);
    if (lines.length > 0) blocks.push("### Notes", "", ...lines);
  }
  return { title, blocks };
}

/** Title and series of a chart, as a table. */
function chartOf(xml: string): string {
  const series: { name: string; names: string[]; values: string[] }[] = [];
  const path: string[] = [];
  let title = "";
  readXml(xml, {
    open: (tag) => {
      path.push(tag);
      if (tag === "c:ser") series.push({ name: "", names: [], values: [] });
    },
    text: (text) => {
      const last = series.at(-1);
      const tag = path.at(-1);
      if (
        tag === "a:t" && path.includes("c:title") && !path.includes("c:valAx") && !path.includes("c:catAx")
      ) {
        title += text;
      } else if (tag === "c:v" && last) {
        if (path.includes("c:tx")) last.name += text;
        else if (path.includes("c:cat") || path.includes("c:xVal")) last.names.push(text);
        else if (path.includes("c:val") || path.includes("c:yVal")) last.values.push(text);
      }
    },
    close: () => void path.pop(),
  });
  const names = series[0]?.names ?? [];
  const longest = series.reduce((most, { values }) => Math.max(most, values.length), 0);
  const head = ["", ...series.map(({ name }) => name)];
  const rows = Array.from({ length: longest }, (_, at) => [
    names[at] ?? "",
    ...series.map(({ values }) => values[at] ?? ""),
  ]);
  return `### Chart${title === "" ? "" : `: ${title}`}\n\n${tableOf([head, ...rows])}`;
}

function relationsOf(
  archive: Archive,
  part: string,
): Map<string, { readonly type: string; readonly part: string }> {
  const found = new Map<string, { readonly type: string; readonly part: string }>();
  const xml = archive.optional(part.replace(/([^/]*)$/, "_rels/$1.rels"));
  readXml(xml ?? "", {
    open: (tag, { Id: id = "", Type: type = "", Target: target = "", TargetMode: mode }) => {
      if (tag === "Relationship" && mode !== "External") {
        found.set(id, { type, part: partName(part, target) });
      }
    },
  });
  return found;
}

function propertiesOf(archive: Archive): Pick<Reading, "title" | "date"> {
  const found: Record<string, string> = {};
  let tag = "";
  readXml(archive.optional("docProps/core.xml") ?? "", {
    open: (name) => tag = name,
    text: (text) => found[tag] = (found[tag] ?? "") + text,
    close: () => tag = "",
  });
  return {
    title: found["dc:title"] || undefined,
    date: found["dcterms:modified"] || found["dcterms:created"],
  };
}
