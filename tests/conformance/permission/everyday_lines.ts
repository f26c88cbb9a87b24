import { readCorpus } from "../../support/corpus.ts";
import text from "./everyday.txt" with { type: "text" };

/**
 * `read` and `query` lines change nothing and are allowed automatically in every mode, inside the jail of a
 * default configuration. `work` lines build, test, install or edit inside the workspace, so they need no
 * approval in the approval mode `auto` or headless. `person` lines have effects that no rewind reverts.
 */
type EverydayClass = "read" | "query" | "work" | "person";

export interface EverydayLine {
  readonly line: string;
  readonly class: EverydayClass;
  readonly reason: string;
}

/** A thousand lines of an ordinary working day, each with its class under default rules. */
export const EVERYDAY: readonly EverydayLine[] = Object.entries(readCorpus(text)).flatMap(
  ([heading, lines]) => {
    const [kind = "", reason = ""] = heading.split(": ", 2);
    return lines.map((line) => ({ line, class: kind as EverydayClass, reason }));
  },
);
