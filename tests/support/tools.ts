/** Programs that some tests need; `.ci/run` installs those that Debian has. */
type Tool =
  | "bwrap"
  | "rg"
  | "tmux"
  | "make"
  | "jq"
  | "node"
  | "npm"
  | "npx"
  | "podman"
  | "minisign"
  | "mandoc"
  | "unshare and ip"
  | "an official MCP server";

/**
 * Options of a test that needs a program. The reason shows in the name when it is skipped; where CI has
 * installed the program (`.ci/run` says so), the test runs even if the program is not found, and fails.
 */
export function needs(tool: Tool, isThere: boolean, name: string): { name: string; ignore: boolean } {
  const promised = (Deno.env.get("REASONIX_CI_TOOLS") ?? "").split(" ").includes(tool);
  return isThere || promised
    ? { name, ignore: false }
    : { name: `${name} [skipped: ${tool} is not installed]`, ignore: true };
}
