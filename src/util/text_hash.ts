/**
 * A number of 32 bits that differs for most different texts, and for each `seed`; FNV-1a over UTF-16 units. Not
 * for what an attacker must not be able to make up.
 */
export function textHash(text: string, seed = 0x811c9dc5): number {
  let hash = seed;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
