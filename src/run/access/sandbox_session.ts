import { cacheDirectory, type LoadedConfig } from "../../config/mod.ts";
import type { EventSource } from "../../control/mod.ts";
import {
  type LocalizedMessage,
  message,
  type NewEventOf,
  newNotice,
  type PreparedCall,
  subjectOf,
  type Text,
  textOf,
} from "../../core/mod.ts";
import { escapeGlob } from "../../path/glob.ts";
import { readSmallText } from "../../path/probe.ts";
import { worktreeIdOf } from "../../path/project_dir.ts";
import {
  type Confirmation,
  keepsFiles,
  type NetworkNeed,
  packageRegistries,
  type PermissionGate,
  type PermissionMode,
  type SandboxAccess,
} from "../../permission/mod.ts";
import {
  type CommandOutcome,
  type Confinement,
  createJail,
  describeConfinement,
  type ExpectedSandbox,
  type FilterProxy,
  type Jail,
  type JailOptions,
  type MadeFiles,
  startFilterProxy,
  unreachableHosts,
  type Workspace,
} from "../../sandbox/mod.ts";
import { projectDir } from "../../session/mod.ts";
import type { CommandJail, FailedCommand, SpawnPlan, ToolContext } from "../../tool/mod.ts";
import type { RunPaths } from "../run_options.ts";
import { containerOf, deniedGlobs, linkedSettings, secretsOf } from "./access_scope.ts";

export interface SandboxSessionDeps {
  readonly paths: RunPaths;
  readonly loaded: LoadedConfig;
  readonly workspace: Workspace;
  /** Directory of the session; its commands share one `/tmp` in it. */
  readonly sessionDir?: string;
  /** Directory of the full outputs of this session, which commands may read. */
  readonly outputDir?: string;
  /** Commands run without a jail, and the user knows. */
  readonly unconfined?: boolean;
  /** The notice about the jail before the first request. */
  readonly expectedJail?: ExpectedSandbox;
  /** Variables of commands in addition to those of this process. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** The mark of the container that confines commands where no jail works. */
  readonly inContainer?: string | undefined;
  /** Those that the run knows for which this one works. */
  readonly repositories?: JailOptions["repositories"];
  /** The mode in which the session begins; default: workspace-write. */
  readonly permissionMode?: PermissionMode | undefined;
  /** Hears what is confined, and which host was refused. */
  readonly notify?: (
    text: Text,
    more?: Partial<Pick<NewEventOf<"notice">, "level" | "confinement">>,
  ) => void;
  readonly attended?: boolean;
  /** The jail is described in each session, and not only where the project has another one than before. */
  readonly describes?: boolean;
  /** Returns further variables of the command of a call. */
  readonly trace?: ToolContext["trace"];
}

const MAX_NAMES = 20;

type Hint = "file" | "network" | "readOnly" | "mode" | "setup";

function hintText(hint: Hint, hosts: readonly string[]): LocalizedMessage {
  switch (hint) {
    case "file":
      return message`The sandbox probably stopped this command from writing; --add-dir or [sandbox] allow_write opens a directory`;
    case "network":
      return message`The sandbox probably stopped this command from reaching the network. To allow it, add to ~/.reasonix/config.toml:\n${
        networkLines(hosts)
      }`;
    case "readOnly":
      return message`Commands see the workspace read-only because of [tools] writes; --writes allow opens it`;
    case "mode":
      return message`Commands see the workspace read-only in read-only and plan mode`;
    case "setup":
      return message`The sandbox could not be set up for this command; it is probed again next time`;
  }
}

/** The gate as far as the jail asks it: for the mode, a person's answer, and the network it opened. */
type JailGate = Partial<Pick<PermissionGate, "permissionMode" | "confirm" | "takeNetwork" | "grants">>;

interface NetworkFilter extends AsyncDisposable {
  readonly network: "filtered";
  readonly proxy: FilterProxy["address"];
  /** Hosts that it refused, in order. */
  readonly refused: string[];
}

/** The word in `network_hosts` for the hosts of all package registries. */
const REGISTRIES = "package-registries";

