import { isKnown } from "../../rule/mod.ts";
import { baseName } from "../../path/lexical.ts";
import { readSmallText } from "../../path/probe.ts";
import { operands, type Program } from "./program.ts";
import { ARCHIVES } from "./programs/archives.ts";
import { BUILDERS } from "./programs/builders.ts";
import { DATABASES } from "./programs/databases.ts";
import { FILES } from "./programs/files.ts";
import { FINDERS } from "./programs/finders.ts";
import { GIT } from "./programs/git.ts";
import { INTERPRETERS } from "./programs/interpreters.ts";
import { NETWORK } from "./programs/network.ts";
import { READERS } from "./programs/readers.ts";
import { SHELLS } from "./programs/shells.ts";
import { SYSTEM } from "./programs/system.ts";
import { TEXT_PROGRAMS } from "./programs/text_programs.ts";
import { WRAPPERS } from "./programs/wrappers.ts";

const TABLES: readonly (readonly Program[])[] = [
  READERS,
  FILES,
  FINDERS,
  TEXT_PROGRAMS,
  ARCHIVES,
  GIT,
  SHELLS,
  WRAPPERS,
  INTERPRETERS,
  BUILDERS,
  DATABASES,
  NETWORK,
  SYSTEM,
];

/** Everything that is known of programs, a row each. */
export const PROGRAMS: readonly Program[] = TABLES.flat();

/** Rows by name; a name ending in `#` is that of a program whose versions have names of their own. */
const BY_NAME: ReadonlyMap<string, Program> = new Map(
  PROGRAMS.flatMap((row) => namesOf(row).map((name) => [name, row] as const)),
);

function namesOf({ names, sub }: Program): string[] {
  return names.split(" ").flatMap((name) =>
    sub === undefined ? [name] : sub.split(" ").map((word) => `${name} ${word}`)
  );
}

/** Returns what is known of a program by its bare name, or of a subcommand by both names. */
export function programNamed(name: string): Program | undefined {
  const plain = name.replace(/\.exe$|\.distrib$/, "");
  return BY_NAME.get(plain) ?? BY_NAME.get(`${plain}#`) ??
    BY_NAME.get(plain.replace(/[-.]?\d[\d.]*$/, "#")) ??
    (/^ld-[\w.-]+\.so/.test(plain)
      ? BY_NAME.get("ld.so")
      : /^mkfs\./.test(plain)
      ? BY_NAME.get("mkfs")
      : undefined);
}

/** Hosts of package registries, by the names that rows of the tables use. */
const REGISTRIES: Readonly<Record<string, readonly string[]>> = {
  npm: ["registry.npmjs.org"],
  yarn: ["registry.yarnpkg.com"],
  python: ["pypi.org", "files.pythonhosted.org"],
  rust: ["crates.io", "index.crates.io", "static.crates.io"],
  go: ["proxy.golang.org", "sum.golang.org"],
  ruby: ["rubygems.org", "index.rubygems.org"],
  java: ["repo.maven.apache.org", "plugins.gradle.org", "services.gradle.org"],
  dotnet: ["api.nuget.org"],
  php: ["repo.packagist.org", "packagist.org"],
  deno: ["jsr.io", "npm.jsr.io", "deno.land", "esm.sh"],
};

/** Returns the hosts of all package registries. */
export function packageRegistries(): string[] {
  return Object.values(REGISTRIES).flat();
}

const ADDRESS = /\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>]+/gi;
/** `user@host:path`, which git and others take for SSH. */
const SSH_ADDRESS = /^(?:[\w.-]+@)?[\w.-]+:(?!\/\/)/;

/**
 * Returns the hosts that a command contacts, as entries of `network_hosts`: by the rows of what it runs,
 * outermost first, and by its words. "any": they are not known, or a proxy for the web does not lead there;
 * "local": this machine or a mere address.
 */
export function contactedHosts(
  runs: readonly (readonly string[])[],
  directory: string,
): string[] | "any" | "local" {
  const [first = []] = runs;
  const args = first.slice(1);
  if (!args.every(isKnown)) return "any";
  const own = runs.flatMap(([word = ""]) => {
    const { hosts = "", registries = "" } = programNamed(baseName(word)) ?? {};
    const named = registries.split(" ").flatMap((name) => REGISTRIES[name] ?? []);
    return [...hosts.split(" ").filter((host) => host !== ""), ...named];
  });
  let addresses = args.flatMap((arg) => arg.match(ADDRESS) ?? []);
  if (runs.some(([word = ""]) => baseName(word) === "git")) {
    if (args.includes("submodule")) return "any";
    if (addresses.length === 0 && args.some((arg) => SSH_ADDRESS.test(arg))) return "any";
    if (addresses.length === 0) addresses = remoteAddresses(operands(args), directory);
  }
  const named = addresses.map(webHost);
  if (named.includes("any") || (own.length === 0 && named.length === 0)) return "any";
  return named.includes("local") ? "local" : [...new Set([...own, ...named])];
}

/** Returns the host of a web address with its port where that is not the usual one. */
function webHost(address: string): string {
  let url: URL;
  try {
    url = new URL(address.replace(/^git\+(?=https?:)/, ""));
  } catch {
    return "any";
  }
  if (!/^https?:$/.test(url.protocol) || url.hostname === "") return "any";
  if (/^[\d.]+$|^\[|(?:^|\.)localhost\.?$/.test(url.hostname)) return "local";
  return url.host.replace(/\.(?=:|$)/, "");
}

/** Returns the addresses of the remote that words of git name, by the repository's configuration. */
function remoteAddresses(words: readonly string[], directory: string): string[] {
  const found = new Map<string, string>();
  for (let at = directory; found.size === 0; at = at.slice(0, at.lastIndexOf("/"))) {
    const text = readSmallText(`${at}/.git/config`, 64 * 1024) ?? "";
    for (const [, name = "", body = ""] of text.matchAll(/^\[remote "([^"\n]+)"\]((?:\n(?!\[).*)*)/gm)) {
      for (const [, url = ""] of body.matchAll(/^\s*(?:push)?url\s*=\s*"?([^"\s]+)/gim)) {
        found.set(`${name} ${url}`, url);
      }
    }
    if (at.length <= 1) break;
  }
  const of = (name: string) =>
    [...found].filter(([key]) => key.startsWith(`${name} `)).map(([, url]) =>
      url.includes("://") ? url : `ssh://${url}`
    );
  const named = words.flatMap(of);
  return named.length > 0 ? named : of("origin");
}
