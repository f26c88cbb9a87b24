/** Names under which tools, our own and those of servers, take the path of a file or folder. */
const PATH_ARGUMENTS: readonly string[] = [
  "path",
  "file_path",
  "notebook_path",
  "source_path",
  "destination_path",
  "source",
  "destination",
];

/** The paths that the arguments of a call name outright. */
export function namedPaths(args: Readonly<Record<string, unknown>>): string[] {
  return PATH_ARGUMENTS.flatMap((key) => {
    const value = args[key];
    return typeof value === "string" ? [value] : [];
  });
}
