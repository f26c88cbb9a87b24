/**
 * The part of YAML that heads Markdown files: texts, quoted texts, block scalars, lists of texts, and one
 * level of map. What strict YAML would refuse but has one sensible meaning is read all the same and noted.
 */
export type FrontmatterValue = string | readonly string[] | Readonly<Record<string, string>>;

export interface FrontmatterProblem {
  /** 1-based, in the file. */
  readonly line: number;
  readonly text: string;
}

export interface Frontmatter {
  readonly fields: Readonly<Record<string, FrontmatterValue>>;
  /** The text after the block; the whole text when there is none. */
  readonly body: string;
  readonly problems: readonly FrontmatterProblem[];
}

const KEY = /^([A-Za-z_][\w.-]*)\s*:(?:\s+(.*)|\s*)$/;
const NESTED = /^\s+(?:"([^"]+)"|'([^']+)'|([\w.\/-]+))\s*:(?:\s+(.*)|\s*)$/;

/** Splits a Markdown file into its frontmatter and its body. Never throws. */
export function parseFrontmatter(source: string): Frontmatter {
  const text = source.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n");
  const lines = text.split("\n");
  if (lines[0]?.trimEnd() !== "---") return { fields: {}, body: text, problems: [] };
  const end = lines.findIndex((line, i) => i > 0 && /^(?:---|\.\.\.)\s*$/.test(line));
  if (end < 0) {
    return {
      fields: {},
      body: text,
      problems: [{ line: 1, text: "the block that begins with --- has no end" }],
    };
  }
  const reader = new Reader(lines.slice(1, end));
  reader.read();
  return { fields: reader.fields, body: lines.slice(end + 1).join("\n"), problems: reader.problems };
}

class Reader {
  readonly fields: Record<string, FrontmatterValue> = {};
  readonly problems: FrontmatterProblem[] = [];
  readonly #lines: readonly string[];
  #at = 0;

  constructor(lines: readonly string[]) {
    this.#lines = lines;
  }

  read(): void {
    while (this.#at < this.#lines.length) {
      const line = this.#lines[this.#at] ?? "";
      const match = KEY.exec(line);
      this.#at++;
      if (match?.[1] !== undefined) {
        if (Object.hasOwn(this.fields, match[1])) {
          this.#note(`${match[1]} is given twice; the last one counts`);
        }
        this.fields[match[1]] = this.#value((match[2] ?? "").trim());
      } else if (line.trim() !== "" && !line.trimStart().startsWith("#")) {
        this.#note(`"${line.trim().slice(0, 60)}" is not of the form key: value`);
      }
    }
  }

  #note(text: string): void {
    this.problems.push({ line: this.#at + 1, text });
  }

  #value(given: string): FrontmatterValue {
    const block = /^([|>])[+\-\d]*(?:\s+#.*)?$/.exec(given);
    if (block) return this.#block(block[1] === ">");
    if (given === "" || given.startsWith("#")) return this.#nested();
    if (given.startsWith("[")) return this.#inlineList(given);
    if (given.startsWith("{")) return this.#inlineMap(given);
    return this.#scalar([given, ...this.#continuation()].join(" "));
  }

  #continuation(): string[] {
    const more: string[] = [];
    for (; this.#at < this.#lines.length; this.#at++) {
      const line = this.#lines[this.#at] ?? "";
      if (!/^\s+\S/.test(line)) break;
      more.push(line.trim());
    }
    return more;
  }

