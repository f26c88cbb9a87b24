/**
 * Releases on a loopback server, and stand-ins for executables: a shell script that starts the bundle in a
 * runtime that says that it is a compiled program. Each names a version, and so do the files of its bundle.
 */
import { isProgramFile } from "../../cli/release/channel.ts";
import { START_FLAGS } from "../../cli/terminal/start_flags.ts";
import { sha256Of } from "../../cli/release/verify.ts";
import { VERSION } from "../../src/util/version.ts";
import { type TestKey, testKey } from "./minisign.ts";
import { programFile } from "./program.ts";
import { makeTempDir } from "./tool_context.ts";
import { removeTree } from "./remove_tree.ts";

export const TARGET = Deno.build.target;

/** Gives the program the identity that a release has. */
export function stamped(text: string, { key, repository = "@unset-repository" }: Stamp): string {
  return text.replaceAll("@unset-public-key", key).replaceAll("@unset-repository", repository);
}

interface Stamp {
  readonly key: string;
  readonly repository?: string;
}

/** Makes the runtime report a compiled program, whose executable is $STANDIN. */
const STANDALONE = `const runtime = Deno;
Object.defineProperty(globalThis, "Deno", {
  value: Object.create(runtime, {
    build: { value: { ...runtime.build, standalone: true } },
    execPath: { value: () => runtime.env.get("STANDIN") },
  }),
});
`;

/** The key of all releases, so that a file of tests makes the bundle of a version, and compiles it, once. */
const key = testKey();
const bundles = new Map<string, Promise<string>>();
let shared: string | undefined;

/** Directory with the bundle of a version, the same for all tests of a file. */
function bundleOf(version: string): Promise<string> {
  return bundles.getOrInsertComputed(version, async () => {
    if (shared === undefined) {
      const made = shared = Deno.makeTempDirSync({ prefix: "reasonix-bundles-" });
      globalThis.addEventListener("unload", () => Deno.removeSync(made, { recursive: true }));
    }
    const directory = `${shared}/${version}`;
    await Deno.mkdir(directory);
    const from = (await programFile()).replace(/\/[^/]*$/, "");
    for (const { name } of Deno.readDirSync(from)) {
      if (!isProgramFile(name) && name !== "install.js") continue;
      if (!name.endsWith(".js")) {
        await Deno.copyFile(`${from}/${name}`, `${directory}/${name}`);
        continue;
      }
      const text = stamped(await Deno.readTextFile(`${from}/${name}`), { key: key.public });
      const renamed = text.replaceAll(`"${VERSION}"`, `"${version}"`).replaceAll(
        `${VERSION} (`,
        `${version} (`,
      );
      await Deno.writeTextFile(`${directory}/${name}`, renamed);
    }
    return directory;
  });
}

/** Releases in a directory, a server for them, and the programs that they hold. */
export async function makeReleases() {
  const temp = await makeTempDir();
  const root = `${temp.path}/server`;
  await Deno.mkdir(root);
  await Deno.writeTextFile(`${temp.path}/standalone.js`, STANDALONE);
  const asked: string[] = [];
  /** Answers to single paths instead of the files. */
  const answers = new Map<string, () => Response>();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async ({ url }) => {
    const { pathname } = new URL(url);
    asked.push(pathname);
    const answer = answers.get(pathname);
    if (answer) return answer();
    const body = await Deno.readFile(root + pathname).catch(() => undefined);
    return body ? new Response(body) : new Response("", { status: 404 });
  });

  /** The stand-in for the executable of a version. */
  async function executable(version: string): Promise<string> {
    const words = [
      Deno.execPath(),
      "run",
      ...START_FLAGS,
      "--no-config",
      `--preload=${temp.path}/standalone.js`,
    ];
    const bundle = `${await bundleOf(version)}/reasonix.js`;
    return `#!/bin/sh\nexport STANDIN="$0"\nexec ${words.join(" ")} ${bundle} "$@"\n`;
  }

  /** Writes checksums and signature of a directory. */
  async function sign(directory: string, version: string, signer: TestKey = key): Promise<void> {
    const names = [...Deno.readDirSync(directory)].map(({ name }) => name).filter((name) =>
      !name.startsWith("SHA")
    );
    const lines = names.sort().map((name) =>
      `${sha256Of(Deno.readFileSync(`${directory}/${name}`))}  ${name}\n`
    );
    const sums = new TextEncoder().encode(lines.join(""));
    await Deno.writeFile(`${directory}/SHA256SUMS`, sums);
    await Deno.writeTextFile(`${directory}/SHA256SUMS.minisig`, signer.sign(sums, `reasonix ${version}`));
  }

  return {
    root,
    key,
    asked,
    answers,
    base: `http://127.0.0.1:${server.addr.port}`,
    bundleOf,
    sign,
    /** Publishes the bundle of a version in `/files`, as a server of the user has it. */
    async publishFiles(version: string): Promise<string> {
      const directory = `${root}/files`;
      await removeTree(directory).catch(() => {});
      await Deno.mkdir(directory);
      const from = await bundleOf(version);
      for (const { name } of Deno.readDirSync(from)) {
        await Deno.copyFile(`${from}/${name}`, `${directory}/${name}`);
      }
      await sign(directory, version);
      return directory;
    },
    /** Publishes a version as the latest one: the executable of this system, or this text in its place. */
    async publish(version: string, text?: string): Promise<string> {
      const directory = `${root}/v${version}`;
      await Deno.mkdir(directory, { recursive: true });
      await Deno.writeTextFile(`${directory}/reasonix-${TARGET}`, text ?? await executable(version));
      await sign(directory, version);
      await Deno.writeTextFile(`${root}/latest`, `${version}\n`);
      return directory;
    },
    async [Symbol.asyncDispose]() {
      await server.shutdown();
      await temp[Symbol.asyncDispose]();
    },
  };
}

export type Releases = Awaited<ReturnType<typeof makeReleases>>;

/** All files below a directory, with their sizes, for a comparison. */
export function filesBelow(directory: string, prefix = ""): string[] {
  const names = [...Deno.readDirSync(directory)].sort((a, b) => a.name < b.name ? -1 : 1);
  return names.flatMap(({ name, isDirectory }) =>
    isDirectory
      ? [`${prefix}${name}/`, ...filesBelow(`${directory}/${name}`, `${prefix}${name}/`)]
      : [prefix + name]
  );
}
