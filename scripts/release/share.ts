/** Files of a package that are not the program: completions, man pages and licenses. */
import { run } from "@stricli/core";
import { appFor } from "../../cli/app.ts";
import { gzip } from "./archive.ts";

/** Names of the directories that shells read completions from, as Debian and Homebrew have them. */
const COMPLETIONS: readonly (readonly [shell: string, path: string])[] = [
  ["bash", "bash-completion/completions/reasonix"],
  ["zsh", "zsh/vendor-completions/_reasonix"],
  ["fish", "fish/vendor_completions.d/reasonix.fish"],
];

/** Returns the files by their paths below `share`. `pages` are man pages by names such as `reasonix.1`. */
export async function shareFiles(
  pages: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const encoder = new TextEncoder();
  const completions = COMPLETIONS.map(async ([shell, path]) =>
    [path, encoder.encode(await completionScript(shell))] as const
  );
  return new Map([
    ...await Promise.all(completions),
    ...[...pages].map(([name, text]) =>
      [`man/man${name.replace(/^.*\./, "")}/${name}.gz`, gzip(encoder.encode(text))] as const
    ),
  ]);
}

/** The output of `reasonix completion`. */
async function completionScript(shell: string): Promise<string> {
  let script = "";
  const output = {
    write: (text: string) => void (script += text),
    exact: (text: string) => void (script += text),
  };
  const words = ["completion", shell];
  await run(await appFor("completion"), words, { process: { stdout: output, stderr: output } } as never);
  if (!script.includes("reasonix complete ")) {
    throw new Error(`Cannot get the completions for ${shell}: ${script}`);
  }
  return script;
}
