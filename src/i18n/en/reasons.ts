import type {
  AlwaysOnProtection,
  AskReason,
  Confinement,
  Deed,
  EventOf,
  HitLocation,
  WrittenMessage,
} from "../../core/mod.ts";

/** A destructive command: what it does, and to what. */
export interface Found {
  readonly deed: Deed;
  readonly place?: HitLocation;
  readonly targets: readonly { readonly path: string; readonly files?: number; readonly more?: true }[];
}

/**
 * Findings about calls. Logs and models get them in English from whoever finds them, which is passed through
 * here; other languages say them anew from their codes.
 */
export const texts = {
  /** Why a call is asked about. */
  asked: (_why: AskReason | undefined, english: string) => english,
  /** Why it was refused. */
  refused: (_decision: Pick<EventOf<"approval.decision">, "source" | "rule">, english: string) => english,
  /** The title and the result of a call of the program's own tools. */
  callTitle: (english: string) => english,
  callResult: (english: string) => english,
  destructive: (_found: Found, english: string) => english,
  confinement: (_facts: Confinement | undefined, english: string) => english,
  /** Failures and notices. */
  said: (_said: readonly WrittenMessage[] | undefined, english: string) => english,
  standing: (_layer: AlwaysOnProtection, english: string) => english,
};
