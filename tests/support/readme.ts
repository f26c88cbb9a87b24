const ROOT = new URL("../../", import.meta.url);

/** The first block of code in `language` after the title of a section. */
async function codeBlock(page: string, title: string, language: string): Promise<string> {
  const text = await Deno.readTextFile(new URL(page, ROOT));
  const section = text.split(/^## /m).find((part) => part.startsWith(`${title}\n`)) ?? "";
  return section.split(`\`\`\`${language}\n`)[1]?.split("```")[0] ?? "";
}

/** Every block of code in `language` on a page, in order. */
export async function codeBlocks(page: string, language: string): Promise<string[]> {
  const text = await Deno.readTextFile(new URL(page, ROOT));
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, "gms"))].map(([, block = ""]) =>
    block
  );
}

/**
 * The commands that install from an address, from an address with npx, from a file, from a clone and from a
 * clone with npx, without their comments; then the first three with install.js.
 */
export async function installLines(): Promise<string[]> {
  const server = await codeBlock("docs/start.md", "Without install.js", "sh");
  const clone = await codeBlock("docs/install.md", "From a clone", "sh");
  const cloneLines = commandsOf(clone).slice(0, 2);
  const installer = await codeBlock("docs/start.md", "From your own server", "sh");
  return [...commandsOf(server), ...cloneLines, ...commandsOf(installer)];
}

function commandsOf(block: string): string[] {
  return block.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
}

/** Every line of a page's shell blocks, comments taken away. */
export async function shellLines(page: string): Promise<string[]> {
  const text = await Deno.readTextFile(new URL(page, ROOT));
  return [...text.matchAll(/^```sh\n(.*?)^```/gms)].flatMap(([, block = ""]) => block.split("\n"))
    .map((line) => line.replace(/(?:^|\s{2,})# .*$/, "").replace(/\s+# .*$/, "").trim())
    .filter((line) => line !== "");
}
