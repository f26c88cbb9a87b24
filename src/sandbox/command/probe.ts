import { errorMessage } from "../../core/mod.ts";
import type { Backend, ProbeResult } from "./backend.ts";

export const NOT_INSTALLED = "it is not installed";

interface Stamp {
  /** What the backend says decides about its result. */
  readonly fingerprint: string;
  /** What can be compared without the backend. */
  readonly system: string;
  readonly result: ProbeResult;
}

/**
 * The probe's result, from a stamp file when nothing that matters changed since, so that most runs start no
 * process for it. A remembered failure is only for {@linkcode rememberedProbe}: who repairs a machine should
 * not have to find a cache.
 */
export async function probeCached(
  name: string,
  backend: Backend,
  cacheDir: string | undefined,
): Promise<ProbeResult> {
  try {
    const fingerprint = await backend.fingerprint(cacheDir);
    if (fingerprint === undefined) return { works: false, detail: NOT_INSTALLED };
    const known = readStamp(name, cacheDir);
    if (known?.fingerprint === fingerprint && known.result.works) return known.result;
    const result = await backend.probe(cacheDir);
    // The probe may have made what belongs to the fingerprint.
    const made = await backend.fingerprint(cacheDir) ?? fingerprint;
    const system = systemKey(result.program);
    if (system !== undefined) await writeStamp(name, cacheDir, { fingerprint: made, system, result });
    return result;
  } catch (error) {
    return { works: false, detail: errorMessage(error) };
  }
}

/**
 * Returns what an earlier run found with the same program, kernel and user; undefined where it must be
 * probed.
 */
export function rememberedProbe(name: string, cacheDir: string | undefined): ProbeResult | undefined {
  const stamp = readStamp(name, cacheDir);
  return stamp && stamp.system === systemKey(stamp.result.program) ? stamp.result : undefined;
}

/** Forgets an earlier result, for when a jail that should work did not. */
export async function forgetProbe(name: string, cacheDir: string): Promise<void> {
  await Deno.remove(stampFile(name, cacheDir)).catch(() => {});
}

function systemKey(program: string | undefined): string | undefined {
  try {
    if (program === undefined) return undefined;
    return [program, Deno.statSync(program).mtime?.getTime(), Deno.osRelease(), Deno.uid()].join(" ");
  } catch {
    return undefined;
  }
}

function stampFile(name: string, cacheDir: string): string {
  return `${cacheDir}/jail-${name}.json`;
}

function readStamp(name: string, cacheDir: string | undefined): Stamp | undefined {
  if (cacheDir === undefined) return undefined;
  try {
    const stamp = JSON.parse(Deno.readTextFileSync(stampFile(name, cacheDir)));
    const whole = typeof stamp?.fingerprint === "string" && typeof stamp.system === "string" &&
      typeof stamp.result?.works === "boolean";
    return whole ? stamp : undefined;
  } catch {
    return undefined;
  }
}

async function writeStamp(name: string, cacheDir: string | undefined, stamp: Stamp): Promise<void> {
  if (cacheDir === undefined) return;
  const file = stampFile(name, cacheDir);
  const temporary = `${file}.${crypto.randomUUID()}`;
  try {
    await Deno.mkdir(cacheDir, { recursive: true, mode: 0o700 });
    await Deno.writeTextFile(temporary, JSON.stringify(stamp), { mode: 0o600 });
    await Deno.rename(temporary, file);
  } catch {
    // A read-only home costs one probe per run, nothing more.
  }
}
