import { ReasonixError } from "../../../../src/core/mod.ts";
import {
  byScore,
  Completion,
  type CompletionSource,
  scored,
} from "../../../../src/frontend/session/completion.ts";
import { PathIndex, resourceItems } from "../../../../src/frontend/session/completion_lists.ts";
import {
  argumentSource,
  commandSource,
  fileSource,
  resourceSource,
  treeSource,
} from "../../../../src/frontend/session/completion_sources.ts";
import { editText } from "../../../../src/util/editor.ts";
import { openReference, referencedNames, referenceTo } from "../../../../src/path/reference_text.ts";
import { clipboardImage } from "../../../../src/util/clipboard.ts";
import { assert, assertEquals, assertRejects } from "../../../support/assert.ts";
import { removeTree } from "../../../support/remove_tree.ts";

/** Waits for items. */
async function offered(
  completion: Completion,
  changes: { readonly next: () => Promise<void> },
  before: string,
) {
  const next = changes.next();
  completion.update(before);
  if (!completion.open) await next;
  return completion.items.map(({ label }) => label);
}

function watched(...sources: CompletionSource[]) {
  let arrived = () => {};
  const completion = new Completion(sources, () => arrived());
  return { completion, next: () => new Promise<void>((resolve) => arrived = resolve) };
}

async function withFiles(paths: readonly string[], run: (directory: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    for (const path of paths) {
      await Deno.mkdir(`${directory}/${path}`.replace(/[^/]*$/, ""), { recursive: true });
      if (!path.endsWith("/")) {
        await Deno.writeTextFile(`${directory}/${path}`, path === ".gitignore" ? "*.log\n" : "");
      }
    }
    await run(directory);
  } finally {
    await removeTree(directory);
  }
}

function ranked<T extends { readonly label: string }>(items: readonly T[], query: string): T[] {
  return byScore(scored(items, query)).map(({ item }) => item);
}

Deno.test("a query ranks prefixes, words, substrings and scattered letters in this order", () => {
  const items = ["xcompactx", "my-compact", "compact", "compactly", "c-o-m-p-a-c-t", "other"].map((
    label,
  ) => ({ label }));
  const labels = ranked(items, "compact").map(({ label }) => label);
  assertEquals(labels, ["compact", "compactly", "my-compact", "xcompactx", "c-o-m-p-a-c-t"]);
  assertEquals(
    ranked([{ label: "Makefile", last: true }, { label: "remake" }], "make").map(({ label }) => label),
    [
      "remake",
      "Makefile",
    ],
  );
  assertEquals(ranked([{ label: "文件" }, { label: "目录" }], "目").map(({ label }) => label), ["目录"]);
  const titled = [{ label: "20260102-b", also: "修复登录 page" }, { label: "page-1" }, { label: "0" }];
  assertEquals(ranked(titled, "修复").map(({ label }) => label), ["20260102-b"]);
  assertEquals(ranked(titled, "PAGE").map(({ label }) => label), ["page-1", "20260102-b"]);
  assertEquals(ranked([{ label: "b" }, { label: "a" }], "").map(({ label }) => label), ["b", "a"]);
});

Deno.test("fileSource lists one directory: directories first, ignored files last, hidden ones after a dot", async () => {
  const paths = [
    "b10.ts",
    "b2.ts",
    "src/deep/x.ts",
    "trace.log",
    ".gitignore",
    "node_modules/p/",
    "my dir/a b.ts",
  ];
  await withFiles(paths, async (directory) => {
    const { completion, next } = watched(fileSource({ cwd: directory, home: directory }));
    const all = await offered(completion, { next }, "see @");
    assertEquals(all, ["my dir/", "src/", "b2.ts", "b10.ts", "node_modules/", "trace.log"]);
    assertEquals(await offered(completion, { next }, "see @."), [".gitignore"]);
    assertEquals(await offered(completion, { next }, "see @src/"), ["deep/"]);
    assertEquals(completion.chosen()?.item.insert, "@src/deep/");
    assertEquals(await offered(completion, { next }, 'see @"my dir/'), ["a b.ts"]);
    assertEquals(completion.chosen(), {
      item: { label: "a b.ts", insert: '@"my dir/a b.ts" ' },
      from: 4,
    });
    assertEquals(await offered(completion, { next }, "see @~/sr"), ["src/"]);
    assertEquals(completion.chosen()?.item.insert, `@${directory}/src/`);
    assertEquals(await offered(completion, { next }, `see @${directory}/my`), ["my dir/"]);
    assertEquals(completion.chosen()?.item.insert, `@"${directory}/my dir/`);
  });
});

