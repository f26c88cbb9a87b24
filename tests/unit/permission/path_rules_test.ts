import { assertEquals } from "../../support/assert.ts";
import { makeTempDir } from "../../support/tool_context.ts";
import { call, scene } from "./scene.ts";
import { removeTree } from "../../support/remove_tree.ts";

const signal = new AbortController().signal;

async function workspace(): Promise<{ ws: string; root: string } & AsyncDisposable> {
  const root = await Deno.realPath(await Deno.makeTempDir());
  await Deno.mkdir(`${root}/ws/docs/sub`, { recursive: true });
  await Deno.mkdir(`${root}/ws/secret`, { recursive: true });
  await Deno.symlink(`${root}/ws/secret`, `${root}/ws/docs/way`);
  await Deno.symlink(`${root}/ws/secret/new`, `${root}/ws/docs/dangling`);
  return { root, ws: `${root}/ws`, [Symbol.asyncDispose]: () => removeTree(root) };
}

/** The decision about writing each path under one rule set; `-` represents the fallback. */
async function decisions(
  ws: string,
  rules: Parameters<typeof scene>[1],
  paths: readonly string[],
  overrides: Parameters<typeof scene>[2] = {},
): Promise<string> {
  const { gate } = scene(ws, rules, overrides);
  let found = "";
  for (const path of paths) {
    const decision = await gate.check(call("write_file", { path }), signal);
    found += decision.source !== "rule" ? "-" : decision.decision === "allow" ? "A" : "D";
  }
  return found;
}

Deno.test("a denied glob matches every notation of the path", async () => {
  await using t = await workspace();
  const paths = [
    "secret/a",
    "./secret/a",
    "docs/../secret/a",
    `${t.ws}/secret/a`,
    `${t.ws}/docs/../secret//a`,
    "docs/way/a",
    "docs/dangling",
    "docs/way/../secret/a",
    "secret",
    "secret/b/c/d",
    "docs/a",
    "secrets/a",
  ];
  assertEquals(await decisions(t.ws, { deny: ["Edit(secret/**)"] }, paths), "DDDDDDDDDD--");
  assertEquals(await decisions(t.ws, { deny: [`Edit(${t.ws}/secret/*)`] }, paths), "DDDDDDDDDD--");
  assertEquals(await decisions(t.ws, { deny: ["Edit(./secret/)"] }, paths), "DDDDDDDDDD--");
});

Deno.test("an allowed glob matches only the real path", async () => {
  await using t = await workspace();
  const paths = [
    "docs/a",
    "./docs/sub/b",
    "docs/../src.md",
    "docs/way/a",
    "docs/dangling",
    "secret/../docs/a",
    "docs",
  ];
  assertEquals(await decisions(t.ws, { allow: ["Edit(docs/**)"] }, paths), "AA---A-");
});

Deno.test("a name without a slash is denied in any directory and allowed only in its own", async () => {
  await using t = await workspace();
  const paths = [".env", "docs/.env", `${t.root}/.env`, "docs/x.env"];
  assertEquals(await decisions(t.ws, { deny: ["Edit(.env)"] }, paths), "DDD-");
  assertEquals(await decisions(t.ws, { allow: ["Edit(.env)"] }, paths), "A---");
});

Deno.test("globs keep their meaning in existing files", async () => {
  await using t = await workspace();
  const paths = ["a.md", "docs/a.md", "docs/sub/a.md", "a.txt", "b.md"];
  assertEquals(await decisions(t.ws, { allow: ["Edit(*.md)"] }, paths), "AAA-A");
  assertEquals(await decisions(t.ws, { allow: ["Edit(**/a.md)"] }, paths), "AAA--");
  assertEquals(await decisions(t.ws, { allow: ["Edit(?.md)"] }, paths), "A---A");
});

Deno.test("paths are case-sensitive only if the platform is", async () => {
  await using t = await workspace();
  const rules = { deny: ["Edit(Secret/**)"] };
  assertEquals(await decisions(t.ws, rules, ["secret/a", "SECRET/a"], { ignoreCase: true }), "DD");
  assertEquals(await decisions(t.ws, rules, ["secret/a", "Secret/a"], { ignoreCase: false }), "-D");
});

Deno.test("Unicode normalization forms of a name are one path", async () => {
  await using t = await workspace();
  assertEquals(await decisions(t.ws, { deny: ["Edit(caf\u00e9/**)"] }, ["cafe\u0301/a"]), "D");
});

