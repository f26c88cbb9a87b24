/** The bundled library: the example of its page, and the kind of the page about provider kinds. */
import { bundleLibrary } from "../../scripts/bundle.ts";
import { writeTypes } from "../../scripts/bundle/types.ts";
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { denoDir, makeWorld } from "../support/program.ts";
import { PROVIDER_CONTRACT } from "../support/provider_contract.ts";
import { codeBlocks } from "../support/readme.ts";
import { someOf } from "../support/seed.ts";
import { makeTempDir } from "../support/tool_context.ts";
import { removeTree } from "../support/remove_tree.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

/** Holds the library with its types, whose making takes seconds. */
const library = await Deno.makeTempDir({ prefix: "reasonix-library-" });

Deno.test.beforeAll(async () => {
  const built = Deno.env.get("REASONIX_TEST_BUNDLE")?.replace(/[^/]*$/, "");
  if (built === undefined) await bundleLibrary(library);
  else await Deno.copyFile(`${built}mod.js`, `${library}/mod.js`);
  await writeTypes(`${library}/types`);
});

Deno.test.afterAll(() => removeTree(library));

function serve(directory: string) {
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async ({ url }) => {
    const { pathname } = new URL(url);
    const body = await Deno.readFile(directory + pathname).catch(() => undefined);
    const type = pathname.endsWith(".js") ? "text/javascript" : "application/typescript";
    return body
      ? new Response(body, { headers: { "content-type": type } })
      : new Response("", { status: 404 });
  });
}

Deno.test("the example of docs/extending/library.md runs from an empty directory, by path and by address", async () => {
  await using temp = await makeTempDir();
  await using server = serve(library);
  const host = `127.0.0.1:${server.addr.port}`;
  const [page = ""] = await codeBlocks("docs/extending/library.md", "ts");
  const deno = async (cwd: string, ...args: string[]) => {
    const done = await new Deno.Command(Deno.execPath(), {
      args,
      cwd,
      env: { HOME: temp.path, NO_COLOR: "1", ...denoDir() },
      stdin: "null",
    }).output();
    return new TextDecoder().decode(done.stdout) + new TextDecoder().decode(done.stderr);
  };
  const specifiers = { path: `file://${library}/mod.js`, address: `http://${host}/mod.js` };
  for (const [way, specifier] of Object.entries(specifiers)) {
    const program = page.replace("https://example.org/mod.js", specifier);
    await Deno.mkdir(`${temp.path}/${way}`);
    await Deno.writeTextFile(`${temp.path}/${way}/program.ts`, program);
    await Deno.writeTextFile(
      `${temp.path}/${way}/wrong.ts`,
      program.replace('name: "local"', "name: 3"),
    );
  }
  // The types take seconds, once for each way. The wrong programs have the only errors.
  const drawn = someOf(Object.keys(specifiers), 1);
  const programs = drawn.flatMap((way) => [`${way}/program.ts`, `${way}/wrong.ts`]);
  const checked = await deno(temp.path, "check", `--allow-import=${host}`, ...programs);
  const errors = checked.match(/\[ERROR\].*|(?:path|address)\/(?:program|wrong)\.ts(?=:\d)/g);
  const error = "[ERROR]: Type 'number' is not assignable to type 'string'.";
  const expected = drawn.flatMap((way) => [error, `${way}/wrong.ts`]);
  assertEquals(errors?.toSorted(), expected.toSorted(), checked);
  for (const way of Object.keys(specifiers)) {
    await using model = startModelServer([
      { calls: [{ name: "read_file", args: { path: "add.js" } }] },
      { calls: [{ name: "edit_file", args: { path: "add.js", old_string: "a - b", new_string: "a + b" } }] },
      { text: "Fixed." },
    ]);
    const work = `${temp.path}/${way}`;
    const program = await Deno.readTextFile(`${work}/program.ts`);
    await Deno.writeTextFile(`${work}/program.ts`, program.replace("http://127.0.0.1:8080/v1", model.url));
    await Deno.writeTextFile(`${work}/add.js`, "export const add = (a, b) => a - b;\n");
    const ran = await deno(work, "run", "-A", "program.ts");
    assertStringIncludes(ran, "Fixed.");
    assertEquals(await Deno.readTextFile(`${work}/add.js`), "export const add = (a, b) => a + b;\n", ran);
  }
});

const KINDS = "docs/extending/provider-kind.md";

Deno.test("the kind of the page about provider kinds passes the provider contract", async () => {
  await using world = await makeWorld();
  const [kind = "", test = ""] = await codeBlocks(KINDS, "ts");
  await world.write("kind.ts", kind);
  await world.write("kind_test.ts", test);
  const contract = await Deno.readTextFile(`${ROOT}tests/support/provider_contract.ts`);
  await world.write("provider_contract.ts", contract.replace("../../mod.ts", "@reasonix/reasonix"));
  const { imports } = JSON.parse(await Deno.readTextFile(`${ROOT}deno.json`));
  // The library as it is built is checked faster than its sources.
  const source = `file://${library}/mod.js`;
  await world.write("deno.json", JSON.stringify({ imports: { ...imports, "@reasonix/reasonix": source } }));
  const [line = ""] = await codeBlocks(KINDS, "sh");
  const [, ...words] = line.trim().split(" ");
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...words, "--cached-only", "--no-lock"],
    cwd: world.dir,
    env: { NO_COLOR: "1", ...denoDir() },
    stdin: "null",
  }).output();
  const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  assertEquals(code, 0, text);
  assert(text.includes(`${PROVIDER_CONTRACT.length} passed`), text);
});
