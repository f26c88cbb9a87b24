/** Files made from the table of a release: for package managers, a container image and editors. */
import { stringify } from "yaml";
import { MARKER } from "../../cli/release/channel.ts";
import type { Target } from "../compile.ts";
import { type Artifact, artifactOf, executableOf } from "./artifacts.ts";
import { ARCHITECTURES, debName } from "./deb.ts";
import icon from "./icon.svg" with { type: "text" };

export interface Release {
  readonly version: string;
  /** `owner/name` on GitHub. */
  readonly repository: string;
  readonly artifacts: readonly Artifact[];
}

/** Files by their paths in the repository of the package manager. */
export type Manifests = Readonly<Record<string, string>>;

/** Name of the archive with completions and man pages. */
export const SHARE = "reasonix-share.tar.gz";

const ABOUT = "Coding agent for the terminal";
const LICENSE = "MIT";

function homepage(repository: string): string {
  return `https://github.com/${repository}`;
}

function addressOf({ repository, version }: Release, file: string): string {
  return `${homepage(repository)}/releases/download/v${version}/${file}`;
}

function marker(channel: string): string {
  return `{ "channel": "${channel}" }`;
}

/** Returns a formula for a tap: executables for macOS and Linux, with completions and man pages. */
export function homebrew(release: Release): Manifests {
  const { version, repository, artifacts } = release;
  const source = ({ file, sha256 }: Artifact) => [`url "${addressOf(release, file)}"`, `sha256 "${sha256}"`];
  const processors = (system: string) => [
    "on_arm do",
    ...indented(source(executableOf(artifacts, `aarch64-${system}` as Target))),
    "end",
    "on_intel do",
    ...indented(source(executableOf(artifacts, `x86_64-${system}` as Target))),
    "end",
  ];
  const lines = [
    "class Reasonix < Formula",
    ...indented([
      `desc "${ABOUT}"`,
      `homepage "${homepage(repository)}"`,
      `version "${version}"`,
      `license "${LICENSE}"`,
      "",
      'depends_on "ripgrep" => :recommended',
      "",
      "on_macos do",
      ...indented(processors("apple-darwin")),
      "end",
      "",
      "on_linux do",
      ...indented(['depends_on "bubblewrap" => :recommended', "", ...processors("unknown-linux-gnu")]),
      "end",
      "",
      'resource "share" do',
      ...indented(source(artifactOf(artifacts, SHARE, "deno task release share"))),
      "end",
      "",
      "def install",
      ...indented([
        'libexec.install Dir["reasonix-*"].first => "reasonix"',
        'chmod 0755, libexec/"reasonix"',
        `(libexec/"${MARKER}").write <<~JSON`,
        `  ${marker("homebrew")}`,
        "JSON",
        'bin.install_symlink libexec/"reasonix"',
        'resource("share").stage do',
        ...indented([
          'bash_completion.install "bash-completion/completions/reasonix"',
          'zsh_completion.install "zsh/vendor-completions/_reasonix"',
          'fish_completion.install "fish/vendor_completions.d/reasonix.fish"',
          'man.install Dir["man/*"]',
        ]),
        "end",
      ]),
      "end",
      "",
      "test do",
      ...indented([
        'assert_match version.to_s, shell_output("#{bin}/reasonix --version")',
        '(testpath/"task.jsonl").write <<~JSONL',
        ...indented([
          '{"cassette":1}',
          '{"reply":[{"type":"tool_call","call":{"id":"1","name":"write_file","arguments":"{\\\\"path\\\\":\\\\"made.txt\\\\",\\\\"content\\\\":\\\\"made\\\\"}"}}]}',
          '{"reply":[{"type":"text","text":"Done."}]}',
        ]),
        "JSONL",
        '(testpath/"home/config.toml").write <<~TOML',
        ...indented([
          'default_model = "test"',
          "[[providers]]",
          'name = "test"',
          'kind = "replay"',
          'model = "scripted"',
          'cassette = "#{testpath}/task.jsonl"',
        ]),
        "TOML",
        'ENV["REASONIX_HOME"] = testpath/"home"',
        'assert_match "Done.", shell_output("#{bin}/reasonix run \'make a file\'")',
        'assert_equal "made", (testpath/"made.txt").read',
      ]),
      "end",
    ]),
    "end",
    "",
  ];
  return { "reasonix.rb": lines.join("\n") };
}

function indented(lines: readonly string[]): string[] {
  return lines.map((line) => line === "" ? "" : `  ${line}`);
}

const WINDOWS = { "64bit": "x86_64-pc-windows-msvc", arm64: "aarch64-pc-windows-msvc" } as const;

/** Returns a manifest for a bucket of Scoop. */
export function scoop(release: Release): Manifests {
  const { version, repository, artifacts } = release;
  const perArchitecture = (row: (file: Artifact) => Record<string, unknown>) =>
    Object.fromEntries(
      Object.entries(WINDOWS).map(([name, target]) => [name, row(executableOf(artifacts, target))]),
    );
  // The part after # is the name of the file on disk.
  const named = (address: string) => `${address}#/reasonix.exe`;
  const manifest = {
    version,
    description: ABOUT,
    homepage: homepage(repository),
    license: LICENSE,
    suggest: { git: "git", ripgrep: "ripgrep" },
    architecture: perArchitecture(({ file, sha256 }) => ({
      url: named(addressOf(release, file)),
      hash: sha256,
    })),
    post_install: `Set-Content -Path "$dir\\${MARKER}" -Value '${marker("scoop")}'`,
    bin: "reasonix.exe",
    checkver: { github: homepage(repository) },
    autoupdate: {
      architecture: perArchitecture(({ file }) => ({
        url: named(addressOf({ ...release, version: "$version" }, file)),
      })),
      hash: { url: "$baseurl/SHA256SUMS" },
    },
  };
  return { "reasonix.json": `${JSON.stringify(manifest, undefined, 4)}\n` };
}