  #block(joinsLines: boolean): string {
    const lines: string[] = [];
    for (; this.#at < this.#lines.length; this.#at++) {
      const line = this.#lines[this.#at] ?? "";
      if (line.trim() !== "" && !/^\s/.test(line)) break;
      lines.push(line);
    }
    const indents = lines.filter((line) => line.trim() !== "").map((line) => line.search(/\S/));
    const indent = Math.min(...indents, Infinity);
    const texts = lines.map((line) => line.slice(Math.min(indent, line.length)).trimEnd());
    const text = texts.join("\n").trimEnd();
    return joinsLines ? text.replace(/([^\n])\n(?=[^\n\s])/g, "$1 ").replace(/\n\n/g, "\n") : text;
  }

  /** A key without a value on its line: a list, a map, or a text follows. */
  #nested(): FrontmatterValue {
    const first = this.#lines[this.#at] ?? "";
    if (/^\s*-(?:\s|$)/.test(first)) return this.#list();
    if (NESTED.test(first)) return this.#map();
    return this.#scalar(this.#continuation().join(" "));
  }

  #list(): string[] {
    const items: string[] = [];
    for (; this.#at < this.#lines.length; this.#at++) {
      const item = /^\s*-(?:\s+(.*)|\s*)$/.exec(this.#lines[this.#at] ?? "");
      if (!item) break;
      items.push(this.#scalar((item[1] ?? "").trim()));
    }
    return items;
  }

  #map(): Record<string, string> {
    const map: Record<string, string> = {};
    for (; this.#at < this.#lines.length; this.#at++) {
      const line = this.#lines[this.#at] ?? "";
      if (line.trim() === "" || line.trimStart().startsWith("#")) continue;
      const match = NESTED.exec(line);
      const key = match?.[1] ?? match?.[2] ?? match?.[3];
      if (key !== undefined) map[key] = this.#scalar((match?.[4] ?? "").trim());
      else if (/^\s/.test(line)) {
        this.#note(`"${line.trim().slice(0, 60)}" was passed over: only one level is read`);
      } else break;
    }
    return map;
  }

  #inlineList(given: string): FrontmatterValue {
    if (!given.endsWith("]")) return this.#scalar(given);
    return split(given.slice(1, -1)).map((item) => this.#scalar(item));
  }

  #inlineMap(given: string): FrontmatterValue {
    if (!given.endsWith("}")) return this.#scalar(given);
    const pairs = split(given.slice(1, -1)).map((pair) => {
      const colon = pair.indexOf(":");
      return [this.#scalar(pair.slice(0, colon).trim()), this.#scalar(pair.slice(colon + 1).trim())] as const;
    });
    return Object.fromEntries(pairs);
  }

  #scalar(given: string): string {
    const quote = given[0];
    if (quote === '"' || quote === "'") {
      const end = closingQuote(given, quote);
      if (end > 0 && /^\s*(?:#.*)?$/.test(given.slice(end + 1))) {
        return unquote(given.slice(0, end + 1), quote);
      }
      this.#note("a quoted text is not closed or continues after its end");
      return given;
    }
    const text = given.replace(/\s+#.*$/, "");
    if (/:\s/.test(text)) this.#note("the text has a colon and should be in quotes");
    return text;
  }
}

function closingQuote(text: string, quote: string): number {
  for (let at = 1; at < text.length; at++) {
    if (quote === '"' && text[at] === "\\") at++;
    else if (text[at] === quote) {
      if (quote === "'" && text[at + 1] === "'") at++;
      else return at;
    }
  }
  return -1;
}

function unquote(text: string, quote: string): string {
  const inner = text.slice(1, -1);
  if (quote === "'") return inner.replaceAll("''", "'");
  const named: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", "0": "\0" };
  return inner.replace(
    /\\(?:u([0-9a-fA-F]{4})|(.))/g,
    (_, code: string | undefined, other: string) =>
      code === undefined ? named[other] ?? other : String.fromCharCode(parseInt(code, 16)),
  );
}

function split(text: string): string[] {
  return [...text.matchAll(/\s*((?:"(?:\\.|[^"\\])*"|'(?:''|[^'])*'|[^,])+)/g)]
    .map((match) => (match[1] ?? "").trim()).filter((item) => item !== "");
}

/** The field as one text; lists and maps have none. */
export function textField(frontmatter: Frontmatter, name: string): string | undefined {
  const value = frontmatter.fields[name];
  return typeof value === "string" ? value : undefined;
}

/** The field as a list: a list, or one text split at blanks and commas outside parentheses. */
export function listField(frontmatter: Frontmatter, name: string): readonly string[] {
  const value = frontmatter.fields[name];
  if (typeof value === "string") return value.match(/(?:[^\s,(]|\([^)]*\))+/g) ?? [];
  return Array.isArray(value) ? value : [];
}

/** A text as a value that every YAML reader understands. */
export function scalarText(text: string): string {
  const plain = /^[\p{L}\p{N}_(][^\n"'\\:#]*$/u.test(text) && text === text.trim() &&
    !/^(?:true|false|null|yes|no|on|off|~|[\d.eE+-]+)$/i.test(text);
  return plain ? text : JSON.stringify(text);
}
