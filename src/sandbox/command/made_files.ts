import { protectedForms } from "../../path/protected.ts";
import { DeniedFiles } from "../files/denied_files.ts";
import type { JailScope } from "./plan.ts";

/** Files that a command made and that a mount could not protect, since they were not there before. */
export interface MadeFiles {
  /** Files that other programs run or obey. */
  readonly protectedPaths: readonly string[];
  /** What `Edit` rules deny. */
  readonly denied: readonly string[];
}

/** Notices which protected files appear. What a background job makes is named with the next command. */
export class MadeFilesWatch {
  readonly #kinds: readonly { readonly finder: DeniedFiles; known: ReadonlySet<string> }[];
  /** Commands that are still running. */
  #running = 0;

  constructor({ roots, userHome, denyWrite = [] }: JailScope) {
    const globs = [
      ...protectedForms(["anywhere"]).map((form) => `**/${form}`),
      ...roots.flatMap((root) => protectedForms(["root"]).map((form) => `${root}/${form}`)),
    ];
    this.#kinds = [globs, denyWrite].map((wanted) => {
      const finder = new DeniedFiles({ globs: wanted, roots, userHome });
      return { finder, known: new Set<string>() };
    });
  }

  /** A command begins; the function returned says, when it has ended, what it made. */
  begin(): () => MadeFiles {
    if (this.#running++ === 0) { for (const kind of this.#kinds) kind.known = there(kind.finder); }
    return () => {
      this.#running--;
      const [protectedPaths = [], denied = []] = this.#kinds.map((kind) => {
        const now = there(kind.finder);
        const made = [...now].filter((path) => !kind.known.has(path));
        kind.known = now;
        return made.sort();
      });
      return { protectedPaths, denied };
    };
  }
}

function there(finder: DeniedFiles): ReadonlySet<string> {
  return new Set(finder.find().map(({ path }) => path));
}
