import { assert, assertEquals } from "../../../support/assert.ts";
import { convert, type PageResult } from "../../../../plugins/web/page/convert.ts";

const URL_OF_PAGE = "https://docs.test/guide/page.html";
/** Text that makes a page an article. */
const PROSE = "Rivers carry water, sand, and stories to the sea, and they have done so for a long time. "
  .repeat(7);

function open(page: string | Uint8Array, contentType = ""): Promise<PageResult> {
  const bytes = typeof page === "string" ? new TextEncoder().encode(page) : page;
  return convert({ bytes, url: URL_OF_PAGE, contentType });
}

const markdownIn = async (body: string) => (await open(`<body><article>${body}</article></body>`)).markdown;

Deno.test("the text of a page arrives as Markdown", async () => {
  const pages: readonly (readonly [string, string])[] = [
    [
      `<h2 id=o>Options<a class=anchor href="#o">¶</a></h2><p>Use <code>snake_case</code>, <b>bold <b>more</b></b>,
      <em>it</em>, <s>old</s>, a_b_c, a[0], 2 * 3, 10<sup>6</sup> &lt;tag&gt; &amp;amp;&nbsp;x.<br>Next</p>`,
      "## Options\n\nUse `snake_case`, **bold more**, *it*, ~~old~~, a_b_c, a[0], 2 * 3, 10^6 <tag> &amp; x.\nNext",
    ],
    [
      `<p><a href="../x y.html?a=1&amp;b=2#f" title=no>up (here)</a> <a href=//cdn.test/f>f</a> <a href="#a">same page</a>
      <a href="javascript:alert(1)">js</a> <a href="mailto:a@b.test">mail</a> <a href="/w/A_(b)">paren</a>
      <a href="https://docs.test/">https://docs.test/</a> <a href=/n><h3>Card</h3><p>text</p></a></p>`,
      "[up (here)](https://docs.test/x%20y.html?a=1&b=2#f) [f](https://cdn.test/f) same page js " +
      "[mail](mailto:a@b.test) [paren](https://docs.test/w/A_%28b%29) https://docs.test/\n\n[Card text](https://docs.test/n)",
    ],
    [
      `<table><caption>Flags</caption><thead><tr><th>Flag</th><th>Meaning | more</th></tr></thead><tbody><tr><td><code>-l</code></td>
      <td>Prints<br>names</td></tr><tr><td rowspan=2>both</td><td>a</td></tr><tr><td>b</td></tr><tr><td colspan=2>wide</td></tr></table>`,
      "Flags\n\n| Flag | Meaning \\| more |\n| --- | --- |\n| `-l` | Prints<br>names |\n| both | a |\n|  | b |\n| wide |  |",
    ],
    [
      "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>",
      "|  |  |\n| --- | --- |\n| a | b |\n| c |  |",
    ],
    [
      `<table><tr><td><h2>Left</h2><p>text</p></td><td><table><tr><th>k</th><th>v</th></tr><tr><td>1</td><td>2</td></tr></table></td></tr></table>`,
      "## Left\n\ntext\n\n| k | v |\n| --- | --- |\n| 1 | 2 |",
    ],
    [
      `<pre><code class="hljs language-TS"><span class=k>const</span> a = \`x\`;\n\n  if (a &lt; b) {}\n</code></pre>
      <div class="highlight highlight-source-shell"><pre>ls -la\n# no heading</pre></div><pre data-lang=rust>fn</pre><pre>a\n\`\`\`\nb</pre>`,
      "```ts\nconst a = `x`;\n\n  if (a < b) {}\n```\n\n```shell\nls -la\n# no heading\n```\n\n```rust\nfn\n```\n\n````\na\n```\nb\n````",
    ],
    [
      `<div class="language-py"><table><tr><td class=gutter><pre>1\n2</pre></td><td><pre><code><div>a = 1</div><div>b = 2</div></code></pre></td></tr></table></div>
      <pre><span class=line><span class=lineno>1</span>x<br></span><span class=line>y</span></pre>`,
      "```py\na = 1\nb = 2\n```\n\n```\nx\ny\n```",
    ],
    [
      `<ul><li>one<ul><li>deep</li><li>er</li></ul></li><li><input type=checkbox checked> done</li><li><input type=checkbox> open</li></ul>
      <ol start=3><li>three</li><li><p>four</p><pre>code</pre></li><li value=9>nine</li></ol>`,
      "- one\n  - deep\n  - er\n- [x] done\n- [ ] open\n\n3. three\n4. four\n\n   ```\n   code\n   ```\n9. nine",
    ],
    [
      `<blockquote><p>Quote</p><p>two</p></blockquote><dl><dt>Term<dd>Its meaning<dt>Next<dd>Other</dl><hr><p># no heading</p><p>1. no list</p><p>- nor here</p>`,
      "> Quote\n>\n> two\n\n**Term**\nIts meaning\n\n**Next**\nOther\n\n---\n\n\\# no heading\n\n1\\. no list\n\n\\- nor here",
    ],
    [
      `<figure><img src="/i/p.png" alt="A plan [1]" title=no><figcaption>Figure 1</figcaption></figure><img src="data:image/gif;base64,R0" data-src="lazy.jpg" alt=late>
      <img src="t.gif" width=1 height=1><p><img src="blank.gif" alt="seen"><noscript><img src="n.jpg" alt="kept">text for few</noscript></p>`,
      "![A plan \\[1\\]](https://docs.test/i/p.png)\n\nFigure 1\n\n![late](https://docs.test/guide/lazy.jpg)\n\n![kept](https://docs.test/guide/n.jpg)",
    ],
    [
      String
        .raw`<p>So <math><semantics><mrow><mi>x</mi></mrow><annotation encoding="application/x-tex">x^2 &lt; \frac{1}{2}</annotation></semantics></math> and
      <span><span style="display:none"><math alttext="y"><mi>y</mi></math></span><img class="mwe-math-fallback-image-inline" aria-hidden="true" src=/m.svg alt="{\displaystyle y_1}"></span>
      and <math><mi>z</mi></math>.</p>`,
      "So $x^2 < \\frac{1}{2}$ and $y_1$ and $z$.",
    ],
    [
      `<p>河流把水、沙子和故事带到大海。<ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp></ruby>字。<b>重要</b>的。</p><h2>第二节</h2><p>日本語のテキスト。</p>`,
      "河流把水、沙子和故事带到大海。漢(かん)字。**重要**的。\n\n## 第二节\n\n日本語のテキスト。",
    ],
  ];
  for (const [html, expected] of pages) assertEquals(await markdownIn(html), expected);
});

