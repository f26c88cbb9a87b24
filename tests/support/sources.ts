/** A copy of the sources, as a clone without its history has them, and what a build of it makes. */
import { assert, assertEquals } from "./assert.ts";
import { programFile } from "./program.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

const SOURCES = [
  "cli",
  "src",
  "scripts",
  "demo",
  "docs",
  "page",
  "plugins",
  "mod.ts",
  "deno.json",
  "deno.lock",
  "CHANGELOG.md",
  "reasonix.example.toml",
  "LICENSE",
];

export async function copySources(to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  const { code } = await new Deno.Command("cp", { args: ["-R", ...SOURCES, to], cwd: ROOT }).output();
  assertEquals(code, 0);
}

/** Environment of a machine that differs from this one, with the date of the built program. */
export async function elsewhere(temp: string): Promise<Record<string, string>> {
  const sbom = (await programFile()).replace(/[^/]*$/, "sbom.cdx.json");
  const { metadata: { timestamp } } = JSON.parse(await Deno.readTextFile(sbom));
  return {
    TMPDIR: temp,
    LC_ALL: "tr_TR.UTF-8",
    TZ: "Asia/Kathmandu",
    // The copy has no commit, whose date it would be.
    SOURCE_DATE_EPOCH: String(Date.parse(timestamp) / 1000),
  };
}

/** Throws unless two directories have the same files with the same bytes, but for those left out. */
export async function assertSameBuild(
  made: string,
  expected: string,
  { without = [] }: { readonly without?: readonly string[] } = {},
): Promise<void> {
  const [files, others] = [await filesBelow(made), await filesBelow(expected)];
  for (const name of without) [files, others].forEach((found) => found.delete(`/${name}`));
  assertEquals([...files.keys()].sort(), [...others.keys()].sort());
  // The copy has no commit.
  const [, build = ""] = /^\/\/ Reasonix (.*), MIT license$/m.exec(others.get("/reasonix.js") ?? "") ?? [];
  const { version } = JSON.parse(await Deno.readTextFile(`${ROOT}deno.json`));
  for (const [name, text] of others) {
    // The sums follow from the files.
    if (name === "/SHA256SUMS") continue;
    assert(files.get(name) === text.replaceAll(build, version), `${name} differs`);
  }
}

async function filesBelow(directory: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const pending = [""];
  for (let below = pending.pop(); below !== undefined; below = pending.pop()) {
    for (const { name, isDirectory } of Deno.readDirSync(directory + below)) {
      const path = `${below}/${name}`;
      if (isDirectory) pending.push(path);
      else found.set(path, await Deno.readTextFile(directory + path));
    }
  }
  return found;
}
