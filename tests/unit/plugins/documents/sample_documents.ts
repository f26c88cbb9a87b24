/** Documents of each kind, made of their text, so that tests need no binary files. */
import { strToU8, type Zippable, zipSync } from "fflate";

const W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"';
const R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"';
const RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

export function zip(files: Readonly<Record<string, string | Uint8Array>>): Uint8Array<ArrayBuffer> {
  const entries = Object.entries(files).map(([name, data]) =>
    [name, typeof data === "string" ? strToU8(data) : data] as const
  );
  return zipSync(Object.fromEntries(entries) as Zippable);
}

function relations(targets: Readonly<Record<string, readonly [type: string, target: string]>>): string {
  const list = Object.entries(targets).map(([id, [type, target]]) =>
    `<Relationship Id="${id}" Type="${RELATIONS}/${type}" Target="${target}"/>`
  );
  return `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${
    list.join("")
  }</Relationships>`;
}

function contentTypes(overrides: Readonly<Record<string, string>>): string {
  const list = Object.entries(overrides).map(([part, type]) =>
    `<Override PartName="/${part}" ContentType="application/vnd.openxmlformats-officedocument.${type}+xml"/>`
  );
  return '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">' +
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>' +
    `<Default Extension="xml" ContentType="application/xml"/>${list.join("")}</Types>`;
}

/** `body` is what `<w:body>` holds. */
export function docx(body: string, more: Readonly<Record<string, string>> = {}): Uint8Array<ArrayBuffer> {
  return zip({
    "[Content_Types].xml": contentTypes({ "word/document.xml": "wordprocessingml.document.main" }),
    "_rels/.rels": relations({ r1: ["officeDocument", "word/document.xml"] }),
    "word/document.xml": `<?xml version="1.0"?><w:document ${W}><w:body>${body}</w:body></w:document>`,
    ...more,
  });
}

export const paragraph = (text: string, style = "", properties = "") =>
  `<w:p>${style && `<w:pPr><w:pStyle w:val="${style}"/></w:pPr>`}<w:r>${
    properties && `<w:rPr>${properties}</w:rPr>`
  }<w:t xml:space="preserve">${text}</w:t></w:r></w:p>`;

/** Cells are texts or numbers; a name with `!` in front is a hidden sheet; `last` adds a cell there. */
export function xlsx(
  sheets: Readonly<Record<string, readonly (readonly (string | number)[])[]>>,
  last = "",
) {
  const names = Object.keys(sheets);
  const parts = Object.values(sheets).map((rows, at) => {
    const cells = (row: readonly (string | number)[], line: number) =>
      row.map((cell, column) => {
        const place = `r="${String.fromCharCode(65 + column)}${line + 1}"`;
        return typeof cell === "number"
          ? `<c ${place}><v>${cell}</v></c>`
          : `<c ${place} t="inlineStr"><is><t>${cell}</t></is></c>`;
      }).join("");
    const lines = rows.map((row, line) => `<row r="${line + 1}">${cells(row, line)}</row>`).join("");
    return [
      `xl/worksheets/sheet${at + 1}.xml`,
      `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>${lines}${
        last && `<row r="${last.replace(/\D/g, "")}"><c r="${last}"><v>1</v></c></row>`
      }</sheetData></worksheet>`,
    ];
  });
  const list = names.map((name, at) =>
    `<sheet name="${name.replace("!", "")}" sheetId="${at + 1}" r:id="r${at + 1}"${
      name.startsWith("!") ? ' state="hidden"' : ""
    }/>`
  );
  return zip({
    "[Content_Types].xml": contentTypes({ "xl/workbook.xml": "spreadsheetml.sheet.main" }),
    "_rels/.rels": relations({ r1: ["officeDocument", "xl/workbook.xml"] }),
    "xl/workbook.xml":
      `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" ${R}><sheets>${
        list.join("")
      }</sheets></workbook>`,
    "xl/_rels/workbook.xml.rels": relations(
      Object.fromEntries(
        names.map((_, at) => [`r${at + 1}`, ["worksheet", `worksheets/sheet${at + 1}.xml`]]),
      ),
    ),
    ...Object.fromEntries(parts),
  });
}

