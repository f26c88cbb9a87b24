import { errorMessage, ReasonixError } from "../../../src/core/mod.ts";
import { programFetch } from "../../../src/util/network/fetch.ts";
import { loadModelList } from "../../../src/provider/mod.ts";
import { grouped } from "../../../src/view/mod.ts";
import type { Texts } from "../../../src/i18n/mod.ts";
import { textsFor } from "../../terminal/language.ts";
import type { CliContext } from "../../terminal/process.ts";
import { runPaths } from "../../terminal/working_directory.ts";

const USUAL = "https://models.dev/api.json";
const LIMIT_MS = 60_000;
const MOST_BYTES = 64 * 1024 * 1024;

/** Fetches tables of models and keeps them below the Reasonix home. */
export async function refresh(this: CliContext, { from = USUAL }: { readonly from?: string }): Promise<void> {
  const { home } = runPaths(this);
  const texts = await textsFor("models", this);
  const text = /^https?:\/\//i.test(from) ? await download(from, texts) : await readFile(from, texts);
  const { keepModelList } = await loadModelList();
  const date = new Date().toISOString().slice(0, 10);
  const { file, providers, models, skipped } = await keepModelList(home, text, { date, source: from });
  const left = skipped === 0 ? "" : texts.skipped(grouped(skipped));
  this.process.stdout.write(
    `${texts.kept(grouped(models), grouped(providers), file)}${left}\n`,
  );
}

async function download(url: string, texts: Texts["models"]): Promise<string> {
  try {
    const response = await programFetch(url, { signal: AbortSignal.timeout(LIMIT_MS) });
    if (!response.ok) throw new Error(`The server answered ${response.status}`);
    return await readLimited(response.body);
  } catch (error) {
    throw new ReasonixError(texts.notFetched(url, errorMessage(error)), {
      exit: "provider",
      remedy: texts.notFetchedRemedy,
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

async function readFile(path: string, texts: Texts["models"]): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    throw new ReasonixError(texts.notRead(path, errorMessage(error)), {
      exit: "usage",
      remedy: texts.notReadRemedy,
    });
  }
}
