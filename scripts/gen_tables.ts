/**
 * Writes the tables of protected paths, plugins and programs into pages of docs, and the
 * lines that install the program into docs/install.md and the front pages.
 */
import { decided, NPM_NAME, PUBLIC_KEY, REPOSITORY } from "../cli/identity.ts";
import { names } from "../cli/release/channel.ts";
import { PROTECTED_KINDS, PROTECTED_PATHS, type ProtectedScope } from "../src/path/protected.ts";
import { limitsReading, type Program } from "../src/permission/command/program.ts";
import { PROGRAMS } from "../src/permission/command/programs.ts";
import { PLUGINS } from "../plugins/plugins.ts";

const PLACES: Readonly<Record<ProtectedScope, string>> = {
  anywhere: "in any directory",
  root: "in your home, at the top of a writable directory",
  home: "in your home",
  programs: "in your home, outside of projects there",
};

function protectedPaths(): string {
  const groups = Map.groupBy(PROTECTED_PATHS, ({ scope, kind }) => `${kind}\n${scope}`);
  const rows = [...groups.values()].map((group) => [
    group[0] ? PROTECTED_KINDS[group[0].kind].text : "",
    group[0] ? PLACES[group[0].scope] : "",
    group.map(({ pattern }) => `\`${pattern}\``).join(" "),
  ]);
  return markdownTable([["what it is", "where", "paths"], ...rows]);
}

function pluginTable(named: (name: string) => string): string {
  const rows = PLUGINS.map(({ name, brief, touches }) => [named(name), brief, touches]);
  return markdownTable([["plugin", "what it offers", "what its process may touch"], ...rows]);
}

/** The example has a page with those for developers. */
function pluginLink(name: string): string {
  return `[${name}](${name === "example" ? "extending/plugin.md" : `plugins/${name}.md`})`;
}

/** Names of the rows that pass, in the order of the alphabet, subcommands with their program. */
function namesWhere(passes: (row: Program) => boolean): string {
  const names = PROGRAMS.filter(passes).flatMap(({ names, sub }) =>
    names.split(" ").map((name) => sub === undefined ? name : `${name} ${sub.split(" ").join("/")}`)
  );
  return [...new Set(names)].sort().map((name) => `\`${name.replace("#", "")}\``).join(" ");
}

function readingPrograms(): string {
  return markdownTable([
    ["known to read", "programs"],
    ["whatever their options", namesWhere(({ reads }) => reads === true)],
    [
      "with the options and operands that their row lists",
      namesWhere((row) => !row.reads && limitsReading(row)),
    ],
    ["asked only about their version or help", namesWhere(({ prints }) => prints !== undefined)],
  ]);
}

function deletingPrograms(): string {
  const names = namesWhere(({ destroys }) => destroys !== undefined);
  return markdownTable([["deletion", "programs"], ["looked at word by word", names]]);
}

function words(list: string | undefined): string {
  return (list ?? "").split(" ").filter((word) => word !== "").map((word) => `\`${word}\``).join(" ");
}

function clientsOfServices(): string {
  const rows = PROGRAMS.flatMap(({ names, deletes, deleting, text }) =>
    deletes ?? deleting ?? text ? [[words(names), words(deletes), words(deleting), text ? "yes" : ""]] : []
  );
  return markdownTable([
    ["clients", "words that delete", "options that delete", "statements are read"],
    ...rows,
  ]);
}

/**
 * The install line of a front page: npm's, or the one that works in a clone while there is no name; and the
 * key with which releases are signed.
 */
export function installLine(
  { name, key }: { readonly name?: string | undefined; readonly key?: string | undefined },
  comments: Readonly<Record<"npm" | "clone" | "key", string>>,
): string {
  const lines = name === undefined
    ? [`# ${comments.clone}`, "npx -y deno@2.9.6 task npm && npm install -g --install-links ./dist/npm"]
    : [`npm install -g ${name}   # ${comments.npm}`];
  return shellBlock([...lines, ...(key === undefined ? [] : [`# ${comments.key}: ${key}`])]);
}

