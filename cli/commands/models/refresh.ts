import { errorMessage, ReasonixError } from "../../../src/core/mod.ts";
import { loadModelList } from "../../../src/provider/mod.ts";
import { grouped } from "../../../src/view/mod.ts";
import type { CliContext } from "../../terminal/process.ts";
import { runPaths } from "../../terminal/working_directory.ts";

const USUAL = "https://models.dev/api.json";
const LIMIT_MS = 60_000;
const MOST_BYTES = 64 * 1024 * 1024;

/** Fetches tables of models and keeps them below the Reasonix home. */
export async function refresh(this: CliContext, { from = USUAL }: { readonly from?: string }): Promise<void> {
  const { home } = runPaths(this);
  const text = /^https?:\/\//i.test(from) ? await download(from) : await readFile(from);
  const { keepModelList } = await loadModelList();
  const date = new Date().toISOString().slice(0, 10);
  const { file, providers, models, skipped } = await keepModelList(home, text, { date, source: from });
  const left = skipped === 0 ? "" : `; ${grouped(skipped)} could not be read`;
  this.process.stdout.write(
    `${grouped(models)} models of ${grouped(providers)} providers are kept in ${file}${left}\n`,
  );
}

async function download(url: string): Promise<string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(LIMIT_MS) });
    if (!response.ok) throw new Error(`The server answered ${response.status}`);
    return await readLimited(response.body);
  } catch (error) {
    throw new ReasonixError(`Cannot fetch ${url}: ${errorMessage(error)}`, {
      exit: "provider",
      remedy: "check the network, or give a file with --from; the tables that are there stay as they are",
    });
  }
}

async function readLimited(body: ReadableStream<Uint8Array<ArrayBuffer>> | null): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    if (text.length > MOST_BYTES) {
      throw new Error(`The answer is longer than ${MOST_BYTES / 1024 / 1024} MiB`);
    }
  }
  return text + decoder.decode();
}

async function readFile(path: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    throw new ReasonixError(`Cannot read ${path}: ${errorMessage(error)}`, {
      exit: "usage",
      remedy: "give a file or an address in the format of https://models.dev/api.json",
    });
  }
}
