import { contains } from "../path/contains.ts";
import { exists } from "../path/probe.ts";
import { LanguageServer, type ServerParts, type StartProcess } from "./language_server.ts";
import { languageOf, type ServerSpec } from "./server_specs.ts";

export interface LspOptions {
  readonly specs: readonly ServerSpec[];
  /** The directory that the run works in. */
  readonly cwd: string;
  /** The user's home, which is no project of theirs. */
  readonly userHome?: string | undefined;
  /** Finds an installed program; undefined: there is none. */
  readonly find: (program: string) => string | undefined;
  readonly spawn: StartProcess;
  readonly givenUp: ServerParts["givenUp"];
  readonly idleMs?: number;
}

/** A server that would serve a file, and the project that it would serve it in. */
export interface Match {
  readonly spec: ServerSpec;
  readonly program: string;
  readonly root: string;
}

const IDLE_MS = 5 * 60_000;
/** Servers that run at the same time; they are large. */
const MAX_RUNNING = 4;

/** The language servers of a session: one per project and language, none before it is needed. */
export class LanguageServers {
  readonly #options: LspOptions;
  readonly #programs = new Map<string, string | undefined>();
  /** The one used last at the end. */
  readonly #servers = new Map<string, LanguageServer>();

  constructor(options: LspOptions) {
    this.#options = options;
  }

  /** Looks for a server for a file, an absolute path; nothing is started. */
  match(path: string): Match | undefined {
    for (const spec of this.#options.specs) {
      if (languageOf(spec, path) === undefined) continue;
      const root = projectOf(path, spec.markers, this.#options);
      const program = root === undefined ? undefined : this.#find(spec);
      if (root !== undefined && program !== undefined) return { spec, program, root };
    }
    return undefined;
  }

  /** The server for a file, not necessarily running; undefined: there is none, or it is left alone. */
  serverFor(path: string): LanguageServer | undefined {
    const match = this.match(path);
    if (!match) return undefined;
    const key = `${match.spec.name}\0${match.root}`;
    const { spawn, givenUp, idleMs = IDLE_MS } = this.#options;
    const server = this.#servers.get(key) ?? new LanguageServer({ ...match, spawn, givenUp, idleMs });
    this.#servers.delete(key);
    this.#servers.set(key, server);
    const [oldest] = this.#servers;
    if (oldest && this.#servers.size > MAX_RUNNING) {
      this.#servers.delete(oldest[0]);
      void oldest[1].close();
    }
    return server.isUsable ? server : undefined;
  }

  /** The servers that were asked for so far. */
  get known(): readonly LanguageServer[] {
    return [...this.#servers.values()];
  }

  async close(): Promise<void> {
    await Promise.all(this.known.map((server) => server.close()));
  }

  #find({ programs }: ServerSpec): string | undefined {
    for (const name of programs) {
      if (!this.#programs.has(name)) this.#programs.set(name, this.#options.find(name));
      const found = this.#programs.get(name);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

/**
 * The project of a file: the outermost directory of the run with one of the markers, so that a repository of
 * many packages takes one server; above it the nearest one, but for the user's home and what holds it.
 */
function projectOf(
  path: string,
  markers: readonly string[],
  { cwd, userHome }: Pick<LspOptions, "cwd" | "userHome">,
): string | undefined {
  if (markers.length === 0) return contains(cwd, path) ? cwd : parentOf(path);
  const isProject = (directory: string) => markers.some((marker) => exists(`${directory}/${marker}`));
  let found: string | undefined;
  for (
    let directory = parentOf(path);
    directory !== "/" && directory !== "";
    directory = parentOf(directory)
  ) {
    if (userHome !== undefined && contains(directory, userHome)) break;
    if (!contains(cwd, directory) && found !== undefined) break;
    if (isProject(directory)) found = directory;
  }
  return found;
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf("/"), 0));
}
