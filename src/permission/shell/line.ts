/** A command line taken apart: what the walker produces and the judges read. */

/** A file a command names. `path` may have unknown parts; relative ones count from the segment's folders. */
export interface PathUse {
  readonly path: string;
  readonly access: "read" | "write";
  /** Everything below the path is concerned too. */
  readonly deep?: true;
  /** It gets another name, under which a refusal to read what it holds would not find it. */
  readonly moved?: true;
  /** Opened by the shell for a redirection, so the command itself does not say so. */
  readonly redirect?: true;
  /** What is there is kept. */
  readonly append?: true;
}

/** One way a rule may name a command: with everything in front of it, or as the program that runs in the end. */
export interface View {
  readonly argv: readonly string[];
  /** Index in the first view's words at which this one begins. */
  readonly at: number;
  /** Only compared with rules that refuse or ask. */
  readonly refusals?: true;
}

/** Where the unknown words of a command come from. */
export interface Supply {
  readonly folders: readonly string[];
  /** Something is selected, not everything below the folders. */
  readonly filtered: boolean;
}

/** What a command reads as its standard input. */
export type Input =
  | { readonly kind: "inherited" }
  | { readonly kind: "pipe"; readonly from: readonly Segment[] }
  | { readonly kind: "file" }
  /** `text` is undefined when it has parts that only the shell knows. */
  | { readonly kind: "text"; readonly text: string | undefined };

export interface Segment {
  /** As it stands in the line. */
  readonly text: string;
  /** Outermost first; the last is the program that runs in the end. Empty for a bare assignment or redirection. */
  readonly views: readonly View[];
  /** Programs that were looked through, such as `sudo`. */
  readonly via: readonly string[];
  /** Why it could be any command, if so. */
  readonly opaque?: string;
  /** What it runs is listed as segments of its own, and it does nothing else. */
  readonly carrier: boolean;
  /** A rule for the inner command does not cover this one, for example because it runs as another user. */
  readonly guarded?: string;
  /** A variable is set that may change what runs, so no rule for the command covers it. */
  readonly risk?: string;
  /** Calls of the line's own functions and harmless assignments, which run no program. */
  readonly inert: boolean;
  readonly uses: readonly PathUse[];
  readonly input: Input;
  readonly supply?: Supply;
  /** Folders this may run in; undefined when that is not known. */
  readonly cwds: readonly string[] | undefined;
}

export interface Line {
  readonly segments: readonly Segment[];
  /** Why the line as a whole could run anything, if so. */
  readonly opaque?: string;
  /** A function that starts itself more than once. */
  readonly forkBomb: boolean;
}

/** The words of the program that runs in the end. */
export function program(segment: Segment): readonly string[] {
  return segment.views.findLast((view) => !view.refusals)?.argv ?? [];
}

/** Whether a word is one of these long options, or a shortening of one as GNU programs and git accept it. */
export function isLong(word: string, names: readonly string[]): boolean {
  if (!word.startsWith("--")) return false;
  const name = word.slice(2).split("=", 1)[0] ?? "";
  return name !== "" && names.some((each) => each.startsWith(name));
}

/** Each different command once: the rounds of a loop are mostly the same ones, and judging is what takes time. */
export function distinct(segments: readonly Segment[]): readonly Segment[] {
  const seen = new Map<string, Segment>();
  for (const segment of segments) {
    const key = keyOf(segment);
    if (!seen.has(key)) seen.set(key, segment);
  }
  return seen.size === segments.length ? segments : [...seen.values()];
}

function keyOf({ text, views, via, uses, cwds, input, supply, opaque, guarded, risk }: Segment): string {
  const from = input.kind === "pipe"
    ? input.from.map((each) => each.text)
    : input.kind === "text"
    ? input.text
    : "";
  const plain = uses.map((use) => `${use.access[0]}${use.redirect}${use.append}${use.deep}${use.path}`);
  const words = views.map((view) => view.argv.join("\0") + view.at + view.refusals);
  return [text, words, via, plain, cwds, input.kind, from, supply?.folders, opaque, guarded, risk].join("\n");
}
