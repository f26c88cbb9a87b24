/**
 * Edits of files that are indented with any kind of blank, quoted by a model with any other: nothing outside
 * of the change differs by a byte. `deno task soak` runs 20,000 for each of the four tools;
 * from 20000 on every commit is also written in every form.
 */
import fc from "fast-check";
import { applyHunks } from "../../../src/tool/builtin/apply_patch/apply_hunks.ts";
import { parsePatch } from "../../../src/tool/builtin/apply_patch/parse.ts";
import {
  BLANK_RUNS,
  clustersOf,
  indentOf,
  NormalizedLine,
  normalizeLine,
  UNICODE_TWINS,
} from "../../../src/tool/edit/normalize.ts";
import { applyEdit } from "../../../src/tool/edit/match_strategies.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { SEED, soakSize } from "../../support/seed.ts";
import { codeCommits } from "./code_history.ts";
import { callsFor, type FormCall, FORMS } from "./commit_forms.ts";

const RUNS = soakSize(20_000, 1000);

const EVERY_FORM = RUNS >= 20_000;

/** Every blank that can indent a line. */
const BLANKS: readonly string[] = [
  " ",
  "\t",
  "\u00a0",
  "\u1680",
  ...Array.from({ length: 11 }, (_, index) => String.fromCharCode(0x2000 + index)),
  "\u202f",
  "\u205f",
  "\u3000",
];

/** The change of a line of the file. */
type Change = "keep" | "word" | "sign" | "delete" | "insert";

interface SceneLine {
  readonly lead: string;
  readonly body: string;
  readonly tail: string;
}

/** The form in which the model quotes a part of the file. */
interface Quoting {
  /** The texts end within a line: its trailing blanks stay after the replacement. */
  readonly isOpen: boolean;
  readonly lead: (lead: string) => string;
  readonly body: (body: string) => string;
  readonly tail: (tail: string) => string;
  readonly whole: (text: string) => string;
}

interface Example {
  readonly lines: readonly SceneLine[];
  readonly from: number;
  readonly changes: readonly Change[];
  readonly quoting: Quoting;
  readonly eol: "\n" | "\r\n";
  readonly isEnded: boolean;
}

const blank = fc.constantFrom(...BLANKS);
const mixed = fc.array(blank, { maxLength: 5 }).map((chars) => chars.join(""));
/** The indentation of a file: steps of one kind, or anything. */
const leads = fc.oneof(
  fc.tuple(blank, fc.constantFrom(1, 2, 4)).map(([char, width]) =>
    fc.nat(3).map((depth) => char.repeat(depth * width))
  ),
  fc.constant(mixed),
);

const body = fc.tuple(
  fc.constantFrom(
    "timeout: #",
    "it’s “so” – alpha—beta #;",
    "x  =~ call(a,~~b);~// #",
    "“x”（y）， alpha—beta… #",
    "cafe\u0301 §# {",
    "段落 #：第一行，“好”。",
    "\u0301# alpha—beta",
    'print("a\\n b", #)',
    "}#",
  ),
  blank,
).map(([text, char]) => text.replaceAll("~", char));

const plain: Record<string, string> = {
  "’": "'",
  "“": '"',
  "”": '"',
  "–": "-",
  "—": "-",
  "…": "...",
  "（": "(",
  "）": ")",
  "，": ",",
};
const toPlain = (text: string) =>
  text.replace(/[’“”–—…（），]/g, (char) => plain[char] ?? char).replace(/\p{Zs}/gu, " ").normalize("NFC");
const same = (text: string) => text;

