/** Files of a package that are not the program: completions, man pages and licenses. */
import { gzip } from "./archive.ts";
import { SCRIPTS } from "../../cli/commands/completion/completion.ts";

/** Names of the directories that shells read completions from, as Debian and Homebrew have them. */
const COMPLETIONS: readonly (readonly [shell: string, path: string])[] = [
  ["bash", "bash-completion/completions/reasonix"],
  ["zsh", "zsh/vendor-completions/_reasonix"],
  ["fish", "fish/vendor_completions.d/reasonix.fish"],
];

/** Returns the files by their paths below `share`. `pages` are man pages by names such as `reasonix.1`. */
export function shareFiles(pages: ReadonlyMap<string, string>): ReadonlyMap<string, Uint8Array> {
  const encoder = new TextEncoder();
  return new Map([
    ...COMPLETIONS.map(([shell, path]) => [path, encoder.encode(SCRIPTS[shell] ?? "")] as const),
    ...[...pages].map(([name, text]) =>
      [`man/man${name.replace(/^.*\./, "")}/${name}.gz`, gzip(encoder.encode(text))] as const
    ),
  ]);
}
