import { readCorpus } from "../../support/corpus.ts";
import text from "./command_table.txt" with { type: "text" };

/**
 * Command lines and their decisions under four rule sets.
 *
 * `allow` and `deny` are final; `ask` prompts and, headless, follows `--on-ask`; `guard` prompts and is
 * refused headless, because it could contain a denied command.
 */
export type Expected = "allow" | "ask" | "guard" | "deny";

export const RULE_SETS = {
  refuse: { allow: [], ask: [], deny: ["Bash(rm -rf*)", "Bash(git push*)", "Bash(curl:*)"] },
  permit: {
    allow: [
      "Bash(go test:*)",
      "Bash(git status:*)",
      "Bash(npm run build)",
      "Bash(touch:*)",
      "Bash(npx tsc:*)",
      "Bash(sudo apt:*)",
      "Bash(python:*)",
      'Bash(git commit -m "a b")',
      "bash(make *)",
      "bash=echo *",
      "Edit(out/**)",
    ],
    ask: [],
    deny: [],
  },
  carve: { allow: ["Bash"], ask: ["Bash(git commit:*)"], deny: ["Bash(rm:*)", "Bash(git push:*)"] },
  files: {
    allow: ["Bash(cat:*)", "Bash(echo:*)"],
    ask: [],
    deny: ["Edit(secret/**)", "Read(.env)", "Edit(*.lock)"],
  },
} as const;

type SetName = keyof typeof RULE_SETS;

function rowsOf(set: SetName): readonly (readonly [string, Expected])[] {
  const corpus = readCorpus(text);
  return (["allow", "ask", "guard", "deny"] as const).flatMap((expected) =>
    (corpus[`${set} ${expected}`] ?? []).map((line) => [line, expected] as const)
  );
}

export const TABLE: Readonly<Record<SetName, readonly (readonly [string, Expected])[]>> = {
  refuse: rowsOf("refuse"),
  permit: rowsOf("permit"),
  carve: rowsOf("carve"),
  files: rowsOf("files"),
};
