import fc from "fast-check";
import { ReasonixError } from "../../../src/core/mod.ts";
import {
  absolutePath,
  contains,
  containsOnDisk,
  foldPath,
  isAbsolute,
  normalize,
  parentOf,
  relativeTo,
  requireFilePath,
  slashed,
  splitPath,
} from "../../../src/path/lexical.ts";
import { exists, isDirectory, isFile, readSmallText, sortedEntries } from "../../../src/path/probe.ts";
import {
  PROTECTED_PATHS,
  protectedCandidates,
  protectedHolder,
  protectedPath,
} from "../../../src/path/protected.ts";
import { existingRealPath, realPath, RealPathCache } from "../../../src/path/real_path.ts";
import { assert, assertEquals, assertThrows } from "../../support/assert.ts";
import { SEED } from "../../support/seed.ts";
import { makeTempDir } from "../../support/tool_context.ts";

const WINDOWS = { cwd: "C:\\code\\ws", home: "C:\\Users\\me", windows: true };
const POSIX = { cwd: "/srv/ws", home: "/home/me", windows: false };

Deno.test("absolutePath reads Windows paths as Windows does", () => {
  const cases: [string, string][] = [
    ["src/a.ts", "C:/code/ws/src/a.ts"],
    ["..\\x", "C:/code/ws/../x"],
    ["D:/x/y", "D:/x/y"],
    ["\\x", "C:/x"],
    ["/x", "C:/x"],
    ["\\\\server\\share\\x", "//server/share/x"],
    ["//server/share/x", "//server/share/x"],
    ["~\\x", "C:/Users/me/x"],
    ["~/x", "C:/Users/me/x"],
    ["\\\\?\\D:\\x", "D:/x"],
    ["\\\\.\\D:\\x", "D:/x"],
    ["\\??\\D:\\x", "D:/x"],
    ["\\\\?\\UNC\\server\\share\\x", "//server/share/x"],
  ];
  for (const [path, expected] of cases) assertEquals(absolutePath(path, WINDOWS), expected, path);
  const share = { ...WINDOWS, cwd: "\\\\server\\share\\ws" };
  assertEquals([absolutePath("a", share), absolutePath("\\a", share)], [
    "//server/share/ws/a",
    "//server/share/a",
  ]);
});

Deno.test("requireFilePath rejects Windows paths that name another file than they seem to", () => {
  const forms = [
    "\\\\?\\C:\\x",
    "\\\\.\\PhysicalDrive0",
    "//./pipe/x",
    "\\??\\C:\\x",
    "C:x",
    "a.txt:stream",
    "C:\\a.txt:s:$DATA",
    "nul",
    "src\\CON.txt",
    "com1",
    "LPT\u00b9",
    "a.ts.",
    "a.ts ",
    "dir.\\a",
    "...",
    "",
    "a\0b",
  ];
  for (const form of forms) {
    assertThrows(() => requireFilePath(form, true), ReasonixError, "Cannot use the path");
  }
  for (const form of ["", "a\0b"]) {
    assertThrows(() => requireFilePath(form, false), ReasonixError, "Cannot use the path");
  }
});

Deno.test("absolutePath keeps the same names on other systems", () => {
  for (const name of ["nul", "a.ts.", "a:b", "C:x", "a\\b", "~x"]) {
    requireFilePath(name, false);
    assertEquals(absolutePath(name, POSIX), `/srv/ws/${name}`);
  }
  assertEquals(absolutePath("~", POSIX), "/home/me");
  assertEquals(absolutePath("~\\x", POSIX), "/srv/ws/~\\x");
  assertEquals(absolutePath("~/x", { cwd: "/", windows: false }), "/~/x");
});

Deno.test("splitPath and normalize never climb above the root", () => {
  assertEquals(normalize("/a/./b//../../../c", false), "/c");
  assertEquals(normalize("C:\\a\\..\\..\\b", true), "C:/b");
  assertEquals(normalize("\\\\s\\h\\..\\x", true), "//s/h/x");
  assertEquals(normalize("C:\\a.\\b. .\\..c", true), "C:/a/b/..c");
  assertEquals(splitPath("\\\\s\\h\\x", true), { root: "//s/h/", names: ["x"] });
  assertEquals(splitPath("C:", true), { root: "C:/", names: [] });
});

