/** How values look that are secrets, and those that are none whatever their name says. */

/** One word, or the name of a locale. */
const ORDINARY = /^(?:[A-Z]?[a-z]{0,15}|[A-Z]{1,15}|[A-Za-z]{1,3}[_-][A-Z]{2}(?:[.@][\w-]+)*|C\.[\w-]+)$/;

/** Reports whether a text is one that others also write: taking it out hides nothing and spoils much. */
export function isOrdinaryText(text: string): boolean {
  return ORDINARY.test(text.trim());
}

/** Reports whether a text holds letters and digits in disorder, as tokens do and no path or date does. */
export function looksLikeSecret(text: string): boolean {
  return text.split(/[^A-Za-z0-9]/).some((part) =>
    part.length >= 16 && (part.match(/[A-Za-z](?=\d)|\d(?=[A-Za-z])/g)?.length ?? 0) > 3
  );
}