Deno.test("fileSource offers nothing for URLs, missing directories and unreadable names", async () => {
  await withFiles(["a.ts", 'quo"te.ts'], async (directory) => {
    const source = fileSource({ cwd: directory, home: undefined });
    assertEquals(source.match("mail me@example"), undefined);
    assertEquals(source.match("done"), undefined);
    assertEquals((await source.items(" ")).items.map(({ label }) => label), ["a.ts"]);
    const { completion, next } = watched(source);
    assertEquals(await offered(completion, { next }, "@none/"), []);
    assertEquals(await offered(completion, { next }, "@a.ts/"), []);
  });
});

Deno.test("fileSource reads a limited number of entries and reports that there are more", async () => {
  await withFiles([], async (directory) => {
    for (let count = 0; count < 2100; count++) Deno.writeTextFileSync(`${directory}/${count}`, "");
    const { completion, next } = watched(fileSource({ cwd: directory, home: undefined }));
    await offered(completion, { next }, "@");
    assertEquals(completion.items.length, 200);
    assert(completion.cut);
  });
});

const VALUES = () => [{ value: "big", detail: "slow" }, { value: "small" }];
const COMMANDS = [
  { name: "help", brief: "List the commands", run: () => {} },
  { name: "model", argumentHint: "[name]", brief: "Change the model", run: () => {}, complete: VALUES },
  { name: "quit", aliases: ["exit"], brief: "Leave", run: () => {} },
] as const;
const commands = () => Promise.resolve(COMMANDS as never);

Deno.test("commandSource completes names at the start of a draft only, and shows arguments", async () => {
  const { completion, next } = watched(commandSource(commands));
  assertEquals(await offered(completion, { next }, "/"), ["help", "model", "quit", "exit"]);
  assertEquals(await offered(completion, { next }, "/mo"), ["model"]);
  const { insert, detail, sends } = completion.chosen()?.item ?? {};
  assertEquals({ insert, detail, sends }, {
    insert: "/model ",
    detail: "[name] Change the model",
    sends: undefined,
  });
  completion.update("/he");
  assertEquals(completion.chosen()?.item.sends, true);
  for (const text of ["a /he", "/usr/bin", "/he x", "//", "\n/he"]) {
    completion.update(text);
    assertEquals(completion.open, false, text);
  }
});

Deno.test("argumentSource offers the values of a command without a preselection", async () => {
  const { completion, next } = watched(argumentSource({ commands } as never));
  assertEquals(await offered(completion, { next }, "/model "), ["big", "small"]);
  assertEquals(completion.chosen(), undefined);
  completion.step(1);
  assertEquals(completion.chosen(), { item: { label: "big", insert: "big", detail: "slow" }, from: 7 });
  completion.step(-1);
  assertEquals(completion.selected, 1);
  assertEquals(await offered(completion, { next }, "/model sm"), ["small"]);
  completion.update("/model big and more");
  assertEquals(completion.open, false);
});

Deno.test("Completion merges sources, stays closed once dismissed, and ignores late lists", async () => {
  const lists: ((labels: string[]) => void)[] = [];
  const slow = (name: string): CompletionSource => ({
    match: (before) => {
      const at = before.lastIndexOf("@");
      return at < 0 ? undefined : { from: at, query: before.slice(at + 1), list: "", preselect: true };
    },
    items: () =>
      new Promise((resolve) =>
        lists.push((labels) =>
          resolve({ items: labels.map((each) => ({ label: name + each, insert: name + each })) })
        )
      ),
  });
  const { completion, next } = watched(slow("a"), slow("b"));
  completion.update("@");
  let arrived = next();
  lists[0]?.(["1"]);
  await arrived;
  assertEquals(completion.items.map(({ label }) => label), ["a1"]);
  completion.step(1);
  arrived = next();
  lists[1]?.(["1"]);
  await arrived;
  assertEquals(completion.items.map(({ label }) => label), ["a1", "b1"]);
  completion.leave();
  completion.update("@a");
  assertEquals(completion.open, false);
  completion.reopen();
  assertEquals(lists.length, 4);
  completion.update("gone");
  lists[2]?.(["late"]);
  await Promise.resolve();
  assertEquals(completion.open, false);
});

