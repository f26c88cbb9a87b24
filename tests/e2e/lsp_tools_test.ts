import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { gone, processesWith } from "../support/processes.ts";
import { makeWorld, mockConfig } from "../support/program.ts";
import { codeBlocks } from "../support/readme.ts";

const call = (name: string, args: Record<string, unknown>) => ({ calls: [{ name, args }] });
const BIN = Deno.execPath().replace(/\/[^/]*$/, "");
const IGNORE = Deno.build.os !== "linux" || !Deno.execPath().endsWith("/deno");

// deno-lint-ignore no-explicit-any
function results(request: { readonly json: any } | undefined): string[] {
  return request?.json.messages.filter(({ role }: { role: string }) => role === "tool")
    .map(({ content }: { content: string }) => content) ?? [];
}

Deno.test({
  name: "symbol tools find, list and rename with a real language server",
  ignore: IGNORE,
  fn: async () => {
    const place = { path: "b.ts", line: 2, symbol: "greet" };
    await using model = startModelServer([
      call("lsp_definition", place),
      call("lsp_references", place),
      call("lsp_hover", place),
      call("lsp_symbols", { path: "a b.ts" }),
      call("lsp_hover", { ...place, symbol: "absent" }),
      call("lsp_rename", { ...place, new_name: "grüße" }),
      { text: "Done." },
    ]);
    // The settings of the page, as its reader takes them over.
    const [, settings = ""] = await codeBlocks("docs/lsp.md", "toml");
    await using world = await makeWorld(mockConfig(model.url, settings));
    await world.write("deno.json", "{}");
    await world.write(
      "a b.ts",
      "/** Says 🎉 文. */\r\nexport const 文 = '🎉', greet = (name: string) => name;\r\n",
    );
    await world.write(
      "b.ts",
      'import { greet } from "./a b.ts";\nconsole.log("🎉", greet("x"), greet("y"));\n',
    );
    const env = { PATH: `${BIN}:/usr/bin:/bin` };
    const { code, stderr } = await world.run(["run", "--permission-mode", "workspace-write", "rename"], {
      env,
    });
    assertEquals(code, 0, stderr);
    const [definition, references, hover, symbols, absent, rename] = results(model.requests.at(-1));
    assertStringIncludes(definition ?? "", "a b.ts:2: export const 文 = '🎉', greet");
    assertEquals(references?.split("\n").length, 4, references);
    assertStringIncludes(hover ?? "", "greet(name: string): string");
    assertStringIncludes(symbols ?? "", "2: ");
    assertStringIncludes(absent ?? "", '"absent" is not on line 2');
    assertStringIncludes(rename ?? "", "updated a b.ts (+1 −1)\nupdated b.ts (+2 −2)");
    assertEquals(
      await world.read("a b.ts"),
      "/** Says 🎉 文. */\r\nexport const 文 = '🎉', grüße = (name: string) => name;\r\n",
    );
    assertEquals(
      await world.read("b.ts"),
      'import { grüße } from "./a b.ts";\nconsole.log("🎉", grüße("x"), grüße("y"));\n',
    );
  },
});

Deno.test({
  name: "a rename that affects a denied file changes nothing",
  ignore: IGNORE,
  fn: async () => {
    await using model = startModelServer([
      call("lsp_rename", { path: "b.ts", line: 1, symbol: "greet", new_name: "hail" }),
      { text: "Done." },
    ]);
    const rules = '[lsp]\ntools = true\n[permissions]\ndeny = ["Edit(a.ts)"]\n';
    await using world = await makeWorld(mockConfig(model.url, rules));
    await world.write("deno.json", "{}");
    await world.write("a.ts", "export const greet = 1;\n");
    await world.write("b.ts", 'import { greet } from "./a.ts";\nconsole.log(greet);\n');
    const env = { PATH: `${BIN}:/usr/bin:/bin` };
    await world.run(["run", "--permission-mode", "workspace-write", "rename"], { env });
    assertStringIncludes(results(model.requests.at(-1)).join(), "Edit(a.ts)");
    assert((await world.read("b.ts")).includes("greet"));
  },
});

