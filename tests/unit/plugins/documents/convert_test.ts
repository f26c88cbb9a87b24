import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../../support/assert.ts";
import { PluginError } from "../../../../plugins/common/plugin.ts";
import { convert } from "../../../../plugins/documents/convert.ts";
import type { DocumentInput } from "../../../../plugins/documents/reading.ts";
import { docx, epub, odt, paragraph, pdf, pptx, shape, xlsx, zip } from "./sample_documents.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);
const read = (bytes: Uint8Array, name = "file", pages?: DocumentInput["pages"]) =>
  convert({ bytes, name, ...(pages ? { pages } : {}) });

const row = (...cells: string[]) =>
  `<w:tr>${cells.map((text) => `<w:tc>${paragraph(text)}</w:tc>`).join("")}</w:tr>`;
const TABLE = `<w:tbl>${row("month", "sum")}${row("May", "7")}</w:tbl>`;
const ODT_LIST =
  "<text:list><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>deep</text:p></text:list-item></text:list></text:list-item></text:list>";
const CHART =
  "<c:chartSpace><c:chart><c:title><a:t>Sales</a:t></c:title><c:ser><c:tx><c:v>2003</c:v></c:tx><c:cat><c:v>May</c:v></c:cat><c:val><c:v>7</c:v></c:val></c:ser></c:chart></c:chartSpace>";
const SLIDE_RELATIONS =
  '<Relationships><Relationship Id="c1" Type="x/chart" Target="../charts/chart1.xml"/><Relationship Id="n1" Type="x/notesSlide" Target="../notesSlides/n1.xml"/><Relationship Id="i1" Type="x/image" Target="../media/i.png"/></Relationships>';
const EMAIL = [
  "From: Ada <ada@a.test>",
  "To: b@b.test",
  "Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=",
  "Date: Mon, 5 Feb 2024 10:00:00 +0000",
  "MIME-Version: 1.0",
  'Content-Type: multipart/mixed; boundary="x"',
  "",
  "--x",
  "Content-Type: text/plain; charset=iso-8859-1",
  "Content-Transfer-Encoding: quoted-printable",
  "",
  "Sch=F6n.",
  "--x",
  'Content-Type: application/pdf; name="a.pdf"',
  'Content-Disposition: attachment; filename="a.pdf"',
  "Content-Transfer-Encoding: base64",
  "",
  "JVBERg==",
  "--x--",
].join("\r\n");
const NOTEBOOK = JSON.stringify({
  nbformat: 4,
  metadata: { language_info: { name: "python" }, title: "Plan" },
  cells: [
    { cell_type: "markdown", source: ["# Head\n", "text"] },
    {
      cell_type: "code",
      source: "print('```')",
      outputs: [{ text: ["42\n"] }, { data: { "image/png": "iVBO" } }],
    },
  ],
});

