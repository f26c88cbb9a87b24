/**
 * Bytes that are left for ordinary programs on the volume of a directory, or of the nearest directory above
 * it that exists; undefined where the system does not say.
 */
export async function freeSpace(directory: string): Promise<number | undefined> {
  const { statfs } = await import("node:fs/promises");
  for (let path = directory;;) {
    try {
      const { bavail, bsize } = await statfs(path === "" ? "/" : path);
      return bavail * bsize;
    } catch {
      const above = path.replace(/[\\/]+[^\\/]*$/, "");
      if (above === path) return undefined;
      path = above;
    }
  }
}