/** The newest version of the schema that the community's repository takes. */
const WINGET_SCHEMA = "1.12.0";

/** Returns the manifests of a version for winget, which keeps the executable of a portable package. */
export function winget(release: Release, identifier: string): Manifests {
  const { version, repository, artifacts } = release;
  const [owner = ""] = repository.split("/");
  const home = homepage(repository);
  const manifests = {
    version: { DefaultLocale: "en-US" },
    installer: {
      InstallerType: "portable",
      Commands: ["reasonix"],
      UpgradeBehavior: "install",
      Installers: Object.entries(WINDOWS).map(([architecture, target]) => {
        const { file, sha256 } = executableOf(artifacts, target);
        return {
          Architecture: architecture === "64bit" ? "x64" : architecture,
          InstallerUrl: addressOf(release, file),
          InstallerSha256: sha256.toUpperCase(),
        };
      }),
    },
    defaultLocale: {
      PackageLocale: "en-US",
      Publisher: owner,
      PublisherUrl: `https://github.com/${owner}`,
      PublisherSupportUrl: `${home}/issues`,
      PackageName: "Reasonix",
      PackageUrl: home,
      License: LICENSE,
      LicenseUrl: `${home}/blob/v${version}/LICENSE`,
      ShortDescription: ABOUT,
      Moniker: "reasonix",
      Tags: ["agent", "cli", "coding", "llm"],
      ReleaseNotesUrl: `${home}/releases/tag/v${version}`,
    },
  };
  const directory = `manifests/${owner.slice(0, 1).toLowerCase()}/${
    identifier.replaceAll(".", "/")
  }/${version}`;
  return Object.fromEntries(
    Object.entries(manifests).map(([type, fields]) => {
      const schema = `https://aka.ms/winget-manifest.${type}.${WINGET_SCHEMA}.schema.json`;
      const name = { version: "", installer: ".installer", defaultLocale: ".locale.en-US" }[type];
      const text = stringify({
        PackageIdentifier: identifier,
        PackageVersion: version,
        ...fields,
        ManifestType: type,
        ManifestVersion: WINGET_SCHEMA,
      });
      return [
        `${directory}/${identifier}${name}.yaml`,
        `# yaml-language-server: $schema=${schema}\n\n${text}`,
      ];
    }),
  );
}

/**
 * Returns the description of a container image for amd64 and arm64; its context is the directory of the
 * release. The user has a home, so that a session's files have a place, and no rights.
 */
export function image({ version, repository, artifacts }: Release): Manifests {
  for (const architecture of ARCHITECTURES) {
    artifactOf(artifacts, debName(version, architecture), "deno task release deb");
  }
  const labels = {
    title: "Reasonix",
    description: ABOUT,
    version,
    licenses: LICENSE,
    source: homepage(repository),
    url: homepage(repository),
    documentation: `${homepage(repository)}#readme`,
  };
  return {
    Containerfile: [
      "ARG BASE=docker.io/library/debian:stable-slim",
      "FROM ${BASE}",
      "ARG TARGETARCH",
      `RUN --mount=type=bind,source=reasonix_${version}_` + "${TARGETARCH}.deb,target=/tmp/reasonix.deb \\",
      "    apt-get update && \\",
      "    apt-get install --yes --no-install-recommends \\",
      "      bubblewrap ca-certificates git ripgrep /tmp/reasonix.deb && \\",
      "    rm -rf /var/lib/apt/lists/* && \\",
      `    echo '${marker("image")}' > /usr/lib/reasonix/${MARKER} && \\`,
      "    useradd --uid 1000 --create-home reasonix && \\",
      "    install --directory --owner=1000 --group=1000 /work",
      "USER 1000:1000",
      "WORKDIR /work",
      'ENTRYPOINT ["/usr/bin/reasonix"]',
      ...Object.entries(labels).map(([name, value]) =>
        `LABEL org.opencontainers.image.${name}=${JSON.stringify(value)}`
      ),
      "",
    ].join("\n"),
  };
}

/**
 * Returns the entry for the registry of the Agent Client Protocol, from which editors install agents: the
 * package on npm. Its executables have no archives, which the registry requires.
 */
export function acpRegistry({ version, repository }: Omit<Release, "artifacts">, npm: string): Manifests {
  const id = npm.replace(/^@[^/]*\//, "").replace(/[^a-z0-9]+/g, "-");
  const [owner = ""] = repository.split("/");
  const entry = {
    id,
    name: "Reasonix",
    version,
    description: ABOUT,
    repository: homepage(repository),
    authors: [owner],
    license: LICENSE,
    icon: "./icon.svg",
    distribution: { npx: { package: `${npm}@${version}`, args: ["acp"] } },
  };
  return { [`${id}/agent.json`]: `${JSON.stringify(entry, undefined, 2)}\n`, [`${id}/icon.svg`]: icon };
}
