/**
 * The Claude Agent SDK for TypeScript from npm, without its platform packages: each is a program of 380 MB.
 */
import { removeTree } from "./remove_tree.ts";

const VERSION = "0.3.330";
const SHA256 = "6ecbc493eda07c20536c97b7529a6873034ad50faafd8eb2bddba4201825950f";
const DIRECTORY = new URL("../../dist/packages/", import.meta.url).pathname;

/** The module of the SDK, or the reason why npm cannot install it. */
// deno-lint-ignore no-explicit-any
export async function loadAgentSdk(): Promise<{ readonly sdk?: any; readonly missing?: string }> {
  const file = `${DIRECTORY}claude-agent-sdk-${VERSION}/package/sdk.mjs`;
  try {
    if (!await Deno.stat(file).then((stat) => stat.isFile, () => false)) await fetchPackage();
    return { sdk: await import(`file://${file}`) };
  } catch (error) {
    return { missing: String(error).replace(/\s+/g, " ").slice(0, 160) };
  }
}

async function fetchPackage(): Promise<void> {
  const target = `${DIRECTORY}claude-agent-sdk-${VERSION}`;
  const temp = await Deno.makeTempDir({ dir: await madeDirectory(DIRECTORY), prefix: "sdk-" });
  try {
    const name = `@anthropic-ai/claude-agent-sdk@${VERSION}`;
    await command([
      "npm",
      "pack",
      name,
      "--ignore-scripts",
      "--fetch-retries=0",
      `--pack-destination=${temp}`,
    ]);
    const [archive] = [...Deno.readDirSync(temp)];
    const bytes = await Deno.readFile(`${temp}/${archive?.name}`);
    const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
    if (sum !== SHA256) throw new Error(`the archive has the checksum ${sum}`);
    await command(["tar", "-xzf", `${temp}/${archive?.name}`, "-C", temp]);
    await Deno.rename(temp, target).catch(() => {});
  } finally {
    await removeTree(temp).catch(() => {});
  }
}

async function madeDirectory(path: string): Promise<string> {
  await Deno.mkdir(path, { recursive: true });
  return path;
}

async function command([program = "", ...args]: readonly string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, { args, stdout: "null", stderr: "piped" })
    .output();
  const lines = new TextDecoder().decode(stderr).split("\n").filter((line) => !line.includes(" warn "));
  if (!success) throw new Error(`${program} failed: ${lines[0]}`);
}
