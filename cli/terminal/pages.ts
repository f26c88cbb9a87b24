import { errorMessage, message, ReasonixError } from "../../src/core/mod.ts";

/** The pages of the documentation: Markdown by the names of files, such as `ci` and `providers/ollama`. */
type Pages = Readonly<Record<string, string>>;

const PAGE = /^([a-z0-9-]+)\.md$/;

/** The modules of the bundle that hold the pages, and the licenses. */
const BUNDLED = { pages: "./reasonix.docs.js", licenses: "./reasonix.licenses.js" };

/** The pages of this very version. */
export async function loadPages(): Promise<Pages> {
  try {
    return import.meta.url.endsWith(".ts") ? await sourcePages() : await bundled<Pages>(BUNDLED.pages);
  } catch (error) {
    throw new ReasonixError(message`Cannot find the documentation: ${errorMessage(error)}`, {
      remedy: message`keep reasonix.commands.js next to reasonix.js`,
    });
  }
}

/** The licenses of the packages in this very program: the text of THIRD_PARTY_LICENSES. */
export async function loadLicenses(): Promise<string> {
  if (import.meta.url.endsWith(".ts")) {
    throw new ReasonixError(message`Cannot print the licenses of a program that runs from its sources`, {
      remedy: message`run the built program, or read dist/THIRD_PARTY_LICENSES after deno task bundle`,
    });
  }
  try {
    return await bundled<string>(BUNDLED.licenses);
  } catch (error) {
    throw new ReasonixError(message`Cannot find the licenses: ${errorMessage(error)}`, {
      remedy: message`keep reasonix.commands.js next to reasonix.js`,
    });
  }
}

async function bundled<Content>(file: string): Promise<Content> {
  const { default: content }: { default: Content } = await import(file);
  return content;
}

/** The pages of the sources; those for people who work on the program are in capitals. */
export async function sourcePages(): Promise<Pages> {
  const pages: Record<string, string> = {};
  const root = new URL("../../docs/", import.meta.url);
  for (const directory of ["", "batch/", "extending/", "plugins/", "providers/"]) {
    const url = new URL(directory, root);
    const names = [...Deno.readDirSync(url)].map(({ name }) => name).filter((name) => PAGE.test(name)).sort();
    for (const name of names) {
      pages[directory + name.replace(PAGE, "$1")] = await Deno.readTextFile(new URL(name, url));
    }
  }
  return pages;
}
