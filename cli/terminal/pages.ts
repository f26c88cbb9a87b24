import { errorMessage, message, ReasonixError } from "../../src/core/mod.ts";

/** The pages of the documentation: Markdown by the names of files, such as `ci` and `providers/ollama`. */
type Pages = Readonly<Record<string, string>>;

const PAGE = /^([a-z0-9-]+)\.md$/;

/** The module of the bundle that holds the pages. */
const BUNDLED = "./reasonix.docs.js";

/** The pages of this very version. */
export async function loadPages(): Promise<Pages> {
  try {
    return import.meta.url.endsWith(".ts") ? await sourcePages() : await bundledPages(BUNDLED);
  } catch (error) {
    throw new ReasonixError(message`Cannot find the documentation: ${errorMessage(error)}`, {
      remedy: message`keep reasonix.commands.js next to reasonix.js`,
    });
  }
}

async function bundledPages(file: string): Promise<Pages> {
  const { default: pages }: { default: Pages } = await import(file);
  return pages;
}

/** The pages of the sources; those for people who work on the program are in capitals. */
export async function sourcePages(): Promise<Pages> {
  const pages: Record<string, string> = {};
  const root = new URL("../../docs/", import.meta.url);
  for (const directory of ["", "extending/", "providers/"]) {
    const url = new URL(directory, root);
    const names = [...Deno.readDirSync(url)].map(({ name }) => name).filter((name) => PAGE.test(name)).sort();
    for (const name of names) {
      pages[directory + name.replace(PAGE, "$1")] = await Deno.readTextFile(new URL(name, url));
    }
  }
  return pages;
}
