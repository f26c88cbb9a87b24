import { clipboardImage } from "../../../../../src/util/clipboard.ts";
import { editText } from "../../../../../src/frontend/repl/composer/editor.ts";
import { ReasonixError } from "../../../../../src/core/mod.ts";
import { assert, assertEquals, assertRejects } from "../../../../support/assert.ts";

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
    await Deno.remove(directory, { recursive: true });
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
    await Deno.remove(directory, { recursive: true });
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