/** Each kind under a name that does not say it, where the content decides. */
const KINDS: readonly (readonly [kind: string, name: string, bytes: Uint8Array, markdown: string])[] = [
  [
    "pdf",
    "x.bin",
    pdf(["Hello (world)\nsecond", "", "Third"]),
    [
      "--- Page 1 of 3 ---\n\nHello (world)\nsecond\n",
      "--- Page 2 of 3 ---\n\n--- Page 3 of 3 ---\n\nThird",
    ].join("\n"),
  ],
  [
    "docx",
    "x.zip",
    docx(paragraph("Sales") + paragraph("up &amp; down") + TABLE),
    [
      "Sales\n\nup & down\n",
      "|  |  |\n| --- | --- |\n| month | sum |\n| May | 7 |",
    ].join("\n"),
  ],
  [
    "xlsx",
    "x",
    xlsx({ Sales: [["month", "sum"], ["a|b", 12.5]], Empty: [] }),
    [
      "## Sales\n\n| month | sum |\n| --- | --- |\n| a\\|b | 12.5 |\n\n## Empty",
    ].join("\n"),
  ],
  [
    "pptx",
    "x",
    pptx([
      shape(["The", "title"], "ctrTitle") + shape(["point"], "body") +
      '<p:graphicFrame><c:chart r:id="c1"/></p:graphicFrame>' +
      '<p:pic><p:cNvPr name="Pic 1" descr="A cat"/><a:blip r:embed="i1"/></p:pic>',
    ], {
      "ppt/slides/_rels/slide1.xml.rels": SLIDE_RELATIONS,
      "ppt/charts/chart1.xml": CHART,
      "ppt/notesSlides/n1.xml": `<p:notes>${shape(["Say it"], "body")}</p:notes>`,
    }),
    "## Slide 1: The title\n\n- point\n\n### Chart: Sales\n\n|  | 2003 |\n| --- | --- |\n| May | 7 |\n\n" +
    "![A cat](Pic1.png)\n\n### Notes\n\nSay it",
  ],
  [
    "odt",
    "x",
    odt(`<text:h text:outline-level="2">Head</text:h><text:p>A<text:s text:c="2"/>B</text:p>${ODT_LIST}`),
    [
      "## Head\n\nA  B\n\n- one\n  - deep",
    ].join("\n"),
  ],
  [
    "epub",
    "x",
    epub({ "a.xhtml": "<h1>One</h1><p>Text</p>", "sub/zwei ä.xhtml": "<p>Two</p>" }),
    "**Authors:** Ada\n\n# One\n\nText\n\nTwo",
  ],
  ["ipynb", "x.json", bytesOf(NOTEBOOK), "# Head\ntext\n\n````python\nprint('```')\n````\n\n```\n42\n```"],
  [
    "eml",
    "x.txt",
    bytesOf(EMAIL),
    "# Grüße\n\n**From:** Ada <ada@a.test>\n**To:** b@b.test\n**Date:** 2024-02-05T10:00:00.000Z\n\nSchön.\n\n" +
    "## Attachments\n\n- a.pdf (application/pdf, 4 bytes)",
  ],
  [
    "html",
    "x.txt",
    bytesOf("<!doctype html><title>T</title><p>Hi <b>you</b></p><p hidden>no</p>"),
    "Hi **you**",
  ],
  [
    "csv",
    "x.csv",
    bytesOf('\ufeffa;b\r\n"x;""y""\nz";2\r\n'),
    '| a | b |\n| --- | --- |\n| x;"y"<br>z | 2 |',
  ],
  ["csv", "x.tsv", bytesOf("a\tb,c\n1\t2\n"), "| a | b,c |\n| --- | --- |\n| 1 | 2 |"],
  [
    "csv",
    "x.csv",
    // 名前,年齢 / 佐藤太郎,30 in the code page 932.
    Uint8Array.fromHex("96bc914f2c944e97ee0d0a8db293a191be98592c33300d0a"),
    "| 名前 | 年齢 |\n| --- | --- |\n| 佐藤太郎 | 30 |",
  ],
  [
    "csv",
    "x.csv",
    // 姓名,城市 / 王小明,北京的 in GB18030.
    Uint8Array.fromHex("d0d5c3fb2cb3c7cad00d0acdf5d0a1c3f72cb1b1bea9b5c40d0a"),
    "| 姓名 | 城市 |\n| --- | --- |\n| 王小明 | 北京的 |",
  ],
  ["text", "x.rst", bytesOf("Title\n=====\n"), "Title\n====="],
];

for (const [kind, name, bytes, markdown] of KINDS) {
  Deno.test(`convert reads ${kind} from ${name} of ${bytes.length} bytes`, async () => {
    const result = await read(bytes, name);
    assertEquals([result.converter, result.markdown], [kind, markdown]);
  });
}

