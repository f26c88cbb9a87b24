/** The files for package managers, against the formats of those. */
import { loadPrism } from "@ruby/prism";
import { type Schema, Validator } from "@cfworker/json-schema";
import { validate } from "dockerfile-utils";
import { parse } from "yaml";
import { executableName, TARGETS } from "../../../scripts/compile.ts";
import type { Artifact } from "../../../scripts/release/artifacts.ts";
import {
  acpRegistry,
  homebrew,
  image,
  type Manifests,
  scoop,
  SHARE,
  winget,
} from "../../../scripts/release/manifests.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "../../support/assert.ts";

const VERSION = "1.2.3-rc.1";
const FILES = [
  ...TARGETS.map(executableName),
  SHARE,
  ...["amd64", "arm64"].map((name) => `reasonix_${VERSION}_${name}.deb`),
];

const artifacts: readonly Artifact[] = FILES.map((file, at) => {
  const target = TARGETS.find((known) => executableName(known) === file);
  return { file, size: at, sha256: String(at).padStart(64, "ab"), ...(target ? { target } : {}) };
});
const RELEASE = { version: VERSION, repository: "Some-Owner/some.name", artifacts };

function onlyText(files: Manifests): string {
  const [text = "", ...others] = Object.values(files);
  assertEquals(others, []);
  return text;
}

/** Asserts that the text has the address and the sum of each of these files. */
function assertNames(text: string, files: readonly string[], sum = (sha256: string) => sha256): void {
  for (const { file, sha256 } of artifacts) {
    const address = `https://github.com/Some-Owner/some.name/releases/download/v${VERSION}/${file}`;
    const found = [text.includes(address), text.includes(sum(sha256))];
    assertEquals(found, [files.includes(file), files.includes(file)], file);
  }
}

Deno.test("the formula is Ruby in which each platform has its executable", async () => {
  const files = homebrew(RELEASE);
  assertEquals(Object.keys(files), ["reasonix.rb"]);
  const text = onlyText(files);
  const ruby = await loadPrism();
  const { errors, warnings, value } = ruby(text);
  assertEquals([...errors, ...warnings], []);
  const source = (node: { location: { startOffset: number; length: number } }) =>
    text.slice(node.location.startOffset, node.location.startOffset + node.location.length);
  const [formula] = value.statements.body as unknown as [Parameters<typeof source>[0]];
  assert(source(formula).startsWith("class Reasonix < Formula"));
  for (const system of ["macos", "linux"]) {
    const block = new RegExp(`\n  on_${system} do\n(.*?)\n  end\n`, "s").exec(text)?.[1] ?? "";
    for (const [name, processor] of [["arm", "aarch64"], ["intel", "x86_64"]]) {
      const part = new RegExp(`on_${name} do\n(.*?)\n    end`, "s").exec(block)?.[1] ?? "";
      const file = `reasonix-${processor}-${system === "macos" ? "apple-darwin" : "unknown-linux-gnu"}`;
      assertStringIncludes(part, `/v${VERSION}/${file}"`);
      assertStringIncludes(part, `sha256 "${artifacts.find((each) => each.file === file)?.sha256}"`);
    }
  }
  assertNames(text, FILES.filter((file) => /apple|linux|share/.test(file)));
  assert(ruby("class Reasonix <\nend\n").errors.length > 0);
});

const URI = { type: "string", format: "uri" };
/** An address without a variable, which only `autoupdate` has. */
const FIXED_URI = { ...URI, not: { pattern: "(\\$)" } };

function exactly(properties: Record<string, unknown>, required: readonly string[] = Object.keys(properties)) {
  return { type: "object", additionalProperties: false, properties, required };
}

