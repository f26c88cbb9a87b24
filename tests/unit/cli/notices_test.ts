import { bundledPackages, noticesText, type Package } from "../../../scripts/release/notices.ts";
import { releaseDate } from "../../../scripts/release/date.ts";
import { sbomText } from "../../../scripts/release/sbom.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "../../support/assert.ts";

const SCOPE = "@modelcontextprotocol";
/** The directory of the registry in the cache. */
const CACHE = new URL(import.meta.resolve("zod")).pathname.replace(/\/zod\/[^]*$/, "");

Deno.test("bundledPackages reads packages, their copies and what is compiled into them from paths of modules", async () => {
  const packages = await bundledPackages([
    "/src/core/mod.ts",
    "/deno.json",
    `${CACHE}/zod/4.6.7/v4/core/core.js`,
    `${CACHE}/zod/4.6.7/v4/index.js`,
    `npm:/${SCOPE}/client/2.4.0/dist/index.mjs`,
    "npm:/@mozilla/readability/0.6.0/JSDOMParser.js",
    `npm:/${SCOPE}/client/core-internal/src/types.ts`,
    `npm:/${SCOPE}/node_modules/.pnpm/ajv-formats@3.0.1_ajv@8.18.0/node_modules/ajv-formats/dist/index.js`,
    `npm:/api/npm/npm/@cfworker/json-schema/4.1.6_1/dist/esm/index.js`,
    `/fb55/domhandler/${"0a".repeat(20)}/src/index.ts`,
    `${CACHE}/a/1.0.0/node_modules/.pnpm/@stricli+core@1.3.0/node_modules/@stricli/core/dist/index.js`,
  ]);
  const named = packages.filter(({ name }) => name !== "domhandler");
  assert(named.length < packages.length, "the package of a source at GitHub is missing");
  assertEquals(named.map(({ name, version, license }) => `${name} ${version} ${license}`), [
    "@cfworker/json-schema 4.1.6 MIT",
    `${SCOPE}/client 2.4.0 Apache-2.0`,
    "@mozilla/readability 0.6.0 Apache-2.0 AND MPL-2.0",
    "@stricli/core 1.3.0 Apache-2.0",
    "ajv-formats 3.0.1 MIT",
    "zod 4.6.7 MIT",
  ]);
  const [cfworker, client, mozilla, stricli, , zod] = named.map(({ text }) => text);
  // The standard text, with the owner of package.json, where a package has no file.
  assertMatch(
    cfworker ?? "",
    /^MIT License\n\nCopyright \(c\) Jeremy Danyow <jdanyow@gmail.com>\n\nPermission is/,
  );
  assertMatch(stricli ?? "", /^Copyright Michael Molisani <\S+>$/m);
  assertMatch(mozilla ?? "", /Apache License[^]*whose source is https:[^]*Mozilla Public License/);
  assertMatch(client ?? "", /Apache License[^]*Version 2\.0/);
  assertMatch(zod ?? "", /^MIT License\n\nCopyright \(c\) 2025 Colin McDonnell/);
});

Deno.test("bundledPackages refuses a module of unknown version, and a package without its license here", async () => {
  for (const path of ["npm:/a/node_modules/b/index.js", "npm:/zod/lib/index.js", `${CACHE}/a/dist/1.js`]) {
    await assertRejects(() => bundledPackages([path]), Error, "names no version");
  }
  for (const path of ["/home/u/lib/index.js", `/a/no-such/${"0a".repeat(20)}/index.ts`]) {
    await assertRejects(() => bundledPackages([path]), Error, "it is not in the npm cache");
  }
  const missing = "npm:/a/node_modules/.pnpm/no-such@1.2.3/node_modules/no-such/index.js";
  await assertRejects(
    () => bundledPackages([missing]),
    Error,
    'add "no-such@1.2.3": "npm:no-such@1.2.3" to the imports',
  );
});

function pack(name: string, version: string, license = "MIT", text = "Text"): Package {
  return { name, version, license, text };
}