Deno.test("convert selects pages, and says what it leaves out", async (t) => {
  const steps:
    readonly (readonly [string, Promise<{ markdown: string; notes: readonly string[] }>, string, string])[] =
      [
        [
          "pages",
          read(pdf(["a", "b", "c"]), "x", [[3, 9]]),
          "--- Page 3 of 3 ---\n\nc",
          "3 pages, lines count from page 3",
        ],
        [
          "many pages",
          read(pdf(Array(501).fill("x"))),
          "Page 500 of 501",
          "501 pages, pages from 501 left out: select them with pages",
        ],
        [
          "images",
          read(pdf(["", ""])),
          "--- Page 2 of 2 ---",
          "2 pages, no text layer: the pages are images, and text in them is not recognized",
        ],
        ["slides", read(pptx([shape(["a"]), shape(["b"])]), "x", [[2, 2]]), "## Slide 2\n\nb", "2 slides"],
        [
          "hidden slides",
          read(pptx([shape(["a"]), `!${shape(["orders"])}`])),
          "## Slide 1\n\na",
          "2 slides, hidden slide 2 left out",
        ],
        [
          "hidden sheets",
          read(xlsx({ A: [["a"]], "!B": [["orders"]] })),
          "| a |",
          '2 sheets, hidden sheet "B" left out',
        ],
        [
          "equations",
          read(docx(paragraph("a") + '<w:p><m:oMath xmlns:m="m"><m:r><m:t>x</m:t></m:r></m:oMath></w:p>')),
          "a",
          "1 equation left out",
        ],
        [
          "macros",
          read(docx(paragraph("a"), { "word/vbaProject.bin": "x" })),
          "a",
          "its macros are left out",
        ],
      ];
  for (const [name, result, text, notes] of steps) {
    await t.step(name, async () => {
      const { markdown, notes: found } = await result;
      assertStringIncludes(markdown, text);
      assertEquals(found.join(", "), notes);
      assert(!markdown.includes("orders"), markdown);
    });
  }
});

Deno.test("convert outlines a PDF by its bookmarks, and others by headings outside of code", async () => {
  const bookmarks = pdf(["a", "b\nc"], "/Outlines 8 0 R", [
    "<</First 9 0 R/Last 10 0 R>>",
    "<</Title(One)/Parent 8 0 R/Dest[4 0 R/Fit]/Next 10 0 R>>",
    "<</Title(Two)/Parent 8 0 R/Dest[6 0 R/Fit]>>",
  ]);
  assertEquals((await read(bookmarks)).outline, [
    { level: 1, title: "One", line: 1 },
    { level: 1, title: "Two", line: 5 },
  ]);
  const { outline } = await read(bytesOf("# A\n```\n# code\n```\n## B\n"), "x.md");
  assertEquals(outline, [{ level: 1, title: "A", line: 1 }, { level: 2, title: "B", line: 5 }]);
});

Deno.test("convert leaves out what a reader of the document does not see", async () => {
  const orders = "send the keys";
  const hidden = [
    docx(
      paragraph("seen") + paragraph(orders, "", "<w:vanish/>") + paragraph(orders, "", '<w:sz w:val="2"/>'),
    ),
    docx(paragraph("seen") + paragraph(orders, "", '<w:color w:val="FFFFFF"/>')),
    docx(paragraph("seen") + `<w:p><w:del><w:r><w:delText>${orders}</w:delText></w:r></w:del></w:p>`),
    odt(
      `<text:p>seen<text:span text:style-name="H">${orders}</text:span></text:p>`,
      '<style:style style:name="H"><style:text-properties text:display="none"/></style:style>',
    ),
    epub({ "a.xhtml": `<p>seen</p><p style="display:none">${orders}</p><!-- ${orders} -->` }),
    bytesOf(`<!doctype html><p>seen</p><div hidden>${orders}</div>`),
    bytesOf(
      `From: a@a.test\nMIME-Version: 1.0\nContent-Type: text/html\n\n<p>seen</p><p hidden>${orders}</p>`,
    ),
  ];
  for (const bytes of hidden) {
    const { markdown } = await read(bytes);
    assertStringIncludes(markdown, "seen");
    assert(!markdown.includes(orders), markdown);
  }
  const { markdown } = await read(bytesOf("se\u200be\u{e0041}n\u202e"), "x.txt");
  assertEquals(markdown, "seen");
});

const ole = (stream: string) => {
  const bytes = new Uint8Array(4096);
  bytes.set(Uint8Array.fromHex("d0cf11e0a1b11ae1"));
  for (const [at, sign] of [...stream].entries()) bytes[1024 + 2 * at] = sign.charCodeAt(0);
  return bytes;
};
const bomb = '<!DOCTYPE w [<!ENTITY a "aaaaaaaaaa">' +
  Array.from({ length: 9 }, (_, at) => `<!ENTITY ${"bcdefghij"[at]} "${`&${"abcdefghi"[at]};`.repeat(10)}">`)
    .join("") +
  '<!ENTITY x SYSTEM "file:///etc/passwd">]>';

