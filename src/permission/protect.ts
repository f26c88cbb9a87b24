import type { PathForms } from "../rule/mod.ts";
import { contains } from "../path/contains.ts";

/** Git's own settings and hooks, in any repository: whoever writes them runs code later, outside of every judgement. */
const GIT = /\/\.git(?:\/(?:.*\/)?(?:hooks(?:\/.*)?|config(?:\.worktree)?|commondir|gitdir))?$/i;
/** What other programs run or obey when they next look at the project: this one, editors, direnv. In any folder, since any may be opened. */
const OBEYED = /\/(?:reasonix\.toml|\.mcp\.json|\.envrc|\.vscode\/(?:settings|tasks)\.json)$/i;
/** What a project brings for the agent itself to run. */
const PROJECT =
  /\/\.reasonix\/(?:hooks|commands|skills|agents|plugins|bin)(?:\/.*)?$|\/\.reasonix\/(?:hooks|settings)\.\w+$/i;
/** Start files of shells and of programs that run commands, and the user's own skills, below the home folder. */
const HOME =
  /^\/(?:\.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|zlogout|kshrc|mkshrc|cshrc|tcshrc|login|logout|inputrc|envrc|xprofile|xinitrc|gitconfig)|\.config\/(?:fish|git|autostart|systemd)(?:\/.*)?|\.ssh(?:\/.*)?|\.(?:agents|claude)\/(?:skills|hooks)(?:\/.*)?|\.claude\/settings(?:\.local)?\.json)$/i;

/** Folders that hold such files: one moved away or put in place takes them along. */
const HOLDERS = /\/\.(?:vscode|reasonix)$/i;
const HOME_HOLDERS = /^\/\.(?:config|agents|claude)$/i;

export interface ProtectedPlaces {
  /** The user's home folder. */
  readonly home: string;
  /** Further protected files, as real absolute paths. */
  readonly protectedFiles?: readonly string[] | undefined;
}

/** What a protected path is, or undefined for any other. Links do not hide it: both names are looked at. */
export function protectedPath(file: PathForms, places: ProtectedPlaces): string | undefined {
  const { home, protectedFiles = [] } = places;
  for (const path of new Set([file.lexical, file.real])) {
    if (protectedFiles.includes(path)) return "the user's own settings of this program";
    if (GIT.test(path)) return "Git's own hooks and settings";
    if (OBEYED.test(path)) return "what programs run or obey when this project is next opened";
    if (PROJECT.test(path)) return "files that this project has the agent run";
    if (contains(home, path) && HOME.test(path.slice(home.length))) {
      return "a start file of the user's shell or tools";
    }
  }
  return undefined;
}

/** What moving a folder here, or away from here, changes; for anything but a folder that is made empty. */
export function protectedFolder(file: PathForms, { home }: ProtectedPlaces): string | undefined {
  const found = [file.lexical, file.real].some((path) =>
    HOLDERS.test(path) || (contains(home, path) && HOME_HOLDERS.test(path.slice(home.length)))
  );
  return found ? "a folder of files that programs run or obey" : undefined;
}
