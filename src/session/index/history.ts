import { ReasonixError } from "../../core/mod.ts";
import { projectDir } from "../../path/project_dir.ts";
import { SessionIndex } from "./index.ts";
import type { SearchHit, TranscriptPiece } from "./search.ts";

/** A question the `history` tool puts to earlier sessions. */
export interface HistoryQuery {
  readonly home: string;
  readonly cwd: string;
  readonly query: string;
  /** "project": sessions of this working directory; "global": all of them. */
  readonly scope: "project" | "global";
  readonly limit?: number;
  /** Session that asks. */
  readonly exclude?: string;
}

export interface HistoryAnswer {
  readonly hits: readonly SearchHit[];
  /** Advice on what to try next; set when there is no hit. */
  readonly guidance?: string;
}

/**
 * Searches what was said and seen in earlier sessions. A session file keeps everything, also what compactions
 * took out of the conversation, so there is no second place to look.
 */
export async function searchHistory(question: HistoryQuery): Promise<HistoryAnswer> {
  using index = await SessionIndex.open(question.home);
  const { hits } = index.search({
    query: question.query,
    ...(question.scope === "project" ? { project: projectDir(question.home, question.cwd) } : {}),
    ...(question.exclude === undefined ? {} : { exclude: question.exclude }),
    ...(question.limit === undefined ? {} : { limit: question.limit }),
  });
  return hits.length > 0 ? { hits } : { hits, guidance: guidance(question) };
}

function guidance(question: HistoryQuery): string {
  const wider = question.scope === "project"
    ? 'search again with scope "global" to include other projects'
    : "the wording may have been different: try other names for the same thing";
  return `No earlier message matches "${question.query}". Use fewer and rarer words, such as an identifier, a file name ` +
    `or a part of an error message; or ${wider}.`;
}

/** A question for the transcript around a hit. */
export interface AroundQuery {
  readonly home: string;
  readonly session: string;
  readonly seq: number;
  readonly before?: number;
  readonly after?: number;
}

/** Reads a bounded piece of a transcript around a hit. Throws ReasonixError when there is no such session. */
export async function readAround(question: AroundQuery): Promise<TranscriptPiece[]> {
  const { home, ...options } = question;
  using index = await SessionIndex.open(home);
  let pieces = index.around(options);
  if (pieces.length === 0) {
    index.refresh();
    pieces = index.around(options);
  }
  if (pieces.length > 0) return pieces;
  throw new ReasonixError(
    `Cannot read around event ${question.seq} of session ${question.session}: no such session`,
    {
      exit: "usage",
      remedy: "use the session and seq of a search hit",
    },
  );
}