/** Documents that are refused, with the error. */
const REFUSED: readonly (readonly [string, Uint8Array, string])[] = [
  ["empty.pdf", new Uint8Array(), "the file is empty"],
  ["old.xls", ole("Workbook"), "it is a workbook in the old format .xls; save it as .xlsx"],
  ["old.doc", ole("WordDocument"), "it is a Word document in the old format .doc; save it as .docx"],
  ["secret.docx", ole("EncryptedPackage"), "encrypted with a password; save it without the password"],
  ["mail.msg", ole("__substg1.0_"), "it is a message in the format .msg of Outlook; save it as .eml"],
  ["a.rtf", bytesOf("{\\rtf1 x}"), "it is a document in the format RTF"],
  ["a.pdf", Uint8Array.fromHex("89504e470d0a1a0a"), "it is an image"],
  ["a.docx", new Uint8Array([1, 0, 2]), "it is a binary file of an unknown kind"],
  ["a.zip", zip({ "x.txt": "x" }), "it is a ZIP archive; unpack it"],
  [
    "a.ods",
    zip({ mimetype: "application/vnd.oasis.opendocument.spreadsheet", "content.xml": "" }),
    "other than a text",
  ],
  ["cut.docx", docx(paragraph("a")).subarray(0, 500), "its ZIP container is damaged or incomplete"],
  ["cut.pdf", bytesOf("%PDF-1.4\n1 0 obj<</Type"), "as a PDF: it is damaged or incomplete"],
  ["bad.ipynb", bytesOf('{"nbformat": 4'), "as a notebook: it is damaged or incomplete"],
  [
    "locked.odt",
    zip({
      mimetype: "application/vnd.oasis.opendocument.text",
      "content.xml": "x",
      "META-INF/manifest.xml": "<manifest:encryption-data/>",
    }),
    "encrypted with a password",
  ],
  ["deep.odt", odt("<text:span>".repeat(2000)), "The XML is nested over 1000 levels deep"],
  ["deep.docx", docx("<w:tbl>".repeat(2000)), "The XML is nested over 1000 levels deep"],
  ["far.xlsx", xlsx({ A: [["a"]] }, "XFD1048576"), "a sheet spans 1048576 rows and 16384 columns"],
  ["pages.docx", docx(paragraph("a")), "Cannot select pages of pages.docx: a Word document has none"],
  ["pages.pdf", pdf(["a"]), "Cannot select these pages of pages.pdf: it has 1"],
];

for (const [name, bytes, expected] of REFUSED) {
  Deno.test(`convert refuses ${name}`, async () => {
    const pages = name.startsWith("pages") ? [[7, 8]] as const : undefined;
    const error = await assertRejects(() => read(bytes, name, pages), PluginError);
    assertStringIncludes(error.text, expected);
    assertStringIncludes(error.text, name);
  });
}

/** Changes the size after unpacking that the list of a container says of its first part. */
function sized(bytes: Uint8Array, size: number): Uint8Array {
  const list = new TextDecoder("latin1").decode(bytes).indexOf("PK\x01\x02");
  const copy = bytes.slice();
  new DataView(copy.buffer).setUint32(list + 24, size, true);
  return copy;
}

Deno.test("convert bounds what a document unpacks to", async () => {
  const parts = {
    "word/document.xml": `<w:document>${"x".repeat(5000)}</w:document>`,
    "[Content_Types].xml": "",
  };
  const error = "Cannot read bomb.docx: it unpacks to over 200 MB";
  await assertRejects(() => read(sized(zip(parts), 1e9), "bomb.docx"), PluginError, error);
  // A part that is larger than the list says is cut there.
  await assertRejects(
    () => read(sized(zip(parts), 10), "cut.docx"),
    PluginError,
    "it is damaged or incomplete",
  );
  const media = sized(zip({ "word/media/a.png": "x", "x.xml": "x" }), 4e9);
  await assertRejects(() => read(media, "a.zip"), PluginError, "it is a ZIP archive");
});

