/** The attempts that each layer stops as the only layer above the tools. A change here is a decision. */

/**
 * Attempts at the shell that the destructive-command check refuses; all others are for the layers next to it.
 */
export const DESTRUCTIVE_STOPS: readonly string[] = [
  "a separate user namespace",
  "rename of the workspace itself",
  "rm -rf of the user's home",
  "rm outside",
  "the magic request key",
];

/**
 * Attempts at the shell that a careful deny list does not see: a line does not show every file a program
 * touches, and code in it that starts no program is not refused because of rules about commands. The jail
 * stops them.
 */
export const POLICY_LETS_PASS: readonly string[] = [
  "a directory in place of the one above an editor task",
  "a directory in place of the one above the hooks",
  "a forged working directory",
  "a forged working directory outside",
  "a git hook",
  "a git hook by way of git",
  "a git work tree elsewhere",
  "a git work tree outside",
  "a hook of a submodule",
  "a hook of the project",
  "a patch that leaves the directory",
  "a plugin of the project",
  "a program in git's configuration",
  "a program of the project",
  "a raw disk",
  "a relative path from a later call",
  "a shell start file in the workspace",
  "a working directory inside a forbidden directory",
  "an archive with .. in names",
  "an archive with absolute names",
  "an editor task",
  "another .git in place of the real one",
  "another file in its place",
  "find -newer with -exec",
  "git clone of a forbidden repository",
  "git init outside",
  "git over the network",
  "git with the directory of a forbidden repository",
  "git's own protocol",
  "grep -r from above",
  "objects of a forbidden repository",
  "removing .git and creating it again",
  "tar of a forbidden directory",
  "the agent's key by name",
  "the project's MCP servers",
  "the project's configuration",
  "the project's list of hooks",
  "the project's settings",
  "the same, with a directory",
];

/**
 * The same for the file tools: names that lead to other files, and unusual paths. Confinement stops them.
 */
export const POLICY_PASSES_FILES: readonly string[] = [
  "a path in a URL",
  "an environment variable",
  "grep from above",
  "grep with a glob that leaves",
  "ls in depth",
  "read by a hard link to a forbidden file",
  "write by a hard link to a file outside",
  "write by a NUL byte that ends the path early",
  "write_file to a hard link",
];