Deno.test("openReference finds the reference at the caret, also after Chinese", () => {
  assertEquals(openReference("look at @src/a"), { at: 8, path: "src/a" });
  assertEquals(openReference("请看@src/"), { at: 2, path: "src/" });
  assertEquals(openReference('x @"my di'), { at: 2, path: "my di" });
  for (const text of ["a@b", "@done ", '@"done" ', "x @a, b", "@a\nb"]) {
    assertEquals(openReference(text), undefined, text);
  }
  assertEquals(openReference(`${"y".repeat(100_000)} @z`)?.at, 100_001);
});

Deno.test("referenceTo writes names that are read back equal", () => {
  for (
    const path of [
      "a.ts",
      "my dir/a b",
      "中文，名.ts",
      "src/",
      "it's",
      "a,b",
      "end.",
      "x:1",
      "(a)",
      "a@b",
      "é",
    ]
  ) {
    const reference = referenceTo(path) ?? "";
    assertEquals(referencedNames(`see ${reference} there`), [path]);
    assertEquals(referencedNames(reference), [path]);
  }
  assertEquals(referenceTo('quo"te'), undefined);
  assertEquals(referencedNames("请看@src/a.ts，还有@b.ts。me@example.org"), ["src/a.ts", "b.ts"]);
});

const seesAll = () => Promise.resolve(() => false);

Deno.test("@ finds files and directories of the whole tree by name, by path and by scattered letters", async () => {
  const paths = [
    "src/util/long_name_helper.ts",
    "src/util/add.js",
    "docs/help.md",
    ".gitignore",
    "made.log",
    "deep/er/made.log",
    "node_modules/helper/index.js",
    ".github/workflows/ci.yml",
    'quo"te/helper.txt',
    "my dir/helper two.ts",
  ];
  await withFiles(paths, async (directory) => {
    const sources = [
      fileSource({ cwd: directory, home: directory }),
      treeSource({ cwd: directory, hidden: seesAll }),
    ];
    const { completion, next } = watched(...sources);
    const wait = async (query: string) => {
      await offered(completion, { next }, `see @${query}`);
      const end = performance.now() + 5_000;
      while (completion.items.length === 0 && performance.now() < end) await next();
      return completion.items.map(({ label }) => label);
    };
    assertEquals(await wait("helper"), ["my dir/helper two.ts", "src/util/long_name_helper.ts"]);
    assertEquals(completion.chosen()?.item.insert, '@"my dir/helper two.ts" ');
    assertEquals((await wait("addjs"))[0], "src/util/add.js");
    assertEquals((await wait("util"))[0], "src/util/");
    assertEquals((await wait("src/hel"))[0], "src/util/long_name_helper.ts");
    assertEquals((await wait("ci.yml"))[0], ".github/workflows/ci.yml");
    await wait("made.lo");
    assertEquals(
      completion.items.map(({ label }) => label),
      ["made.log"],
      "only the one of the root, at the end",
    );
    completion.update("see @zzz");
    assertEquals(completion.items, []);
  });
});

