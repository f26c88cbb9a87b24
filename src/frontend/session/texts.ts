import { errorMessage, formatLocation, ReasonixError, type Text } from "../../core/mod.ts";
import {
  loadTexts,
  loadTranslator,
  type Locale,
  LOCALES,
  type Texts,
  type Translator,
} from "../../i18n/mod.ts";

export interface SessionAreas {
  readonly chat: Texts["chat"];
  readonly translator: Translator;
}

/** The texts of a session in the language of the user; the configuration may change the language. */
export class SessionTexts<A extends SessionAreas = SessionAreas> {
  protected areas: A;
  #locale: Locale;
  readonly #load: (locale: Locale) => Promise<A>;
  readonly #others: ((locale: Locale) => Promise<void>)[] = [];

  protected constructor(locale: Locale, areas: A, load: (locale: Locale) => Promise<A>) {
    this.areas = areas;
    this.#locale = locale;
    this.#load = load;
  }

  static async load(locale: Locale): Promise<SessionTexts> {
    return new SessionTexts(locale, await loadSessionAreas(locale), loadSessionAreas);
  }

  get locale(): Locale {
    return this.#locale;
  }

  get chat(): Texts["chat"] {
    return this.areas.chat;
  }

  of(text: Text): string {
    return this.areas.translator.text(text);
  }

  /** An error for the user: location and message, and the remedy. */
  parts(error: unknown): { readonly message: string; readonly remedy?: string } {
    // A file of the program is missing; the message has the remedy.
    if (error instanceof Error && error.name === "IncompleteInstallation") return { message: error.message };
    if (!(error instanceof ReasonixError)) return { message: this.chat.internal(errorMessage(error)) };
    const { message, remedy } = error.texts;
    const place = error.place ? `${formatLocation(error.place)}: ` : "";
    return { message: `${place}${this.of(message)}`, ...(remedy ? { remedy: this.of(remedy) } : {}) };
  }

  /** The same as lines. */
  problem(error: unknown): string {
    const { message, remedy } = this.parts(error);
    return remedy === undefined ? message : `${message}\n  ${remedy}`;
  }

  async change(key: string, value: unknown): Promise<void> {
    const locale = LOCALES.find((each) => each === value);
    if (key === "language" && locale) await this.use(locale);
  }

  async use(locale: Locale): Promise<void> {
    if (locale === this.#locale) return;
    const others = this.#others.map((load) => load(locale));
    [this.areas] = await Promise.all([this.#load(locale), ...others]);
    this.#locale = locale;
  }

  /** Texts of another area, from now on in the language of the user. */
  async area<K extends keyof Texts>(area: K): Promise<() => Texts[K]> {
    let texts = await loadTexts(area, this.#locale);
    this.#others.push(async (locale) => void (texts = await loadTexts(area, locale)));
    return () => texts;
  }
}

export async function loadSessionAreas(locale: Locale): Promise<SessionAreas> {
  const [chat, translator] = await Promise.all([loadTexts("chat", locale), loadTranslator(locale)]);
  return { chat, translator };
}
