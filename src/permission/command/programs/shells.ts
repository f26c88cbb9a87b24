import { ANY, isKnown, ONE, STAR } from "../../../rule/mod.ts";
import { type Call, dynamic, type Found, type Program, runsInput, unseen } from "../program.ts";
import { PROCESS_FILE } from "../types.ts";
import { riskyVariable } from "../variables.ts";
import { embeddedCode, inputText, isOpenFile, languageOf } from "../languages/embedded_code.ts";

const VALUES = new Set(["-o", "+o", "-O", "+O"]);
/** Options, with one dash too, by which a shell reads a file before anything else. */
const START_FILE = /^--?(?:rcfile|init-file)(?:=|$)/;

/** Reads the code that a shell is handed by its words or its input. */
function shell(call: Call): Found | undefined {
  const { name, args } = call;
  for (let i = 0; i < args.length; i++) {
    const word = args[i] ?? "";
    if (word === PROCESS_FILE) return unseen(`${name} runs what another command prints`);
    if (!isKnown(word)) return dynamic(`${name} is given words that only the shell will know`);
    if (word === "--version" || word === "--help") return { readOnly: args.length === 1 };
    if (START_FILE.test(word)) return dynamic(`${name} reads a start file (${word})`);
    if (VALUES.has(word)) {
      i++;
      continue;
    }
    // Bash takes its long options with one dash as well, so that not every `c` is the option.
    if (/^-(?:no|login|posix|restricted|verbose|protected|pretty|dump|debug)/.test(word)) continue;
    if (/^[-+][A-Za-z]*c[A-Za-z]*$/.test(word)) return argument(args.slice(i + 1), name);
    if (/^-[A-Za-z]*s[A-Za-z]*$/.test(word)) return fromInput(call);
    if (/^--$|^-$/.test(word)) {
      return i + 1 < args.length ? script(args[i + 1] ?? "", call) : fromInput(call);
    }
    if (/^[-+]/.test(word)) continue;
    return script(word, call);
  }
  return fromInput(call);
}

/** Returns what follows `-c`: more options first, then the code. */
function argument(rest: readonly string[], name: string): Found {
  const code = rest.find((word) => !/^[-+]/.test(word));
  return code === undefined
    ? dynamic(`${name} -c without readable code`)
    : shellCode(code, `${name} -c runs something that only the shell will know`);
}

function shellCode(code: string, otherwise: string, inside?: true): Found {
  if (isKnown(code)) return { wrapper: true, nested: [{ code, ...(inside ? { inside } : {}) }] };
  return UNKNOWN_COMMAND.test(code) ? unseen(otherwise) : dynamic(otherwise);
}

/** Code in which the name of a command is not known. */
const UNKNOWN_COMMAND = new RegExp(`(?:^|[;&|({\n])\\s*[^\\s;&|]*[${ANY}${STAR}${ONE}]`);

function fromInput(call: Call): Found {
  const text = inputText(call.input);
  if (text !== undefined) return shellCode(text, "");
  // What the shell of the line puts into a here-document is code of this one.
  return call.input.kind === "text"
    ? unseen(`${call.name} runs what another command prints`)
    : runsInput(call);
}

/** A script that is run: one that cannot be told apart from input is code nobody has seen. */
function script(path: string, call: Call): Found {
  const { name, argv, ownScript, at } = call;
  if (path === PROCESS_FILE) return unseen(`${name} runs what another command prints`);
  if (isOpenFile(path)) {
    return isKnown(path) ? runsInput(call) : dynamic(`${name} runs a file that only the shell will know`);
  }
  const from = argv.indexOf(path);
  const content = ownScript(path);
  const inner = content === undefined
    ? {}
    : embeddedCode(/^(?:\.|source)$/.test(name) ? "shell" : languageOf(content), content, ownScript);
  return {
    ...inner,
    wrapper: false,
    scripts: [path],
    reads: [{ path }],
    runs: from > 0 ? [{ argv: argv.slice(from), at: at + from, refusals: true }] : [],
  };
}

function trap(words: readonly string[]): Found {
  const [code] = words;
  if (code === undefined || words.length < 2 || code === "-" || code === "" || /^-[lpP]/.test(code)) {
    return {};
  }
  return shellCode(code, "trap runs something that only the shell will know", true);
}

function withoutDashes(args: readonly string[]): readonly string[] {
  return args[0] === "--" ? args.slice(1) : args;
}

/**
 * Builtins whose words are variables; with values that are harmless, they change the shell that is about to
 * end.
 */
function declares({ args }: Call): Found {
  const names = args.filter((arg) => !arg.startsWith("-")).map((arg) => arg.split("=", 1)[0] ?? "");
  return {
    readOnly: args.every((arg) => !/^-[A-Za-z]*[fn]/.test(arg)) && riskyVariable(names) === undefined,
  };
}

/** Shells, and the builtins of the one that runs the line. */
export const SHELLS: readonly Program[] = [
  {
    names: "bash# rbash sh# dash# ash# zsh# ksh# lksh mksh rksh oksh pdksh yash# posh# osh# hush brush",
    obeys: /(?:^|\/)\.\w*(?:rc|profile|env|login)$/,
    read: shell,
  },
  {
    names: "eval",
    read: ({ args }) =>
      shellCode(withoutDashes(args).join(" "), "eval of something that only the shell will know", true),
  },
  { names: "trap", read: ({ args }) => trap(withoutDashes(args)) },
  {
    names: ". source",
    read: (call) => {
      const path = withoutDashes(call.args)[0];
      return path === undefined ? undefined : script(path, call);
    },
  },
  {
    names: "fc",
    read: ({ args }) =>
      args.some((word) => /^-[a-z]*l/.test(word)) ? undefined : dynamic("fc runs earlier commands again"),
  },
  {
    names: "jobs",
    read: ({ args }) => args.includes("-x") ? dynamic("jobs -x runs a command") : { readOnly: true },
  },
  {
    names: "hash",
    read: ({ args }) => args.includes("-p") ? dynamic("hash -p gives a program another name") : undefined,
  },
  {
    names: "mapfile readarray",
    files: "reads",
    read: ({ name, args }) =>
      args.some((word) => /^-[A-Za-z]*C/.test(word))
        ? dynamic(`${name} -C runs a command for each line`)
        : { readOnly: args.every((word) => /^(?:-t|[a-z_]\w*)$/.test(word)) },
  },
  {
    names: "alias bind enable complete compgen",
    read: ({ name, args }) =>
      args.length > 0 ? dynamic(`${name} changes what later words mean`) : { readOnly: true },
  },
  { names: "exit return break continue shift wait cd pushd popd dirs shopt ulimit umask", readOnly: true },
  { names: "history", readOnly: { options: "", operands: /^\d+$/, most: 1 } },
  { names: "unset", readOnly: { options: "v", operands: /^\w+$/ } },
  {
    names: "set",
    read: ({ args }) => ({
      readOnly: !args.some((arg) => /^-[A-Za-z]*a|^allexport$/.test(arg) || !isKnown(arg)),
    }),
  },
  { names: "local export declare typeset readonly read getopts", read: declares },
];