Deno.test("parentOf and relativeTo handle the root", () => {
  assertEquals(["/a/b", "/a", "/", "C:/a", "C:/"].map(parentOf), ["/a", "/", "/", "C:/", "C:/"]);
  assertEquals([relativeTo("/a/b", "/a"), relativeTo("/a", "/"), relativeTo("/a", "/a")], ["b", "a", "."]);
  assertEquals([relativeTo("/ab", "/a"), relativeTo("/", "/a")], [undefined, undefined]);
  assertEquals(
    ["/x", "C:\\x", "\\x", "C:x", "x"].map((path) => isAbsolute(path, true)),
    [true, true, true, false, false],
  );
  assertEquals(slashed("a\\b", false), "a\\b");
});

Deno.test("probes recognize files, directories, links and missing paths", async () => {
  await using dir = await makeTempDir();
  const root = await Deno.realPath(dir.path);
  await Deno.writeTextFile(`${root}/file`, "");
  await Deno.mkdir(`${root}/directory`);
  await Deno.symlink("directory", `${root}/link`);
  await Deno.symlink("nowhere", `${root}/dangling`);
  const look = (name: string) => {
    const path = `${root}/${name}`;
    return [exists(path), isFile(path), isDirectory(path), existingRealPath(path)];
  };
  assertEquals(look("file"), [true, true, false, `${root}/file`]);
  assertEquals(look("directory"), [true, false, true, `${root}/directory`]);
  assertEquals(look("link"), [true, false, true, `${root}/directory`]);
  assertEquals(look("dangling"), [true, false, false, undefined]);
  assertEquals(look("nothing"), [false, false, false, undefined]);
  assertEquals(sortedEntries(root).map((entry) => entry.name), ["dangling", "directory", "file", "link"]);
  assertEquals(sortedEntries(`${root}/file`), []);
});

Deno.test("readSmallText reads ordinary files and never blocks on others", {
  ignore: Deno.build.os === "windows",
}, async () => {
  await using dir = await makeTempDir();
  const at = (name: string) => `${dir.path}/${name}`;
  await Deno.writeTextFile(at("file"), "text");
  await Deno.symlink("file", at("link"));
  await Deno.symlink("/dev/zero", at("zero"));
  assertEquals((await new Deno.Command("mkfifo", { args: [at("pipe")] }).output()).success, true);
  assertEquals(["file", "link"].map((name) => readSmallText(at(name))), ["text", "text"]);
  assertEquals(
    ["zero", "pipe", "none", "."].map((name) => readSmallText(at(name))),
    Array(4).fill(undefined),
  );
  assertEquals([readSmallText(at("file"), 4), readSmallText(at("file"), 3)], ["text", undefined]);
});

const HOME = "/home/me";
const ROOT = "/srv/ws";
const context = (roots: readonly string[] = [ROOT]) => ({
  home: HOME,
  roots,
  realPath: (path: string) => path.replace("/srv/link", ROOT),
});

/** Paths that the gate prompts for and the jail mounts read-only. */
const FORMER_GATE = [
  ".git",
  ".git/hooks",
  ".git/hooks/pre-commit",
  ".git/config",
  ".git/config.worktree",
  ".git/commondir",
  ".git/gitdir",
  ".git/modules/a/b/config",
  ".git/worktrees/w/config.worktree",
  "reasonix.toml",
  ".mcp.json",
  ".envrc",
  ".vscode/settings.json",
  ".vscode/tasks.json",
  ...["hooks", "commands", "skills", "agents", "plugins", "bin"].flatMap((name) => [
    `.reasonix/${name}`,
    `.reasonix/${name}/x/y`,
  ]),
  ".reasonix/hooks.toml",
  ".reasonix/settings.json",
];
const FORMER_HOME =
  ("bashrc bash_profile bash_login bash_logout bash_aliases profile zshrc zshenv zprofile zlogin zlogout kshrc mkshrc " +
    "cshrc tcshrc login logout inputrc envrc xprofile xinitrc gitconfig config/fish config/git config/autostart " +
    "config/systemd/user/x ssh ssh/id agents/skills/a claude/hooks/b claude/settings.json claude/settings.local.json")
    .split(" ").map((name) => `.${name}`);
const FORMER_JAIL = [
  ...(".gitconfig .config/git .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv " +
    ".zprofile .zlogin .zlogout .config/fish .config/autostart .config/systemd .ssh .envrc .mcp.json .reasonix/agents " +
    ".reasonix/commands .reasonix/hooks .reasonix/skills reasonix.toml .vscode/settings.json .vscode/tasks.json")
    .split(" "),
];
const FORMER_PROGRAMS =
  ("bin .local/bin .local/lib .local/pipx .local/share/uv .local/share/mise .local/share/pipx .local/share/nvim " +
    ".local/share/applications .config/nvim .vim .emacs.d .oh-my-zsh .zsh .cargo/bin .cargo/env .cargo/config.toml " +
    ".rustup go/bin .deno .bun/bin .npm-global .yarn/bin .nvm .volta .pyenv .rbenv .asdf .sdkman .krew .dotnet/tools " +
    ".vscode/extensions .vscode-server .npmrc .agents .claude").split(" ");

