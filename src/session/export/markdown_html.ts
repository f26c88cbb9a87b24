import { Marked } from "marked";

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Text as HTML that means nothing but itself. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign);
}

/** What a reader may be led to; `javascript:`, `data:` and paths of his own machine are not among it. */
const LINK = /^(?:https?|mailto):/i;

const markdown = new Marked({
  gfm: true,
  renderer: {
    html: ({ text }) => escapeHtml(text),
    image: ({ href, text }) => `[${escapeHtml(text || href)}]`,
    link({ href, tokens }) {
      const shown = this.parser.parseInline(tokens);
      return LINK.test(href) ? `<a href="${escapeHtml(href)}" rel="noreferrer nofollow">${shown}</a>` : shown;
    },
  },
});

/** Markdown of a model as HTML. HTML inside it is shown as text, images as their description. */
export function markdownHtml(text: string): string {
  return markdown.parse(text, { async: false }).trim();
}
