/** The bundled library, used by the example of its page from an empty directory. */
import { bundleLibrary } from "../../scripts/bundle.ts";
import { writeTypes } from "../../scripts/bundle/types.ts";
import { assertEquals, assertStringIncludes } from "../support/assert.ts";
import { startModelServer } from "../support/model_server.ts";
import { denoDir } from "../support/program.ts";
import { codeBlocks } from "../support/readme.ts";
import { makeTempDir } from "../support/tool_context.ts";

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
  const library = `${temp.path}/library`;
  const built = Deno.env.get("REASONIX_TEST_BUNDLE")?.replace(/[^/]*$/, "");
  await Deno.mkdir(library);
  if (built === undefined) await bundleLibrary(library);
  else await Deno.copyFile(`${built}mod.js`, `${library}/mod.js`);
  await writeTypes(`${library}/types`);
  await using server = serve(library);
  const host = `127.0.0.1:${server.addr.port}`;
  const [page = ""] = await codeBlocks("docs/extending/library.md", "ts");
  for (const specifier of [`file://${library}/mod.js`, `http://${host}/mod.js`]) {
    await using model = startModelServer([
      { calls: [{ name: "read_file", args: { path: "add.js" } }] },
      { calls: [{ name: "edit_file", args: { path: "add.js", old_string: "a - b", new_string: "a + b" } }] },
      { text: "Fixed." },
    ]);
    const work = await Deno.makeTempDir({ dir: temp.path });
    const deno = async (...args: string[]) => {
      const done = await new Deno.Command(Deno.execPath(), {
        args,
        cwd: work,
        env: { HOME: temp.path, NO_COLOR: "1", ...denoDir() },
        stdin: "null",
      }).output();
      return new TextDecoder().decode(done.stdout) + new TextDecoder().decode(done.stderr);
    };
    await Deno.writeTextFile(`${work}/add.js`, "export const add = (a, b) => a - b;\n");
    const program = page.replace("https://example.org/mod.js", specifier)
      .replace("http://127.0.0.1:8080/v1", model.url);
    await Deno.writeTextFile(`${work}/program.ts`, program);
    await Deno.writeTextFile(`${work}/wrong.ts`, program.replace('name: "local"', "name: 3"));
    // One check of both, since the types take seconds: the wrong program has the only error.
    const checked = await deno("check", `--allow-import=${host}`, "program.ts", "wrong.ts");
    const errors = checked.match(/\[ERROR\].*|(?:program|wrong)\.ts(?=:\d)/g);
    assertEquals(errors, ["[ERROR]: Type 'number' is not assignable to type 'string'.", "wrong.ts"], checked);
    const ran = await deno("run", "-A", "program.ts");
    assertStringIncludes(ran, "Fixed.");
    assertEquals(await Deno.readTextFile(`${work}/add.js`), "export const add = (a, b) => a + b;\n", ran);
  }
});
