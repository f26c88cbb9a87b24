import { isKnown } from "../../rule/mod.ts";

/** How a program that runs the command after its own arguments reads its options. */
interface WrapperSpec {
  /** Short options without and with a value. */
  readonly flags?: string;
  readonly values?: string;
  readonly longFlags?: string;
  readonly longValues?: string;
  /** Words before the command, such as the duration of `timeout`. */
  readonly operands?: number;
  /** Words with `=` before the command, whatever stands in front of it. */
  readonly assigns?: true;
  /** A lone dash is an option. */
  readonly dash?: true;
  /** A number may stand as an option (`nice -5`). */
  readonly numeric?: true;
  /** Options that only ask about the command. */
  readonly queries?: string;
  /** Options after which nothing can be said. */
  readonly codes?: string;
  /** Why a rule for the inner command does not cover this. */
  readonly guarded?: string;
}

const SUDO = "it runs as another user";
const FETCH = "it may download what it runs";

/** First words → specification. Names of two words come with their subcommand. */
const WRAPPERS: Readonly<Record<string, WrapperSpec>> = {
  sudo: {
    flags: "AbBEHknPSN",
    values: "CDghpRrtTuU",
    longFlags:
      "askpass background bell preserve-env set-home non-interactive preserve-groups reset-timestamp stdin",
    longValues: "close-from chdir group host prompt chroot role type command-timeout other-user user",
    assigns: true,
    guarded: SUDO,
  },
  doas: { flags: "Ln", values: "Cu", guarded: SUDO },
  env: {
    flags: "i0v",
    values: "uC",
    longFlags: "ignore-environment null debug",
    longValues: "unset chdir",
    assigns: true,
    dash: true,
  },
  nice: { values: "n", longValues: "adjustment", numeric: true },
  ionice: { flags: "t", values: "cn", longFlags: "ignore", longValues: "class classdata" },
  nohup: {},
  setsid: { flags: "cfw", longFlags: "ctty fork wait" },
  stdbuf: { values: "ioe", longValues: "input output error" },
  time: {
    flags: "pvaq",
    values: "fo",
    longFlags: "portability verbose append quiet",
    longValues: "format output",
  },
  timeout: {
    flags: "vf",
    values: "sk",
    longFlags: "foreground preserve-status verbose",
    longValues: "signal kill-after",
    operands: 1,
  },
  chrt: { flags: "abfiomrd", operands: 1 },
  taskset: { flags: "ac", operands: 1 },
  flock: {
    flags: "snxeuFov",
    values: "wE",
    longFlags: "shared nonblock exclusive unlock close verbose no-fork",
    longValues: "wait timeout conflict-exit-code",
    operands: 1,
    codes: "c",
  },
  command: { flags: "p", queries: "vV" },
  builtin: {},
  exec: { flags: "cl", values: "a" },
  busybox: {},
  toybox: {},
  caffeinate: { flags: "dimsu", values: "tw" },
  unbuffer: { flags: "p" },
  chroot: { longValues: "userspec groups", operands: 1, guarded: "it runs in another root folder" },
  npx: {
    flags: "yq",
    values: "p",
    longFlags: "yes no quiet no-install",
    longValues: "package",
    guarded: FETCH,
  },
  "npm exec": { flags: "y", longFlags: "yes no", longValues: "package", guarded: FETCH },
  "npm explore": { operands: 1, guarded: "it runs in another folder" },
  "npm x": { flags: "y", longFlags: "yes no", longValues: "package", guarded: FETCH },
  bunx: { longFlags: "bun", guarded: FETCH },
  "bun x": { guarded: FETCH },
  "pnpm exec": { guarded: "it runs a program of the project" },
  "pnpm dlx": { guarded: FETCH },
  "yarn exec": { guarded: "it runs a program of the project" },
  "yarn dlx": { guarded: FETCH },
  uvx: { values: "p", longValues: "from with python", guarded: FETCH },
  "uv run": {
    flags: "q",
    values: "p",
    longFlags: "frozen locked no-sync offline quiet",
    longValues: "with python extra group project",
    guarded: "it may install before it runs",
  },
  "poetry run": { guarded: "it runs in another environment" },
  "pipenv run": { guarded: "it runs in another environment" },
  "bundle exec": { guarded: "it runs in another environment" },
};

/** Programs that run other programs in ways that are not read here. */
const RUNNERS: ReadonlySet<string> = new Set(
  ("su runuser pkexec setpriv unshare nsenter strace ltrace watch script parallel sem fakeroot firejail bwrap proot " +
    "systemd-run start-stop-daemon run-parts entr rlwrap xvfb-run dbus-run-session ssh-agent valgrind perf gdb lldb " +
    "proxychains proxychains4 torsocks tsocks faketime numactl prlimit cgexec cpulimit catchsegv expect at batch " +
    "crontab tmux screen mise direnv conda asdf rustup nix nix-shell pdm rye hatch pixi ssh doas-edit osascript " +
    "runcon sg newgrp capsh setarch linux32 linux64 arch i386 x86_64 eatmydata stdbuf-static hyperfine watchexec " +
    "nodemon chpst softlimit envdir s6-setuidgid gosu su-exec tini dumb-init apptainer singularity winpty wine logsave choom " +
    "ld.so ld-linux.so systemd-nspawn machinectl run0 sshpass autossh mosh flatpak-spawn distrobox daemonize daemon rr uftrace " +
    "chronic ifne mispipe zrun fakechroot datefudge libtool xterm konsole gnome-terminal alacritty kitty foot dbus-launch xinit " +
    "reflex watchman-make op doppler dotenv dotenvx env-cmd cross-env cross-env-shell concurrently lerna volta fnm nvm pyenv " +
    "rbenv jenv micromamba mamba pipx aws-vault chamber sops retry pdsh pssh zellij dtach abduco update-alternatives")
    .split(" "),
);

