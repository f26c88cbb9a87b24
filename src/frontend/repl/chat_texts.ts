import { loadTexts, type Locale, type Texts } from "../../i18n/mod.ts";
import type { LogTexts } from "../session/log.ts";
import { loadSessionAreas, type SessionAreas, SessionTexts } from "../session/texts.ts";

export type TranscriptTexts = LogTexts;

interface Areas extends SessionAreas {
  readonly composer: Texts["composer"];
  readonly transcript: TranscriptTexts;
}

/** The texts of the chat. */
export class ChatTexts extends SessionTexts<Areas> {
  static override async load(locale: Locale): Promise<ChatTexts> {
    return new ChatTexts(locale, await loadAreas(locale), loadAreas);
  }

  get composer(): Texts["composer"] {
    return this.areas.composer;
  }

  get transcript(): TranscriptTexts {
    return this.areas.transcript;
  }

  get status(): Texts["chat"]["statusLine"] {
    return this.areas.chat.statusLine;
  }
}

async function loadAreas(locale: Locale): Promise<Areas> {
  const [session, composer, run, turns] = await Promise.all([
    loadSessionAreas(locale),
    loadTexts("composer", locale),
    loadTexts("run", locale),
    loadTexts("turn_view", locale),
  ]);
  return { ...session, composer, transcript: { ...run, ...turns } };
}