/** `slides` hold what `<p:spTree>` holds. */
export function pptx(slides: readonly string[], more: Readonly<Record<string, string>> = {}) {
  const P = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" ' +
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" ' +
    'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" ' + R;
  return zip({
    "[Content_Types].xml": contentTypes({ "ppt/presentation.xml": "presentationml.presentation.main" }),
    "ppt/presentation.xml": `<p:presentation ${P}><p:sldIdLst>${
      slides.map((_, at) => `<p:sldId id="${at + 256}" r:id="r${at + 1}"/>`).join("")
    }</p:sldIdLst></p:presentation>`,
    "ppt/_rels/presentation.xml.rels": relations(
      Object.fromEntries(slides.map((_, at) => [`r${at + 1}`, ["slide", `slides/slide${at + 1}.xml`]])),
    ),
    ...Object.fromEntries(slides.map((tree, at) => [
      `ppt/slides/slide${at + 1}.xml`,
      `<p:sld ${P}${tree.startsWith("!") ? ' show="0"' : ""}><p:cSld><p:spTree>${
        tree.replace("!", "")
      }</p:spTree></p:cSld></p:sld>`,
    ])),
    ...more,
  });
}

export const shape = (text: readonly string[], type = "") =>
  `<p:sp><p:nvSpPr><p:cNvPr id="1" name="S"/><p:nvPr>${
    type && `<p:ph type="${type}"/>`
  }</p:nvPr></p:nvSpPr><p:txBody>${
    text.map((line) => `<a:p><a:r><a:t>${line}</a:t></a:r></a:p>`).join("")
  }</p:txBody></p:sp>`;

export function odt(body: string, styles = "") {
  const names = ["office", "text", "table", "style", "fo", "meta"].map((name) =>
    `xmlns:${name}="urn:oasis:names:tc:opendocument:xmlns:${name}:1.0"`
  ).join(" ");
  return zip({
    mimetype: "application/vnd.oasis.opendocument.text",
    "content.xml":
      `<office:document-content ${names}><office:automatic-styles>${styles}</office:automatic-styles><office:body><office:text>${body}</office:text></office:body></office:document-content>`,
    "meta.xml":
      '<office:document-meta xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Letter</dc:title><dc:date>2024-02-03T00:00:00</dc:date></office:document-meta>',
  });
}

/** Chapters by the name of their part below `OEBPS/`. */
export function epub(chapters: Readonly<Record<string, string>>) {
  const names = Object.keys(chapters);
  return zip({
    mimetype: "application/epub+zip",
    "META-INF/container.xml":
      '<container><rootfiles><rootfile full-path="OEBPS/content.opf"/></rootfiles></container>',
    "OEBPS/content.opf":
      `<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>Book</dc:title><dc:creator>Ada</dc:creator></metadata><manifest>${
        names.map((name, at) =>
          `<item id="c${at}" href="${encodeURI(name)}" media-type="application/xhtml+xml"/>`
        ).join("")
      }</manifest><spine>${names.map((_, at) => `<itemref idref="c${at}"/>`).join("")}</spine></package>`,
    ...Object.fromEntries(
      Object.entries(chapters).map(([name, body]) => [
        `OEBPS/${name}`,
        `<html xmlns="http://www.w3.org/1999/xhtml"><body>${body}</body></html>`,
      ]),
    ),
  });
}

/** A PDF with a text for each page; `more` is added to its catalog. */
export function pdf(
  pages: readonly string[],
  more = "",
  objects: readonly string[] = [],
): Uint8Array<ArrayBuffer> {
  const kids = pages.map((_, at) => `${4 + at * 2} 0 R`).join(" ");
  const all = [
    `<</Type/Catalog/Pages 2 0 R${more}>>`,
    `<</Type/Pages/Count ${pages.length}/Kids[${kids}]>>`,
    "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ...pages.flatMap((text, at) => {
      const lines = text.split("\n").map((line) => `(${line.replace(/[()\\]/g, "\\$&")})'`).join(" ");
      const stream = text === "" ? "" : `BT /F 12 Tf 14 TL 50 750 Td ${lines} ET`;
      return [
        `<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents ${
          5 + at * 2
        } 0 R/Resources<</Font<</F 3 0 R>>>>>>`,
        `<</Length ${stream.length}>>stream\n${stream}\nendstream`,
      ];
    }),
    ...objects,
  ];
  let text = "%PDF-1.4\n";
  const offsets = all.map((object, at) => {
    const offset = text.length;
    text += `${at + 1} 0 obj${object}endobj\n`;
    return `${String(offset).padStart(10, "0")} 00000 n \n`;
  });
  const table = `xref\n0 ${all.length + 1}\n0000000000 65535 f \n${offsets.join("")}`;
  return strToU8(
    `${text}${table}trailer<</Size ${all.length + 1}/Root 1 0 R>>\nstartxref\n${text.length}\n%%EOF`,
    true,
  ) as Uint8Array<ArrayBuffer>;
}