/** At most this many restarts of a command because a path that its jail hides was gone. */
const MOST_REPEATS = 3;

/** The running jail of a session, chosen when the first command comes: the probe may start a process. */
export class SandboxSession {
  readonly #sources: SandboxSessionDeps;
  readonly #explained = new Set<Hint>();
  #jail: Promise<Jail> | undefined;
  #roots = 0;
  /** The jail with the hosts of the session, and the same in which files stay as they are. */
  #online: { readonly of: Jail; readonly hosts: string; readonly jail: Jail } | undefined;
  #readOnly: { readonly of: Jail; readonly jail: Jail } | undefined;
  #heldBack: readonly string[] = [];
  #notified: Promise<void> | undefined;
  #remembered: Promise<void> | undefined;
  /** The filter of the configured hosts, then those of the session. */
  readonly #filters: NetworkFilter[] = [];
  /** All that were started, those of single calls as well. */
  readonly #started: NetworkFilter[] = [];
  #tmp: string | undefined;

  #gate: JailGate = {};
  readonly repositories: NonNullable<JailOptions["repositories"]>;

  constructor(sources: SandboxSessionDeps) {
    this.#sources = sources;
    this.repositories = sources.repositories ?? new Map();
  }

  /** Connects the gate, which itself asks the jail. */
  readonly judgedBy = (gate: JailGate): void => {
    this.#gate = gate;
  };

  get #filesStay(): boolean {
    return keepsFiles(this.#gate.permissionMode ?? this.#sources.permissionMode ?? "workspace-write");
  }

  get #openHosts(): readonly string[] {
    return [...this.#gate.grants?.hosts ?? []];
  }

  /** Rejects with a ReasonixError (exit "blocked") when `[sandbox] bash = "enforce"` finds no jail. */
  readonly open = (): Promise<Jail> => {
    const { length } = this.#sources.workspace.roots;
    if (length !== this.#roots) this.#jail = undefined;
    this.#roots = length;
    return this.#jail ??= this.#create();
  };

  /** The jail of a call's command: in modes that only read, one in which files stay as they are. */
  readonly current = async (call: PreparedCall): Promise<CommandJail> => {
    const opened = await this.open();
    if (call.command) await this.#notifyOnce(opened);
    const { attended, loaded: { config: { sandbox, tools } } } = this.#sources;
    const reads = this.#filesStay;
    const env = this.#sources.trace?.(call.call.id);
    const gate = this.#gate;
    await this.#addSessionHosts(opened);
    const base = this.#jailNow(opened);
    const need = gate.takeNetwork?.(call.call.id);
    const once = need && await this.#filterFor(need);
    const jail = once ? await base.withNetwork(once) : base;
    const refused = once?.refused ?? this.#filters.at(-1)?.refused ?? [];
    const before = refused.length;
    let running = 0;
    const attempt = (repeats: number): CommandJail["wrap"] => (argv, options) => {
      const made = jail.watchMade();
      running++;
      return {
        ...jail.wrap(argv, { ...options, env }),
        ended: () => {
          running--;
          // One that did not begin starts again at once.
          queueMicrotask(() => running === 0 && void once?.[Symbol.asyncDispose]());
          return this.#madeNotes(made());
        },
        again: (output) =>
          repeats > 0 && jail.failedToBegin(output) ? attempt(repeats - 1)(argv, options) : undefined,
      };
    };
    const common = { wrap: attempt(MOST_REPEATS) };
    if (!attended || !jail.confined || reads || tools.writes !== "allow") return common;
    const { workspace } = this.#sources;
    const withGranted = async (argv: readonly string[], cwd: string, directory: string | undefined) => {
      const more = gate.takeNetwork?.(call.call.id);
      const written = directory !== undefined && workspace.roots.includes(directory);
      if (!more && !written) return undefined;
      const needs = [need, more].flatMap((each) => each ? [each.hosts] : []);
      const filter = needs.length === 0
        ? undefined
        : await this.#filterFor({ hosts: more?.hosts.length === 0 ? [] : [...new Set(needs.flat())] });
      const jail = written ? await this.#reopened() : base;
      const wider = filter ? await jail.withNetwork(filter) : jail;
      const made = wider.watchMade();
      const plan = wider.wrap(argv, { cwd, env });
      const ended = () => {
        void filter?.[Symbol.asyncDispose]();
        return this.#madeNotes(made());
      };
      return { plan: { ...plan, ended }, with: more ? "a network" : `${directory} writable` };
    };
    const ask: PermissionGate["confirm"] = async (...question) =>
      await gate.confirm?.(...question) ??
        { decision: "deny", source: "headless", reason: "this run has no prompts" };
    return {
      ...common,
      escape: (command, signal) =>
        offerEscape(
          {
            jail,
            call,
            ask,
            withGranted,
            unconfined: (argv) => jail.unconfined(argv, env),
            refused: [...new Set(refused.slice(before))],
            couldOpen: (path) => workspace.couldOpen([path]),
            enforced: sandbox.bash === "enforce",
          },
          command,
          signal,
        ),
    };
  };

  /** The jail with the directories and hosts that are open by now. */
  async #reopened(): Promise<Jail> {
    const opened = await this.open();
    await this.#addSessionHosts(opened);
    return this.#jailNow(opened);
  }

