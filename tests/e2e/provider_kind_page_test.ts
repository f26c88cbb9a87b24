/** The page about writing a provider kind: its two files, tested with its command. */
import { exists } from "../../src/path/probe.ts";
import { assert, assertEquals } from "../support/assert.ts";
import { denoDir, makeWorld } from "../support/program.ts";
import { PROVIDER_CONTRACT } from "../support/provider_contract.ts";
import { codeBlocks } from "../support/readme.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const PAGE = "docs/extending/provider-kind.md";

/** The library as it is built, which is checked faster than its sources; those where it was not built. */
async function libraryFile(): Promise<string> {
  const built = Deno.env.get("REASONIX_TEST_BUNDLE")?.replace(/[^/]*$/, "");
  return built !== undefined && await exists(`${built}types/mod.d.ts`) ? `${built}mod.js` : `${ROOT}mod.ts`;
}

Deno.test("the kind of the page about provider kinds passes the provider contract", async () => {
  await using world = await makeWorld();
  const [kind = "", test = ""] = await codeBlocks(PAGE, "ts");
  await world.write("kind.ts", kind);
  await world.write("kind_test.ts", test);
  const contract = await Deno.readTextFile(`${ROOT}tests/support/provider_contract.ts`);
  await world.write("provider_contract.ts", contract.replace("../../mod.ts", "@reasonix/reasonix"));
  const { imports } = JSON.parse(await Deno.readTextFile(`${ROOT}deno.json`));
  const library = `file://${await libraryFile()}`;
  await world.write("deno.json", JSON.stringify({ imports: { ...imports, "@reasonix/reasonix": library } }));
  const [line = ""] = await codeBlocks(PAGE, "sh");
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
