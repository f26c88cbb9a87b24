import { errorMessage, formatLocation, ReasonixError } from "../../core/mod.ts";
import {
  loadTexts,
  loadTranslator,
  type Locale,
  LOCALES,
  type Texts,
  type Translator,
} from "../../i18n/mod.ts";

/** Texts of the transcript: those of every run, and those of the chat. */
export type TranscriptTexts = Texts["run"] & Texts["turn_view"];

/** Formats a duration: "4 s", "2 min 5 s". */
export function timeText(ms: number, texts: TranscriptTexts): string {
  const seconds = Math.floor(ms / 1000);
  return seconds < 60
    ? texts.seconds(String(seconds))
    : texts.minutes(Math.floor(seconds / 60), seconds % 60);
}

interface Areas {
  readonly chat: Texts["chat"];
  readonly composer: Texts["composer"];
  readonly transcript: TranscriptTexts;
  readonly translator: Translator;
}

/** The texts of the chat; the configuration may change the language. */
export class ChatTexts {
  #locale: Locale;
  #areas: Areas;

  private constructor(locale: Locale, areas: Areas) {
    this.#locale = locale;
    this.#areas = areas;
  }

  static async load(locale: Locale): Promise<ChatTexts> {
    return new ChatTexts(locale, await loadAreas(locale));
  }

  get locale(): Locale {
    return this.#locale;
  }

  get chat(): Texts["chat"] {
    return this.#areas.chat;
  }

  get composer(): Texts["composer"] {
    return this.#areas.composer;
  }

  get transcript(): TranscriptTexts {
    return this.#areas.transcript;
  }

  get status(): Texts["chat"]["statusLine"] {
    return this.#areas.chat.statusLine;
  }

  /** Formats an error for the user: location, message, remedy. */
  problem(error: unknown): string {
    if (!(error instanceof ReasonixError)) return this.chat.internal(errorMessage(error));
    const { translator } = this.#areas;
    const { message, remedy } = error.texts;
    const place = error.place ? `${formatLocation(error.place)}: ` : "";
    return `${place}${translator.text(message)}${remedy ? `\n  ${translator.text(remedy)}` : ""}`;
  }

  async change(key: string, value: unknown): Promise<void> {
    const locale = LOCALES.find((each) => each === value);
    if (key === "language" && locale) await this.use(locale);
  }

  async use(locale: Locale): Promise<void> {
    if (locale === this.#locale) return;
    this.#areas = await loadAreas(locale);
    this.#locale = locale;
  }
}

async function loadAreas(locale: Locale): Promise<Areas> {
  const [chat, composer, run, turns, translator] = await Promise.all([
    loadTexts("chat", locale),
    loadTexts("composer", locale),
    loadTexts("run", locale),
    loadTexts("turn_view", locale),
    loadTranslator(locale),
  ]);
  return { chat, composer, transcript: { ...run, ...turns }, translator };
}
