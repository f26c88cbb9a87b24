import { type LocalizedMessage, message, withRemedy } from "../core/mod.ts";
import { literalHead, unescapeGlob } from "../path/glob.ts";
import { exists } from "../path/probe.ts";
import type { RuleFault, RuleParts } from "./rule.ts";

/** A rule is refused by no program, so that what it cannot mean has to be said. */
interface Oddity {
  readonly form: RegExp;
  readonly what: (rule: string) => LocalizedMessage;
  readonly remedy: (name: string, glob: string) => LocalizedMessage;
}

const POSIX = Deno.build.os !== "windows";

const ODDITIES: readonly Oddity[] = [
  {
    form: /^["'`].*["'`]$/s,
    what: (rule: string) =>
      message`The permission rule ${rule} names a file with quotation marks, and so no other`,
    remedy: (name, glob) => message`write ${name}(${glob.slice(1, -1)})`,
  },
  {
    form: /^!/,
    what: (rule) =>
      message`The permission rule ${rule} names files that begin with "!": a rule makes no exceptions`,
    remedy: (name, glob) => message`write a separate rule for ${name}(${glob.slice(1)})`,
  },
  {
    form: /\$\{?\w|%\w+%/,
    what: (rule: string) =>
      message`The permission rule ${rule} names files with a dollar or percent sign: variables are not expanded`,
    remedy: () => message`write the path itself, or ~/ for the home directory`,
  },
  {
    form: /^~[^/]/,
    what: (rule: string) =>
      message`The permission rule ${rule} names files that begin with a tilde: only ~/ is a home directory`,
    remedy: () => message`write the path itself`,
  },
  {
    form: /^file:/i,
    what: (rule: string) => message`The permission rule ${rule} is an address, and matches no path`,
    remedy: (name, glob) => message`write ${name}(${glob.replace(/^file:\/*/i, "//")})`,
  },
  {
    form: /^[^{]*,\s*(?:[\w.*~/-]*[/*]|\w+\()/s,
    what: (rule: string) => message`The permission rule ${rule} names one path with a comma in it`,
    remedy: () => message`write one rule for each path, or {a,b} for alternatives`,
  },
  {
    // deno-lint-ignore no-control-regex
    form: /[\x00-\x1f]/,
    what: (rule: string) =>
      message`The permission rule ${rule} can match no path: it holds a control character`,
    remedy: () => message`leave it out`,
  },
  {
    form: /[^/,{}]{256}/,
    what: (rule: string) =>
      message`The permission rule ${rule} can match no path: file names have at most 255 bytes`,
    remedy: () => message`shorten it, or write *`,
  },
  ...(POSIX
    ? [{
      form: /^[a-z]:[\\/]/i,
      what: (rule: string) =>
        message`The permission rule ${rule} can match no path: drives have no letters on this system`,
      remedy: () => message`write // and the path from the root directory`,
    }, {
      form: /\\[^*?[\]{}\\]/,
      what: (rule: string) =>
        message`The permission rule ${rule} names files with a backslash: on this system / separates names`,
      remedy: (name: string, glob: string) => message`write ${name}(${glob.replaceAll("\\", "/")})`,
    }]
    : []),
];

/**
 * Returns a warning about a path rule that can be read, but protects or allows nothing, or something else
 * than it seems to.
 */
export function lintRule({ name, target, inner }: RuleParts): RuleFault | undefined {
  if (inner === undefined || !("family" in target) || !/^(?:Read|Edit)$/.test(target.family)) {
    return undefined;
  }
  const rule = `${name}(${inner.length > 80 ? `${inner.slice(0, 77)}…` : inner})`;
  const odd = ODDITIES.find(({ form }) => form.test(inner));
  if (odd) return withRemedy(odd.what(rule), odd.remedy(name, inner));
  if (emptyClass(inner)) {
    return withRemedy(
      message`The permission rule ${rule} can match no path: its brackets are empty`,
      message`write [a-z], or escape [`,
    );
  }
  if (!countsFromProject(inner)) return undefined;
  return withRemedy(
    message`The permission rule ${rule} is read from the project root, as in Claude Code`,
    message`write ${name}(${inner.slice(1)}) to make that clear, or ${name}(/${inner}) for an absolute path`,
  );
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