Deno.test("home-relative rules match absolute paths and the reverse", async () => {
  await using t = await workspace();
  const home = `${t.root}/me`;
  assertEquals(
    await decisions(t.ws, { deny: ["Edit(~/x/**)"] }, ["~/x/a", `${home}/x/a`, "x/a"], { home }),
    "DD-",
  );
});

Deno.test("relative rules are resolved from the working directory and the workspace", async () => {
  await using t = await workspace();
  const { gate } = scene(t.ws, { allow: ["Edit(docs/**)"] });
  gate.cwd = `${t.ws}/docs`;
  const check = async (path: string) => (await gate.check(call("edit_file", { path }), signal)).source;
  assertEquals([await check("a"), await check("docs/a"), await check("../a")], ["rule", "rule", "headless"]);
});

Deno.test("a move is allowed when its source and target are", async () => {
  await using t = await workspace();
  const { gate } = scene(t.ws, { allow: ["Edit(docs/**)", "Edit(out/**)"] });
  const check = async (source_path: string, destination_path: string) =>
    (await gate.check(call("move_file", { source_path, destination_path }), signal)).source;
  assertEquals([await check("docs/a", "out/a"), await check("docs/a", "a"), await check("a", "out/a")], [
    "rule",
    "headless",
    "headless",
  ]);
});

Deno.test("a search is checked by the directory it searches", async () => {
  await using t = await workspace();
  const { gate } = scene(t.ws, { deny: ["Read(secret/**)"] });
  const check = async (name: string, args: Record<string, unknown>) =>
    (await gate.check(call(name, args, true), signal)).decision;
  assertEquals(await check("grep", { pattern: "x", path: "secret" }), "deny");
  assertEquals(await check("glob", { pattern: "secret/**/*.ts" }), "deny");
  assertEquals(await check("ls", { path: "./secret/" }), "deny");
  assertEquals(await check("grep", { pattern: "secret/" }), "allow");
  assertEquals(await check("glob", { pattern: "**/*.ts" }), "allow");
});

Deno.test("a link is also checked by its own name in its real directory", async () => {
  await using dir = await makeTempDir();
  await Deno.mkdir(`${dir.path}/docs`);
  await Deno.writeTextFile(`${dir.path}/ok.md`, "x");
  await Deno.symlink("../ok.md", `${dir.path}/docs/inner`);
  await Deno.symlink("docs", `${dir.path}/link`);
  const check = async (deny: string, path: string) => {
    const { gate } = scene(dir.path, { deny: [deny] });
    const request = call("move_file", { source_path: path, destination_path: "new.md" });
    return (await gate.check(request, signal)).decision;
  };
  for (const path of ["docs/inner", "link/inner", "link/inner/", "./link//inner"]) {
    for (const rule of ["Edit(docs/**)", "Edit(docs/inner)", "Edit(ok.md)", "Read(docs/**)"]) {
      assertEquals(await check(rule, path), "deny", `${rule} ${path}`);
    }
    assertEquals(await check("Edit(other/**)", path), "allow", path);
  }
});

Deno.test("a rule for the content of a directory also covers moving or replacing the directory", async () => {
  await using dir = await makeTempDir();
  await Deno.mkdir(`${dir.path}/sub/docs`, { recursive: true });
  await Deno.symlink("sub", `${dir.path}/link`);
  const decided = async (rules: Parameters<typeof scene>[1], from: string, to: string) => {
    const { gate } = scene(dir.path, rules, { onAsk: "deny", mode: "allow" });
    const request = call("move_file", { source_path: from, destination_path: to });
    return (await gate.check(request, signal)).decision;
  };
  for (
    const rule of ["Edit(sub/docs/**)", "Read(sub/docs/**)", "move_file(sub/docs/*)", "Edit(sub/docs/x.md)"]
  ) {
    for (const list of ["deny", "ask"]) {
      if (list === "ask" && rule.startsWith("Read")) continue;
      const rules = { [list]: [rule] };
      assertEquals(await decided(rules, "sub", "s2"), "deny", `${list} ${rule}`);
      assertEquals(await decided(rules, "link/../sub/", "s2"), "deny", `${list} ${rule}`);
      assertEquals(await decided(rules, "prep", "sub"), "deny", `${list} ${rule}`);
      assertEquals(await decided(rules, "prep", "sub/docs"), "deny", `${list} ${rule}`);
      assertEquals(await decided(rules, "sub/other", "s2"), "allow", `${list} ${rule}`);
      assertEquals(await decided(rules, "submarine", "s2"), "allow", `${list} ${rule}`);
    }
  }
});