const quotings: fc.Arbitrary<Quoting> = fc.record({
  isOpen: fc.constantFrom(true, false, false, false),
  lead: fc.oneof(
    fc.constant(same),
    fc.constant(() => ""),
    fc.constantFrom(1, 2, 4).map((width) => (lead: string) => lead.replace(/./gu, " ".repeat(width))),
    blank.map((char) => (lead: string) => lead.replace(/./gu, char)),
    fc.constant((lead: string) => " ".repeat(lead.length >> 1)),
    fc.constant((lead: string) => `    ${lead}`),
    mixed.map((extra) => (lead: string) => extra + lead),
  ),
  body: fc.constantFrom(same, same, toPlain, (text: string) => toPlain(text).replace(/(?<=\S)\s+/g, " ")),
  tail: fc.constantFrom<(tail: string) => string>(same, () => ""),
  whole: fc.constantFrom<(text: string) => string>(
    same,
    same,
    same,
    (text) => `\n${text}`,
    (text) => `${text}\n`,
    (text) => `\n \n${text}\n`,
    (text) => text.replaceAll("\n", "\r\n"),
    (text) => text.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n").replaceAll("\t", "\\t"),
  ),
});

const EXAMPLES: fc.Arbitrary<Example> = leads.chain((lead) =>
  fc.record({
    lines: fc.array(
      fc.record({ lead, body, tail: fc.oneof(fc.constant(""), fc.constant(""), mixed) }),
      { minLength: 5, maxLength: 12 },
    ).map((lines) =>
      lines.map((line, index) => ({ ...line, body: line.body.replace("#", `${1000 + index}`) }))
    ),
    from: fc.nat(3),
    changes: fc.array(fc.constantFrom<Change>("keep", "word", "word", "sign", "delete", "insert"), {
      minLength: 1,
      maxLength: 4,
    }),
    quoting: quotings,
    eol: fc.constantFrom("\n", "\n", "\r\n"),
    isEnded: fc.boolean(),
  })
);

function changedBody(text: string, change: Change): string {
  if (change === "word") return text.replace(/1\d\d\d/, "77");
  return change === "sign" ? text.replace("—", "--") : text;
}

interface Quoted {
  readonly kind: " " | "-" | "+";
  readonly text: string;
}

/** The lines of the change as the model writes them. */
function quoted({ lines, from, changes, quoting }: Example): Quoted[] {
  const { lead, body, tail } = quoting;
  return changes.flatMap((change, index): Quoted[] => {
    const line = lines[from + index];
    if (!line) return [];
    const text = (content: string) => lead(line.lead) + body(content) + tail(line.tail);
    const old = text(line.body);
    const fresh = text(changedBody(line.body, change));
    if (change === "insert") {
      return [{ kind: " ", text: old }, { kind: "+", text: `${lead(line.lead)}added = ${index};` }];
    }
    if (change === "delete") return [{ kind: "-", text: old }];
    return old === fresh
      ? [{ kind: " ", text: old }]
      : [{ kind: "-", text: old }, { kind: "+", text: fresh }];
  });
}

/** A line of the file after the change: its bytes, except for those in `open`. */
interface Expected {
  readonly text: string;
  /**
   * The tool chooses the indentation of a new line; a changed line keeps its trailing blanks or has none. If
   * some of the replaced lines are deleted, it may have the blanks of any of them.
   */
  readonly open: "nothing" | "lead and tail" | "tail" | "spelling";
}

function expectedLines({ lines, from, changes, quoting }: Example): Expected[] {
  return lines.flatMap((line, index): Expected[] => {
    const { lead, body, tail } = line;
    const change = changes[index - from] ?? "keep";
    if (change === "delete") return [];
    const fresh = changedBody(body, change);
    const isKept = fresh === body && !(quoting.isOpen && index - from in changes);
    const open = isKept ? "nothing" : isNextToDeleted(changes, index - from) ? "spelling" : "tail";
    const kept: Expected = { text: lead + fresh + tail, open };
    if (change !== "insert") return [kept];
    const free = isNextToDeleted(changes, index - from) ? "spelling" : "lead and tail";
    return [kept, { text: `added = ${index - from};`, open: free }];
  });
}

function isNextToDeleted(changes: readonly Change[], index: number): boolean {
  const replaced = (change: Change) => change !== "keep" && change !== "insert";
  const before = changes.slice(0, index).reverse();
  const behind = changes.slice(index + 1);
  return [before, behind].some((side) => {
    const end = side.findIndex((change) => !replaced(change));
    return side.slice(0, end < 0 ? side.length : end).includes("delete");
  });
}