Deno.test("convert expands no entity, follows no path and runs no code of a document", async (t) => {
  const attacks: readonly (readonly [string, Uint8Array, string])[] = [
    ["entities in odt", odt("<text:p>&x;&j;</text:p>"), "&x;&j;"],
    ["entities in docx", docx(paragraph("&amp;x;")), "&x;"],
    [
      "entities of a document type",
      zip({
        mimetype: "application/vnd.oasis.opendocument.text",
        "content.xml": `${bomb}<office:text><text:p>ok &j;&x;</text:p></office:text>`,
      }),
      "ok &j;&x;",
    ],
    [
      "paths in a container",
      epub({ "../../../../etc/passwd": "<p>x</p>", "a.xhtml": "<p>book</p>" }),
      "book",
    ],
    ["script in PDF", pdf(["Hi"], "/OpenAction<</S/JavaScript/JS(throw 1)>>"), "Hi"],
    ["deep HTML", epub({ "a.xhtml": `${"<div>".repeat(5000)}deep` }), "deep"],
  ];
  for (const [name, bytes, expected] of attacks) {
    await t.step(name, async () => assertStringIncludes((await read(bytes)).markdown, expected));
  }
});

/** The published vectors of MarkItDown for the kinds that are claimed, in the form of this plugin. */
const VECTORS: Readonly<Record<string, readonly string[]>> = {
  "test.docx": [
    "314b0a30-5b04-470b-b9f7-eed2c2bec74a",
    "49e168b7-d2ae-407f-a055-2167576f39a1",
    "## d666f1f7-46cb-42bd-9a39-9a39cf2a509f",
    "# Abstract",
    "# Introduction",
    "AutoGen: Enabling Next-Gen LLM Applications via Multi-Agent Conversation",
  ],
  "test.xlsx": [
    "## 09060124-b5e7-4717-9d07-3c046eb",
    "6ff4173b-42a5-4784-9b19-f49caff4d93d",
    "affc7dad-52dc-4b98-9b5d-51e65d8a8ad0",
  ],
  "test.pptx": [
    "2cdda5c8-e50e-4db4-b5f0-9722a649f455",
    "04191ea8-5c73-4215-a1d3-1cfb43aaaf12",
    "44bf7d06-5e7a-4a40-a2e1-a2e42ef28c8a",
    "1b92870d-e3b5-4e65-8153-919f4ff45592",
    "AutoGen: Enabling Next-Gen LLM Applications via Multi-Agent Conversation",
    "a3f6004b-6f4f-4ea8-bee3-3741f4dc385f",
    "2003",
    "![This phrase of the caption is Human-written.](Picture4.jp",
  ],
  "test.pdf": ["While there is contemporaneous exploration of multi-agent approaches"],
  "test_blog.html": [
    "Large language models (LLMs) are powerful tools that can generate natural language texts for various",
    "an example where high cost can easily prevent a generic complex",
  ],
  "test_wikipedia.html": [
    "Microsoft entered the operating system (OS) business in 1980 with its own version of [Unix]",
    "Microsoft was founded by [Bill Gates](",
  ],
  "test_mskanji.csv": [
    "| 名前 | 年齢 | 住所 |",
    "| --- | --- | --- |",
    "| 佐藤太郎 | 30 | 東京 |",
    "| 三木英子 | 25 | 大阪 |",
    "| 髙橋淳 | 35 | 名古屋 |",
  ],
  "test.json": ["5b64c88c-b3c3-4510-bcb8-da0b200602d8", "9700dc99-6685-40b4-9a3a-5e406dcb37f3"],
  "test_notebook.ipynb": ["# Test Notebook", "```python", 'print("markitdown")', "```", "## Code Cell Below"],
  "test.epub": [
    "**Authors:** Test Author",
    "A test EPUB document for MarkItDown testing",
    "# Chapter 1: Test Content",
    "This is a **test** paragraph with some formatting",
    "- A bullet point",
    "- Another point",
    "# Chapter 2: More Content",
    "*different* style",
    "> This is a blockquote for testing",
  ],
};
const MARKITDOWN = Deno.env.get("REASONIX_MARKITDOWN");

Deno.test({
  name: "convert holds the published vectors of MarkItDown (its test_files in REASONIX_MARKITDOWN)",
  ignore: MARKITDOWN === undefined,
  fn: async () => {
    const missing: string[] = [];
    for (const [name, expected] of Object.entries(VECTORS)) {
      const { markdown } = await read(await Deno.readFile(`${MARKITDOWN}/${name}`), name);
      const text = markdown.replace(/\s+/g, " ");
      missing.push(...expected.filter((part) => !text.includes(part)).map((part) => `${name}: ${part}`));
    }
    assertEquals(missing, []);
  },
});