/** The fields in use, as the schema of Scoop has them (`schema.json` of its repository, August 2025). */
const SCOOP = exactly({
  version: { type: "string", pattern: "^[\\w\\.\\-+_]+$" },
  description: { type: "string" },
  homepage: URI,
  license: { type: "string" },
  suggest: { type: "object", patternProperties: { "^(.*)$": { type: "string" } } },
  architecture: exactly(Object.fromEntries(
    ["64bit", "arm64"].map((name) => [
      name,
      exactly({ url: FIXED_URI, hash: { type: "string", pattern: "^[a-fA-F0-9]{64}$" } }),
    ]),
  )),
  post_install: { type: "string" },
  bin: { type: "string" },
  checkver: exactly({ github: URI }),
  autoupdate: exactly({
    architecture: exactly(
      Object.fromEntries(["64bit", "arm64"].map((name) => [name, exactly({ url: URI })])),
    ),
    hash: exactly({ url: { type: "string", pattern: "^.*(\\$url|\\$baseurl).*$" } }),
  }),
});

const IDENTIFIER = {
  type: "string",
  maxLength: 128,
  pattern:
    '^[^\\.\\s\\\\/:\\*\\?"<>\\|\\x01-\\x1f]{1,32}(\\.[^\\.\\s\\\\/:\\*\\?"<>\\|\\x01-\\x1f]{1,32}){1,7}$',
};
const WEB = { type: "string", pattern: "^([Hh][Tt][Tt][Pp][Ss]?)://.+$", maxLength: 2048 };
const LOCALE = {
  type: "string",
  pattern: "^([a-zA-Z]{2,3}|[iI]-[a-zA-Z]+|[xX]-[a-zA-Z]{1,8})(-[a-zA-Z]{1,8})*$",
};
const text = (minLength: number, maxLength: number) => ({ type: "string", minLength, maxLength });

function wingetSchema(type: string, fields: Record<string, unknown>) {
  return exactly({
    PackageIdentifier: IDENTIFIER,
    PackageVersion: { type: "string", maxLength: 128, pattern: '^[^\\\\/:\\*\\?"<>\\|\\x01-\\x1f]+$' },
    ...fields,
    ManifestType: { const: type },
    ManifestVersion: { const: "1.12.0" },
  });
}

/** The fields in use, as the schemas 1.12.0 of winget have them. */
const WINGET: Readonly<Record<string, unknown>> = {
  "": wingetSchema("version", { DefaultLocale: LOCALE }),
  ".installer": wingetSchema("installer", {
    InstallerType: { const: "portable" },
    Commands: { type: "array", maxItems: 16, uniqueItems: true, items: text(1, 40) },
    UpgradeBehavior: { enum: ["install", "uninstallPrevious", "deny"] },
    Installers: {
      type: "array",
      minItems: 2,
      maxItems: 1024,
      items: exactly({
        Architecture: { enum: ["x64", "arm64"] },
        InstallerUrl: WEB,
        InstallerSha256: { type: "string", pattern: "^[A-F0-9]{64}$" },
      }),
    },
  }),
  ".locale.en-US": wingetSchema("defaultLocale", {
    PackageLocale: LOCALE,
    Publisher: text(2, 256),
    PublisherUrl: WEB,
    PublisherSupportUrl: WEB,
    PackageName: text(2, 256),
    PackageUrl: WEB,
    License: text(3, 512),
    LicenseUrl: WEB,
    ShortDescription: text(3, 256),
    Moniker: text(1, 40),
    Tags: { type: "array", maxItems: 16, uniqueItems: true, items: text(1, 40) },
    ReleaseNotesUrl: WEB,
  }),
};

