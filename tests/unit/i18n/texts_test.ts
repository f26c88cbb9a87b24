/** Every area in every language: the same keys, nothing empty or left untranslated, no argument lost. */
import { loadTexts, type Locale, type Texts } from "../../../src/i18n/mod.ts";
import { assert, assertEquals } from "../../support/assert.ts";

const ROOT = new URL("../../../src/i18n/", import.meta.url);
const LIST = await Deno.readTextFile(new URL("locales.ts", ROOT));
const AREAS = [...LIST.matchAll(/^ {2}(\w+): \(\) => import\("\.\/en\//gm)].map(([, name = ""]) => name)
  .sort();
const OTHERS: readonly { readonly folder: string; readonly locale: Locale }[] = [
  { folder: "zh_cn", locale: "zh-CN" },
];

type Leaf = string | ((...given: unknown[]) => string);

/** The texts of an area by their path. */
async function leaves(area: string, locale: Locale): Promise<Map<string, Leaf>> {
  const found = new Map<string, Leaf>();
  const visit = (value: unknown, path: string): void => {
    if (typeof value === "string" || typeof value === "function") found.set(path, value as Leaf);
    else for (const [key, inner] of Object.entries(value as object)) visit(inner, `${path}.${key}`);
  };
  visit(await loadTexts(area as keyof Texts, locale), area);
  return found;
}

/** Calls a text with digits, which serve as numbers and as strings, and are found again in what it says. */
function called(text: Leaf): { shown: string; given: string[] } {
  if (typeof text === "string") return { shown: text, given: [] };
  const given = Array.from({ length: text.length }, (_, index) => String((7 + index) * 101));
  return { shown: text(...given), given };
}

/** Findings are said from codes; see reasons_test.ts. */
const CODED = ["reasons"];

for (const area of AREAS.filter((name) => !CODED.includes(name))) {
  Deno.test(`English texts of ${area} are not empty and use their arguments`, async () => {
    for (const [path, text] of await leaves(area, "en")) checkText(path, text);
  });

  for (const { folder, locale } of OTHERS) {
    Deno.test(`${locale} texts of ${area} are those of English, translated, with the same arguments`, async () => {
      const english = await leaves(area, "en");
      const translated = await leaves(area, locale);
      assertEquals([...translated.keys()], [...english.keys()], `${folder}/${area}.ts`);
      for (const [path, text] of translated) {
        checkText(path, text);
        const source = english.get(path);
        assert(source !== undefined);
        const [theirs, ours] = [called(source), called(text)];
        for (const digits of theirs.given.filter((digits) => hasNumber(theirs.shown, digits))) {
          assert(hasNumber(ours.shown, digits), `${path} loses an argument`);
        }
        assertTranslated(path, ours.shown, theirs.shown);
      }
    });
  }
}

Deno.test("every language has the areas of English, and none of its own", () => {
  for (const { folder } of OTHERS) {
    // English stands beside the codes that these are made of.
    const own = filesOf(new URL(`${folder}/`, ROOT)).filter((file) => !file.startsWith("sayings/"));
    assertEquals(own, filesOf(new URL("en/", ROOT)));
    assertEquals(own.length, AREAS.length);
  }
});

function filesOf(folder: URL, below = ""): string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) =>
    isDirectory ? filesOf(new URL(`${name}/`, folder), `${below}${name}/`) : [below + name]
  ).sort();
}

function checkText(path: string, text: Leaf): void {
  const { shown, given } = called(text);
  assert(shown.trim() !== "", `${path} is empty`);
  assert(!/undefined|NaN|\[object/.test(shown), `${path}: ${shown}`);
  for (const [at, digits] of given.entries()) {
    assert(hasNumber(shown, digits) || isFlag(text, at), `${path} does not use an argument: ${shown}`);
  }
}

/** An argument may only decide between two texts. */
function isFlag(text: Leaf, at: number): boolean {
  if (typeof text === "string") return false;
  const { shown, given } = called(text);
  return text(...given.map((value, index) => index === at ? false : value)) !== shown;
}

function hasNumber(text: string, digits: string): boolean {
  return text.replace(/(?<=\d),(?=\d)/g, "").includes(digits);
}

/** Commands and programs keep their names, as does what looks like code: context_window, --metrics, .env. */
const NAMES = new Set([
  "reasonix",
  "all",
  "verbose",
  "xclip",
  "pngpaste",
  "ask",
  "auto",
  "approve",
  "edits",
  "yolo",
  "allow",
  "deny",
  "remove",
  "forget",
  "load",
  "login",
  "effort",
  "efforts",
  "code",
  "conversation",
  "online",
  "trust",
  "unload",
  "keys",
  "session",
  "show",
  "test",
  "docs",
  "hooks",
  "config",
  "set",
  "skills",
  "list",
  "not-yet",
  "wl-clipboard",
  "xsel",
  "go",
  "run",
  "setup",
  "doctor",
  "mcp",
  "apt",
  "install",
  "bubblewrap",
  "false",
  "restart",
  "off",
  "add",
  "models",
  "none",
  "resume",
  "clear",
  "untrust",
  "archive",
  "goal",
]);

function englishWords(text: string): string[] {
  // A rule is written as it is in every language: Bash(go test:*).
  const words = text.replace(/\b[A-Z]\w*\([^)]*\)/g, "").match(/[\w.:/=-]+/g) ?? [];
  return words.filter((word) => /^[a-z]{3,}[.:]?$/.test(word) && !NAMES.has(word));
}

function assertTranslated(path: string, ours: string, theirs: string): void {
  assertEquals(englishWords(ours), [], `${path} has English words: ${ours}`);
  if (englishWords(theirs).length > 0) {
    assert(/\p{Script=Han}/u.test(ours), `${path} is not translated: ${ours}`);
  }
}
