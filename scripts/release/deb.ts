/**
 * Debian packages. A package has the bundle and the runtime next to it, not a compiled executable: only the
 * runtime can start worker processes with fewer permissions than the program has.
 */
import { MARKER } from "../../cli/release/channel.ts";
import { shellCommand } from "../../cli/terminal/shell_command.ts";
import { START_FLAGS } from "../../cli/terminal/start_flags.ts";
import { installedFiles } from "../bundle/parts.ts";
import { mustRun } from "../process.ts";
import { ar, type ArchiveFile, gzip, tarGzip } from "./archive.ts";

export const ARCHITECTURES = ["amd64", "arm64"] as const;
export type Architecture = typeof ARCHITECTURES[number];

/** Packages on npm with the runtime for an architecture. */
const RUNTIMES = { amd64: "@deno/linux-x64-glibc", arm64: "@deno/linux-arm64-glibc" } as const;

const PROGRAM = "usr/lib/reasonix";
const DOC = "usr/share/doc/reasonix";
const ROOT = new URL("../../", import.meta.url);

export interface Package {
  readonly version: string;
  readonly architecture: Architecture;
  /** The executable of the runtime. */
  readonly runtime: Uint8Array;
  /** Directory of the bundle, with THIRD_PARTY_LICENSES. */
  readonly from: string;
  /** Files by their paths below `usr/share`. */
  readonly share: ReadonlyMap<string, Uint8Array>;
  /** `owner/name` on GitHub. */
  readonly repository: string;
  /** Of every file. */
  readonly time: Date;
}

/** Name of the package's file. */
export function debName(version: string, architecture: Architecture): string {
  return `reasonix_${version}_${architecture}.deb`;
}

/** Returns the bytes of a package. */
export async function debPackage(options: Package): Promise<Uint8Array> {
  const { share, time, from, runtime } = options;
  const files: ArchiveFile[] = [
    { path: "usr/bin/reasonix", bytes: encoded(command()), executable: true },
    { path: `${PROGRAM}/deno`, bytes: runtime, executable: true },
    { path: `${PROGRAM}/${MARKER}`, bytes: encoded('{ "channel": "deb" }\n') },
    ...await Promise.all(
      installedFiles().map(async (name) => ({
        path: `${PROGRAM}/${name}`,
        bytes: await Deno.readFile(`${from}/${name}`),
      })),
    ),
    ...[...share].map(([path, bytes]) => ({ path: `usr/share/${path}`, bytes })),
    { path: `${DOC}/copyright`, bytes: encoded(await copyright(options)) },
    { path: `${DOC}/THIRD_PARTY_LICENSES`, bytes: await Deno.readFile(`${from}/THIRD_PARTY_LICENSES`) },
    {
      path: `${DOC}/changelog.gz`,
      bytes: gzip(await Deno.readFile(new URL("CHANGELOG.md", ROOT))),
    },
  ];
  const control = [
    { path: "control", bytes: encoded(controlText(options, files)) },
    { path: "md5sums", bytes: encoded(await sums(files)) },
  ];
  return ar([
    ["debian-binary", encoded("2.0\n")],
    ["control.tar.gz", tarGzip(control, time)],
    ["data.tar.gz", tarGzip(files, time)],
  ], time);
}

function encoded(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function command(): string {
  return shellCommand({
    words: [`/${PROGRAM}/deno`, "run", ...START_FLAGS, "--no-config", `/${PROGRAM}/reasonix.js`],
    about: "Part of the package reasonix; `sudo apt remove reasonix` removes it.",
    // The runtime is of the package, so that a newer one would be of no use.
    lines: ["export DENO_NO_UPDATE_CHECK=1"],
  });
}

function controlText(
  { version, architecture, runtime, repository }: Package,
  files: readonly ArchiveFile[],
): string {
  const [owner = ""] = repository.split("/");
  const kilobytes = files.reduce((sum, { bytes }) => sum + Math.ceil(bytes.length / 1024), 0);
  return [
    "Package: reasonix",
    // A version before a release is older than the release.
    `Version: ${version.replace("-", "~")}`,
    `Architecture: ${architecture}`,
    `Maintainer: ${owner} <${owner}@users.noreply.github.com>`,
    `Installed-Size: ${kilobytes}`,
    `Depends: ${libraries(runtime).join(", ")}`,
    "Recommends: bubblewrap, ripgrep",
    "Suggests: git",
    "Section: devel",
    "Priority: optional",
    `Homepage: https://github.com/${repository}`,
    "Description: coding agent for the terminal",
    " Reasonix reads, changes and runs code with a model of your choice. Commands run",
    " in a jail of bubblewrap, searches use ripgrep, where these are installed.",
    "",
  ].join("\n");
}

/** The packages of the libraries that an executable loads, the C library with the newest version it names. */
function libraries(executable: Uint8Array): readonly string[] {
  const text = new TextDecoder("latin1").decode(executable);
  const minors = [...text.matchAll(/GLIBC_2\.(\d+)\0/g)].map(([, minor]) => Number(minor));
  const c = minors.length === 0 ? "libc6" : `libc6 (>= 2.${Math.max(...minors)})`;
  return text.includes("libgcc_s.so.1\0") ? [c, "libgcc-s1"] : [c];
}

async function sums(files: readonly ArchiveFile[]): Promise<string> {
  const { createHash } = await import("node:crypto");
  return files.map(({ path, bytes }) => `${createHash("md5").update(bytes).digest("hex")}  ${path}\n`).sort()
    .join("");
}

/** The licenses, in the machine-readable form of Debian. */
async function copyright({ repository }: Package): Promise<string> {
  const license = await Deno.readTextFile(new URL("LICENSE", ROOT));
  const [, holder = ""] = /^Copyright \(c\) (.+)$/m.exec(license) ?? [];
  const [, terms = ""] = /^(Permission is hereby.*)$/ms.exec(license) ?? [];
  const indented = terms.trimEnd().split("\n").map((line) => line.trim() === "" ? " ." : ` ${line}`);
  return [
    "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/",
    "Upstream-Name: Reasonix",
    `Source: https://github.com/${repository}`,
    `Comment: Licenses of bundled packages and of the runtime: /${DOC}/THIRD_PARTY_LICENSES`,
    "",
    "Files: *",
    `Copyright: ${holder}`,
    "License: Expat",
    ...indented,
    "",
  ].join("\n");
}

/** Returns the runtime of an architecture from its package on npm, which npm checks against its hash. */
export async function runtimeOf(architecture: Architecture, version: string): Promise<Uint8Array> {
  const directory = await Deno.makeTempDir({ prefix: "reasonix-runtime-" });
  try {
    const name = `${RUNTIMES[architecture]}@${version}`;
    await mustRun("npm", { args: ["pack", "--silent", "--pack-destination", directory, name] }).catch(
      (error) => {
        throw new Error(
          `Cannot get the runtime ${name}; check the network, or name a file with --runtime: ${error.message}`,
        );
      },
    );
    const [archive] = [...Deno.readDirSync(directory)];
    await mustRun("tar", {
      args: ["-xzf", `${directory}/${archive?.name}`, "-C", directory, "package/deno"],
    });
    return await Deno.readFile(`${directory}/package/deno`);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}
