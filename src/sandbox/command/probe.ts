import type { Backend, ProbeResult } from "./backend.ts";

interface Stamp {
  readonly fingerprint: string;
  readonly result: ProbeResult;
}

/**
 * The probe's result, from a stamp file when nothing that matters changed since, so that most runs start no
 * process for it. Only success is remembered: who repairs a machine should not have to find a cache.
 */
export async function probeCached(
  name: string,
  backend: Backend,
  cacheDir: string | undefined,
): Promise<ProbeResult> {
  const fingerprint = await backend.fingerprint(cacheDir);
  if (fingerprint === undefined) return { works: false, detail: "it is not installed" };
  const file = cacheDir === undefined ? undefined : `${cacheDir}/jail-${name}.json`;
  const known = file === undefined ? undefined : await readStamp(file);
  if (known?.fingerprint === fingerprint) return known.result;
  const result = await backend.probe(cacheDir);
  if (file !== undefined && result.works) await writeStamp(file, { fingerprint, result });
  return result;
}

/** Forgets an earlier result, for when a jail that should work did not. */
export async function forgetProbe(name: string, cacheDir: string): Promise<void> {
  await Deno.remove(`${cacheDir}/jail-${name}.json`).catch(() => {});
}

async function readStamp(file: string): Promise<Stamp | undefined> {
  try {
    const stamp = JSON.parse(await Deno.readTextFile(file));
    return typeof stamp?.fingerprint === "string" && stamp.result?.works === true ? stamp : undefined;
  } catch {
    return undefined;
  }
}

async function writeStamp(file: string, stamp: Stamp): Promise<void> {
  const temporary = `${file}.${crypto.randomUUID()}`;
  try {
    await Deno.mkdir(file.slice(0, file.lastIndexOf("/")), { recursive: true, mode: 0o700 });
    await Deno.writeTextFile(temporary, JSON.stringify(stamp), { mode: 0o600 });
    await Deno.rename(temporary, file);
  } catch {
    // A read-only home costs one probe per run, nothing more.
  }
}
