const MARKS: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };

/** The text as it was before somebody escaped it once more: `\n`, `\t`, quotes, `\${` and backslashes. */
export function unescapeOnce(text: string): string {
  return text.replace(/\\([ntr"'`\\]|\$(?=\{))/g, (_, mark: string) => MARKS[mark] ?? mark);
}
