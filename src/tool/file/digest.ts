/** A 53-bit digest of a content, for noticing that a file changed (not for security). */
export function digest(bytes: Uint8Array): string {
  let a = 0xdeadbeef ^ bytes.length;
  let b = 0x41c6ce57 ^ bytes.length;
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  const words = new Uint32Array(aligned.buffer, aligned.byteOffset, aligned.length >> 2);
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? 0;
    a = Math.imul(a ^ word, 2654435761);
    a ^= a >>> 15;
    b = Math.imul(b ^ word, 1597334677);
    b ^= b >>> 13;
  }
  for (let index = words.length * 4; index < aligned.length; index++) {
    a = Math.imul(a ^ (aligned[index] ?? 0), 2654435761);
    b = Math.imul(b ^ (aligned[index] ?? 0), 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return (4294967296 * (2097151 & b) + (a >>> 0)).toString(36);
}
