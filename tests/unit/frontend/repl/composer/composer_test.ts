import { commandSource } from "../../../../../src/frontend/session/completion_sources.ts";
import {
  Composer,
  type ComposerDraft,
  type ComposerOptions,
} from "../../../../../src/frontend/repl/composer/composer.ts";
import { messageOf, Parts, type Piece, readPaste } from "../../../../../src/frontend/repl/composer/draft.ts";
import { History } from "../../../../../src/frontend/repl/composer/history.ts";
import { loadTexts } from "../../../../../src/i18n/mod.ts";
import { displayWidth } from "../../../../../src/util/display_width.ts";
import { assert, assertEquals } from "../../../../support/assert.ts";
import { removeTree } from "../../../../support/remove_tree.ts";

const texts = await loadTexts("composer", "en");
const chinese = await loadTexts("composer", "zh-CN");

function open(options: Partial<ComposerOptions> = {}) {
  const sent: ComposerDraft[] = [];
  let changed = () => {};
  const composer = new Composer({
    onSubmit: (draft) => sent.push(draft),
    texts: () => texts,
    changed: () => changed(),
    ...options,
  });
  return {
    composer,
    sent,
    next: () => new Promise<void>((resolve) => changed = resolve),
    press(...keys: string[]) {
      for (const key of keys) {
        const text = key === "space" ? " " : [...key].length === 1 ? key : undefined;
        composer.input({ kind: "key", key, ...(text === undefined ? {} : { text }) });
      }
    },
    type(text: string) {
      for (const character of text) composer.input({ kind: "key", key: character, text: character });
    },
    paste: (text: string) => composer.input({ kind: "paste", text }),
    /** The rows with the caret as `|` in its cell; all cells before it must be narrow. */
    rows: (columns = 40, rows = 24) => [...composer.frame(columns, rows).lines],
  };
}

Deno.test("Composer sends with Enter and starts a new line with its other forms", () => {
  const { composer, sent, press, type, rows } = open();
  type("one");
  press("shift+enter");
  type("two");
  press("alt+enter", "ctrl+j");
  type("three\\");
  press("enter");
  type("four");
  assertEquals(rows(), ["> one", "  two", "  ", "  three", "  four"]);
  assertEquals(composer.frame(40, 24).caret, { row: 4, column: 6 });
  press("enter");
  assertEquals(sent.map(({ text, steer }) => ({ text, steer })), [
    { text: "one\ntwo\n\nthree\nfour", steer: false },
  ]);
  assertEquals(composer.text, "");
  press("space", "enter");
  assertEquals(sent.length, 1);
  type("now");
  press("ctrl+enter");
  assertEquals(sent[1]?.steer, true);
});

Deno.test("Composer shows its placeholder when it is empty, in both languages and any width", () => {
  for (const each of [texts, chinese]) {
    const { composer } = open({ texts: () => each });
    for (const columns of [1, 2, 5, 20, 80]) {
      const { lines, caret } = composer.frame(columns, 24);
      assertEquals(caret, { row: 0, column: 2 });
      assert(lines.every((line) => displayWidth(line) <= Math.max(3, columns)), `${columns}: ${lines}`);
    }
    assertEquals(composer.frame(80, 24).lines, [`> ${each.placeholder}`]);
  }
});

Deno.test("Composer scrolls within a third of the screen", () => {
  const { composer, press, paste, rows } = open();
  paste("1\n2\n3\n4\n5\n6\n7\n8\n9");
  assertEquals(rows(20, 10), ["↑ 6", "  7", "  8", "  9"]);
  press("up", "up", "up", "up");
  assertEquals(rows(20, 10), ["↑ 5", "  6", "  7", "↓ 8"]);
  assertEquals(composer.frame(20, 10).caret, { row: 0, column: 3 });
  assertEquals(rows(20, 3), ["↑ 5"]);
  press("ctrl+home");
  assertEquals(rows(20, 10), ["> 1", "  2", "  3", "↓ 4"]);
});

Deno.test("Composer keeps the column over shorter rows", () => {
  const { composer, press, paste } = open();
  paste("a long row\nb\n中文字符行");
  press("up", "up");
  assertEquals(composer.frame(40, 24).caret, { row: 0, column: 12 });
  press("down", "down");
  assertEquals(composer.frame(40, 24).caret, { row: 2, column: 12 });
  press("left", "up", "up");
  assertEquals(composer.frame(40, 24).caret, { row: 0, column: 10 });
});