  /** Returns the hosts of a need that commands cannot reach; undefined where nothing can be opened. */
  readonly missing: SandboxAccess["missing"] = async (need, granted) => {
    const { loaded: { config: { sandbox, tools } } } = this.#sources;
    const jail = await this.open().catch(() => undefined);
    if (!jail || jail.networkMode === "open" || this.#filesStay || tools.writes !== "allow") return undefined;
    if (need.hosts.length === 0 || !jail.filters) return { hosts: [] };
    const entries = [...await expanded(sandbox.network_hosts), ...granted];
    const hosts = await unreachableHosts(need.hosts, entries);
    return hosts.length === 0 ? undefined : { hosts };
  };

  /** Lets the commands that follow reach the hosts that were opened for the session. */
  async #addSessionHosts(opened: Jail): Promise<void> {
    const hosts = this.#openHosts;
    const key = hosts.join(" ");
    if (hosts.length === 0 || opened.networkMode === "open" || !opened.filters) return;
    if (this.#online?.of === opened && this.#online.hosts === key) return;
    const filter = await this.#startFilter(hosts);
    this.#filters.push(filter);
    this.#online = { of: opened, hosts: key, jail: await opened.withNetwork(filter) };
  }

  /** The network of one call, in addition to the open hosts. */
  async #filterFor({ hosts }: NetworkNeed): Promise<
    NetworkFilter | {
      readonly network: "open";
      readonly refused: string[];
      [Symbol.asyncDispose](): Promise<void>;
    }
  > {
    if (hosts.length > 0) return await this.#startFilter([...this.#openHosts, ...hosts]);
    return { network: "open", refused: [], [Symbol.asyncDispose]: () => Promise.resolve() };
  }

  async #startFilter(more: readonly string[]): Promise<NetworkFilter> {
    const hosts = [...await expanded(this.#sources.loaded.config.sandbox.network_hosts), ...more];
    // The mounts of a kept container stay, so the socket is in a directory that it shows.
    const dir = this.#keeps ? this.#tmp : undefined;
    const directory = await Deno.makeTempDir({
      ...(dir === undefined ? {} : { dir }),
      prefix: "reasonix-proxy-",
    });
    const refused: string[] = [];
    const proxy = await startFilterProxy({
      hosts,
      listen: Deno.build.os === "linux" ? { socket: `${directory}/proxy.sock` } : { port: 0 },
      onRefused: ({ host, port }, reason) => {
        refused.push(port === 443 || port === 80 ? host : `${host}:${port}`);
        this.#sources.notify?.(message`Refused a connection to ${`${host}:${port}`}: ${reason}`);
      },
    });
    let closing: Promise<void> | undefined;
    const close = async () => {
      await proxy[Symbol.asyncDispose]();
      await Deno.remove(directory, { recursive: true }).catch(() => {});
    };
    const filter: NetworkFilter = {
      network: "filtered",
      proxy: proxy.address,
      refused,
      [Symbol.asyncDispose]: () => closing ??= close(),
    };
    this.#started.push(filter);
    return filter;
  }

  #jailNow(opened: Jail): Jail {
    const jail = this.#online?.of === opened ? this.#online.jail : opened;
    if (!this.#filesStay) return jail;
    if (this.#readOnly?.of !== jail) this.#readOnly = { of: jail, jail: jail.readOnly() };
    return this.#readOnly.jail;
  }

  /**
   * Returns what the model and the user should know of files that could not be protected before they were
   * there.
   */
  #madeNotes({ protectedPaths, denied }: MadeFiles): string[] {
    const notes = [
      { isDenied: false, what: "made files that other programs run or obey", paths: protectedPaths },
      { isDenied: true, what: "made files that an Edit rule denies", paths: denied },
    ];
    return notes.filter(({ paths }) => paths.length > 0).map(({ isDenied, what, paths }) => {
      const names = listed(paths);
      const text = isDenied
        ? message`A command made files that an Edit rule denies: ${names}; look at them before you trust them`
        : message`A command made files that other programs run or obey: ${names}; look at them before you trust them`;
      this.#sources.notify?.(text, { level: "warning" });
      return `this command ${what}: ${names}; the user was notified`;
    });
  }

  #notifyHeldBack(): void {
    if (this.#heldBack.length === 0) return;
    const names = listed(this.#heldBack);
    this.#sources.notify?.(
      message`Held back from commands, since they look secret: ${names}; [tools.shell] pass_env lets them through`,
    );
  }

  /**
   * Says once per cause that the jail seems to be why a command failed; without a person there is no way
   * around it.
   */
  readonly denialNotice: EventSource = (event) => {
    if (event.type !== "tool.end" || event.exitCode === undefined || event.exitCode === 0) return undefined;
    return this.#explain({ exitCode: event.exitCode, output: event.content }).then((found) => {
      const { hint, hosts = [] } = found ?? {};
      if (hint === undefined || this.#explained.has(hint)) return undefined;
      this.#explained.add(hint);
      const text = hintText(hint, hosts);
      return newNotice("warning", "sandbox.denied", text);
    });
  };

  async #explain(
    outcome: CommandOutcome,
  ): Promise<{ readonly hint: Hint; readonly hosts?: readonly string[] } | undefined> {
    const jail = await this.#jail?.catch(() => undefined);
    if (!jail?.confined) return undefined;
    const { writes } = this.#sources.loaded.config.tools;
    const denial = jail.denialOf(outcome);
    if (denial?.kind === "setup") await jail.forgetProbe();
    if (denial === undefined) return undefined;
    if (denial.kind === "network") {
      const refused = this.#filters.flatMap((filter) => filter.refused);
      const named = denial.host === undefined ? [] : [denial.host];
      return { hint: "network", hosts: refused.length > 0 ? [...new Set(refused)] : named };
    }
    if (denial.kind === "setup") return { hint: "setup" };
    return { hint: writes !== "allow" ? "readOnly" : this.#filesStay ? "mode" : "file" };
  }

  async close(): Promise<void> {
    // One that is still being chosen makes its directories and the proxy on the way.
    await Promise.allSettled([this.#jail, this.#remembered]);
    for (const filter of this.#started) await filter[Symbol.asyncDispose]();
    if (this.#tmp !== undefined && !this.#keeps) {
      await Deno.remove(this.#tmp, { recursive: true }).catch(() => {});
    }
  }

  /** A `/tmp` of the session's own; next to the system's where the session directory cannot be made. */
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

  /** Notifies the user about the confinement of commands at the first one, since many runs have none. */
  #notifyOnce(jail: Jail): Promise<void> {
    return this.#notified ??= this.#notifyConfinement(jail).then(() => this.#notifyHeldBack());
  }

  /** Describes the jail for a question about a command; notifies the user before the first one. */
  async describe(): Promise<LocalizedMessage> {
    await this.#notifyOnce(await this.open());
    return (await this.#confinement()).text;
  }

  async #confinement(): Promise<{ readonly text: LocalizedMessage; readonly confinement: Confinement }> {
    const { paths: { cwd } } = this.#sources;
    const jail = await this.open();
    const confinement = (this.#filesStay ? jail.readOnly() : jail).confinement(cwd);
    return { text: describeConfinement(confinement), confinement };
  }

  /**
   * Says what is confined: to a person once per session, else once per project and again when it changed;
   * that nothing is, each time.
   */
  async #notifyConfinement(jail: Jail): Promise<void> {
    const { notify, unconfined, expectedJail, describes, paths } = this.#sources;
    if (!notify || (!jail.confined && (unconfined || expectedJail))) return;
    const { text, confinement } = await this.#confinement();
    const directory = projectDir(cacheDirectory(paths), paths.cwd);
    const file = `${directory}/jail`;
    if (jail.confined && !describes && readSmallText(file) === text.text) return;
    notify(text, { confinement });
    // A failed write only repeats the notice. The command does not wait for it.
    this.#remembered = Deno.mkdir(directory, { recursive: true, mode: 0o700 })
      .then(() => Deno.writeTextFile(file, text.text, { mode: 0o600 })).catch(() => {});
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
    const { keyNames, heldBack, values } = secretsOf(loaded);
    this.#heldBack = heldBack;
    const tmp = this.#tmp ??= await this.#makeTmp();
    const container = this.#container;
    return {
      mode: this.#mode,
      inContainer: this.#sources.inContainer,
      ...(container === undefined ? {} : { container }),
      ...(this.#sources.expectedJail?.confined ? { expected: true } : {}),
      roots: [...workspace.roots],
      ...(loaded.config.tools.writes === "allow" ? {} : { rootAccess: "read" }),
      shown: [...(outputDir === undefined ? [] : [outputDir]), ...await borrowedObjects(paths)],
      forbidRead: workspace.forbidden,
      denyRead: workspace.options.denyRead ?? [],
      denyWrite: [
        ...deniedGlobs(loaded.config, "Edit"),
        ...linkedSettings(loaded).map((path) => `/${escapeGlob(path)}`),
      ],
      home: paths.home,
      cacheDir: cacheDirectory(paths),
      repositories: this.repositories,
      environment: {
        secretNames: [...keyNames, ...heldBack],
        secretValues: values,
        added: this.#sources.env,
      },
      userHome: paths.env("HOME"),
      ...(tmp === undefined ? {} : { privateTmp: tmp }),
      ...await this.#network(),
    };
  }

  async #network(): Promise<Pick<JailOptions, "network" | "proxy">> {
    const { network, network_hosts } = this.#sources.loaded.config.sandbox;
    if (network || this.#mode === "off") return { network: "open" };
    if (network_hosts.length === 0) return { network: "none" };
    const filter = this.#filters[0] ?? await this.#startFilter([]);
    if (this.#filters.length === 0) this.#filters.push(filter);
    return { network: "filtered", proxy: filter.proxy };
  }
}

/** Directories that git reads outside of a work tree of the program. */
async function borrowedObjects({ home, cwd }: RunPaths): Promise<string[]> {
  if (worktreeIdOf(home, cwd) === undefined) return [];
  return (await import("../../worktree/mod.ts")).borrowedObjects(home, cwd);
}

/** Entries of `network_hosts` with the hosts of package registries in place of their word. */
async function expanded(entries: readonly string[]): Promise<readonly string[]> {
  if (!entries.includes(REGISTRIES)) return entries;
  return [...entries.filter((entry) => entry !== REGISTRIES), ...await packageRegistries()];
}

function networkLines(hosts: readonly string[]): string {
  const setting = hosts.length === 0 ? "network = true" : `network_hosts = ${JSON.stringify(hosts)}`;
  return `[sandbox]\n${setting}`;
}

function listed(paths: readonly string[]): string {
  const more = paths.length > MAX_NAMES ? ` and ${paths.length - MAX_NAMES} more` : "";
  return `${paths.slice(0, MAX_NAMES).join(", ")}${more}`;
}

export async function withJail<T>(
  sources: SandboxSessionDeps,
  work: (jail: Jail) => T | Promise<T>,
): Promise<T> {
  const lazy = new SandboxSession(sources);
  try {
    return await work(await lazy.open());
  } finally {
    await lazy.close();
  }
}

interface EscapeDeps {
  readonly jail: Pick<Jail, "denialOf">;
  readonly call: PreparedCall;
  readonly ask: PermissionGate["confirm"];
  /** Hosts that the filter of the network refused to the command. */
  readonly refused: readonly string[];
  /** Returns the directory whose opening would let a path be written, if there is one. */
  readonly couldOpen: (path: string) => string | undefined;
  /** It never runs without the jail. */
  readonly enforced: boolean;
  /** The same command with what the answer opened, and its name; undefined where it opened nothing. */
  readonly withGranted: (
    argv: readonly string[],
    cwd: string,
    directory: string | undefined,
  ) => Promise<{ readonly plan: SpawnPlan; readonly with: string } | undefined>;
  readonly unconfined: (argv: readonly string[]) => SpawnPlan;
}

/**
 * Offers a person one more run of a failed command: with a network, with one more writable directory, or
 * without the jail. The cause is a guess from the output, which the command may have forged: the answer
 * alone decides.
 */
async function offerEscape(
  { jail, call, ask, refused, withGranted, unconfined, couldOpen, enforced }: EscapeDeps,
  { argv, cwd, exitCode, output }: FailedCommand,
  signal: AbortSignal,
): ReturnType<NonNullable<CommandJail["escape"]>> {
  const denial = refused.length > 0
    ? { kind: "network", evidence: `no connection to ${refused.join(", ")}`, host: undefined } as const
    : jail.denialOf({ exitCode, output });
  if (denial === undefined || denial.kind === "setup") return undefined;
  const { kind, evidence, host } = denial;
  const hosts = refused.length > 0 ? refused : host === undefined ? [] : [host];
  const directory = kind === "file" ? writtenDirectory(evidence, cwd, couldOpen) : undefined;
  if (enforced && kind === "file" && directory === undefined) return undefined;
  const choices = [
    ...(kind === "network" ? [message`with a network`] : []),
    ...(directory === undefined ? [] : [message`with ${directory} writable for this session`]),
    ...(enforced ? [] : [message`not confined at all`]),
  ];
  const question: Confirmation = {
    subject: subjectOf(call),
    reason: message`seems to have been stopped by the sandbox (${
      JSON.stringify(evidence)
    }) and would run again from its beginning, ${
      choices.reduce((first, second) => message`${first} or ${second}`)
    }`,
    source: "confinement",
    ...(directory === undefined ? {} : { directory }),
    escape: {
      evidence,
      ...(kind === "network" ? { network: { hosts } } : {}),
      ...(enforced ? { enforced } : {}),
    },
  };
  const { decision, reason } = await ask(call, question, signal);
  if (decision !== "allow") {
    return textOf(reason ?? "the user declined to run it without the sandbox");
  }
  const again = await withGranted(argv, cwd, directory);
  if (again) {
    return {
      plan: again.plan,
      note: `the sandbox stopped this command; run again with ${again.with}, as the user allowed`,
    };
  }
  if (enforced) return "the sandbox is enforced, and the answer opened neither a host nor a directory";
  return {
    plan: unconfined(argv),
    note: "the sandbox stopped this command; run again without it, as the user allowed",
  };
}

/** Returns a directory that would have to be open, by the paths that a line of the output names. */
function writtenDirectory(
  evidence: string,
  cwd: string,
  couldOpen: EscapeDeps["couldOpen"],
): string | undefined {
  const quoted = [...evidence.matchAll(/['"‘`]([^'"’`]+)['"’`]/g)].map(([, path = ""]) => path);
  const bare = [...evidence.matchAll(/(?:^|[\s:])(\/[^\s:'"]+)/g)].map(([, path = ""]) => path);
  for (const path of [...quoted, ...bare]) {
    if (!path.includes("/") && !quoted.includes(path)) continue;
    const directory = couldOpen(path.startsWith("/") ? path : `${cwd}/${path}`);
    if (directory !== undefined) return directory;
  }
  return undefined;
}
