import { isKnown } from "../../rule/mod.ts";
import { type Fed, inputCode, opaque, scriptOf, staticCode } from "./fed.ts";
import type { Input } from "./line.ts";

const SHELL =
  /^(?:r?bash|sh|d?ash|zsh|[lmr]?ksh|o?ksh|ksh93|yash|posh|osh|hush|brush)(?:[-.]?\d[\d.]*)?(?:\.exe|\.distrib)?$/;
const VALUES = new Set(["-o", "+o", "-O", "+O"]);
/** Options, with one dash too, by which a shell reads a file before anything else. */
const START_FILE = /^--?(?:rcfile|init-file)(?:=|$)/;

/** Whether a program is a shell whose code can be read here. */
export function isShell(name: string): boolean {
  return SHELL.test(name);
}

/** Code that a shell is handed by its words or its input. */
export function shellCode(argv: readonly string[], name: string, input: Input): Fed | undefined {
  for (let i = 1; i < argv.length; i++) {
    const word = argv[i] ?? "";
    if (!isKnown(word)) return opaque(`${name} is given words that only the shell will know`);
    if (word === "--version" || word === "--help") return undefined;
    if (START_FILE.test(word)) return opaque(`${name} reads a start file (${word})`);
    if (VALUES.has(word)) {
      i++;
      continue;
    }
    // Bash takes its long options with one dash as well, so that not every `c` is the option.
    if (/^-(?:no|login|posix|restricted|verbose|protected|pretty|dump|debug)/.test(word)) continue;
    if (/^[-+][A-Za-z]*c[A-Za-z]*$/.test(word)) return shellArgument(argv.slice(i + 1), name);
    if (/^-[A-Za-z]*s[A-Za-z]*$/.test(word)) return inputCode(name, input);
    if (/^--$|^-$/.test(word)) return scriptFile(argv.slice(i + 1), name, input);
    if (/^[-+]/.test(word)) continue;
    return scriptFile(argv.slice(i), name);
  }
  return inputCode(name, input);
}

/** What follows `-c`: more options first, then the code. */
function shellArgument(rest: readonly string[], name: string): Fed {
  const code = rest.find((word) => !/^[-+]/.test(word));
  if (code === undefined) return opaque(`${name} -c without readable code`);
  return staticCode(code, `${name} -c runs something that only the shell will know`);
}

export function scriptFile(rest: readonly string[], name: string, input?: Input): Fed | undefined {
  const path = rest[0];
  if (path === undefined) return input ? inputCode(name, input) : undefined;
  return scriptOf(path, name);
}
