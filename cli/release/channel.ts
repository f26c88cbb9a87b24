/** The way in which the program was installed, and a package manager's lines that update and remove it. */
import { decided, NPM_NAME, REPOSITORY } from "../identity.ts";
import { message, type Text } from "../../src/core/mod.ts";
import { exists, readSmallText } from "../../src/path/probe.ts";
import { existingRealPath } from "../../src/path/real_path.ts";

const CHANNELS = [
  "npm",
  "deb",
  "homebrew",
  "scoop",
  "winget",
  /** A container image. */
  "image",
  /** install.sh or install.ps1. */
  "script",
  /** An address over HTTP, with install.js or `deno install`. */
  "address",
  /** A copy of the bundle. */
  "file",
  /** A clone of the repository. */
  "clone",
  /** A copy of an executable. */
  "executable",
] as const;

export type Channel = typeof CHANNELS[number];

/**
 * File next to the program, written by whatever installed it: `{ "channel": "deb" }`, with the address
 * of the server or mirror as `from` where the files are not of the usual one. Scoop has its file
 * `install.json` there, so that this is none of its names.
 */
export const MARKER = "channel.json";

/** Address of the module that the running program started with. */
export function mainModule(): string {
  return Deno.mainModule;
}

/** Reports whether the program is a compiled executable. */
export function isExecutable(): boolean {
  return Deno.build.standalone;
}

/** Recognizes, by their names, the program and the files that are installed next to it. */
export function isProgramFile(name: string): boolean {
  return /^reasonix(?:\.\w+)?\.js$|^reasonix\.grammars\.bin$/.test(name);
}

/** Directories that only one package manager has; some keep no other file next to the program. */
const LAYOUTS: readonly (readonly [RegExp, Channel])[] = [
  [/\/node_modules\//, "npm"],
  [/\/Cellar\//, "homebrew"],
  [/\/scoop\/apps\//i, "scoop"],
  [/\/WinGet\/Packages\//i, "winget"],
];

export interface Installation {
  readonly channel: Channel;
  /** Path of the executable or of reasonix.js, with links resolved; or the address of the latter. */
  readonly program: string;
  /** Server or mirror that the files came from, if the marker names it. */
  readonly from?: string;
}

/** The installation of a program, named by its path or address; default: the running program. */
export function installationOf(
  program: string = Deno.build.standalone ? Deno.execPath() : Deno.mainModule,
): Installation {
  if (/^https?:/.test(program)) return { channel: "address", program };
  const path = program.startsWith("file:") ? filePath(program) : program;
  const real = existingRealPath(path) ?? path;
  const directory = real.replace(/[/\\][^/\\]*$/, "");
  const marked = markerOf(`${directory}/${MARKER}`);
  if (marked) return { ...marked, program: real };
  const layout = LAYOUTS.find(([pattern]) =>
    [path, real].some((name) => pattern.test(name.replaceAll("\\", "/")))
  );
  if (layout) return { channel: layout[1], program: real };
  if (real.endsWith(".ts") || exists(`${directory}/../cli/main.ts`)) {
    return { channel: "clone", program: real };
  }
  return { channel: real.endsWith(".js") ? "file" : "executable", program: real };
}

function filePath(address: string): string {
  const path = decodeURIComponent(new URL(address).pathname);
  return Deno.build.os === "windows" ? path.slice(1) : path;
}

function markerOf(file: string): Pick<Installation, "channel" | "from"> | undefined {
  try {
    const { channel: named, from } = JSON.parse(readSmallText(file) ?? "{}") as Record<string, unknown>;
    const channel = CHANNELS.find((known) => known === named);
    return channel && { channel, ...(typeof from === "string" ? { from } : {}) };
  } catch {
    // A file that is not of ours says nothing.
    return undefined;
  }
}

interface Manager {
  readonly name: Text;
  /** The line that updates the program to this version. */
  update(version: string): string;
  readonly remove: string;
}

/** The package manager that owns the files of a channel; undefined where the program itself does. */
export function managerOf(channel: Channel): Manager | undefined {
  const { npm, repository, winget, image } = names();
  switch (channel) {
    case "npm":
      return {
        name: "npm",
        update: (version) => `npm install -g ${npm}@${version}`,
        remove: `npm rm -g ${npm}`,
      };
    case "deb":
      return {
        name: "dpkg",
        update: (version) => {
          const file = `reasonix_${version}_${Deno.build.arch === "aarch64" ? "arm64" : "amd64"}.deb`;
          const address = `https://github.com/${repository}/releases/download/v${version}/${file}`;
          return `curl -fLO ${address} && sudo apt install ./${file}`;
        },
        remove: "sudo apt remove reasonix",
      };
    case "homebrew":
      return { name: "Homebrew", update: () => "brew upgrade reasonix", remove: "brew uninstall reasonix" };
    case "scoop":
      return { name: "Scoop", update: () => "scoop update reasonix", remove: "scoop uninstall reasonix" };
    case "winget":
      return {
        name: "winget",
        update: () => `winget upgrade --id ${winget}`,
        remove: `winget uninstall --id ${winget}`,
      };
    case "image":
      return {
        name: message`the container image`,
        update: (version) => `podman pull ${image}:${version}`,
        remove: `podman rmi ${image}`,
      };
    default:
      return undefined;
  }
}

/** Names in package managers, made from the decided ones; placeholders where nothing is decided. */
export function names(repository: string = decided(REPOSITORY) ?? "OWNER/NAME") {
  const [owner = ""] = repository.split("/");
  return {
    npm: decided(NPM_NAME) ?? "NAME",
    repository,
    winget: `${owner}.Reasonix`,
    image: `ghcr.io/${repository.toLowerCase()}`,
  };
}