Deno.test("@ lists a tree once, finds new files at the next @, and nothing hidden", async () => {
  await withFiles(["a/secret/key.pem", "a/plain.txt"], async (directory) => {
    let looks = 0;
    const hidden = () => {
      looks++;
      return Promise.resolve((path: string) => path.endsWith("/secret"));
    };
    const source = treeSource({ cwd: directory, hidden, freshMs: 0 });
    const found = async (query: string) =>
      (await source.items("")).search?.(query, 9).map(({ item }) => item.label) ?? [];
    assertEquals(looks, 0, "nothing is listed before the first @");
    assertEquals([await found("plain"), await found("key")], [["a/plain.txt"], []]);
    await Deno.writeTextFile(`${directory}/a/later.txt`, "");
    const end = performance.now() + 5_000;
    while ((await found("later")).length === 0 && performance.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assertEquals(await found("later"), ["a/later.txt"]);
    assertEquals([source.match("@/etc"), source.match("@~/x"), source.match("@../x"), source.match("no")], [
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
});

Deno.test("PathIndex returns the same results for a query typed letter by letter or at once", () => {
  const words = ["src", "util", "helper", "add", "test", "index", "main", "page", "Über", "组件"];
  const paths = Array.from(
    { length: 3_000 },
    (_, at) =>
      `${words[at % 10]}/${words[(at * 7) % 9]}/${words[(at * 3) % 8]}_${at}.${at % 2 ? "ts" : "md"}`,
  );
  const typed = new PathIndex();
  for (const path of paths) typed.add(path);
  for (const query of ["helper_12", "srcutil", "pagets", "组件", "mainmd", "src/ut", "übermd"]) {
    for (let length = 1; length < query.length; length++) typed.search(query.slice(0, length), 20);
    const atOnce = new PathIndex();
    for (const path of paths) atOnce.add(path);
    const found = atOnce.search(query, 20);
    assert(found.length > 0, query);
    assertEquals(typed.search(query, 20), found, query);
  }
});

type Servers = Parameters<typeof resourceItems>[1];

/** Servers with the functions that completion uses. */
function servers(uris: readonly string[], values: readonly string[] = []) {
  const asked: unknown[] = [];
  const pool: Pick<Servers, "resources" | "complete"> = {
    resources: () =>
      uris.map((uri) => ({
        server: "docs",
        resource: { uri, name: uri, description: "" },
        template: uri.includes("{"),
      })),
    complete: (_server, query) => {
      asked.push(query);
      return Promise.resolve(values);
    },
  };
  return { pool: pool as Servers, asked };
}

const inserts = async (written: string, { pool }: ReturnType<typeof servers>) =>
  (await resourceItems(written, pool)).map(({ insert, more }) => more ? `${insert}…` : insert);

Deno.test("resources are listed with files and quoted if required; many of a server are one entry", async () => {
  assertEquals(await inserts("", servers(["page://a", "page://my notes", "page://{id}"])), [
    "@docs:page://a ",
    '@"docs:page://my notes" ',
    "@docs:page://…",
  ]);
  const many = servers(Array.from({ length: 30 }, (_, at) => `page://${at}`));
  assertEquals(await inserts("", many), ["@docs:…"]);
  assertEquals((await inserts("docs:", many)).length, 30);
});

Deno.test("the current part of a template is completed by its server", async () => {
  const one = servers(["page://{id}", "other://x"], ["世界", "a b"]);
  assertEquals(await inserts("docs:page://x", one), ["@docs:page://世界 ", "@docs:page://a%20b "]);
  assertEquals(one.asked, [{ ref: { template: "page://{id}" }, argument: "id", value: "x" }]);
  const two = servers(["git://{repo}/blob/{path}"], ["main"]);
  assertEquals(await inserts("docs:git://re", two), ["@docs:git://main/blob/…"]);
  assertEquals(await inserts("docs:git://re/blob/ma", two), ["@docs:git://re/blob/main "]);
  assertEquals(two.asked.at(-1), {
    ref: { template: "git://{repo}/blob/{path}" },
    argument: "path",
    value: "ma",
  });
  assertEquals(await inserts("docs:none", servers(["page://{id}"])), ["@docs:page://…"]);
});

Deno.test("a reference after @ queries servers only for their own resources", () => {
  const source = resourceSource(() => Promise.resolve(undefined));
  const list = (before: string) => source.match(before)?.list;
  assertEquals([list("see @"), list("see @re"), list("see @docs:page")], ["", "", "docs:page"]);
  assertEquals([list("see @src/a"), list("mail a@b"), list("no")], [undefined, undefined, undefined]);
});

const ignore = Deno.build.os === "windows";

async function withScript(
  script: string,
  run: (path: string, directory: string) => Promise<void>,
): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    const path = `${directory}/my editor`;
    await Deno.writeTextFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    await run(path, directory);
  } finally {
    await removeTree(directory);
  }
}

const lend = <T>(run: () => Promise<T>) => run();
const editor = (variables: Record<string, string>) => ({ env: (name: string) => variables[name], lend });

Deno.test({
  name: "editText passes the text to the editor with its flags and returns the saved text",
  ignore,
  async fn() {
    await withScript('echo "$1" > "$0.flag"; printf "%s\\r\\nmore\\n" "$(cat "$2")" > "$2"', async (path) => {
      const result = await editText("中文\tx", editor({ VISUAL: `"${path}" --wait`, EDITOR: "false" }));
      assertEquals(result, "中文\tx\nmore");
      assertEquals(await Deno.readTextFile(`${path}.flag`), "--wait\n");
    });
  },
});

Deno.test({
  name: "editText uses a private file, releases the terminal, and removes the file",
  ignore,
  async fn() {
    await withScript('ls -ld "$(dirname "$1")" "$1" > "$0.seen"; echo "$1" > "$0.path"', async (path) => {
      let lent = 0;
      const counted = <T>(run: () => Promise<T>) => (lent++, run());
      await editText("x\n", { env: () => `"${path}"`, lend: counted });
      assertEquals(lent, 1);
      const seen = await Deno.readTextFile(`${path}.seen`);
      assert(/^drwx------.*\n-rw-------/.test(seen), seen);
      const file = (await Deno.readTextFile(`${path}.path`)).trim();
      await assertRejects(() => Deno.stat(file), Deno.errors.NotFound);
    });
  },
});

Deno.test({
  name: "editText reports the editor that failed and what to do",
  ignore,
  async fn() {
    const failed = await editText("x", editor({ EDITOR: "false" })).catch((error) => error);
    assert(failed instanceof ReasonixError, String(failed));
    assertEquals(failed.message, 'The editor "false" ended with exit code 1');
    const missing = await editText("x", editor({ EDITOR: "no-such-editor 2>&-" })).catch((error) => error);
    assert(missing instanceof ReasonixError && missing.message.includes("127"), String(missing));
    assert(missing.remedy?.includes("VISUAL"), missing.remedy);
  },
});

const PNG = "\\211PNG\\r\\n\\032\\n";

/** The result with programs of these names in the PATH. */
async function clipboard(
  programs: Record<string, string>,
  variables: Record<string, string>,
  cwd = "/nowhere",
) {
  const directory = await Deno.makeTempDir();
  try {
    for (const [name, script] of Object.entries(programs)) {
      await Deno.writeTextFile(`${directory}/${name}`, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    }
    const env = (name: string) => name === "PATH" ? directory : variables[name];
    return await clipboardImage({ env, untrusted: [cwd === "here" ? directory : cwd] });
  } finally {
    await removeTree(directory);
  }
}

Deno.test({
  name: "clipboardImage reads the image with the program of the desktop",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const wayland = { WAYLAND_DISPLAY: "wayland-0", DISPLAY: ":0" };
    const data = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]).toBase64();
    const good = { "wl-paste": `printf '${PNG}'` };
    assertEquals(await clipboard(good, wayland), { mime: "image/png", data });
    const second = { "wl-paste": "exit 1", "xclip": `printf '${PNG}'` };
    assertEquals(await clipboard(second, wayland), { mime: "image/png", data });
    assertEquals(await clipboard({ "xclip": "echo text" }, { DISPLAY: ":0" }), "noImage");
    assertEquals(await clipboard(good, {}), "noTool");
    assertEquals(await clipboard({}, wayland), "noTool");
    assertEquals(await clipboard(good, wayland, "here"), "noTool");
    const big = { "wl-paste": `printf '${PNG}'; head -c 34000000 /dev/zero` };
    assertEquals(await clipboard(big, wayland), "tooBig");
  },
});