Deno.test("Composer keeps pastes unchanged and sends them byte for byte, never automatically", async () => {
  const history = new History();
  await history.load();
  const { composer, sent, press, type, paste, rows } = open({ history });
  const block = Array.from({ length: 30 }, (_, index) => `\t${index}  `).join("\r") + "\r";
  type("look: ");
  paste(block);
  type(" twice ");
  paste(block);
  assertEquals(rows(60), ["> look: [pasted 30 lines #1] twice [pasted 30 lines #2]"]);
  press("backspace");
  assertEquals(rows(60), ["> look: [pasted 30 lines #1] twice "]);
  press("ctrl+-");
  assertEquals(sent, []);
  press("enter");
  const plain = block.replaceAll("\r", "\n");
  assertEquals(sent[0]?.text, `look: ${plain} twice ${plain}`);
  press("up");
  assertEquals(rows(60), ["> look: [pasted 30 lines #1] twice [pasted 30 lines #2]"]);
  assertEquals(composer.text, sent[0]?.text);
});

Deno.test("Composer sends a paste of 1 MB unchanged", () => {
  const { composer, sent, press, paste } = open();
  const text = "0123456789\tabcdef 中文\n".repeat(45_000);
  paste(text);
  composer.frame(80, 24);
  press("enter");
  assert(sent[0]?.text === text, "other bytes");
});

Deno.test("Composer expands pastes for an editor and restores them afterward", async () => {
  const given: string[] = [];
  const problems: unknown[] = [];
  const results: (() => Promise<string>)[] = [
    () => Promise.resolve(`# more\n${given[0]}`),
    () => Promise.reject(new Error("no editor")),
  ];
  const { composer, press, paste, type, rows, next } = open({
    edit: (text) => (given.push(text), results.shift()?.() ?? Promise.resolve(text)),
    problem: (error) => problems.push(error),
  });
  const block = "x\n".repeat(20);
  type("a ");
  paste(block);
  const edited = next();
  press("ctrl+g");
  await edited;
  assertEquals(given, [`a ${block}`]);
  assertEquals(rows(60), ["> # more", "  a [pasted 20 lines #1]"]);
  press("ctrl+x", "ctrl+e");
  await new Promise((resolve) => setTimeout(resolve));
  assertEquals(given.length, 2);
  assertEquals(problems.map(String), ["Error: no editor"]);
  assertEquals(composer.text, `# more\na ${block}`);
});

Deno.test("Composer browses messages that begin like the draft and returns to it", async () => {
  const history = new History();
  await history.load();
  for (const text of ["fix the parser", "run tests", "fix\nthe docs"]) history.add([text]);
  const { composer, press, type } = open({ history });
  const seen: string[] = [];
  type("fix");
  for (const key of ["up", "up", "up", "down", "down", "down"]) {
    press(key);
    seen.push(composer.text);
  }
  assertEquals(seen, ["fix\nthe docs", "fix the parser", "fix the parser", "fix\nthe docs", "fix", "fix"]);
  press("up", "left", "up");
  assertEquals(composer.text, "fix\nthe docs");
  assertEquals(composer.frame(40, 24).caret?.row, 0);
});

Deno.test("Composer saves a discarded draft in the history, and undo restores it", async () => {
  const history = new History();
  await history.load();
  const { composer, press, type } = open({ history });
  type("half a thought");
  press("escape", "escape");
  assertEquals(composer.text, "");
  press("ctrl+-");
  assertEquals(composer.text, "half a thought");
  composer.discard();
  press("up");
  assertEquals(composer.text, "half a thought");
  assertEquals(history.entries.length, 1);
});

Deno.test("Composer searches the history and highlights matches", async () => {
  const history = new History();
  await history.load();
  for (const text of ["first parser", "second\nparser", "other"]) history.add([text]);
  const { composer, press, type, rows, sent } = open({ history });
  type("draft");
  press("ctrl+r");
  assert(composer.modal);
  type("pars");
  assertEquals(rows(), ["  second↵[pars]er", "search: pars"]);
  press("ctrl+r");
  assertEquals(rows()[0], "  first [pars]er");
  press("ctrl+r");
  assertEquals(rows(), ["  first parser", "not found: pars"]);
  press("ctrl+s");
  assertEquals(rows()[0], "  second↵[pars]er");
  press("escape");
  assertEquals(composer.text, "draft");
  press("ctrl+r");
  type("first");
  press("enter");
  assertEquals([composer.text, sent.length, composer.modal], ["first parser", 0, false]);
  press("ctrl+r", "o", "end", "!");
  assertEquals(composer.text, "other!");
});

const COMMANDS = [
  { name: "help", brief: "List the commands", run: () => {} },
  { name: "model", argumentHint: "[name]", brief: "Change the model", run: () => {} },
];

