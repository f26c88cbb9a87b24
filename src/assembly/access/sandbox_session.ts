import { cacheDirectory, type LoadedConfig } from "../../config/mod.ts";
import type { EventSource } from "../../control/mod.ts";
import type { NewEventOf, PreparedCall, Saying } from "../../core/mod.ts";
import type { PermissionGate } from "../../permission/mod.ts";
import {
  type CommandOutcome,
  createJail,
  describeConfinement,
  type FilterProxy,
  type Jail,
  type JailForecast,
  type JailOptions,
  type MadeFiles,
  startFilterProxy,
  type Workspace,
} from "../../sandbox/mod.ts";
import { projectDir } from "../../session/mod.ts";
import type { CommandJail } from "../../tool/mod.ts";
import { escapeGlob } from "../../path/glob.ts";
import { readSmallText } from "../../path/probe.ts";
import { containerOf, deniedGlobs, linkedSettings, type Remark } from "./access_scope.ts";
import { offerEscape } from "./escape.ts";
import type { RunPaths } from "../run_paths.ts";
import { secretsOf } from "./secrets.ts";

export interface SandboxSessionParts {
  readonly paths: RunPaths;
  readonly loaded: LoadedConfig;
  readonly workspace: Workspace;
  /** Directory of the session; its commands share one `/tmp` in it. */
  readonly sessionDir?: string;
  /** Directory of the full outputs of this session, which commands may read. */
  readonly outputDir?: string;
  /** Commands run without a jail, and the user knows. */
  readonly unconfined?: boolean;
  /** The line that told the user of the jail before the first request. */
  readonly forecast?: JailForecast;
  /** Reports whether the mode of the moment keeps files as they are. */
  readonly filesStay?: () => boolean;
  /** Hears what is confined, and which host was refused. */
  readonly tell?: (
    text: string,
    more?: Partial<Omit<Remark, "text"> & Pick<NewEventOf<"notice">, "level">>,
  ) => void;
  /** Asks a person about a call; absent: nobody can be asked. */
  readonly confirm?: PermissionGate["confirm"];
}

/** Names that one notice lists. */
const MAX_NAMES = 20;

const HINTS = {
  file:
    "The jail probably stopped this command from writing; --add-dir or [sandbox] allow_write opens a directory",
  network:
    "The jail probably stopped this command from reaching the network; see [sandbox] network and network_hosts",
  readOnly: "Commands see the workspace read-only because of [tools] writes; --writes allow opens it",
  mode: "Commands see the workspace read-only in read-only and plan mode",
  setup: "The jail could not be set up for this command; it is probed again next time",
};

type Hint = keyof typeof HINTS;

/** So often a command begins anew since what its jail should have hidden was gone when it came to that. */
const MOST_REPEATS = 3;

/** The running jail of a session, chosen when the first command comes: the probe may start a process. */
export class SandboxSession {
  readonly #sources: SandboxSessionParts;
  readonly #explained = new Set<Hint>();
  #jail: Promise<Jail> | undefined;
  #readOnly: Jail | undefined;
  /** Names of variables that commands do not get. */
  #heldBack: readonly string[] = [];
  #told: Promise<void> | undefined;
  #remembered: Promise<void> | undefined;
  #proxy: FilterProxy | undefined;
  #proxyFolder: string | undefined;
  #tmp: string | undefined;

  constructor(sources: SandboxSessionParts) {
    this.#sources = sources;
  }

  /** Rejects with a ReasonixError (exit "blocked") when `[sandbox] bash = "enforce"` finds no jail. */
  readonly open = (): Promise<Jail> => this.#jail ??= this.#create();

  /** The jail of a call's command: in modes that only read, one in which files stay as they are. */
  readonly current = async (call: PreparedCall): Promise<CommandJail> => {
    const opened = await this.open();
    if (call.command) await this.#tellOnce(opened);
    const { filesStay, confirm, loaded: { config: { sandbox, tools } } } = this.#sources;
    const reads = filesStay?.() ?? false;
    const jail = this.#jailNow(opened);
    const attempt = (repeats: number): CommandJail["wrap"] => (argv, options) => {
      const made = jail.watchMade();
      return {
        ...jail.wrap(argv, options),
        ended: () => this.#madeNotes(made()),
        again: (said) =>
          repeats > 0 && jail.failedToBegin(said) ? attempt(repeats - 1)(argv, options) : undefined,
      };
    };
    const common = { wrap: attempt(MOST_REPEATS), ...this.#waiting(opened) };
    if (!confirm || !jail.confined || reads || tools.writes !== "allow" || sandbox.bash === "enforce") {
      return common;
    }
    return {
      ...common,
      escape: (command, signal) => offerEscape({ jail, call, ask: confirm }, command, signal),
    };
  };

  /** The jail that the next command would get, for a shell that waits for it. */
  readonly next = async (): Promise<Pick<CommandJail, "ahead" | "confined">> =>
    this.#waiting(await this.open());

  #jailNow(opened: Jail): Jail {
    return this.#sources.filesStay?.() ? this.#readOnly ??= opened.readOnly() : opened;
  }

