/** Both engines and glob against the real ripgrep, on more than 10,000 files with nested ignore files. */
import { findFiles } from "../../../src/tool/builtin/glob/glob.ts";
import { readFilter } from "../../../src/tool/search/path_filter.ts";
import { findRipgrep } from "../../../src/tool/search/ripgrep.ts";
import { type ContentSearch, searchContent } from "../../../src/tool/search/search_content.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { needs } from "../../support/tools.ts";
import { makeTempDir } from "../../support/tool_context.ts";
import { growTree } from "./tree.ts";

/** Directories whose programs are ignored: with all of PATH the fallback search is used. */
const ENGINES = { ripgrep: [], fallback: (Deno.env.get("PATH") ?? "").split(":") } as const;
const BOTH = ["ripgrep", "fallback"] as const;

const FLAGS = ["--no-config", "--hidden", "--no-require-git", "-g", "!.git", "--no-messages"];

type Case =
  & Partial<Pick<ContentSearch, "ignoreCase" | "multiline" | "before" | "after" | "mode" | "literal">>
  & {
    readonly pattern: string;
  };

const CASES: readonly (readonly [Case, readonly string[]])[] = [
  [{ pattern: "needle_here" }, []],
  [{ pattern: "needle_\\w+ \\d+$" }, ["--crlf"]],
  [{ pattern: "NEEDLE", ignoreCase: true }, ["-i"]],
  [{ pattern: "(?i)NEEDLE_(here|there)" }, []],
  [{ pattern: "^\\s*needle_there \\(x\\)" }, []],
  [{ pattern: "na.ve|変数 \\w+" }, []],
  [{ pattern: "\\bvalue\\b.*[^0-9;]=\\s\\d{5}" }, []],
  [{ pattern: "caf." }, []],
  [{ pattern: "^$" }, ["--crlf"]],
  [{ pattern: "[[:upper:]]|\\p{Han}{2} =" }, []],
  [{ pattern: "(x)", literal: true }, ["-F"]],
  [{ pattern: "needle_here", before: 1, after: 2 }, ["-B1", "-A2"]],
  [{ pattern: "half\\r?\\nsecond" }, ["-U", "--multiline-dotall"]],
  [{ pattern: "first.+?half$", multiline: true }, ["-U", "--multiline-dotall", "--crlf"]],
];

Deno.test({
  ...needs(
    "rg",
    findRipgrep("/nowhere") !== undefined,
    "searchContent and findFiles give what ripgrep gives on 10,000 files with nested ignores",
  ),
  async fn(t) {
    await using dir = await makeTempDir();
    assert(await growTree(dir.path) > 10_000);
    for (const [options, flags] of CASES) {
      const expected = await ripgrepLines(dir.path, [...flags, "-n", "-e", options.pattern]);
      for (const engine of BOTH) {
        await t.step(`${engine}: ${JSON.stringify(options)}`, async () => {
          assertEquals(await ourLines(dir.path, { ...options, writable: ENGINES[engine] }), expected);
        });
      }
    }
    await t.step("files and counts", async () => {
      const listed = await ripgrepLines(dir.path, ["-l", "needle_here"]);
      const counted = await ripgrepLines(dir.path, ["-c", "value"]);
      for (const engine of BOTH) {
        const files = await search(dir.path, {
          pattern: "needle_here",
          mode: "files",
          writable: ENGINES[engine],
        });
        assertEquals(files.files.map((file) => file.path.slice(dir.path.length + 1)).sort(), listed);
        const counts = await search(dir.path, { pattern: "value", mode: "count", writable: ENGINES[engine] });
        assertEquals(
          counts.files.map((file) => `${file.path.slice(dir.path.length + 1)}:${file.count}`).sort(),
          counted,
        );
      }
    });
    await t.step("too many matches: both engines show the same first ones", async () => {
      const [one, two] = await Promise.all(BOTH.map(async (engine) => {
        const report = await search(dir.path, { pattern: "=", writable: ENGINES[engine] });
        assertEquals(report.stopped, "limit");
        return report.files.flatMap((file) => file.lines.map((line) => `${file.path}:${line.number}`)).slice(
          0,
          100,
        );
      }));
      assertEquals(one, two);
    });
    await t.step("glob", async () => {
      const all = (await ripgrepLines(dir.path, ["--files"])).sort();
      const found = await findFiles("**", scope(dir.path));
      assertEquals(found.files.map((path) => path.slice(dir.path.length + 1)).sort(), all);
      const some = await findFiles("**/src/**/*.{ts,md},!**/file1*", scope(dir.path));
      assertEquals(
        some.files.map((path) => path.slice(dir.path.length + 1)).sort(),
        all.filter((path) => /(^|\/)src\/.*\.(ts|md)$/.test(path) && !/\/file1[^/]*$/.test(path)),
      );
    });
    await t.step("include and exclude", async () => {
      const all = await ripgrepLines(dir.path, ["-n", "value"]);
      for (const engine of BOTH) {
        const filter = readFilter(["*.{ts,md}"], ["part5", "/pack1/**/file2*"]);
        const found = await ourLines(dir.path, { pattern: "value", writable: ENGINES[engine], filter });
        const expected = all.filter((line) =>
          /^[^:]*\.(ts|md):/.test(line) && !/\/part5\//.test(line) && !/^pack1\/.*\/file2[^/]*$/.test(line)
        );
        assertEquals(found, expected);
      }
    });
  },
});

function scope(dir: string) {
  return { root: dir, cwd: dir, hidden: () => false, signal: new AbortController().signal };
}

function search(dir: string, options: Partial<ContentSearch> & { pattern: string }) {
  return searchContent({
    literal: false,
    ignoreCase: false,
    multiline: false,
    before: 0,
    after: 0,
    mode: "content",
    filter: readFilter([], []),
    shownLines: 100,
    deadlineMs: 60_000,
    ...scope(dir),
    ...options,
  });
}

async function ourLines(
  dir: string,
  options: Partial<ContentSearch> & { pattern: string },
): Promise<string[]> {
  const report = await search(dir, options);
  return report.files.flatMap((file) =>
    file.lines.map((line) => {
      const mark = line.column === undefined ? "-" : ":";
      return `${file.path.slice(dir.length + 1)}${mark}${line.number}${mark}${line.text}`;
    })
  ).sort();
}

async function ripgrepLines(dir: string, args: string[]): Promise<string[]> {
  const command = findRipgrep(dir) ?? "";
  const { stdout } = await new Deno.Command(command, { args: [...FLAGS, ...args], cwd: dir, stdin: "null" })
    .output();
  return new TextDecoder().decode(stdout).split("\n")
    .filter((line) => line !== "" && line !== "--" && !line.includes("WARNING: stopped searching")).sort();
}
