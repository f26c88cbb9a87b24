import { proposeCompletions } from "@stricli/core";
import { ReasonixError } from "../../src/core/mod.ts";
import { type CliContext, fail } from "../context.ts";

/** One script per shell; each asks the hidden command `complete`, so the proposals are never out of date. */
const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `_reasonix() {
  local words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
  mapfile -t COMPREPLY < <(reasonix complete -- "\${words[@]}" 2>/dev/null)
  if [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == */ ]]; then compopt -o nospace; fi
}
complete -o default -F _reasonix reasonix
`,
  zsh: `#compdef reasonix
_reasonix() {
  local -a found
  found=("\${(@f)$(reasonix complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  [[ -n "\${found[1]}" ]] && compadd -- "\${found[@]}" || _files
}
compdef _reasonix reasonix
`,
  fish: `function __reasonix_complete
  set -l words (commandline -opc) (commandline -ct)
  reasonix complete -- $words[2..-1] 2>/dev/null
end
complete -c reasonix -a '(__reasonix_complete)'
`,
  powershell: `Register-ArgumentCompleter -Native -CommandName reasonix -ScriptBlock {
  param($word, $ast, $cursor)
  $words = @($ast.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
  if ($word -eq '') { $words += '' }
  reasonix complete -- @words 2>$null | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}
`,
};

export function completion(this: CliContext, _flags: unknown, shell: string): void {
  const script = SCRIPTS[shell];
  if (script === undefined) {
    fail(
      this,
      new ReasonixError(`Cannot write a completion script for "${shell}"`, {
        exit: "usage",
        remedy: `choose one of ${Object.keys(SCRIPTS).join(", ")}`,
      }),
    );
    return;
  }
  this.process.stdout.write(script);
}

/** Commands about sessions that are not about one of them. */
const NO_SESSION = new Set(["session list", "session search", "session prune"]);

/** Values that follow a flag or a command and come from this machine. */
async function dynamicValues(words: readonly string[]): Promise<readonly string[] | undefined> {
  const before = words.at(-2);
  if (before === "--model" || before === "-m") return (await import("../values.ts")).modelNames();
  if (before === "--preset") return (await import("../values.ts")).presetNames();
  if (before === "--resume" || before === "-r") return (await import("../values.ts")).sessionIds();
  const command = words.slice(0, -1).filter((word) => !word.startsWith("-")).join(" ");
  if (command === "replay" || (/^session \w+$/.test(command) && !NO_SESSION.has(command))) {
    return (await import("../values.ts")).sessionIds();
  }
  if (command === "config presets") return (await import("../values.ts")).presetNames();
  if (command === "completion") return Object.keys(SCRIPTS);
}

export async function complete(this: CliContext, _flags: unknown, ...words: string[]): Promise<void> {
  const current = words.at(-1) ?? "";
  const values = await dynamicValues(words);
  if (values) {
    this.process.stdout.write(
      values.filter((value) => value.startsWith(current)).map((value) => `${value}\n`).join(""),
    );
    return;
  }
  const { app } = await import("../app.ts");
  const proposals = await proposeCompletions(app, words, this);
  this.process.stdout.write(proposals.map(({ completion }) => `${completion}\n`).join(""));
}
