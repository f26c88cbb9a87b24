/** The packages in the built program: their licenses, and the bill of materials in CycloneDX. */
import { type Schema, Validator } from "@cfworker/json-schema";
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { makeWorld, programFile } from "../support/program.ts";
import { PLUGINS } from "../../plugins/plugins.ts";

const ROOT = new URL("../../", import.meta.url);

/** Packages that the modules of the program lead to, and of which nothing is in the bundle. */
const UNUSED = new Set([
  // The program takes types alone.
  ...["vscode-languageserver-protocol", "vscode-languageserver-types", "vscode-jsonrpc"],
  // The client of the SDK starts servers with it; the program has its own transport.
  ...["cross-spawn", "isexe", "path-key", "shebang-command", "shebang-regex", "which"],
  // The converters of plugins take these packages' files for browsers, which need nothing of Node.
  ...["@mixmark-io/domino", "argparse", "duck", "graceful-fs", "node-int64", "saxen", "sprintf-js"],
  ...["unzipper-esm", "worker-f"],
]);
/** Packages that the makers of the SDK have compiled into it. */
const COMPILED_IN = [
  "@cfworker/json-schema 4.1.1",
  "ajv",
  "ajv-formats",
  "content-type",
  "fast-deep-equal",
  "fast-uri",
  "json-schema-traverse",
];

interface Component {
  readonly type: string;
  readonly group?: string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly hashes?: readonly { readonly content: string }[];
  readonly licenses: readonly { readonly license?: { readonly id: string }; readonly expression?: string }[];
}

async function built(name: string): Promise<string> {
  return await Deno.readTextFile((await programFile()).replace(/[^/]*$/, name));
}

async function components(): Promise<readonly Component[]> {
  return JSON.parse(await built("sbom.cdx.json")).components;
}

function nameOf({ group, name }: Component): string {
  return group === undefined ? name : `${group}/${name}`;
}

Deno.test("the bill of materials is of CycloneDX's schema, which finds a wrong one", async () => {
  const base = new URL("res/schema/", import.meta.resolve("@cyclonedx/cyclonedx-library/package.json"));
  const read = async (name: string): Promise<Schema> =>
    JSON.parse(await Deno.readTextFile(new URL(`${name}.SNAPSHOT.schema.json`, base)));
  const validator = new Validator(await read("bom-1.6"), "7", false);
  for (const name of ["spdx", "jsf-0.82"]) {
    validator.addSchema(await read(name), `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json`);
  }
  const document = JSON.parse(await built("sbom.cdx.json"));
  assertEquals(validator.validate(document).errors, []);
  const [first, ...rest] = document.components;
  for (
    const wrong of [
      { type: "lib" },
      { licenses: [{ license: { id: "MITT" } }] },
      { hashes: [{ alg: "SHA-512", content: "xyz" }] },
      { purl: 1 },
      { name: undefined },
    ]
  ) {
    const changed = JSON.parse(
      JSON.stringify({ ...document, components: [{ ...first, ...wrong }, ...rest] }),
    );
    assert(!validator.validate(changed).valid, `${JSON.stringify(wrong)} is accepted`);
  }
});

Deno.test("the bill of materials lists the packages of the program's modules, and no other", async () => {
  const plugins = [...PLUGINS.map(({ module }) => module), "common/converters.ts"].map((path) =>
    `plugins/${path}`
  );
  const graphs = await Promise.all(["cli/main.ts", "page/main.ts", ...plugins].map(async (entry) => {
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["info", "--json", entry],
      cwd: ROOT.pathname,
    }).output();
    return JSON.parse(new TextDecoder().decode(stdout));
  }));
  const npmPackages = Object.assign({}, ...graphs.map((each) => each.npmPackages));
  const found = new Set<string>();
  const pending: string[] = graphs.flatMap(({ modules }) =>
    modules.flatMap(({ npmPackage }: { npmPackage?: string }) => npmPackage ?? [])
  );
  for (let key = pending.pop(); key !== undefined; key = pending.pop()) {
    if (!found.has(key)) pending.push(...npmPackages[key].dependencies);
    found.add(key);
  }
  const graph = [...found].map((key) => npmPackages[key] as { name: string; version: string });
  assert(graph.length > 25, `only ${graph.length} packages were found`);
  const { imports } = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
  const expected = [
    ...graph.filter(({ name }) => !UNUSED.has(name)).map(({ name, version }) => `${name} ${version}`),
    // Files of grammars, which no module imports.
    ...Object.values<string>(imports).flatMap((specifier) =>
      /^npm:\/?(tree-sitter-[\w-]+)@([\d.]+)/.exec(specifier)?.slice(1).join(" ") ?? []
    ),
  ];
  const listed = (await components()).filter(({ type }) => type === "library");
  const compiled = listed.flatMap((each) =>
    [nameOf(each), `${nameOf(each)} ${each.version}`].find((name) => COMPILED_IN.includes(name)) ?? []
  );
  assertEquals(compiled.sort(), COMPILED_IN);
  const own = listed.filter((each) =>
    !compiled.includes(nameOf(each)) && !compiled.includes(`${nameOf(each)} ${each.version}`)
  );
  assertEquals(
    own.map((each) => `${nameOf(each)} ${each.version}`).sort(),
    [...new Set(expected)].sort(),
  );
});

Deno.test("version --licenses prints a text for each package of the bill, and what the file has", async () => {
  const text = await built("THIRD_PARTY_LICENSES");
  await using world = await makeWorld();
  const printed = await world.run(["version", "--licenses"]);
  assertEquals({ code: printed.code, isSame: printed.stdout === text }, { code: 0, isSame: true });
  const all = await components();
  const titles = all.map((each) => {
    const [{ license, expression } = {}] = each.licenses;
    return `${nameOf(each)} ${each.version} (${license?.id ?? expression})`;
  });
  for (const title of titles) assertStringIncludes(text, `\n${title}\n`);
  assertEquals(text.match(/^\S+ \d\S* \(.+\)$/gm)?.sort(), titles.sort());
  // Each group of packages has a text with a notice of its owner.
  const bodies = text.split(/^={80}\n(?:\S+ \S+ \(.+\)\n)+={80}\n/m).slice(1);
  for (const body of bodies) {
    assert(/copyright/i.test(body) && body.length > 500, `this is no license: ${body}`);
    assert(
      !/<year>|<copyright holders>|\[yyyy\] \[name of copyright owner\]\n\n.*limitations/s.test(body),
      body,
    );
  }
});

Deno.test("the bill of materials names the runtime, and hashes of each package's archive as in the lock", async () => {
  const all = await components();
  const [runtime, ...libraries] = all;
  assertEquals(runtime?.purl, `pkg:github/denoland/deno@v${Deno.version.deno}`);
  const lock = await Deno.readTextFile(new URL("deno.lock", ROOT));
  for (const each of libraries) {
    const [hash] = each.hashes ?? [];
    const integrity = `sha512-${Uint8Array.fromHex(hash?.content ?? "").toBase64()}`;
    const at = lock.indexOf(`"${integrity}"`);
    assert(at > 0, `${each.purl} has no hash of the lock`);
    const key = lock.slice(0, at).match(/"([^"]+)": \{\s*"integrity": $/)?.[1] ?? "";
    assertEquals(key.replace(/(@[^@_]+)_.*$/, "$1"), `${nameOf(each)}@${each.version}`);
  }
});
