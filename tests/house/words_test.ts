/** Words that the glossary replaces: their number in the program, its texts and its pages may only fall. */
import { assert, assertEquals } from "../support/assert.ts";
import words from "./words.json" with { type: "json" };

const ROOT = new URL("../../", import.meta.url);
const GOLDEN = new URL("../golden/words.json", import.meta.url);
const AREAS: Readonly<Record<string, readonly string[]>> = {
  program: ["src", "cli", "mod.ts"],
  pages: ["docs", "README.md", "AGENTS.md"],
  tests: ["tests", "scripts"],
};
/** Excluded files: persisted names, names of programs, and this table. */
const SKIPPED = /^tests\/(golden|house\/words)|^docs\/(config|events|commands)\.md$|\.(json|lock|svg)$/;

async function textOf(paths: readonly string[]): Promise<string> {
  const { stdout } = await new Deno.Command("git", {
    args: ["ls-files", "-z", ...paths],
    cwd: ROOT.pathname,
  }).output();
  const files = new TextDecoder().decode(stdout).split("\0").filter((file) =>
    /\.(ts|md|txt)$/.test(file) && !SKIPPED.test(file)
  );
  return (await Promise.all(files.map((file) => Deno.readTextFile(new URL(file, ROOT)).catch(() => ""))))
    .join("\n");
}

Deno.test("no page and no file gains a word that the glossary replaces", async () => {
  const counts: Record<string, Record<string, number>> = {};
  for (const [area, paths] of Object.entries(AREAS)) {
    const text = await textOf(paths);
    assert(text.length > 10_000, `no files of ${area} were read`);
    counts[area] = Object.fromEntries(
      words.map(({ word, pattern }) => [word, text.match(new RegExp(pattern, "gm"))?.length ?? 0]),
    );
  }
  if (Deno.env.get("UPDATE_GOLDEN") === "1") {
    await Deno.writeTextFile(GOLDEN, `${JSON.stringify(counts, null, 2)}\n`);
  }
  const most: typeof counts = JSON.parse(await Deno.readTextFile(GOLDEN));
  const gained = Object.entries(counts).flatMap(([area, found]) =>
    words.flatMap(({ word, standard }) => {
      const [now = 0, allowed = 0] = [found[word], most[area]?.[word]];
      return now > allowed ? [`${area}: "${word}" ${now} times, at most ${allowed}; write ${standard}`] : [];
    })
  );
  assertEquals(gained, []);
});