Deno.test("protectedPath includes all paths that the gate prompts for and the jail mounts read-only", () => {
  for (const name of FORMER_GATE) {
    for (const path of [`${ROOT}/${name}`, `/elsewhere/deep/${name}`, `${ROOT}/${name.toUpperCase()}`]) {
      assert(protectedPath([path], context()) !== undefined, path);
    }
  }
  for (const name of [...FORMER_HOME, ...FORMER_PROGRAMS]) {
    assert(protectedPath([`${HOME}/${name}`], context()) !== undefined, name);
  }
  for (const name of FORMER_JAIL) {
    for (const root of [ROOT, "/srv/link"]) {
      assert(protectedPath([`${ROOT}/${name}`], context([root])) !== undefined, name);
    }
  }
});

Deno.test("protectedPath excludes ordinary files", () => {
  for (
    const name of [
      "src/a.ts",
      ".github/workflows/ci.yml",
      ".gitignore",
      ".git/index",
      ".git/objects/ab/cd",
      ".git/info/exclude",
      "docs/.bashrc.md",
      "sub/.bashrc",
      "my.git/config.toml",
      "a.git/config",
      ".reasonix/notes.md",
      ".vscode/launch.json",
      "bin/tool",
      ".npmrc",
      ".config/app.json",
    ]
  ) {
    assertEquals(protectedPath([`${ROOT}/${name}`], context()), undefined, name);
  }
});

Deno.test("programs in the home directory are protected unless they are in a project", () => {
  const path = `${HOME}/.config/nvim/init.lua`;
  assert(protectedPath([path], context()) !== undefined);
  assert(protectedPath([path], context([HOME])) !== undefined);
  assertEquals(protectedPath([path], context([`${HOME}/.config/nvim`])), undefined);
  assert(protectedPath([`${HOME}/.ssh/config`], context([`${HOME}/.ssh`])) !== undefined);
});

Deno.test("protectedHolder returns the directories that contain protected files", () => {
  const holds = (path: string) => protectedHolder([path], context()) !== undefined;
  for (const path of [`${ROOT}/.vscode`, `${ROOT}/a/.reasonix`, `${HOME}/.config`, `${HOME}/.claude`]) {
    assert(holds(path), path);
  }
  for (const path of [ROOT, `${ROOT}/.config`, `${ROOT}/src`, `${HOME}/work`]) assert(!holds(path), path);
});

Deno.test("protectedCandidates finds existing files, also by wildcard and by several names in a directory", async () => {
  await using dir = await makeTempDir();
  for (const name of [".reasonix/plugins", ".reasonix/bin", ".vscode", ".config/fish", "src"]) {
    await Deno.mkdir(`${dir.path}/${name}`, { recursive: true });
  }
  for (const name of [".reasonix/settings.json", ".reasonix/hooks.toml", ".reasonix/x", ".bashrc"]) {
    await Deno.writeTextFile(`${dir.path}/${name}`, "");
  }
  const found = new Set(protectedCandidates(dir.path, ["anywhere", "root"]));
  const expected = [
    ".reasonix/plugins",
    ".reasonix/bin",
    ".reasonix/settings.json",
    ".reasonix/hooks.toml",
    ".bashrc",
    ".config/fish",
    ".vscode/tasks.json",
  ];
  for (const name of expected) assert(found.has(`${dir.path}/${name}`), name);
  assert(!found.has(`${dir.path}/.reasonix/x`) && !found.has(`${dir.path}/reasonix.toml`));
});

Deno.test("every row of the table is matched by its pattern", () => {
  for (const { pattern, scope, kind } of PROTECTED_PATHS) {
    const name = pattern.replace(/\{([^,}]*)[^}]*\}/g, "$1").replace("/**/", "/").replaceAll("**", "x")
      .replaceAll("*", "x");
    const base = scope === "anywhere" ? "/any/where" : scope === "root" ? ROOT : HOME;
    const found = protectedPath([`${base}/${name}`], context());
    assert(found !== undefined && (found === kind || scope === "programs"), pattern);
  }
});

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
