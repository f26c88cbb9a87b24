/** An instruction file as it enters the system prompt. */
export interface InstructionFile {
  /** Absolute path. */
  readonly path: string;
  /** How the model sees where it comes from, such as "AGENTS.md (project)". */
  readonly label: string;
  readonly text: string;
}

export interface InstructionNotice {
  readonly path: string;
  readonly problem: string;
}

export interface Instructions {
  readonly files: readonly InstructionFile[];
  readonly notices: readonly InstructionNotice[];
  /** Files that exist but lost against a better name in the same folder. */
  readonly shadowed: readonly string[];
}

export interface InstructionOptions {
  readonly cwd: string;
  /** Reasonix home. */
  readonly home: string;
  /** Further files from `instructions = [...]`, absolute. */
  readonly extra?: readonly string[];
  /** Bytes for all files together. */
  readonly maxBytes: number;
  /** Whether a path must not be read. */
  readonly hidden?: (path: string) => boolean;
}

interface FileRule {
  /** Say so when there is none. */
  readonly required?: boolean;
  /** A link may not lead out of this folder. */
  readonly within?: string;
}

const NAMES = ["AGENTS.md", "CLAUDE.md"];
const OWN_NAME = "REASONIX.md";
const IMPORT_DEPTH = 5;

/**
 * Collects the instruction files: home, then every folder from the repository root down to the working directory.
 * In a folder AGENTS.md is used, else CLAUDE.md; REASONIX.md is added on top.
 */
export function loadInstructions(options: InstructionOptions): Instructions {
  const collector = new Collector(options);
  collector.folder(options.home, "user");
  const folders = projectFolders(options.cwd);
  for (const folder of folders) collector.folder(folder, "project", folders[0]);
  const root = folders[0] ?? options.cwd;
  for (const path of options.extra ?? []) {
    // What lies in the repository may be a link that the repository brought, whoever named it.
    const fence = isInside(path, root) ? { within: root } : {};
    collector.file(path, `${path} (configured)`, { required: true, ...fence });
  }
  return collector;
}

/** The instruction files of one folder below the working directory. */
export function loadFolderInstructions(folder: string, options: InstructionOptions): Instructions {
  const collector = new Collector(options);
  collector.folder(folder, "project", projectFolders(options.cwd)[0]);
  return collector;
}

/** Folders from the repository root (the nearest one with .git) down to `cwd`; only `cwd` outside a repository. */
function projectFolders(cwd: string): string[] {
  const folders: string[] = [];
  for (let folder = cwd;;) {
    folders.unshift(folder);
    if (exists(`${folder}/.git`)) return folders;
    const parent = folder.replace(/[/\\][^/\\]*$/, "");
    if (parent === folder || parent === "") return [cwd];
    folder = parent;
  }
}

class Collector implements Instructions {
  readonly files: InstructionFile[] = [];
  readonly notices: InstructionNotice[] = [];
  readonly shadowed: string[] = [];
  readonly #options: InstructionOptions;
  #left: number;

  constructor(options: InstructionOptions) {
    this.#options = options;
    this.#left = options.maxBytes;
  }

  /** Files of the folder; links among them may not lead out of `within`. */
  folder(folder: string, scope: string, within?: string): void {
    const fence = within === undefined ? {} : { within };
    let found = false;
    for (const name of NAMES) {
      const path = `${folder}/${name}`;
      if (found) {
        if (exists(path)) this.shadowed.push(path);
        continue;
      }
      found = this.file(path, `${this.#display(path)} (${scope})`, fence);
    }
    const own = `${folder}/${OWN_NAME}`;
    this.file(own, `${this.#display(own)} (${scope})`, fence);
  }

  /** Adds a file; false when there is none. */
  file(path: string, label: string, rule: FileRule = {}): boolean {
    const real = realPath(path);
    if (real === undefined && rule.required) this.notices.push({ path, problem: "could not be read" });
    if (real === undefined || this.#options.hidden?.(path)) return false;
    if (rule.within !== undefined && !isInside(real, realPath(rule.within) ?? rule.within)) {
      this.notices.push({ path, problem: "left out: it is a link that leads out of the repository" });
      return true;
    }
    if (this.#options.hidden?.(real)) {
      this.notices.push({ path, problem: "left out: it leads to a file that may not be read" });
      return true;
    }
    const text = readText(real);
    if (text === undefined) {
      this.notices.push({ path, problem: "could not be read" });
      return true;
    }
    const whole = this.#withImports(path, text, [path]);
    if (this.#left <= 0) {
      this.notices.push({
        path,
        problem: `left out: all instruction files together exceed ${this.#options.maxBytes} bytes`,
      });
      return true;
    }
    const kept = cutBytes(whole, this.#left);
    if (kept.length < whole.length) {
      this.notices.push({
        path,
        problem: `cut: all instruction files together exceed ${this.#options.maxBytes} bytes`,
      });
    }
    this.#left -= new TextEncoder().encode(kept).length;
    this.files.push({ path, label, text: kept });
    return true;
  }

  /** Replaces lines that are only `@path` by that file's text; cycles and escapes are left as they are, with a notice. */
  #withImports(path: string, text: string, chain: readonly string[]): string {
    if (!text.includes("@")) return text;
    const folder = path.replace(/[/\\][^/\\]*$/, "");
    return text.replace(/^@(\S+)[ \t]*$/gm, (line: string, target: string) => {
      const file = target.startsWith("~/")
        ? `${this.#options.home.replace(/[/\\][^/\\]*$/, "")}/${target.slice(2)}`
        : target.startsWith("/")
        ? target
        : `${folder}/${target}`;
      const imported = this.#importable(file, folder, chain) ? readText(file) : undefined;
      if (imported === undefined) {
        this.notices.push({ path, problem: `import ${target} was not followed` });
        return line;
      }
      return this.#withImports(file, imported, [...chain, file]);
    });
  }

  #importable(file: string, folder: string, chain: readonly string[]): boolean {
    if (chain.length > IMPORT_DEPTH || chain.includes(file) || this.#options.hidden?.(file)) return false;
    try {
      return Deno.realPathSync(file).startsWith(`${Deno.realPathSync(folder)}/`);
    } catch {
      return false;
    }
  }

  #display(path: string): string {
    const { cwd } = this.#options;
    return path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path;
  }
}

function isInside(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}

function realPath(path: string): string | undefined {
  try {
    return Deno.realPathSync(path);
  } catch {
    return undefined;
  }
}

function readText(path: string): string | undefined {
  try {
    return Deno.readTextFileSync(path).replace(/^\uFEFF/, "").replaceAll("\r\n", "\n");
  } catch {
    return undefined;
  }
}

function cutBytes(text: string, bytes: number): string {
  const encoded = new TextEncoder().encode(text);
  if (encoded.length <= bytes) return text;
  return new TextDecoder().decode(encoded.subarray(0, bytes), { stream: true });
}