/** Programs that run words of theirs somewhere else, or a script by a name that may be a program's: refusals find those words. */
const ELSEWHERE = /^(?:docker|podman|nerdctl|kubectl|oc|docker-compose|lxc|vagrant|adb)$/;
const TASKS = /^(?:pnpm|yarn|bun)$/;

/** Index of the words that may name a program although it is not known that they do. */
export function mentioned(argv: readonly string[], name: string): number[] {
  const from = ELSEWHERE.test(name) ? 1 : TASKS.test(name) ? 0 : undefined;
  if (from === undefined) return [];
  const plain = argv.flatMap((word, i) => i > 0 && !word.startsWith("-") ? [i] : []);
  return from === 1 ? plain.slice(1) : plain.slice(0, 2);
}

/** What a wrapper's words say about the command it runs. */
export type Unwrapped =
  | {
    readonly kind: "inner";
    readonly at: number;
    readonly assigns: readonly string[];
    readonly guarded?: string;
  }
  /** It runs nothing. */
  | { readonly kind: "none" }
  | { readonly kind: "opaque"; readonly reason: string };

/** Looks through one wrapper. Undefined when the words are no wrapper's. */
export function unwrap(argv: readonly string[], name: string): Unwrapped | undefined {
  const two = `${name} ${argv[1] ?? ""}`;
  const spec = own(name) ?? own(two);
  if (!spec) {
    if (behindOptions(argv, name) || (name === "cmake" && /^(?:env|chdir|time)$/.test(argv[2] ?? ""))) {
      return { kind: "opaque", reason: `${name} is used in a way that is not known here` };
    }
    return (RUNNERS.has(name) || /^ld-[\w.-]+\.so/.test(name)) && argv.length > 1
      ? { kind: "opaque", reason: `${name} runs what its arguments say` }
      : undefined;
  }
  const start = own(name) ? 1 : 2;
  const opaque: Unwrapped = { kind: "opaque", reason: `${name} is used in a way that is not known here` };
  let at: number | "query" | undefined = skipOptions(argv, start, spec);
  if (at === "query") return { kind: "none" };
  if (at === undefined) return opaque;
  const assigns: string[] = [];
  while (spec.assigns && argv[at]?.includes("=")) assigns.push(argv[at++] ?? "");
  if (assigns.some((each) => !isKnown(each.split("=", 1)[0] ?? ""))) return opaque;
  at += spec.operands ?? 0;
  if (spec.operands && argv[at] === "--") at++;
  // flock takes `-c code` after its file.
  if (spec.codes && /^-/.test(argv[at] ?? "")) return opaque;
  // In another root folder a shell is started when nothing is named.
  if (at >= argv.length) return name === "chroot" ? opaque : { kind: "none" };
  return { kind: "inner", at, assigns, ...(spec.guarded === undefined ? {} : { guarded: spec.guarded }) };
}

function own(name: string): WrapperSpec | undefined {
  return Object.hasOwn(WRAPPERS, name) ? WRAPPERS[name] : undefined;
}

/** A subcommand that runs other programs, behind options that may take the word before it. */
function behindOptions(argv: readonly string[], name: string): boolean {
  return argv[1]?.startsWith("-") === true &&
    argv.slice(2).some((word) => Object.hasOwn(WRAPPERS, `${name} ${word}`));
}

/** Index of the first word that is no option; undefined when an option is not known. */
function skipOptions(
  argv: readonly string[],
  start: number,
  spec: WrapperSpec,
): number | "query" | undefined {
  let at = start;
  for (; at < argv.length; at++) {
    const word = argv[at] ?? "";
    if (!isKnown(word) && !/^[\w./]/.test(word)) return undefined;
    if (word === "--") return at + 1;
    if (word === "-" && spec.dash) continue;
    if (!word.startsWith("-") || word === "-") return at;
    if (spec.numeric && /^-\d+$/.test(word)) continue;
    if (word.startsWith("--")) {
      const [long = "", value] = word.slice(2).split("=", 2);
      if (listed(spec.longFlags, long)) continue;
      if (!listed(spec.longValues, long)) return undefined;
      if (value === undefined) at++;
      continue;
    }
    const read = readCluster(word.slice(1), spec);
    if (read === "flag") continue;
    if (read !== "value") return read;
    at++;
  }
  return at;
}

function listed(list: string | undefined, name: string): boolean {
  return list !== undefined && list.split(" ").includes(name);
}

/** `value` when the cluster's last option takes the next word. */
function readCluster(letters: string, spec: WrapperSpec): "flag" | "value" | "query" | undefined {
  for (let i = 0; i < letters.length; i++) {
    const letter = letters[i] ?? "";
    if (spec.queries?.includes(letter)) return "query";
    if (spec.flags?.includes(letter)) continue;
    if (!spec.values?.includes(letter)) return undefined;
    return i === letters.length - 1 ? "value" : "flag";
  }
  return "flag";
}
