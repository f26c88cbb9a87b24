/** An English sentence, `{}` for what varies in it, and the same in Chinese with `{1}`, `{2}` … */
export type Sentences = Readonly<Record<string, string>>;

/** Says sentences that come in English alone; undefined for one that is not known. The first match counts. */
export function phraseTeller(sentences: Sentences): (english: string) => string | undefined {
  // Hardly any run says one of them.
  let made: (readonly [RegExp, string])[] | undefined;
  const patterns = () =>
    made ??= Object.entries(sentences).map(([english, chinese]) =>
      [new RegExp(`^${english.split("{}").map(quoted).join("([^]*?)")}$`, "i"), chinese] as const
    );
  return (english) => {
    for (const [pattern, chinese] of patterns()) {
      const found = pattern.exec(english);
      if (found) return chinese.replace(/\{(\d)\}/g, (_, place) => found[Number(place)] ?? "");
    }
    return undefined;
  };
}

function quoted(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
