import { scanWorkspace } from "../../../src/session/checkpoint/change_detector.ts";
import { walkFiles } from "../../../src/tool/search/walk.ts";
import { assertEquals } from "../../support/assert.ts";
import { makeTempDir } from "../../support/tool_context.ts";

const RULES: Readonly<Record<string, string>> = {
  ".gitignore": "*.log\nbuild/\n",
  ".git/info/exclude": "private.txt\n",
  ".ignore": "drafts/\n!keep.log\n",
  ".reasonixignore": "secret.md\n",
  "sub/.gitignore": "!b.log\n/c.txt\n",
  "nested/.git/info/exclude": "inner.txt\n",
};
const FILES = [
  "a.ts",
  "a.log",
  "keep.log",
  "private.txt",
  "secret.md",
  "build/out.js",
  "drafts/d.md",
  "sub/b.log",
  "sub/c.txt",
  "sub/private.txt",
  "nested/inner.txt",
  "nested/private.txt",
];

Deno.test("checkpoints and searches ignore the same files", async () => {
  await using dir = await makeTempDir();
  const root = await Deno.realPath(dir.path);
  for (const [path, text] of [...Object.entries(RULES), ...FILES.map((path) => [path, "x"] as const)]) {
    await Deno.mkdir(`${root}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(`${root}/${path}`, text);
  }
  const searched: string[] = [];
  const options = { root, cwd: root, hidden: () => false, signal: new AbortController().signal };
  await walkFiles(options, (path) => searched.push(path.slice(root.length + 1)));
  const scan = await scanWorkspace({ root, maxFiles: 100, maxIgnored: { files: 100, perDirectory: 100 } });
  const kept = [...scan.files.keys()].filter((path) => !scan.ignored.has(path));
  assertEquals(kept.filter((path) => FILES.includes(path)).sort(), [
    "a.ts",
    "keep.log",
    "nested/private.txt",
    "sub/b.log",
  ]);
  assertEquals(kept.sort(), searched.sort());
  assertEquals([...scan.ignored].filter((path) => FILES.includes(path)).length, FILES.length - 4);
});
