/**
 * Random commits of files that look like code: long, with near-equal blocks, in the encodings and line ends
 * of real projects.
 */
import { type Encoding } from "../../../src/tool/text/encoding.ts";
import { Random } from "../../support/seed.ts";

/** One file of a commit, before and after it. */
export interface FileCommit {
  readonly before: string;
  readonly after: string;
  readonly format: FileFormat;
}

export interface FileFormat {
  readonly encoding: Encoding;
  readonly bom: boolean;
  readonly eol: "\n" | "\r\n";
}

const FORMATS: readonly FileFormat[] = [
  { encoding: "utf-8", bom: false, eol: "\n" },
  { encoding: "utf-8", bom: false, eol: "\n" },
  { encoding: "utf-8", bom: false, eol: "\r\n" },
  { encoding: "utf-8", bom: true, eol: "\n" },
  { encoding: "utf-8", bom: true, eol: "\r\n" },
  { encoding: "gb18030", bom: false, eol: "\n" },
  { encoding: "utf-16le", bom: true, eol: "\r\n" },
];

const NOUNS = ["user", "order", "path", "line", "token", "event", "session", "buffer", "node", "config"];
const VERBS = ["load", "save", "find", "parse", "render", "merge", "close", "open", "count", "apply"];

/** `count` commits, each of one file that changes in one to three places. */
export function codeCommits(count: number, seed: number): FileCommit[] {
  const random = new Random(seed);
  return Array.from({ length: count }, () => {
    const format = random.pick(FORMATS);
    const lines = codeFile(random);
    const after = changed(lines, random);
    const text = (all: readonly string[]) => all.map((line) => line + format.eol).join("");
    return { before: text(lines), after: text(after), format };
  });
}

/** Functions that differ in a name and a number or two, as generated clients and table tests do. */
function codeFile(random: Random): string[] {
  const lines = ['import { assert } from "assert";', "// 配置文件，请勿手动修改", ""];
  const blocks = 4 + random.below(40);
  for (let index = 0; index < blocks; index++) {
    const name = `${random.pick(VERBS)}_${random.pick(NOUNS)}_${index}`;
    lines.push(`export function ${name}(input) {`);
    const body = 2 + random.below(6);
    for (let at = 0; at < body; at++) lines.push(...statement(random));
    lines.push("  return input;", "}", "");
  }
  return lines;
}

function statement(random: Random): string[] {
  const noun = random.pick(NOUNS);
  switch (random.below(5)) {
    case 0:
      return [`  const ${noun} = ${random.pick(VERBS)}(input, ${random.below(1000)});`];
    case 1:
      return [`  if (input.${noun} === undefined) {`, "    return undefined;", "  }"];
    case 2:
      return [`  assert(input.${noun} > ${random.below(1000)}, "${noun} 太小");`];
    case 3:
      return [`  for (const ${noun} of input.list) {`, `    ${random.pick(VERBS)}(${noun});`, "  }"];
    default:
      return ["", `  // ${noun}: ${random.pick(VERBS)} “once” – then again`];
  }
}

function changed(lines: readonly string[], random: Random): string[] {
  const out = [...lines];
  for (let places = 1 + random.below(3); places > 0; places--) {
    const at = 3 + random.below(out.length - 3);
    const line = out[at] ?? "";
    const dice = random.below(4);
    if (dice === 0) out.splice(at, 1 + random.below(3));
    else if (dice === 1) out.splice(at, 0, ...statement(random), ...statement(random));
    else if (/\w/.test(line)) out[at] = line.replace(/\w+(?=\W*$)/, `changed_${random.below(1000)}`);
    else out.splice(at, 0, `const added_${random.below(10_000)} = 1;`);
  }
  return out;
}
