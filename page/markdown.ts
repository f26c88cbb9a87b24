/**
 * Markdown of models as nodes of the page. HTML in it is text, an image is a link, and only addresses of the
 * web are links: nothing is loaded, and nothing of it runs.
 */
import { useSignal } from "@preact/signals";
import { html } from "htm/preact";
import { lexer, type MarkedToken, type Token } from "marked";
import { type ComponentChildren, h } from "preact";
import { useMemo } from "preact/hooks";
import { terminalSafe } from "../src/util/terminal_text.ts";
import { type Block, isTooDense, MarkdownBlocks } from "../src/view/mod.ts";
import { colored, tokensOf } from "./highlight.ts";
import { texts } from "./texts.ts";

const LINK = /^https?:\/\//i;
/** Deeper quotations and lists are shown as they are written. */
const DEEPEST = 24;
const TAGS = { paragraph: "p", blockquote: "blockquote", strong: "strong", em: "em", del: "del" } as const;

/** A text with its character references as characters. */
function plain(text: string): string {
  if (!/&#?\w+;/.test(text)) return text;
  const written = text.replace(/&(?!#?\w+;)|</g, (sign) => sign === "<" ? "&lt;" : "&amp;");
  return terminalSafe(new DOMParser().parseFromString(`<i>${written}`, "text/html").body.textContent ?? "");
}

function link(href: string, shown: ComponentChildren): ComponentChildren {
  if (!LINK.test(href)) return shown;
  const target = { target: "_blank", rel: "noopener noreferrer nofollow", class: "out", title: href };
  return h("a", { href, ...target }, shown);
}

function nodes(tokens: readonly Token[] = [], depth = 0): ComponentChildren[] {
  return tokens.map((token) => depth > DEEPEST ? token.raw : node(token as MarkedToken, depth + 1));
}

function node(token: MarkedToken, depth: number): ComponentChildren {
  switch (token.type) {
    case "heading":
      // The page has the levels above.
      return h(`h${Math.min(6, token.depth + 2)}`, null, nodes(token.tokens, depth));
    case "paragraph":
    case "blockquote":
    case "strong":
    case "em":
    case "del":
      return h(TAGS[token.type], null, nodes(token.tokens, depth));
    case "list": {
      const items = token.items.map((item) => h("li", null, nodes(item.tokens, depth)));
      return token.ordered ? h("ol", { start: Number(token.start) }, items) : h("ul", null, items);
    }
    case "table": {
      const cell = (name: string, { tokens, align }: typeof token.header[number]) =>
        h(name, align === null ? null : { class: `to-${align}` }, nodes(tokens, depth));
      const head = h("thead", null, h("tr", null, token.header.map((each) => cell("th", each))));
      const rows = token.rows.map((row) => h("tr", null, row.map((each) => cell("td", each))));
      return h("div", { class: "wide", tabindex: 0 }, h("table", null, head, h("tbody", null, rows)));
    }
    case "code":
      return h(Code, { text: token.text, info: token.lang ?? "" });
    case "hr":
    case "br":
      return h(token.type, null);
    case "codespan":
      return h("code", null, token.text);
    case "link": {
      // A link in a link is none.
      const inner = token.tokens.map((each) =>
        each.type === "image" ? { ...each, href: "", text: each.text || each.href } : each
      );
      return link(token.href, nodes(inner, depth));
    }
    case "image":
      return link(token.href, `[${plain(token.text) || token.href}]`);
    case "checkbox":
      return token.checked ? "☑ " : "☐ ";
    case "text":
      return token.tokens ? nodes(token.tokens, depth) : plain(token.text);
    case "escape":
      return token.text;
    case "html":
      return token.raw;
    default:
      return null;
  }
}

/** Parsed blocks by their text: a reply that has streamed is shown again when it is complete. */
const parsed = new Map<string, readonly Token[]>();
const MOST_PARSED = 300;

function parse(source: string, grows: boolean): readonly Token[] {
  const known = parsed.get(source);
  if (known) return known;
  const text = terminalSafe(source);
  let tokens: readonly Token[] = [{ type: "html", raw: text }];
  try {
    if (!isTooDense(text)) tokens = lexer(text);
  } catch { /* a text that cannot be parsed is shown as it is */ }
  if (grows) return tokens;
  parsed.set(source, tokens);
  const [oldest] = parsed.keys();
  if (parsed.size > MOST_PARSED && oldest !== undefined) parsed.delete(oldest);
  return tokens;
}

/** A block of Markdown; an open one still grows. */
function MarkdownBlock({ block: { source, code }, open = false }: { block: Block; open?: boolean }) {
  return useMemo(() => {
    if (code) return h(Code, { text: terminalSafe(code.lines.join("\n")), info: code.info, open });
    return h("div", { class: "block" }, nodes(parse(source, open)));
  }, [source, open]);
}

/** The nodes of blocks that do not change: the same node is not looked at again. */
const made = new WeakMap<Block, ComponentChildren>();

interface BlocksProps {
  readonly blocks: readonly Block[];
  readonly open?: Block | undefined;
}

/** The blocks of a text, the last of which may grow. */
export function Blocks({ blocks, open }: BlocksProps): ComponentChildren {
  const all = blocks.map((block, at) => {
    const node = made.get(block) ?? h(MarkdownBlock, { key: at, block });
    made.set(block, node);
    return node;
  });
  return open ? [...all, h(MarkdownBlock, { key: blocks.length, block: open, open: true })] : all;
}

export function Markdown({ text }: { readonly text: string }): ComponentChildren {
  const blocks = useMemo(() => {
    const all = new MarkdownBlocks();
    return [...all.push(text), all.end()].filter((block) => block !== undefined);
  }, [text]);
  return h(Blocks, { blocks });
}

/** Lines that are laid out together: of code that grows only the last ones change. */
const CHUNK = 50;

interface CodeProps {
  readonly text: string;
  readonly info?: string;
  /** It grows, and has no colors yet. */
  readonly open?: boolean | undefined;
}

/** Code that can be copied, in colors where its language is known. */
export function Code({ text, info = "", open = false }: CodeProps): ComponentChildren {
  const language = /[\w+#-]+/.exec(info)?.[0].toLowerCase() ?? "";
  const tokens = open ? undefined : tokensOf(text, language);
  const lines = text.split("\n");
  const chunks = [];
  for (let at = 0; at < lines.length; at += CHUNK) {
    const part = lines.slice(at, at + CHUNK);
    const shown = tokens
      ? part.flatMap((line, index) => [index > 0 ? "\n" : "", ...colored(line, tokens[at + index])])
      : part.join("\n");
    chunks.push(h("span", { class: "chunk", key: at }, shown));
  }
  return html`
    <div class="code">
      <div class="code-head"><span>${language}</span><${Copy} text=${text} /></div>
      <pre tabindex="0"><code>${chunks}</code></pre>
    </div>
  `;
}

/** How long a button says that it has copied. */
const COPIED_MS = 1500;

/** A button that copies a text. */
export function Copy({ text }: { readonly text: string }): ComponentChildren {
  const copied = useSignal(false);
  const { copy, copied: done } = texts().web.talk;
  const act = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch { // beyond loopback without TLS there is no clipboard, and a browser may refuse it
      copySelected(text);
    }
    copied.value = true;
    setTimeout(() => copied.value = false, COPIED_MS);
  };
  return html`<button type="button" class="copy" onClick=${act}>${copied.value ? done : copy}</button>`;
}

function copySelected(text: string): void {
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
