import fc from "fast-check";
import { contains, containsOnDisk, foldPath, normalize, splitPath } from "../../../src/path/lexical.ts";
import { existingRealPath, realPath, RealPathCache } from "../../../src/path/real_path.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { SEED } from "../../support/seed.ts";
import { makeTempDir } from "../../support/tool_context.ts";

const NAMES = ["a", "b", "c", "l", "m"];
const name = fc.constantFrom(...NAMES);
const step = fc.oneof({ weight: 6, arbitrary: name }, fc.constantFrom("..", ".", ""));
const way = fc.array(step, { minLength: 1, maxLength: 6 }).map((steps) => steps.join("/"));
interface Link {
  readonly at: string;
  readonly inside: string | undefined;
  readonly target: string;
  readonly absolute: boolean;
}

const link: fc.Arbitrary<Link> = fc.record({
  at: name,
  inside: fc.option(name, { nil: undefined }),
  target: way,
  absolute: fc.boolean(),
});

/** Creates directories, and links one or two levels deep inside real directories; targets are arbitrary. */
function build(
  root: string,
  directories: readonly string[],
  links: readonly Link[],
): void {
  for (const directory of directories) Deno.mkdirSync(`${root}/${directory}/b`, { recursive: true });
  for (const { at, inside, target, absolute } of links) {
    const parent = inside === undefined ? root : `${root}/${at}`;
    const path = inside === undefined ? `${root}/${at}` : `${parent}/${inside}`;
    if (existingRealPath(parent) !== parent || Deno.lstatSync(parent).isSymlink) continue;
    try {
      Deno.symlinkSync(absolute ? `${root}/${target}` : target || ".", path);
    } catch {
      // Taken.
    }
  }
}

Deno.test({
  name: "realPath resolves like the kernel, and stops at loops and missing files",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using dir = await makeTempDir();
    const base = await Deno.realPath(dir.path);
    let run = 0;
    const arbitraries = [
      fc.array(name, { maxLength: 3 }),
      fc.array(link, { maxLength: 8 }),
      fc.array(way, { minLength: 1, maxLength: 5 }),
    ] as const;
    fc.assert(
      fc.property(...arbitraries, (directories, links, ways) => {
        const root = `${base}/${++run}`;
        Deno.mkdirSync(root);
        build(root, directories, links);
        const cache = new RealPathCache();
        for (const path of ways.map((each) => `${root}/${each}`)) {
          const kernel = existingRealPath(path);
          const cached = cache.of(path);
          assert(cached.startsWith("/") && normalize(cached) === cached);
          if (kernel !== undefined) {
            assertEquals([realPath(path), cached], [kernel, kernel]);
            continue;
          }
          let strict: string;
          try {
            strict = realPath(path);
          } catch {
            // A loop of links: nothing can be opened by this name.
            continue;
          }
          assertEquals(cached, strict);
          assertEquals(realPath(strict), strict);
        }
        Deno.removeSync(root, { recursive: true });
      }),
      { numRuns: 300, seed: SEED },
    );
  },
});

Deno.test("normalize is idempotent and keeps the root, and contains agrees with the names", () => {
  const absolute = way.map((text) => `/${text}`);
  const windows = fc.tuple(
    fc.constantFrom("C:\\", "\\\\srv\\share\\", "\\\\?\\C:\\", "\\\\?\\UNC\\srv\\share\\"),
    way,
  )
    .map(([root, text]) => root + text.replaceAll("/", "\\"));
  fc.assert(
    fc.property(absolute, absolute, windows, (a, b, w) => {
      const [outer, inner, wide] = [normalize(a, false), normalize(b, false), normalize(w, true)];
      assertEquals([normalize(outer, false), normalize(wide, true)], [outer, wide]);
      assertEquals(splitPath(wide, true).root, /\\\\(?:srv|\?\\UNC)/.test(w) ? "//srv/share/" : "C:/");
      const names = splitPath(outer, false).names;
      const expected = names.every((each, i) => splitPath(inner, false).names[i] === each);
      assertEquals(contains(outer, inner), expected);
      assertEquals(contains(foldPath(outer.toUpperCase()), foldPath(inner)), expected);
    }),
    { seed: SEED },
  );
});

Deno.test("foldPath maps spellings that differ by case or composition to one, and is idempotent", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 12 }), (text) => {
      const known = foldPath(text);
      assertEquals(foldPath(known), known);
      assertEquals([foldPath(text.normalize("NFC")), foldPath(text.normalize("NFD"))], [known, known]);
    }),
    { seed: SEED },
  );
  assertEquals(foldPath("/Stra\u00dfe/CAF\u00c9\u200c"), foldPath("/STRASSE/cafe\u0301"));
});

Deno.test("foldPath maps every character and its other spellings to the same text, idempotently", () => {
  const wrong: string[] = [];
  for (let point = 0; point <= 0x10ffff; point++) {
    if (point >= 0xd800 && point <= 0xdfff) continue;
    const name = String.fromCodePoint(point);
    const known = foldPath(name);
    const spellings = [known, name.toUpperCase(), name.toLowerCase(), name.normalize("NFD")];
    if (spellings.some((each) => each !== known && foldPath(each) !== known)) {
      wrong.push(point.toString(16));
    } else if (foldPath(known) !== known) wrong.push(point.toString(16));
  }
  assertEquals(wrong, []);
});

Deno.test("containsOnDisk accepts another spelling only if it is the same directory", async () => {
  await using dir = await makeTempDir();
  const root = await Deno.realPath(dir.path);
  for (const each of ["ws", "other"]) await Deno.mkdir(`${root}/${each}`);
  // Stands for a volume that ignores case: the other spelling leads to the same directory.
  await Deno.symlink("ws", `${root}/WS`);
  await Deno.mkdir(`${root}/Other`).catch(() => {});
  assertEquals(
    [`${root}/ws/a`, `${root}/WS/a`, `${root}/wsx`].map((path) => containsOnDisk(`${root}/ws`, path)),
    [
      true,
      true,
      false,
    ],
  );
  const same = (await Deno.stat(`${root}/other`)).ino === (await Deno.stat(`${root}/Other`)).ino;
  assertEquals(containsOnDisk(`${root}/other`, `${root}/Other/a`), same);
});