/** One line for each way of installing a release. */
function channelLines(): string {
  const { npm, repository, winget, image } = names();
  const open = decided(NPM_NAME) === undefined || decided(REPOSITORY) === undefined;
  const [owner = ""] = repository.split("/");
  const release = `https://github.com/${repository}/releases`;
  const deb = "reasonix_VERSION_amd64.deb";
  const block = shellBlock([
    "# npm, on every system; the package brings its runtime",
    `npm install -g ${npm}`,
    "# npm, without an installation",
    `npx -y ${npm} run "What does this project do?"`,
    "# Linux and macOS, without Node",
    `curl -fsSL ${release}/latest/download/install.sh | sh`,
    "# Windows, in PowerShell",
    `irm ${release}/latest/download/install.ps1 | iex`,
    "# Homebrew, on macOS and Linux",
    `brew install ${owner}/tap/reasonix`,
    "# Scoop, on Windows",
    `scoop bucket add reasonix https://github.com/${owner}/scoop-bucket; scoop install reasonix`,
    "# winget, on Windows",
    `winget install --id ${winget}`,
    "# Debian and Ubuntu, as amd64 or arm64",
    `curl -fLO ${release}/download/vVERSION/${deb} && sudo apt install ./${deb}`,
    "# a container: Debian with git, ripgrep and bubblewrap; it works on the current directory",
    `podman run --rm -it --userns=keep-id:uid=1000,gid=1000 -v "$PWD:/work" -e ANTHROPIC_API_KEY ${image}`,
    "# Deno, from any server that has the files of a release",
    "deno run -A https://example.org/install.js",
  ]);
  return open
    ? `No release is published yet: \`OWNER\` and \`NAME\` are not decided. Use [a clone](#from-a-clone).\n\n${block}`
    : block;
}

/** Lines that check a downloaded file of a release. */
function checkLines(): string {
  const key = decided(PUBLIC_KEY) ?? "KEY";
  return shellBlock([
    `minisign -Vm SHA256SUMS -P ${key}   # its comment must be: reasonix VERSION`,
    "sha256sum --ignore-missing -c SHA256SUMS",
    `gh attestation verify FILE --repo ${names().repository}`,
    "npm audit signatures                # for the npm package, in the project that uses it",
  ]);
}

function shellBlock(lines: readonly string[]): string {
  return `\`\`\`sh\n${lines.join("\n")}\n\`\`\``;
}

/** Aligned the way `deno fmt` aligns it, so that generating and formatting agree. */
function markdownTable([head = [], ...rows]: string[][]): string {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const line = (cells: string[]) =>
    `| ${widths.map((width, column) => (cells[column] ?? "").padEnd(width)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}

const DECIDED = { name: decided(NPM_NAME), key: decided(PUBLIC_KEY) };

/** Generated parts of the documents, by page and by the name in their markers. */
const SECTIONS: Readonly<Record<string, Readonly<Record<string, () => string>>>> = {
  "docs/security.md": {
    "protected paths": protectedPaths,
    "plugins": () => pluginTable((name) => `\`${name}\``),
  },
  "docs/plugins.md": { "plugins": () => pluginTable(pluginLink) },
  "docs/permissions.md": {
    "reading programs": readingPrograms,
    "deleting programs": deletingPrograms,
    "clients of services": clientsOfServices,
  },
  "docs/install.md": { "ways to install": channelLines, "checks by hand": checkLines },
  "README.md": {
    "install": () =>
      installLine(DECIDED, {
        key: "minisign key of the releases",
        npm: "brings its runtime; needs Node 16 or newer",
        clone: "in a clone, until the first release is published",
      }),
  },
  "README.zh-CN.md": {
    "install": () =>
      installLine(DECIDED, {
        key: "发布文件的 minisign 公钥",
        npm: "自带运行时；需要 Node 16 或更新版本",
        clone: "首个版本发布之前：在克隆的仓库中",
      }),
  },
};

/** The pages by path from the root of the repository, as they are and with their generated parts replaced. */
export function generatedPages(): { path: string; current: string; wanted: string }[] {
  return Object.entries(SECTIONS).map(([path, sections]) => {
    const current = Deno.readTextFileSync(new URL(`../${path}`, import.meta.url));
    const wanted = Object.entries(sections).reduce((page, [name, content]) => {
      const marker = new RegExp(`(<!-- ${name}: start [^\\n]*-->\\n)[^]*?(\\n<!-- ${name}: end -->)`);
      if (!marker.test(page)) throw new Error(`Cannot find the markers of "${name}" in ${path}`);
      return page.replace(marker, (_, start, end) => `${start}\n${content()}\n${end}`);
    }, current);
    return { path, current, wanted };
  });
}

if (import.meta.main) {
  for (const { path, wanted } of generatedPages()) {
    await Deno.writeTextFile(new URL(`../${path}`, import.meta.url), wanted);
  }
}
