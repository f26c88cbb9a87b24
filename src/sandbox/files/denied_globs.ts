import { foldPath } from "../../path/contains.ts";
import { realPath } from "../../path/real_path.ts";

/** What the globs count from. Absolute paths. */
export interface GlobContext {
  /** Globs of rules that refuse, as they are written. */
  readonly globs: readonly string[];
  /** The directories that relative globs count from. */
  readonly roots: readonly string[];
  readonly userHome?: string | undefined;
}

const FOLD = Deno.build.os === "darwin";

/** A test of absolute paths: whether one of the globs means it, or a directory that it lies in. */
export function deniedTest(context: GlobContext): ((path: string) => boolean) | undefined {
  const forms = absoluteGlobs(context);
  if (forms.length === 0) return undefined;
  const pattern = new RegExp(`^(?:${forms.map(globSource).join("|")})(?:/.*)?$`, "su");
  return (path) => pattern.test(foldGlob(path));
}

/**
 * The absolute globs that these stand for: in every root, in any directory of it when there is no slash, and
 * a directory by its content.
 */
export function absoluteGlobs({ globs, roots, userHome }: GlobContext): string[] {
  const forms = globs.flatMap((glob) => {
    const form = shortestGlob(glob);
    if (meansEveryFile(glob)) return [];
    if (form.startsWith("~/")) return userHome === undefined ? [] : withReal(userHome + form.slice(1));
    if (form.startsWith("/")) return withReal(form);
    return roots.flatMap((root) =>
      form.includes("/") ? [`${root}/${form}`] : [`${root}/${form}`, `${root}/**/${form}`]
    );
  });
  return [...new Set(forms)];
}

/** Reports whether a rule is about every file, which would leave commands nothing to work with. */
export function meansEveryFile(glob: string): boolean {
  return !/[^*?/.]/.test(shortestGlob(glob));
}

/**
 * The spelling of a glob without what does not matter: `../`, a leading `**\/` before a name, a trailing
 * `/**`.
 */
export function shortestGlob(glob: string): string {
  return glob.replace(/^(?:\.\/+)+/, "").replace(/^\*\*\/(?=[^/]*$)/, "").replace(/(?<=[^/])\/\*{0,2}$/, "");
}

/** Source of a regular expression; `*` is any text as in the rules, `/**\/` also no directory at all. */
export function globSource(form: string): string {
  return foldGlob(form).replace(/\/\*\*\/|\*+|[?.+^${}()|[\]\\]/g, (mark) => {
    if (mark === "/**/") return "/(?:.*/)?";
    if (mark.startsWith("*")) return ".*";
    return mark === "?" ? "." : `\\${mark}`;
  });
}

export function foldGlob(path: string): string {
  return FOLD ? foldPath(path) : path.normalize("NFC");
}

/** The glob, and the same with the links of the directory it begins with resolved. */
function withReal(form: string): string[] {
  const fixed = form.slice(0, form.search(/[*?]|$/));
  const directory = fixed === form ? form : fixed.slice(0, fixed.lastIndexOf("/"));
  try {
    return directory === "" ? [form] : [form, realPath(directory) + form.slice(directory.length)];
  } catch {
    return [form];
  }
}
