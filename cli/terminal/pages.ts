import { errorMessage, ReasonixError } from "../../src/core/mod.ts";

/** The pages of the documentation: Markdown by the names of their files without the ending. */
type Pages = Readonly<Record<string, string>>;

/** What the bundle puts the pages into, beside the program. */
const BESIDE = "./reasonix.docs.js";

/** The pages of this very version. */
export async function loadPages(): Promise<Pages> {
  try {
    return import.meta.url.endsWith(".ts") ? await sourcePages() : await besidePages(BESIDE);
  } catch (error) {
    throw new ReasonixError(`Cannot find the documentation: ${errorMessage(error)}`, {
      remedy: "keep reasonix.docs.js beside reasonix.js",
    });
  }
}

async function besidePages(file: string): Promise<Pages> {
  const { default: pages }: { default: Pages } = await import(file);
  return pages;
}

/** The pages of the sources; those for people who work on the program are in capitals. */
export async function sourcePages(): Promise<Pages> {
  const directory = new URL("../../docs/", import.meta.url);
  const names = [...Deno.readDirSync(directory)].map(({ name }) => name).filter((name) =>
    /^[a-z-]+\.md$/.test(name)
  );
  return Object.fromEntries(
    await Promise.all(
      names.sort().map(async (name) =>
        [name.replace(/\.md$/, ""), await Deno.readTextFile(new URL(name, directory))] as const
      ),
    ),
  );
}
