import type { Texts } from "../../../i18n/mod.ts";

/** The words of the transcript: those that every run has, and those of the chat. */
export type TranscriptTexts = Texts["run"] & Texts["turn_view"] & Texts["reasons"];

/** A duration for people: "4 s", "1.2 s" below ten seconds where it matters, "2 min 5 s". */
export function timeText(ms: number, texts: TranscriptTexts): string {
  const seconds = Math.floor(ms / 1000);
  return seconds < 60
    ? texts.seconds(String(seconds))
    : texts.minutes(Math.floor(seconds / 60), seconds % 60);
}
