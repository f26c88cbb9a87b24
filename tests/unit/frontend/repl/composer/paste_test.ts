import { assertEquals } from "../../../../support/assert.ts";
import { messageOf, Parts, type Piece, readPaste } from "../../../../../src/frontend/repl/composer/draft.ts";

async function withImages(run: (directory: string) => void): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    for (const name of ["a.png", "my shot.PNG", "it's.jpg", "图.webp", "note.txt", "100%.gif"]) {
      await Deno.writeTextFile(`${directory}/${name}`, "");
    }
    await Deno.mkdir(`${directory}/dir.png`);
    run(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

const files = (pieces: readonly Piece[]) =>
  pieces.flatMap((piece) => typeof piece !== "string" && piece.kind === "file" ? [piece.path] : []);

Deno.test("readPaste keeps a text except for its line ends", () => {
  assertEquals(readPaste("\tif (x) {\t \r\n\r\n  y\r\x1b[31m\0\n", {}), [
    "\tif (x) {\t \n\n  y\n\x1b[31m\0\n",
  ]);
  assertEquals(readPaste("", {}), []);
});

Deno.test("readPaste collapses more than 10 lines or 1,000 characters", () => {
  const ten = "line\n".repeat(10);
  assertEquals(readPaste(ten, {}), [ten]);
  assertEquals(readPaste(`${ten}x`, {}), [{ kind: "paste", content: `${ten}x` }]);
  assertEquals(readPaste("x".repeat(1000), {}), ["x".repeat(1000)]);
  assertEquals(readPaste("x".repeat(1001), {}), [{ kind: "paste", content: "x".repeat(1001) }]);
});

Deno.test("readPaste recognizes image paths in every form that terminals write", async () => {
  await withImages((directory) => {
    const home = directory;
    const shot = `${directory}/my shot.PNG`;
    const forms: Record<string, string[]> = {
      [`${directory}/a.png`]: [`${directory}/a.png`],
      [` ${directory}/a.png\n`]: [`${directory}/a.png`],
      [shot]: [shot],
      [`'${shot}'`]: [shot],
      [`"${shot}" `]: [shot],
      [shot.replace(" ", "\\ ")]: [shot],
      [`file://${shot.replace(" ", "%20")}`]: [shot],
      [`file://localhost${directory}/100%25.gif`]: [`${directory}/100%.gif`],
      [`${directory}/100%.gif`]: [`${directory}/100%.gif`],
      [`'${directory}/it'\\''s.jpg'`]: [`${directory}/it's.jpg`],
      ["~/图.webp"]: [`${directory}/图.webp`],
      [`'${shot}' ${directory}/a.png`]: [shot, `${directory}/a.png`],
      [`${directory}/a.png\r${directory}/图.webp\r`]: [`${directory}/a.png`, `${directory}/图.webp`],
    };
    for (const [pasted, paths] of Object.entries(forms)) {
      assertEquals(files(readPaste(pasted, { home })), paths, pasted);
    }
  });
});

Deno.test("readPaste keeps text that only resembles an image path", async () => {
  await withImages((directory) => {
    const texts = [
      `${directory}/none.png`,
      `${directory}/note.txt`,
      `${directory}/dir.png`,
      `look at ${directory}/a.png`,
      `${directory}/a.png and more`,
      "a.png",
      "https://example.org/a.png",
      "file://elsewhere/a.png",
      "file:///%E0%A4%A.png",
      "C:\\Users\\nobody\\a.png",
      "'.png",
      `${directory}/\0.png`,
    ];
    for (const text of texts) assertEquals(readPaste(text, { home: directory }), [text], text);
  });
});

const label = (part: { kind: string }, number: number) => `[${part.kind} ${number}]`;

Deno.test("Parts are one character each and expand to their original text", () => {
  const parts = new Parts(label);
  const pieces: Piece[] = ["see ", { kind: "paste", content: "1\n2" }, " and ", {
    kind: "file",
    path: "/a.png",
  }];
  const text = parts.marked(pieces);
  assertEquals(text.length, "see  and ".length + 2);
  assertEquals(parts.pieces(text), pieces);
  assertEquals(parts.editable(text), "see 1\n2 and [file 2]");
  assertEquals(parts.pieces(""), []);
});

Deno.test("Parts numbers the parts of a draft and keeps only those in a text", () => {
  const parts = new Parts(label);
  const one = parts.add({ kind: "paste", content: "1" }, "");
  const two = parts.add({ kind: "paste", content: "2" }, one);
  assertEquals([one, two].map((mark) => parts.labelOf(mark)), ["[paste 1]", "[paste 2]"]);
  parts.keepOnly(two);
  assertEquals([one, two].map((mark) => parts.labelOf(mark)), [undefined, "[paste 2]"]);
  assertEquals(parts.labelOf(parts.add({ kind: "paste", content: "3" }, "")), "[paste 1]");
});

Deno.test("Parts finds unchanged parts in an edited text", () => {
  const parts = new Parts(label);
  const content = "long\ntext";
  const text = parts.marked(["a ", { kind: "paste", content }, " b ", { kind: "file", path: "/x.png" }]);
  const unchanged = parts.restoreMarks("# head\na long\ntext, b [file 2]", text);
  assertEquals(parts.pieces(unchanged), [
    "# head\na ",
    { kind: "paste", content },
    ", b ",
    { kind: "file", path: "/x.png" },
  ]);
  assertEquals(parts.pieces(parts.restoreMarks("a long\ntExt", text)), ["a long\ntExt"]);
  assertEquals(parts.pieces(parts.restoreMarks("", text)), []);
});

Deno.test("messageOf expands pastes and writes images as valid references", () => {
  const image = { mime: "image/png", data: "AAAA" };
  assertEquals(messageOf(["a", { kind: "paste", content: "\tb\n" }, "c"]), { text: "a\tb\nc", images: [] });
  assertEquals(
    messageOf(["what is", { kind: "file", path: "/my shot.png" }, "?"]).text,
    'what is @"/my shot.png"?',
  );
  assertEquals(messageOf([{ kind: "file", path: "/a.png" }, " "]).text, '@"/a.png" ');
  assertEquals(messageOf(["see ", { kind: "image", image }]), { text: "see [image 1]", images: [image] });
});
