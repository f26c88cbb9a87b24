/** OpenDocument texts and EPUB books → Markdown. */
import { PluginError } from "../common/plugin.ts";
import { partName, readXml } from "./archive.ts";
import { counted, type Reading, type Request, tableOf } from "./reading.ts";
import { markdownOfHtml } from "./text.ts";

export function readOdt({ archive, name }: Request): Promise<Reading> {
  if (/<manifest:encryption-data\b/.test(archive.optional("META-INF/manifest.xml") ?? "")) {
    throw new PluginError(
      `Cannot read ${name}: it is encrypted with a password`,
      "save it without the password",
    );
  }
  const xml = archive.text("content.xml");
  const hidden = hiddenStyles(xml + (archive.optional("styles.xml") ?? ""));
  const blocks: string[] = [];
  /** The rows of the tables that are open, the innermost last. */
  const tables: string[][][] = [];
  const cells: string[][] = [];
  const lists: string[] = [];
  let text: string | undefined;
  let heading = 0;
  let dropped = 0;
  const put = (block: string) => (cells.at(-1) ?? blocks).push(block);
  readXml(xml, {
    open: (tag, attributes) => {
      const isDropped = hidden.has(attributes["text:style-name"] ?? "") || tag === "text:tracked-changes" ||
        tag === "office:annotation" || attributes["text:condition"] !== undefined;
      if (dropped > 0 || isDropped) dropped++;
      else if (tag === "text:p" || tag === "text:h") {
        text ??= "";
        heading = tag === "text:h" ? Math.min(6, Number(attributes["text:outline-level"] ?? 1)) : 0;
      } else if (tag === "text:s") text += " ".repeat(Math.min(100, Number(attributes["text:c"] ?? 1)));
      else if (tag === "text:tab") text += "\t";
      else if (tag === "text:line-break") text += "\n";
      else if (tag === "text:list-item") lists.push("- ");
      else if (tag === "table:table") tables.push([]);
      else if (tag === "table:table-row") tables.at(-1)?.push([]);
      else if (tag === "table:table-cell") cells.push([]);
    },
    text: (data) => {
      if (dropped === 0 && text !== undefined) text += data;
    },
    close: (tag) => {
      if (dropped > 0) dropped--;
      else if (tag === "text:p" || tag === "text:h") {
        const indent = lists.length === 0 ? "" : "  ".repeat(lists.length - 1) + lists[lists.length - 1];
        const prefix = heading > 0 ? `${"#".repeat(heading)} ` : indent;
        if (text?.trim()) put(prefix + text.trim());
        if (lists.length > 0) lists[lists.length - 1] = "  ";
        text = undefined;
      } else if (tag === "text:list-item") lists.pop();
      else if (tag === "table:table-cell") tables.at(-1)?.at(-1)?.push(cells.pop()?.join("\n") ?? "");
      else if (tag === "table:table") put(tableOf(tables.pop() ?? []));
    },
  });
  const { title, date } = metaOf(archive.optional("meta.xml") ?? "");
  const isItem = (block: string | undefined) => /^\s*- /.test(block ?? "");
  const markdown = blocks.map((block, at) =>
    block + (isItem(block) && isItem(blocks[at + 1]) ? "\n" : "\n\n")
  );
  return Promise.resolve({ markdown: markdown.join(""), title, date });
}

function hiddenStyles(xml: string): ReadonlySet<string> {
  const found = new Set<string>();
  let style = "";
  const open = (tag: string, attributes: Readonly<Record<string, string>>) => {
    if (tag === "style:style") style = attributes["style:name"] ?? "";
    const isHidden = attributes["text:display"] === "none" ||
      /^0?\.\d+pt$|^[01]pt$/.test(attributes["fo:font-size"] ?? "");
    if (tag === "style:text-properties" && isHidden) found.add(style);
  };
  readXml(xml, { open });
  return found;
}

function metaOf(xml: string): Record<string, string> & { title?: string; date?: string } {
  const found: Record<string, string> = {};
  let tag = "";
  readXml(xml, {
    open: (name) => tag = name.replace(/^.*:/, ""),
    text: (text) => {
      if (text.trim() !== "") found[tag] = (found[tag] ?? "") + text.trim();
    },
    close: () => tag = "",
  });
  return found;
}

export async function readEpub({ archive }: Request): Promise<Reading> {
  let packagePart = "";
  readXml(archive.text("META-INF/container.xml"), {
    open: (tag, { "full-path": path }) => {
      if (tag.endsWith("rootfile")) packagePart ||= path ?? "";
    },
  });
  const xml = archive.text(packagePart);
  const items = new Map<string, { readonly part: string; readonly type: string }>();
  const order: string[] = [];
  readXml(xml, {
    open: (tag, { id = "", href = "", idref = "", linear, "media-type": type = "" }) => {
      if (/(?:^|:)item$/.test(tag)) items.set(id, { part: partName(packagePart, href), type });
      if (/(?:^|:)itemref$/.test(tag) && linear !== "no") order.push(idref);
    },
  });
  const { title, creator, date, description, language } = metaOf(xml.replace(/<(?:\w+:)?manifest\b.*$/s, ""));
  const facts = Object.entries({ Authors: creator, Date: date, Language: language, Description: description })
    .flatMap(([key, value]) => value ? [`**${key}:** ${value}`] : []);
  const chapters: string[] = [];
  let missing = 0;
  for (const id of order) {
    const { part = "", type = "" } = items.get(id) ?? {};
    if (!/html/.test(type)) continue;
    const chapter = archive.optional(part);
    if (chapter === undefined) missing++;
    else chapters.push(await markdownOfHtml(chapter));
  }
  const notes = [counted(order.length, "chapter"), ...(missing > 0 ? [`${missing} missing`] : [])];
  return { markdown: [facts.join("\n"), ...chapters].join("\n\n"), title, date, notes };
}