const LEAD = /^[\t\p{Zs}]+/u;
const TAIL = /[\t\p{Zs}]+$/u;

function assertOnlyTheChange(after: string, scene: Example): void {
  const expected = expectedLines(scene);
  const lines = after.split(scene.eol);
  const isLastDeleted = scene.changes[scene.lines.length - 1 - scene.from] === "delete";
  if (scene.isEnded || (isLastDeleted && lines.at(-1) === "")) {
    assertEquals(lines.pop(), "", "the final line end is kept");
  }
  const compared = (line: string, index: number) => {
    const open = expected[index]?.open ?? "nothing";
    if (open === "nothing") return line;
    if (open === "spelling") return normalizeLine(line, BLANK_RUNS).trim();
    return open === "tail" ? line.replace(TAIL, "") : line.replace(TAIL, "").replace(LEAD, "");
  };
  assertEquals(
    lines.map(compared),
    expected.map(({ text }, index) => compared(text, index)),
    JSON.stringify(quoted(scene)),
  );
}

type Apply = (text: string, scene: Example) => string | undefined;

function sides(lines: readonly Quoted[]): { oldString: string; newString: string } {
  const side = (other: "+" | "-") =>
    lines.filter(({ kind }) => kind !== other).map(({ text }) => `${text}\n`).join("");
  return { oldString: side("+"), newString: side("-") };
}

function afterEdit(text: string, scene: Example, lines: readonly Quoted[]): string | undefined {
  const { oldString, newString } = sides(lines);
  const { isOpen } = scene.quoting;
  const whole = (text: string) => isOpen ? text.replace(/\n$/, "") : scene.quoting.whole(text);
  const [old, fresh] = newString === "" ? [oldString, ""] : [whole(oldString), whole(newString)];
  const edit = { oldString: old, newString: fresh, replaceAll: false };
  const outcome = applyEdit(text, edit);
  return "text" in outcome ? outcome.text : undefined;
}

function afterPatch(
  text: string,
  head: readonly string[],
  lines: readonly Quoted[],
  foot: readonly string[],
) {
  return patched(text, `${[...head, ...lines.map((line) => line.kind + line.text), ...foot].join("\n")}\n`);
}

function patched(text: string, patch: string): string | undefined {
  const [file] = parsePatch(patch);
  assert(file !== undefined);
  const outcome = applyHunks(text, file.hunks);
  return "text" in outcome ? outcome.text : undefined;
}

const TOOLS: Readonly<Record<string, Apply>> = {
  edit_file: (text, scene) => afterEdit(text, scene, quoted(scene)),
  // Each changed line in a separate edit, one after the other, as multi_edit applies them.
  multi_edit: (text, scene) => {
    let out: string | undefined = text;
    for (const [index, change] of scene.changes.entries()) {
      if (out === undefined) return undefined;
      if (change === "keep" || scene.from + index >= scene.lines.length) continue;
      const lines = quoted({ ...scene, from: scene.from + index, changes: [change] });
      const { oldString, newString } = sides(lines);
      if (oldString === newString) continue;
      out = afterEdit(
        out,
        scene,
        lines.map((line) =>
          line.text.startsWith("added = 0", line.text.length - 10)
            ? { ...line, text: line.text.replace("= 0", `= ${index}`) }
            : line
        ),
      );
    }
    return out;
  },
  "apply_patch, unified": (text, scene) => {
    const lines = quoted(scene);
    const count = (other: "+" | "-") => lines.filter(({ kind }) => kind !== other).length;
    const at = scene.from + 1;
    const header = `@@ -${at},${count("+")} +${at},${count("-")} @@`;
    return afterPatch(text, ["--- a/f", "+++ b/f", header], lines, []);
  },
  "apply_patch, begin": (text, scene) =>
    afterPatch(text, ["*** Begin Patch", "*** Update File: f", "@@"], quoted(scene), ["*** End Patch"]),
};