function assertMatchesSchema(schema: unknown, value: unknown, name: string): void {
  const { errors } = new Validator(schema as Schema, "7", false).validate(value);
  assertEquals(errors.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`), [], name);
}

Deno.test("the manifests for Scoop and winget have the fields and forms of their schemas", () => {
  const windows = FILES.filter((file) => file.endsWith(".exe"));
  const bucket = scoop(RELEASE);
  assertEquals(Object.keys(bucket), ["reasonix.json"]);
  const manifest = JSON.parse(onlyText(bucket));
  assertMatchesSchema(SCOOP, manifest, "Scoop");
  assertNames(onlyText(bucket), windows);
  for (const { url } of Object.values<{ url: string }>(manifest.architecture)) {
    assert(url.endsWith(".exe#/reasonix.exe"));
  }
  assertEquals(
    manifest.autoupdate.architecture.arm64.url.replaceAll("$version", VERSION),
    manifest.architecture.arm64.url,
  );

  const identifier = "Some-Owner.Reasonix";
  const package_ = winget(RELEASE, identifier);
  const directory = `manifests/s/Some-Owner/Reasonix/${VERSION}/${identifier}`;
  assertEquals(
    Object.keys(package_).sort(),
    Object.keys(WINGET).map((name) => `${directory}${name}.yaml`).sort(),
  );
  for (const [name, schema] of Object.entries(WINGET)) {
    const yaml = package_[`${directory}${name}.yaml`] ?? "";
    const value = parse(yaml);
    assertMatchesSchema(schema, value, name);
    assertEquals([value.PackageIdentifier, value.PackageVersion], [identifier, VERSION]);
    if (name === ".installer") assertNames(yaml, windows, (sha256) => sha256.toUpperCase());
  }
  assertThrows(() => assertMatchesSchema(SCOOP, { ...manifest, bins: "x" }, "Scoop"));
});

/** The fields in use, as the schema of the registry has them (`agent.schema.json`, 2026). */
const ACP = exactly({
  id: { type: "string", pattern: "^[a-z][a-z0-9-]*$" },
  name: text(1, 100),
  version: { type: "string", pattern: "^[0-9]+\\.[0-9]+\\.[0-9]+" },
  description: text(1, 500),
  repository: URI,
  authors: { type: "array", items: { type: "string" } },
  license: { type: "string" },
  icon: { type: "string" },
  distribution: exactly({
    npx: exactly({ package: text(1, 300), args: { type: "array", items: { type: "string" } } }),
  }),
});

Deno.test("the entry of the editors' registry starts the package of this version, with an icon it takes", () => {
  const files = acpRegistry(RELEASE, "@some-scope/some.name");
  assertEquals(Object.keys(files), ["some-name/agent.json", "some-name/icon.svg"]);
  const [json = "", icon = ""] = Object.values(files);
  const entry = JSON.parse(json);
  assertMatchesSchema(ACP, entry, "ACP");
  assertEquals(entry.distribution.npx, { package: `@some-scope/some.name@${VERSION}`, args: ["acp"] });
  // The registry wants 16 × 16 pixels in the color of the text.
  assert(
    icon.startsWith('<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16"'),
  );
  const paints = [...icon.matchAll(/(?:fill|stroke)="([^"]*)"/g)].map(([, paint]) => paint);
  assertEquals([...new Set(paints)].sort(), ["currentColor", "none"]);
});

Deno.test("the Containerfile is correct and its user is not root", () => {
  const text = onlyText(image(RELEASE));
  const found = validate(text).map(({ message, range: { start } }) => `line ${start.line + 1}: ${message}`);
  assertEquals(found, []);
  assertEquals(/^USER (.*)$/m.exec(text)?.[1], "1000:1000");
  assertEquals(text.match(/^(?:FROM|USER|ENTRYPOINT) .*$/gm)?.length, 3);
  assertStringIncludes(text, `source=reasonix_${VERSION}_\${TARGETARCH}.deb,`);
});

Deno.test("a file that is missing in the release is named with the command that makes it", () => {
  const without = (file: string) => ({
    ...RELEASE,
    artifacts: artifacts.filter((each) => each.file !== file),
  });
  const windows = "reasonix-aarch64-pc-windows-msvc.exe";
  for (
    const [make, file, remedy] of [
      [homebrew, "reasonix-x86_64-apple-darwin", "deno task compile x86_64-apple-darwin"],
      [homebrew, SHARE, "deno task release share"],
      [scoop, windows, "deno task compile aarch64-pc-windows-msvc"],
      [(release: typeof RELEASE) => winget(release, "A.B"), windows, "deno task compile"],
      [image, `reasonix_${VERSION}_arm64.deb`, "deno task release deb"],
    ] as const
  ) {
    const message = assertThrows(() => make(without(file))).message;
    assertStringIncludes(
      message,
      `Cannot find ${file} among the files of the release; make it with: ${remedy}`,
    );
  }
});
