import { literalHead, unescapeGlob } from "../path/glob.ts";
import { exists } from "../path/probe.ts";
import type { RuleFault, RuleParts } from "./rule.ts";

/** A rule is refused by no program, so that what it cannot mean has to be said. */
interface Oddity {
  readonly form: RegExp;
  /** Continues "The permission rule …". */
  readonly what: string;
  readonly remedy: (name: string, glob: string) => string;
}

const POSIX = Deno.build.os !== "windows";

const ODDITIES: readonly Oddity[] = [
  {
    form: /^["'`].*["'`]$/s,
    what: "names a file with quotation marks, and so no other",
    remedy: (name, glob) => `write ${name}(${glob.slice(1, -1)})`,
  },
  {
    form: /^!/,
    what: 'names files that begin with "!": a rule makes no exceptions',
    remedy: (name, glob) => `write a rule of its own for ${name}(${glob.slice(1)})`,
  },
  {
    form: /\$\{?\w|%\w+%/,
    what: "names files with a dollar or percent sign: variables are not expanded",
    remedy: () => "write the path itself, or ~/ for the home directory",
  },
  {
    form: /^~[^/]/,
    what: "names files that begin with a tilde: only ~/ is a home directory",
    remedy: () => "write the path itself",
  },
  {
    form: /^file:/i,
    what: "is an address, and matches no path",
    remedy: (name, glob) => `write ${name}(${glob.replace(/^file:\/*/i, "//")})`,
  },
  {
    form: /^[^{]*,\s*(?:[\w.*~/-]*[/*]|\w+\()/s,
    what: "names one path with a comma in it",
    remedy: () => "write one rule for each path, or {a,b} for alternatives",
  },
  {
    // deno-lint-ignore no-control-regex
    form: /[\x00-\x1f]/,
    what: "can match no path: it holds a control character",
    remedy: () => "leave it out",
  },
  {
    form: /[^/,{}]{256}/,
    what: "can match no path: file names have at most 255 bytes",
    remedy: () => "shorten it, or write *",
  },
  ...(POSIX
    ? [{
      form: /^[a-z]:[\\/]/i,
      what: "can match no path: drives have no letters on this system",
      remedy: () => "write // and the path from the root directory",
    }, {
      form: /\\[^*?[\]{}\\]/,
      what: "names files with a backslash: on this system / stands between names",
      remedy: (name: string, glob: string) => `write ${name}(${glob.replaceAll("\\", "/")})`,
    }]
    : []),
];

/**
 * Returns what to tell about a path rule that can be read, but protects or allows nothing, or something else
 * than it seems to.
 */
export function lintRule({ name, target, inner }: RuleParts): RuleFault | undefined {
  if (inner === undefined || !("family" in target) || !/^(?:Read|Edit)$/.test(target.family)) {
    return undefined;
  }
  const rule = `The permission rule ${name}(${inner.length > 80 ? `${inner.slice(0, 77)}…` : inner})`;
  const odd = ODDITIES.find(({ form }) => form.test(inner));
  if (odd) return { message: `${rule} ${odd.what}`, remedy: odd.remedy(name, inner) };
  if (emptyClass(inner)) {
    return {
      message: `${rule} can match no path: nothing is in its brackets`,
      remedy: "write [a-z], or escape [",
    };
  }
  if (!countsFromProject(inner)) return undefined;
  return {
    message: `${rule} is read from the project root, as Claude Code does`,
    remedy: `write ${name}(${inner.slice(1)}) to leave no doubt, or ${name}(/${inner}) for an absolute path`,
  };
}

function emptyClass(glob: string): boolean {
  return [...glob.matchAll(/(?<!\\)\[[!^]?(\]?[^\]]*)\]/g)].some(([, body = ""]) =>
    [...body.matchAll(/([^\\])-(.)/g)].some(([, from = "", to = ""]) => from > to)
  );
}

/**
 * Reports whether a glob begins with a single `/`, and nothing in the root directory has the name that
 * follows.
 */
function countsFromProject(glob: string): boolean {
  const first = /^\/([^/*?]+)/.exec(literalHead(glob))?.[1];
  return POSIX && first !== undefined && !exists(`/${unescapeGlob(first)}`);
}