for (const [name, apply] of Object.entries(TOOLS)) {
  Deno.test(`${name} changes no byte outside of the edit for any blanks of the file and the model`, () => {
    let landed = 0;
    let tried = 0;
    fc.assert(
      fc.property(EXAMPLES, (scene) => {
        const { oldString, newString } = sides(quoted(scene));
        if (oldString === newString) return;
        const text = scene.lines.map(({ lead, body, tail }) => lead + body + tail).join(scene.eol) +
          (scene.isEnded ? scene.eol : "");
        const after = apply(text, scene);
        tried++;
        if (after === undefined) return;
        landed++;
        assertOnlyTheChange(after, scene);
      }),
      { seed: SEED, numRuns: RUNS },
    );
    assert(landed > tried / 2, `${landed} of ${tried} landed`);
  });
}

/** The text after a tool call, and whether the whole edit applied. */
function called(text: string, { tool, args }: FormCall): { readonly text: string; readonly landed: boolean } {
  if (tool === "apply_patch") {
    const after = patched(text, String(args.patch));
    return { text: after ?? text, landed: after !== undefined };
  }
  const edits = (tool === "edit_file" ? [args] : args.edits) as readonly Record<string, unknown>[];
  let after = text;
  for (const { old_string, new_string } of edits) {
    const edit = { oldString: String(old_string), newString: String(new_string), replaceAll: false };
    const outcome = applyEdit(after, edit);
    if ("problem" in outcome) return { text, landed: false };
    after = outcome.text;
  }
  return { text: after, landed: true };
}

/** The text with `width` other blanks for each two spaces of indentation. */
function indentedWith(text: string, char: string, width: number): string {
  return text.replace(/^(?: {2})+/gm, (lead) => char.repeat(lead.length / 2 * width));
}

for (const [index, form] of FORMS.entries()) {
  Deno.test(`commits of files indented with any blank, quoted with spaces as ${form}, apply exactly or are refused`, () => {
    let landed = 0;
    let tried = 0;
    for (const [at, { before, after }] of codeCommits(300, SEED).entries()) {
      if (before === after) continue;
      const calls = callsFor(form, before, after, false);
      for (const [kind, char] of BLANKS.entries()) {
        if (!EVERY_FORM && (at + kind) % FORMS.length !== index) continue;
        // A step of one space cannot be distinguished from a shift of the whole block.
        const width = char === " " ? 2 : 1 + at % 2;
        let text = indentedWith(before, char, width);
        let whole = true;
        for (const call of calls) {
          const result = called(text, call);
          whole &&= result.landed;
          text = result.text;
        }
        tried++;
        if (!whole) continue;
        landed++;
        assertEquals(
          text,
          indentedWith(after, char, width),
          `commit ${at} with ${JSON.stringify(char)} × ${width}`,
        );
      }
    }
    assert(landed > 0.8 * tried, `${landed} of ${tried} landed`);
  });
}

Deno.test("a normalized line and its offset map agree with the normalization of its parts", () => {
  const piece = fc.oneof(
    blank,
    fc.constantFrom("a", "é", "e\u0301", "\u0301", "“", "…", "—", "段", "\u1112\u1161\u11ab", "😀", "（"),
  );
  const line = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));
  fc.assert(
    fc.property(line, fc.constantFrom(UNICODE_TWINS, BLANK_RUNS), (text, normalization) => {
      const normalized = new NormalizedLine(text, normalization);
      assertEquals(normalized.text, normalizeLine(text, normalization));
      let at = 0;
      for (const cluster of clustersOf(text)) {
        const index = normalized.indexAt(at);
        if (index !== undefined) {
          assertEquals(normalized.offsetAt(index), at);
          assert(
            normalizeLine(text.slice(0, at), UNICODE_TWINS).trimEnd().length >=
              normalized.text.slice(0, index).trimEnd().length,
          );
        }
        at += cluster.length;
      }
      assertEquals(at, text.length);
    }),
    { seed: SEED, numRuns: RUNS },
  );
});

Deno.test("a blank is a tab or a Unicode space separator", () => {
  for (let unit = 0; unit < 0x10000; unit++) {
    const char = String.fromCharCode(unit);
    assertEquals(indentOf(char) === char, /[\t\p{Zs}]/u.test(char), `U+${unit.toString(16)}`);
  }
});