  #waiting(opened: Jail): Pick<CommandJail, "ahead" | "confined"> {
    return {
      confined: opened.confined,
      ahead: (options) => this.#jailNow(opened).wrap([], options).ahead,
    };
  }

  /**
   * Returns what the model and the user should know of files that could not be protected before they were
   * there.
   */
  #madeNotes({ protectedPaths, denied }: MadeFiles): string[] {
    const notes = [
      { kind: "protected", what: "made files that other programs run or obey", paths: protectedPaths },
      { kind: "denied", what: "made files that an Edit rule denies", paths: denied },
    ] as const;
    return notes.filter(({ paths }) => paths.length > 0).map(({ kind, what, paths }) => {
      const names = listed(paths);
      const said: Saying = ["madeFiles", kind, names];
      const text = `A command ${what}: ${names}; look at them before you trust them`;
      this.#sources.tell?.(text, { level: "warning", said: [said] });
      return `this command ${what}: ${names}; the user was told`;
    });
  }

  #tellHeldBack(): void {
    if (this.#heldBack.length === 0) return;
    const names = listed(this.#heldBack);
    const text = `Held back from commands, since they look secret: ${names}; ` +
      "[tools.shell] pass_env lets them through";
    const said: Saying = ["heldBack", names];
    this.#sources.tell?.(text, { said: [said] });
  }

  /**
   * Says once per cause that the jail seems to be why a command failed; without a person there is no way
   * around it.
   */
  readonly denialNotice: EventSource = (event) => {
    if (event.type !== "tool.end" || event.exitCode === undefined || event.exitCode === 0) return undefined;
    return this.#explain({ exitCode: event.exitCode, output: event.content }).then((hint) => {
      if (hint === undefined || this.#explained.has(hint)) return undefined;
      this.#explained.add(hint);
      const said: Saying = ["deniedByJail", hint];
      return { type: "notice", level: "warning", code: "sandbox.denied", text: HINTS[hint], said: [said] };
    });
  };

  async #explain(outcome: CommandOutcome): Promise<Hint | undefined> {
    const jail = await this.#jail?.catch(() => undefined);
    if (!jail?.confined) return undefined;
    const { writes } = this.#sources.loaded.config.tools;
    const denial = jail.denialOf(outcome);
    if (denial?.kind === "setup") await jail.forgetProbe();
    if (denial?.kind !== "file") return denial?.kind;
    return writes !== "allow" ? "readOnly" : this.#sources.filesStay?.() ? "mode" : "file";
  }

  async close(): Promise<void> {
    // One that is still being chosen makes its directories and the proxy on the way.
    await Promise.allSettled([this.#jail, this.#remembered]);
    await this.#proxy?.[Symbol.asyncDispose]();
    if (this.#proxyFolder !== undefined) {
      await Deno.remove(this.#proxyFolder, { recursive: true }).catch(() => {});
    }
    if (this.#tmp !== undefined && !this.#keeps) {
      await Deno.remove(this.#tmp, { recursive: true }).catch(() => {});
    }
  }

  /** A `/tmp` of the session's own; beside the system's where the session directory cannot be made. */
  async #makeTmp(): Promise<string | undefined> {
    const { sessionDir, paths: { home, cwd } } = this.#sources;
    if ((sessionDir === undefined && !this.#keeps) || this.#mode === "off") return undefined;
    const path = this.#keeps ? `${projectDir(`${home}/cache`, cwd)}/container-tmp` : `${sessionDir}/tmp`;
    return await Deno.mkdir(path, { recursive: true, mode: 0o700 }).then(
      () => path,
      () => Deno.makeTempDir({ prefix: "reasonix-tmp-" }),
    );
  }

  async #create(): Promise<Jail> {
    const jail = await createJail(await this.#options());
    this.#sources.workspace.usePrivateTmp(jail.privateTmp, jail.shownTmp);
    return jail;
  }

  /** What the user should know of commands is said when the first one comes: many runs have none. */
  #tellOnce(jail: Jail): Promise<void> {
    return this.#told ??= this.#tellConfinement(jail).then(() => this.#tellHeldBack());
  }

  /** What commands of the moment can and cannot do. */
  async confinement(): Promise<Required<Pick<Remark, "text" | "confinement">>> {
    const { filesStay, paths: { cwd } } = this.#sources;
    const jail = await this.open();
    const confinement = (filesStay?.() ? jail.readOnly() : jail).confinement(cwd);
    return { text: describeConfinement(confinement), confinement };
  }

  /** Says what is confined once per project and again when it changed; that nothing is, each time. */
  async #tellConfinement(jail: Jail): Promise<void> {
    const { tell, unconfined, forecast, paths } = this.#sources;
    if (!tell || (!jail.confined && (unconfined || forecast))) return;
    const { text: line, confinement } = await this.confinement();
    const folder = projectDir(cacheDirectory(paths), paths.cwd);
    const file = `${folder}/jail`;
    if (jail.confined && readSmallText(file) === line) return;
    tell(line, { confinement });
    // What cannot be remembered is said again. The command does not wait for it.
    this.#remembered = Deno.mkdir(folder, { recursive: true, mode: 0o700 })
      .then(() => Deno.writeTextFile(file, line, { mode: 0o600 })).catch(() => {});
  }

  /** The container of the project stays, and its mounts with it. */
  get #keeps(): boolean {
    return this.#container?.kept ?? false;
  }

  get #container(): JailOptions["container"] {
    return containerOf(this.#sources.loaded.config.sandbox);
  }

  get #mode(): JailOptions["mode"] {
    return this.#sources.unconfined ? "off" : this.#sources.loaded.config.sandbox.bash;
  }

  async #options(): Promise<JailOptions> {
    const { paths, loaded, workspace, outputDir } = this.#sources;
    const userHome = paths.env("HOME");
    const { keyNames, heldBack, values } = secretsOf(loaded);
    this.#heldBack = heldBack;
    const tmp = this.#tmp = await this.#makeTmp();
    const container = this.#container;
    return {
      mode: this.#mode,
      ...(container === undefined ? {} : { container }),
      ...(this.#sources.forecast?.confined ? { expected: true } : {}),
      roots: workspace.roots,
      ...(loaded.config.tools.writes === "allow" ? {} : { rootAccess: "read" }),
      ...(outputDir === undefined ? {} : { shown: [outputDir] }),
      forbidRead: workspace.forbidden,
      denyRead: workspace.options.denyRead ?? [],
      denyWrite: [
        ...deniedGlobs(loaded.config, "Edit"),
        ...linkedSettings(loaded).map((path) => `/${escapeGlob(path)}`),
      ],
      home: paths.home,
      cacheDir: cacheDirectory(paths),
      environment: { secretNames: [...keyNames, ...heldBack], secretValues: values },
      ...(userHome === undefined ? {} : { userHome }),
      ...(tmp === undefined ? {} : { privateTmp: tmp }),
      ...await this.#network(this.#keeps ? tmp : undefined),
    };
  }

  /** `tmp`: the directory that a kept container shows, in which it finds the socket of the proxy. */
  async #network(tmp: string | undefined): Promise<Pick<JailOptions, "network" | "proxy">> {
    const { network, network_hosts } = this.#sources.loaded.config.sandbox;
    if (network || this.#mode === "off") return { network: "open" };
    if (network_hosts.length === 0) return { network: "none" };
    const { tell } = this.#sources;
    const folder = await Deno.makeTempDir({
      ...(tmp === undefined ? {} : { dir: tmp }),
      prefix: "reasonix-proxy-",
    });
    this.#proxyFolder = folder;
    this.#proxy = await startFilterProxy({
      hosts: network_hosts,
      listen: Deno.build.os === "linux" ? { socket: `${folder}/proxy.sock` } : { port: 0 },
      onRefused: ({ host, port }, reason) => {
        const said: Saying = ["refusedHost", `${host}:${port}`, reason];
        tell?.(`Refused a connection to ${host}:${port}: ${reason}`, { said: [said] });
      },
    });
    return { network: "filtered", proxy: this.#proxy.address };
  }
}

function listed(paths: readonly string[]): string {
  const more = paths.length > MAX_NAMES ? ` and ${paths.length - MAX_NAMES} more` : "";
  return `${paths.slice(0, MAX_NAMES).join(", ")}${more}`;
}

/** Opens the jail for one piece of work. */
export async function withJail<T>(
  sources: SandboxSessionParts,
  work: (jail: Jail) => T | Promise<T>,
): Promise<T> {
  const lazy = new SandboxSession(sources);
  try {
    return await work(await lazy.open());
  } finally {
    await lazy.close();
  }
}