Deno.test({
  name:
    "an answer waits for a server that starts slowly, which writes nothing to the project and ends with the run",
  ignore: IGNORE,
  fn: async () => {
    await using model = startModelServer([
      call("write_file", { path: "a.fake", content: "one BAD\n" }),
      { text: "Done." },
      { text: "Now it is done." },
    ]);
    await using world = await makeWorld();
    const server = new URL("../support/fake_language_server.ts", import.meta.url).pathname;
    const inProject = `${world.dir}/made`;
    const args = [
      "run",
      "-A",
      "--no-config",
      "--quiet",
      server,
      JSON.stringify({ writes: inProject, startsAfter: 800 }),
    ];
    const entry = `[lsp.servers.fake]\ncommand = "deno"\nextensions = ["fake"]\nargs = ${
      JSON.stringify(args)
    }\n`;
    await Deno.writeTextFile(`${world.home}/config.toml`, mockConfig(model.url, entry));
    const env = { PATH: `${BIN}:/usr/bin:/bin` };
    const { code, stderr } = await world.run(["run", "--permission-mode", "workspace-write", "x"], { env });
    assertEquals(code, 0, stderr);
    assertEquals(
      model.requests.at(-1)?.json.messages.at(-1),
      { role: "user", content: "New errors after an earlier edit:\na.fake:1:5: error bad: one BAD (fake)" },
    );
    assertEquals([...Deno.readDirSync(world.dir)].map(({ name }) => name), ["a.fake"]);
    assertEquals(await gone(() => processesWith(inProject)), [], "the server outlives the run");
  },
});

Deno.test({
  name: "delete_symbol deletes a definition with its comment and keeps lines with other code",
  ignore: IGNORE,
  fn: async () => {
    const path = "a.ts";
    await using model = startModelServer([
      call("delete_symbol", { path, symbol: "Box.open" }),
      call("delete_symbol", { path, symbol: "unused" }),
      call("delete_symbol", { path, symbol: "b" }),
      call("delete_symbol", { path, symbol: "twice" }),
      call("delete_symbol", { path, symbol: "twice", line: 9 }),
      call("delete_symbol", { path, symbol: "absent" }),
      { text: "Done." },
    ], { check: { prefix: false } });
    // Older configurations name the tool.
    await using world = await makeWorld(
      mockConfig(model.url, '[tools]\nenabled = ["*", "delete_symbol"]\n'),
    );
    await world.write("deno.json", "{}");
    const source = [
      "export const a = 1, b = 2;",
      "",
      "/**",
      " * Not used. 🎉",
      " */",
      "// deno-lint-ignore no-explicit-any",
      "export function unused(): any {",
      '  return "文";',
      "}",
      "",
      "export class Box {",
      "  open(): number {",
      "    return 1;",
      "  }",
      "  shut(): number {",
      "    const twice = 2;",
      "    return twice;",
      "  }",
      "}",
      "export const twice = () => {",
      "  return 2;",
      "};",
      "",
    ];
    await world.write(path, source.join("\r\n"));
    const env = { PATH: `${BIN}:/usr/bin:/bin` };
    const args = ["run", "--permission-mode", "workspace-write", "delete"];
    const { code, stderr } = await world.run(args, { env });
    assertEquals([code, stderr.includes("delete_symbol")], [0, true], stderr);
    const [first, second, shared, several, one, absent] = results(model.requests.at(-1));
    assertStringIncludes(first ?? "", "updated a.ts (+0 −3)");
    assertStringIncludes(second ?? "", "updated a.ts (+0 −8)");
    assertStringIncludes(shared ?? "", '"b" shares its lines with other code; use edit_file');
    assertStringIncludes(several ?? "", 'a.ts defines "twice" on line 5, 9; give one of these lines');
    assertStringIncludes(one ?? "", "updated a.ts (+0 −3)");
    assertStringIncludes(absent ?? "", 'a.ts has no symbol "absent"');
    const kept = [...source.slice(0, 2), ...source.slice(10, 11), ...source.slice(14, 19), ""];
    assertEquals(await world.read(path), kept.join("\r\n"));
    const offered = model.requests[0]?.json.tools.map(({ function: { name } }: never) => name);
    assertEquals([offered.includes("delete_symbol"), offered.includes("lsp_rename")], [true, false]);
    model.push({ text: "Done." });
    const without = await world.run(args, { env: { PATH: "/usr/bin:/bin" } });
    assertStringIncludes(without.stderr, "delete_symbol");
    assert(!JSON.stringify(model.requests.at(-1)?.json.tools).includes("delete_symbol"));
  },
});
