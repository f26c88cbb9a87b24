/**
 * An npm registry on loopback with the packages that an installation asks for: the runtime, which is the
 * running Deno executable or a short script that becomes it, and what a test publishes.
 */
import { type ArchiveFile, tarGzip } from "../../scripts/release/archive.ts";
import { RUNTIME_VERSION } from "../../scripts/release/npm.ts";
import { assert } from "./assert.ts";

interface Published {
  readonly manifest: Record<string, unknown>;
  readonly tarball: Uint8Array<ArrayBuffer>;
  readonly integrity: string;
}

/** The name of the runtime's package for this platform. */
const PLATFORM = (() => {
  const { os, arch } = Deno.build;
  const cpu = arch === "aarch64" ? "arm64" : "x64";
  return os === "linux" ? `@deno/linux-${cpu}-glibc` : `@deno/${os === "darwin" ? "darwin" : "win32"}-${cpu}`;
})();

/** After the installation the runtime's package links the executable of the platform into itself. */
const LINK = `const { dirname } = require("path");
const platform = dirname(require.resolve("${PLATFORM}/package.json"));
require("fs").linkSync(platform + "/deno", __dirname + "/deno");
`;

const START = `#!/usr/bin/env node
const { spawnSync } = require("child_process");
process.exit(spawnSync(__dirname + "/deno", process.argv.slice(2), { stdio: "inherit" }).status);
`;

function text(path: string, content: string, executable = false): ArchiveFile {
  return { path, bytes: new TextEncoder().encode(content), executable };
}

/** An archive without compression, which would take seconds for a runtime. */
function tarball(files: readonly ArchiveFile[]): Uint8Array<ArrayBuffer> {
  return tarGzip(files, new Date(0), 0);
}

async function published(
  manifest: Record<string, unknown>,
  tarball: Uint8Array<ArrayBuffer>,
): Promise<Published> {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-512", tarball));
  return { manifest, tarball, integrity: `sha512-${btoa(String.fromCharCode(...hash))}` };
}

const runtimes = new Map<boolean, Promise<Published[]>>();

/** The packages of the runtime, each made once. */
function runtimePackages(short: boolean): Promise<Published[]> {
  const platform = { name: PLATFORM, version: RUNTIME_VERSION };
  const deno = {
    name: "deno",
    version: RUNTIME_VERSION,
    bin: "bin.cjs",
    scripts: { postinstall: "node ./install.cjs" },
    optionalDependencies: { [PLATFORM]: RUNTIME_VERSION },
  };
  return runtimes.getOrInsertComputed(short, async () => {
    const executable = short
      ? text("deno", `#!/bin/sh\nexec '${Deno.execPath()}' "$@"\n`, true)
      : { path: "deno", bytes: await Deno.readFile(Deno.execPath()), executable: true };
    const files = [manifestFile(deno), text("install.cjs", LINK), text("bin.cjs", START, true)];
    return [
      await published(platform, tarball([manifestFile(platform), executable])),
      await published(deno, tarball(files)),
    ];
  });
}

function manifestFile(manifest: unknown): ArchiveFile {
  return text("package.json", JSON.stringify(manifest));
}

export interface NpmRegistry extends AsyncDisposable {
  readonly url: string;
  /** Paths of the requests, in order. */
  readonly asked: string[];
  /** Adds a packed package, with the manifest that is in it. */
  publish(file: string, manifest: Record<string, unknown>): Promise<void>;
  /** Ends the connection after this part of a tarball whose path matches; undefined: of none. */
  cut(pattern: RegExp | undefined): void;
}

/** `short`: its runtime is a script, which is packed, sent and unpacked in no time. */
export async function startRegistry({ short = false } = {}): Promise<NpmRegistry> {
  const packages = new Map<string, Published>();
  const add = (one: Published) => void packages.set(String(one.manifest.name), one);
  (await runtimePackages(short)).forEach(add);
  const asked: string[] = [];
  let broken: RegExp | undefined;

  const packument = ({ manifest, integrity }: Published, base: string) => {
    const { name, version } = manifest as { name: string; version: string };
    const dist = { tarball: `${base}/${name}/-/package.tgz`, integrity };
    return Response.json({
      name,
      "dist-tags": { latest: version },
      versions: { [version]: { ...manifest, dist } },
    });
  };
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {}, onError: () => new Response() },
    ({ url }) => {
      const { pathname, origin } = new URL(url);
      const path = decodeURIComponent(pathname).slice(1);
      asked.push(path);
      const isTarball = path.endsWith("/-/package.tgz");
      const found = packages.get(path.replace(/\/-\/package\.tgz$/, ""));
      if (found === undefined) return Response.json({ error: "Not found" }, { status: 404 });
      if (!isTarball) return packument(found, origin);
      if (!broken?.test(path)) return new Response(found.tarball);
      const half = found.tarball.subarray(0, found.tarball.length / 2);
      const body = ReadableStream.from((async function* () {
        yield half;
        await new Promise((resolve) => setTimeout(resolve));
        throw new Error("cut");
      })());
      return new Response(body, { headers: { "content-length": String(found.tarball.length) } });
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}/`,
    asked,
    async publish(file, manifest) {
      assert(typeof manifest.name === "string");
      add(await published(manifest, await Deno.readFile(file)));
    },
    cut: (pattern) => void (broken = pattern),
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