Deno.test("Composer completes commands: Tab inserts, Enter sends complete ones, Esc closes", async () => {
  const commands = () => Promise.resolve(COMMANDS as never);
  const { composer, sent, press, type, rows, next } = open({ sources: [commandSource(commands)] });
  let arrived = next();
  type("/");
  await arrived;
  assertEquals(rows(60), ["› help   List the commands", "  model  [name] Change the model", "> /"]);
  press("down", "tab");
  assertEquals([composer.text, composer.modal], ["/model ", false]);
  press("ctrl+u");
  arrived = next();
  type("/he");
  await arrived;
  press("enter");
  assertEquals(sent.map(({ text }) => text), ["/help"]);
  arrived = next();
  type("/mod");
  await arrived;
  press("escape");
  assertEquals([composer.text, composer.modal], ["/mod", false]);
  type("e");
  assertEquals(composer.modal, false);
  press("tab");
  await next();
  press("enter");
  assertEquals(composer.text, "/model ");
  press("enter");
  assertEquals(sent.at(-1)?.text, "/model ");
  // A fuzzy match is not executed at once.
  arrived = next();
  type("/lp");
  await arrived;
  press("enter");
  assertEquals([composer.text, sent.length], ["/help", 2]);
  press("enter");
  assertEquals(sent.length, 3);
  arrived = next();
  type("/h");
  await arrived;
  press("ctrl+c");
  assertEquals([composer.text, composer.modal], ["", false]);
});

Deno.test("Composer shows the keys for a question mark, which remains text", () => {
  const { composer, press, type, rows } = open();
  type("?");
  const lines = rows(80, 30);
  assert(lines.length > 10 && lines.every((line) => displayWidth(line) <= 80), lines.join("\n"));
  assert(lines.some((line) => line.includes("Ctrl+R") && line.includes(texts.keys.search)), lines.join("\n"));
  type(" why");
  assertEquals(rows(), ["> ? why"]);
  press("ctrl+u");
  assertEquals(composer.text, "");
});

Deno.test("Composer returns drafts before the current text, with their pastes", () => {
  const { composer, press, type, paste, sent, rows } = open();
  paste("y\n".repeat(20));
  press("enter");
  type("next");
  composer.putBack([...sent, { text: "plain" }]);
  assertEquals(rows(60), ["> [pasted 20 lines #1]", "  plain", "  next"]);
});

Deno.test("Composer steers with text only: an image waits for its turn", async () => {
  const image = { mime: "image/png", data: "AAAA" };
  const { sent, press, type, rows, next } = open({ clipboardImage: () => Promise.resolve(image) });
  const arrived = next();
  press("ctrl+v");
  await arrived;
  type("what is it");
  assertEquals(rows(60), ["> [image clipboard #1] what is it"]);
  press("ctrl+enter");
  assertEquals(sent.map(({ text, steer, images }) => ({ text, steer, images })), [
    { text: "[image 1] what is it", steer: false, images: [image] },
  ]);
});

Deno.test("Composer reports why no image can be pasted", async () => {
  const problems: unknown[] = [];
  const { press } = open({
    clipboardImage: () => Promise.resolve("noTool" as const),
    problem: (error) => problems.push(error),
  });
  press("ctrl+v");
  await new Promise((resolve) => setTimeout(resolve));
  assertEquals(problems.map((error) => error instanceof Error && error.message), [texts.noTool]);
});

Deno.test("Composer draws within every size for any input", async () => {
  const history = new History();
  await history.load();
  history.add(["中文 history\nwith lines"]);
  const { composer, press, paste } = open({ history });
  const keys = [
    ...["a", "中", "👨‍👩‍👧‍👦", "space", "left", "right", "up", "down", "home", "end", "ctrl+left", "ctrl+right"],
    ...[
      "backspace",
      "delete",
      "ctrl+k",
      "ctrl+u",
      "ctrl+w",
      "ctrl+y",
      "ctrl+-",
      "alt+z",
      "shift+enter",
      "ctrl+r",
    ],
    ...["escape", "tab", "alt+d", "?", "/", "@", "enter", "ctrl+home", "ctrl+x"],
  ];
  const pastes = ["\tx\n", "y\r\n".repeat(15), "\x1b[31m\u202e", "एक नमस्ते", "z".repeat(300), "🇩🇪".repeat(30)];
  for (let step = 0; step < 3000; step++) {
    if (step % 13 === 0) paste(pastes[(step / 13) % pastes.length] ?? "");
    else press(keys[(step * step + 7 * step) % keys.length] ?? "");
    const [columns, rows] = [2 + (step * 11) % 90, 1 + (step * 5) % 40];
    const { lines, caret } = composer.frame(columns, rows);
    const place = `step ${step}, ${columns}×${rows}: ${JSON.stringify(lines)}`;
    assert(lines.length >= 1 && lines.length <= Math.max(2, rows), place);
    assert(caret !== undefined && caret.row < lines.length, place);
    if (columns > 20) {
      assert(caret.column < columns, place);
      assert(lines.every((line) => displayWidth(line) <= columns), place);
    }
  }
});

async function withImages(run: (directory: string) => void): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    for (const name of ["a.png", "my shot.PNG", "it's.jpg", "图.webp", "note.txt", "100%.gif"]) {
      await Deno.writeTextFile(`${directory}/${name}`, "");
    }
    await Deno.mkdir(`${directory}/dir.png`);
    run(directory);
  } finally {
    await removeTree(directory);
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
