/**
 * The bill of materials of a release: the packages in the bundle and the runtime, as CycloneDX 1.6. Hashes
 * are those of the packages' archives in deno.lock.
 */
import { createHash } from "node:crypto";
import type { Package } from "./notices.ts";

interface Lock {
  readonly npm: Readonly<
    Record<string, { readonly integrity: string; readonly dependencies?: readonly string[] }>
  >;
}

export interface SbomInput {
  readonly version: string;
  readonly packages: readonly Package[];
  readonly runtime: Package;
  /** Text of deno.lock. */
  readonly lock: string;
  readonly date: Date | undefined;
}

/** Returns the JSON document. The same input makes the same bytes. */
export function sbomText({ version, packages, runtime, lock, date }: SbomInput): string {
  const entries = locked(JSON.parse(lock));
  const libraries = packages.map((each) => {
    const ref = keyOf(each);
    const entry = entries.get(ref);
    if (entry === undefined) {
      throw new Error(`Cannot find ${ref} in deno.lock; update it with \`deno install\``);
    }
    return { ...component("library", each, npmPurl(each)), hashes: [sha512Of(entry.integrity)] };
  });
  const platform = {
    ...component("platform", runtime, `pkg:github/denoland/deno@v${runtime.version}`),
    cpe: `cpe:2.3:a:deno:deno:${runtime.version}:*:*:*:*:*:*:*`,
  };
  const product = { name: "reasonix", version, license: "MIT", text: "" };
  const refs = new Set(packages.map(keyOf));
  const edges = packages.map((each) => ({
    ref: keyOf(each),
    dependsOn: (entries.get(keyOf(each))?.dependencies ?? []).filter((ref) => refs.has(ref)),
  }));
  const needed = new Set(edges.flatMap(({ dependsOn }) => dependsOn));
  const direct = [...refs].filter((ref) => !needed.has(ref));
  const content = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      ...(date === undefined ? {} : { timestamp: date.toISOString() }),
      lifecycles: [{ phase: "build" }],
      component: component("application", product, `pkg:generic/reasonix@${version}`),
    },
    components: [platform, ...libraries],
    dependencies: [{ ref: keyOf(product), dependsOn: [keyOf(runtime), ...direct] }, ...edges],
  };
  const { $schema, bomFormat, specVersion, ...rest } = content;
  const document = {
    $schema,
    bomFormat,
    specVersion,
    serialNumber: serialOf(JSON.stringify(content)),
    ...rest,
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function component(type: "application" | "library" | "platform", each: Package, purl: string) {
  const [group, name] = each.name.startsWith("@") ? each.name.split("/") : [undefined, each.name];
  const license = /^[\w.+-]+$/.test(each.license)
    ? { license: { id: each.license } }
    : { expression: each.license };
  return {
    type,
    "bom-ref": keyOf(each),
    ...(group === undefined ? {} : { group }),
    name,
    version: each.version,
    licenses: [license],
    purl,
  };
}

function keyOf({ name, version }: Package): string {
  return `${name}@${version}`;
}

function npmPurl({ name, version }: Package): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

interface Entry {
  readonly integrity: string;
  /** `NAME@VERSION` of each. */
  readonly dependencies: readonly string[];
}

/** Returns the packages of a lock by name and version; entries with other peers are the same package. */
function locked({ npm }: Lock): ReadonlyMap<string, Entry> {
  const plain = (key: string) => key.replace(/(.@[^_]*)_.*$/, "$1");
  const keys = [...new Set(Object.keys(npm).map(plain))];
  // A dependency is without its version where the lock has one version of it.
  const full = (name: string) =>
    keys.find((key) => key === plain(name) || key.startsWith(`${name}@`)) ?? name;
  return new Map(
    Object.entries(npm).map(([key, { integrity, dependencies = [] }]) => [
      plain(key),
      { integrity, dependencies: dependencies.map(full) },
    ]),
  );
}

function sha512Of(integrity: string): { readonly alg: "SHA-512"; readonly content: string } {
  const [, digest] = /^sha512-(\S+)$/.exec(integrity) ?? [];
  if (digest === undefined) throw new Error(`Cannot use ${integrity} of deno.lock: it is not a SHA-512`);
  return { alg: "SHA-512", content: Uint8Array.fromBase64(digest).toHex() };
}

/** A UUID (RFC 9562, version 8) made from the content. */
function serialOf(content: string): string {
  const hash = createHash("sha256").update(content).digest();
  hash[6] = (hash[6] ?? 0) & 0x0f | 0x80;
  hash[8] = (hash[8] ?? 0) & 0x3f | 0x80;
  const [, ...parts] = /^(.{8})(.{4})(.{4})(.{4})(.{12})/.exec(hash.toString("hex")) ?? [];
  return `urn:uuid:${parts.join("-")}`;
}
