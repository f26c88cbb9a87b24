const BLOCK_END = /<\/(?:file|dir|stdin|resource)>\n\n/g;

/**
 * Returns what the user wrote, without the files, directories, resources and piped text that stand before it
 * in the same message.
 */
export function userText(message: string): string {
  const end = [...message.matchAll(BLOCK_END)].at(-1);
  return end ? message.slice(end.index + end[0].length) : message;
}
