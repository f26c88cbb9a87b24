/** Vectors of texts: the only provider that makes them, and the search for the nearest. */
import type { DatabaseSync } from "node:sqlite";
import { PluginError } from "../common/plugin.ts";
import type { Context } from "./settings.ts";
import { metaOf, rows } from "./store.ts";

/** Texts of one request; an update stores their vectors before it asks for more. */
export const BATCH = 64;

/** Returns vectors of length 1, one for each text; none without `embedding`. */
export async function embed(
  { settings, providers }: Context,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<readonly Float32Array[]> {
  const reference = settings.embedding;
  if (reference === undefined) return [];
  const [name = "", ...model] = reference.split("/");
  const granted = providers.find((each) => each.name === name);
  if (!granted) {
    throw new PluginError(
      `Cannot use embedding = ${
        JSON.stringify(reference)
      }: the provider ${name} is not granted to this plugin`,
      `add providers = [${JSON.stringify(name)}] to its entry in your configuration`,
    );
  }
  const { embed } = await import("../common/providers.ts");
  return (await embed(granted, model.join("/"), texts, signal)).map(normalized);
}

function normalized(vector: readonly number[]): Float32Array {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0)) || 1;
  return Float32Array.from(vector, (value) => value / length);
}

/** All vectors of an index, one after the other. */
interface Matrix {
  readonly revision: string | undefined;
  readonly dimensions: number;
  readonly chunks: Int32Array;
  readonly values: Float32Array;
}

/** Vectors stay in memory for this time after a search. */
const KEEP_MS = 5 * 60_000;

/** Keeps the vectors of indexes that were searched lately. */
export class VectorSearch {
  readonly #matrices = new Map<string, Matrix>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Chunks whose cosine with the vector is at least the threshold, best first, at most `limit`. */
  nearest(
    path: string,
    database: DatabaseSync,
    vector: Float32Array,
    { threshold, limit }: { readonly threshold: number; readonly limit: number },
  ): readonly number[] {
    const { dimensions, chunks, values } = this.#matrix(path, database);
    const best: { chunk: number; score: number }[] = [];
    let least = threshold;
    for (let row = 0, at = 0; row < chunks.length; row++, at += dimensions) {
      const score = dot(values, at, vector, dimensions);
      if (score < least || Number.isNaN(score)) continue;
      let position = best.length;
      while (position > 0 && (best[position - 1]?.score ?? 0) < score) position--;
      best.splice(position, 0, { chunk: chunks[row] ?? 0, score });
      if (best.length <= limit) continue;
      best.pop();
      least = best.at(-1)?.score ?? threshold;
    }
    return best.map(({ chunk }) => chunk);
  }

  #matrix(path: string, database: DatabaseSync): Matrix {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#matrices.clear(), KEEP_MS);
    Deno.unrefTimer(Number(this.#timer));
    const revision = metaOf(database, "revision");
    const kept = this.#matrices.get(path);
    if (kept?.revision === revision && kept !== undefined) return kept;
    const matrix = { ...readMatrix(database), revision };
    this.#matrices.set(path, matrix);
    return matrix;
  }
}

function readMatrix(database: DatabaseSync): Omit<Matrix, "revision"> {
  const dimensions = Number(metaOf(database, "vector_dim") ?? 0);
  const joined = "FROM chunks JOIN vectors USING (hash)";
  const [{ total } = { total: 0 }] = rows<{ total: number }>(database, `SELECT count(*) AS total ${joined}`);
  const chunks = new Int32Array(total);
  const values = new Float32Array(total * dimensions);
  const bytes = new Uint8Array(values.buffer);
  let row = 0;
  for (const { id, vector } of database.prepare(`SELECT id, vector ${joined}`).iterate()) {
    chunks[row] = Number(id);
    if (vector instanceof Uint8Array) bytes.set(vector, row * dimensions * 4);
    row++;
  }
  return { dimensions, chunks, values };
}

/** In four sums, which the processor computes at the same time: half the time of one. */
function dot(values: Float32Array, start: number, vector: Float32Array, dimensions: number): number {
  let a = 0, b = 0, c = 0, d = 0;
  let [i, at] = [start, 0];
  for (const end = start + dimensions - 3; i < end; i += 4, at += 4) {
    a += (values[i] as number) * (vector[at] as number);
    b += (values[i + 1] as number) * (vector[at + 1] as number);
    c += (values[i + 2] as number) * (vector[at + 2] as number);
    d += (values[i + 3] as number) * (vector[at + 3] as number);
  }
  for (; at < dimensions; i++, at++) a += (values[i] as number) * (vector[at] as number);
  return a + b + c + d;
}