Deno.test("only the article of a page arrives, and all of the page where an article has hardly any of it", async () => {
  const frame = (main: string, more = "") =>
    `<html><head><title>Rivers &amp; sand</title><meta property="article:published_time" content="2026-05-02T10:00:00Z">
    <meta property="og:site_name" content="River\u200b Docs"></head><body><nav><a href=/>Home</a></nav>${main}${more}<footer>© us</footer></body></html>`;
  const article = await open(
    frame(`<article><h1>Rivers &amp; sand</h1><p>${PROSE}</p><p>${PROSE}</p></article>`),
  );
  assertEquals(article.markdown, `${PROSE.trim()}\n\n${PROSE.trim()}`);
  assertEquals(
    { ...article, markdown: "" },
    {
      markdown: "",
      title: "Rivers & sand",
      date: "2026-05-02",
      site: "River Docs",
      charset: "utf-8",
      part: "article",
      forward: undefined,
      notes: [],
    },
  );
  const rest = Array.from({ length: 40 }, (_, at) => `<li>Item ${at}: something short</li>`).join("");
  const whole = await open(
    frame(`<article><p>${PROSE}</p></article>`, `<ul class=sidebar>${rest.repeat(4)}</ul>`),
  );
  assertEquals(whole.part, "page");
  assert(whole.markdown.includes("Item 39") && whole.markdown.includes("Rivers carry"));
  const bytes = new TextEncoder().encode(frame(`<p>${PROSE}</p>`));
  const wanted = await convert({ bytes, url: URL_OF_PAGE, part: "page" });
  assertEquals([wanted.part, /Home/.test(wanted.markdown), /© us/.test(wanted.markdown)], [
    "page",
    true,
    true,
  ]);
});
