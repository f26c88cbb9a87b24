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
  | "dpkg"
  | "minisign"
  | "mandoc"
  | "shellcheck"
  | "chromium-headless-shell"
  | "gh"
  | "sbatch"
  | "parallel"
  | "promtool"
  | "unshare and ip"
  | "official MCP servers"
  | "Claude Agent SDK";

/**
 * Options of a test that needs a program. The reason shows in the name when it is skipped; where CI has
 * installed the program (`REASONIX_CI_TOOLS` names it, with dashes for spaces), the test runs even if the
 * program is not found, and fails.
 */
export function needs(
  tool: Tool,
  isThere: boolean,
  name: string,
  reason = `${tool} is not installed`,
): { name: string; ignore: boolean } {
  const promised = (Deno.env.get("REASONIX_CI_TOOLS") ?? "").split(" ").includes(tool.replaceAll(" ", "-"));
  return isThere || promised
    ? { name, ignore: false }
    : { name: `${name} [skipped: ${reason}]`, ignore: true };
}
