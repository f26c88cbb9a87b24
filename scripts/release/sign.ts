/**
 * Writes `SHA256SUMS` of a release and signs it: `deno run -A scripts/release/sign.ts [directory]`, by
 * default dist/release. Signing takes the program `minisign` and its secret key: the text in
 * MINISIGN_SECRET_KEY, or a file in MINISIGN_SECRET_KEY_FILE; MINISIGN_PASSWORD if the key has one. `--check`
 * only verifies a signed directory with the public key of the program; a release runs it before it publishes.
 */
import { decided, NPM_NAME, PUBLIC_KEY, REPOSITORY } from "../../cli/identity.ts";
import { entriesOf, entryOf, parsePublicKey, sha256Of, verifySums } from "../../cli/release/verify.ts";
import { runProgram } from "../../src/util/process.ts";
import { VERSION } from "../../src/util/version.ts";
import { say } from "../process.ts";

const SUMS = "SHA256SUMS";
const SIGNATURE = `${SUMS}.minisig`;

/** Names of the files in a release directory that `SHA256SUMS` is about, in order. */
async function releaseFiles(directory: string): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { name, isFile } of Deno.readDir(directory)) {
    if (!isFile) throw new Error(`Cannot release ${directory}/${name}: it is not a regular file; remove it`);
    if (name !== SUMS && name !== SIGNATURE) names.push(name);
  }
  if (names.length === 0) throw new Error(`Cannot release ${directory}: it is empty; build the files first`);
  return names.sort();
}

/** Writes `SHA256SUMS` of a directory. A signature of earlier files is removed. */
export async function writeSums(directory: string): Promise<void> {
  const lines = await Promise.all(
    (await releaseFiles(directory)).map(async (name) =>
      `${sha256Of(await Deno.readFile(`${directory}/${name}`))}  ${name}\n`
    ),
  );
  const sums = new TextEncoder().encode(lines.join(""));
  entriesOf(sums);
  await Deno.remove(`${directory}/${SIGNATURE}`).catch(() => {});
  await Deno.writeFile(`${directory}/${SUMS}`, sums);
}

interface SigningKey {
  /** Text of the file that `minisign -G` writes. */
  readonly secret: string;
  readonly password?: string;
  /** Second line of `minisign.pub`. */
  readonly public: string;
}

/** Signs `SHA256SUMS` of a directory for a version, and verifies the result as installers do. */
export async function signSums(directory: string, version: string, key: SigningKey): Promise<void> {
  parsePublicKey(key.public);
  const scratch = await Deno.makeTempDir({ prefix: "reasonix-sign-" });
  try {
    await Deno.writeTextFile(`${scratch}/key`, `${key.secret.trim()}\n`, { mode: 0o600 });
    await minisign(
      ["-S", "-H", "-s", `${scratch}/key`, "-m", SUMS, "-x", SIGNATURE, "-t", `reasonix ${version}`],
      directory,
      `${key.password ?? ""}\n`,
    );
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
  await checkRelease(directory, version, key.public).catch(async (error) => {
    await Deno.remove(`${directory}/${SIGNATURE}`);
    throw error;
  });
}

/** Throws unless the signature is right and covers exactly the files that are there. */
export async function checkRelease(directory: string, version: string, publicKey: string): Promise<void> {
  const sums = await Deno.readFile(`${directory}/${SUMS}`);
  verifySums(sums, await Deno.readTextFile(`${directory}/${SIGNATURE}`), publicKey, version);
  const files = await releaseFiles(directory);
  for (const name of files) {
    if (entryOf(sums, name) !== sha256Of(await Deno.readFile(`${directory}/${name}`))) {
      throw new Error(`Cannot release ${name}: it was changed after ${SUMS} was written; sign again`);
    }
  }
  const missing = [...entriesOf(sums).keys()].filter((name) => !files.includes(name));
  if (missing.length > 0) throw new Error(`Cannot release ${directory}: ${missing.join(", ")} is missing`);
}

async function minisign(args: readonly string[], cwd: string, input: string): Promise<void> {
  const { code, errors } = await runProgram(["minisign", ...args], { cwd, input }).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new Error("Cannot sign the release: minisign is not installed; install the package minisign");
  });
  if (code === 0) return;
  const reason = errors.replace("Password:", "").trim();
  throw new Error(`Cannot sign the release: ${reason || `minisign ended with exit code ${code}`}`);
}

/** Reads the secret key from the environment. */
export async function signingKey(env: Record<string, string>, publicKey: string): Promise<SigningKey> {
  const file = env.MINISIGN_SECRET_KEY_FILE;
  const secret = env.MINISIGN_SECRET_KEY || (file ? await Deno.readTextFile(file) : "");
  if (secret === "") {
    throw new Error("Cannot sign the release: set MINISIGN_SECRET_KEY or MINISIGN_SECRET_KEY_FILE");
  }
  const password = env.MINISIGN_PASSWORD;
  return { secret, public: publicKey, ...(password === undefined ? {} : { password }) };
}

/** Returns the public key; throws for a release whose installers could not verify or find its files. */
export function decidedKey(names: Readonly<Record<string, string>>): string {
  const open = Object.keys(names).filter((name) => decided(names[name] ?? "") === undefined);
  if (open.length === 0) return names.PUBLIC_KEY ?? "";
  const how = open.includes("PUBLIC_KEY") ? "; `minisign -G` writes the key, to line 2 of minisign.pub" : "";
  throw new Error(`Cannot release: set ${open.join(", ")} in cli/identity.ts${how}`);
}

if (import.meta.main) {
  const words = Deno.args.filter((word) => word !== "--check");
  const directory = words[0] ?? new URL("../../dist/release", import.meta.url).pathname;
  const publicKey = decidedKey({ PUBLIC_KEY, REPOSITORY, NPM_NAME });
  if (words.length === Deno.args.length) {
    const key = await signingKey(Deno.env.toObject(), publicKey);
    await writeSums(directory);
    await signSums(directory, VERSION, key);
  } else {
    await checkRelease(directory, VERSION, publicKey);
  }
  say(`${directory}/${SUMS}  signed and verified for version ${VERSION}`);
}
