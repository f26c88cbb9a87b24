/** The behavior of the scripted model in a run, encoded in the base URL of the server. */
export interface Manner {
  /** Its replies: a name of `SCRIPTS`. */
  readonly script: string;
  /** The provider kind; absent: `openai`. */
  readonly kind?: string;
  /** Milliseconds of silence before each reply. */
  readonly think?: number;
  /** It thinks before the first five replies, and then only before every nth. */
  readonly every?: number;
  /** Milliseconds that it takes to write a call, once it has named the tool. */
  readonly write?: number;
}

const ALWAYS_THINKS = 5;

/** The first part of the path below which a program finds this model. */
export function mannerPath({ script, ...rest }: Manner): string {
  return [script, ...Object.entries(rest).map(([key, value]) => `${key}=${value}`)].join(",");
}

/** Decodes a path of `mannerPath`. */
export function readManner(text: string): Manner {
  const [script = "", ...rest] = text.split(",");
  const values = new Map(rest.map((part) => part.split("=") as [string, string]));
  const kind = values.get("kind");
  const found = ["think", "every", "write"].flatMap((key) =>
    values.has(key) ? [[key, Number(values.get(key))]] : []
  );
  return { script, ...(kind === undefined ? {} : { kind }), ...Object.fromEntries(found) };
}

/** Milliseconds of silence before reply `index`, from 0. */
export function silence({ think = 0, every }: Manner, index: number): number {
  return every === undefined || index < ALWAYS_THINKS || index % every === 0 ? think : 0;
}