Deno.test("noticesText lists each package once and shares equal texts", () => {
  const text = noticesText(
    [pack("a", "1.0.0"), pack("b", "10.0.0"), pack("c", "2.0.0", "ISC", "Other")],
    "0.1.0",
  );
  assertStringIncludes(text, "  a 1.0.0   MIT\n  b 10.0.0  MIT\n  c 2.0.0   ISC\n");
  assertStringIncludes(text, "=\na 1.0.0 (MIT)\nb 10.0.0 (MIT)\n=");
  assertEquals(text.match(/^Text$/gm)?.length, 1);
  assert(text.endsWith("\n\nOther\n"));
});

const LOCK = JSON.stringify({
  npm: {
    "@s/a@1.0.0_b@2.0.0": {
      integrity: `sha512-${btoa("x".repeat(64))}`,
      dependencies: ["b@2.0.0_c@1.0.0", "d"],
    },
    "b@2.0.0_c@1.0.0": { integrity: `sha512-${btoa("y".repeat(64))}` },
    "b@1.0.0": { integrity: "sha1-eA==" },
    "d@1.0.0": { integrity: `sha512-${btoa("z".repeat(64))}` },
  },
});

Deno.test("sbomText takes versions, hashes and dependencies from the lock", () => {
  const input = {
    version: "0.1.0",
    packages: [pack("@s/a", "1.0.0"), pack("b", "2.0.0", "MIT OR ISC")],
    runtime: pack("deno", "2.9.6"),
    lock: LOCK,
    date: new Date(0),
  };
  const text = sbomText(input);
  assertEquals(text, sbomText(input));
  const { metadata, components, dependencies, serialNumber } = JSON.parse(text);
  assertEquals(metadata.timestamp, "1970-01-01T00:00:00.000Z");
  assertMatch(serialNumber, /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert(
    sbomText({ ...input, version: "0.1.1" }) !== text.replaceAll("0.1.0", "0.1.1"),
    "the serial number stays",
  );
  assertEquals(components[1], {
    type: "library",
    "bom-ref": "@s/a@1.0.0",
    group: "@s",
    name: "a",
    version: "1.0.0",
    licenses: [{ license: { id: "MIT" } }],
    purl: "pkg:npm/%40s/a@1.0.0",
    hashes: [{ alg: "SHA-512", content: "78".repeat(64) }],
  });
  assertEquals(components[2].licenses, [{ expression: "MIT OR ISC" }]);
  assertEquals(dependencies, [
    { ref: "reasonix@0.1.0", dependsOn: ["deno@2.9.6", "@s/a@1.0.0"] },
    { ref: "@s/a@1.0.0", dependsOn: ["b@2.0.0"] },
    { ref: "b@2.0.0", dependsOn: [] },
  ]);
  const refused = (name: string, version: string) => () =>
    sbomText({ ...input, packages: [pack(name, version)] });
  assertThrows(refused("b", "3.0.0"), Error, "Cannot find b@3.0.0 in deno.lock");
  assertThrows(refused("b", "1.0.0"), Error, "it is not a SHA-512");
});

Deno.test("releaseDate is that of the environment, of the changelog or of the commit", async () => {
  const changelog = "# Changelog\n\n## Unreleased\n\n## 0.2.0 - 2026-12-01\n\n## 0.1.0 (2026-11-01)\n";
  const day = async (version: string, epoch = "") =>
    (await releaseDate(version, { epoch, changelog }))?.toISOString().slice(0, 10);
  assertEquals(await day("0.2.0"), "2026-12-01");
  assertEquals(await day("0.1.0"), "2026-11-01");
  assertEquals(await day("0.2.0", "86400"), "1970-01-02");
  await assertRejects(() => day("0.2.0", "today"), Error, "Cannot use SOURCE_DATE_EPOCH=today");
  const ofCommit = await releaseDate("9.9.9", { epoch: "", changelog });
  assert(ofCommit === undefined || ofCommit.getTime() > Date.UTC(2026, 0));
});
