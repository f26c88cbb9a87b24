/**
 * Runs a module in a separate process that has only the permissions of these flags; input and output are
 * JSON.
 */
export async function runRestricted(flags: readonly string[], module: URL, input: unknown): Promise<unknown> {
  const config = flags.some((flag) => flag.startsWith("--config=")) ? [] : ["--no-config"];
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-prompt", "--no-lock", ...config, "--no-check", ...flags, module.href],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(JSON.stringify(input)));
  await writer.close();
  const { stdout, code } = await child.output();
  if (code !== 0) throw new Error(`${module.href} ended with exit code ${code}`);
  return JSON.parse(new TextDecoder().decode(stdout));
}
