/** A generated tree with nested ignore files, the same on every run. */

const WORDS = "alpha beta gamma delta import export function return const value result naïve 変数".split(" ");
const KINDS = ["ts", "js", "md", "txt", "log", "gen.ts"];

/** Writes more than 10,000 files below `root` and returns their number. */
export async function growTree(root: string): Promise<number> {
  let count = 0;
  for (let pack = 0; pack < 40; pack++) {
    for (let part = 0; part < 9; part++) {
      const directory = `${root}/pack${pack}/${
        ["src", "build", "node_modules", ".cache", "doc s"][part % 5]
      }/part${part}`;
      await Deno.mkdir(directory, { recursive: true });
      for (let file = 0; file < 30; file++) {
        Deno.writeTextFileSync(
          `${directory}/file${file}.${KINDS[(file + pack) % KINDS.length]}`,
          text(count++),
        );
      }
    }
    const ignores = IGNORES[pack % IGNORES.length];
    for (const [path, lines] of Object.entries(ignores ?? {})) {
      Deno.writeTextFileSync(`${root}/pack${pack}/${path}`, lines);
    }
  }
  Deno.writeTextFileSync(
    `${root}/.gitignore`,
    "node_modules/\n*.log\n!keep*.log\n/pack3/src/\npack5/**/file1?.ts\n",
  );
  Deno.writeTextFileSync(`${root}/.ignore`, "!pack7/src/part0/file4.log\n.cache\n");
  oddFiles(root);
  return count;
}

const IGNORES: readonly Record<string, string>[] = [
  {},
  { ".gitignore": "build\n!build/part1\n# note\n\\#odd\n*.gen.ts\n" },
  { "src/.gitignore": "*\n!*.ts\n!*/\n", ".ignore": "*.md\n" },
  { ".gitignore": "/src/part0/\nfile[0-3].*\ndoc\\ s/\ntrailing \n" },
  { "src/.ignore": "part5/*\n!part5/file1.*\n", ".gitignore": "*.{md,txt}\n" },
  { ".gitignore": "**/part0/**\na/**/b\n**/file2?.js\n" },
];

function text(seed: number): string {
  const lines: string[] = [];
  for (let line = 0; line < 5 + (seed * 7) % 30; line++) {
    lines.push(
      `${WORDS[(seed + line) % WORDS.length]} ${WORDS[(seed * 3 + line * 5) % WORDS.length]} = ${
        seed * line
      };`,
    );
  }
  if (seed % 50 === 0) lines.push(`needle_here ${seed}`, "\tneedle_there (x)");
  if (seed % 97 === 0) lines.push("first half", "second half");
  return lines.join(seed % 11 === 0 ? "\r\n" : "\n") + (seed % 3 === 0 ? "" : "\n");
}

function oddFiles(root: string): void {
  const write = (name: string, bytes: Uint8Array) => Deno.writeFileSync(`${root}/${name}`, bytes);
  const utf8 = (value: string) => new TextEncoder().encode(value);
  write("nul_early.txt", utf8("needle_here\n\0\nneedle_here\n"));
  write("nul_late.txt", utf8(`needle_here\n${"x".repeat(70)}\n`.repeat(1200) + "\0needle_here\n"));
  write("latin1.txt", new Uint8Array([...utf8("caf"), 0xe9, ...utf8(" needle_here\ncafe\n")]));
  write("bom.txt", utf8("\ufeffneedle_here at the start\n"));
  write(
    "utf16.txt",
    new Uint8Array([0xff, 0xfe, ...[...utf8("needle_here\n")].flatMap((byte) => [byte, 0])]),
  );
  write("empty.txt", new Uint8Array());
  write("no_end.txt", utf8("needle_here"));
  write("blank_lines.txt", utf8("\n\nneedle_here\n\n"));
  write(".hidden_file", utf8("needle_here hidden\n"));
  Deno.symlinkSync("no_end.txt", `${root}/link.txt`);
}
