import { contains } from "../../../path/lexical.ts";
import {
  type Backend,
  type BindMount,
  bindMounts,
  CLEANER,
  type ContainerSettings,
  DANGLING,
  type JailedCommand,
  type JailPlan,
  joinPaths,
  type ProbeResult,
  ROOT_CAPABILITIES,
  type SpawnPlan,
} from "../backend.ts";
import { PROXY_PORT, proxyEnvironment } from "../environment.ts";
import { findJailProgram } from "../backend.ts";
import { runProgram } from "../../../util/process.ts";
import { sha256 } from "../../../util/digest.ts";

/** The runtime of this program as commands in a container see it: it runs the forwarder to the proxy. */
const RUNTIME = "/run/reasonix/runtime";
const PROXY_SOCKET = "/run/reasonix/proxy.sock";

/** Carried by all processes of one command in a kept container. */
const MARK = "REASONIX_COMMAND";

/** The programs are started outside of the container, so they are not looked up in the user's PATH. */
const SYSTEM_PATH =
  "/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin:/opt/homebrew/bin:/run/current-system/sw/bin";

/** Variables that the image sets, or that name paths of the machine. */
const IMAGE_DECIDES = new Set(["PATH", "HOME", "SHELL", "PWD", "OLDPWD", "TMPDIR", ...DANGLING]);

const TMPFS = "rw,exec,nosuid,nodev,mode=1777,size=512m";

/** Kills what carries the mark `$1`; the environment of this shell lacks it. */
const SWEEP = `for again in 1 2 3; do
  for file in $(grep -lsF -- "${MARK}=$1" /proc/[0-9]*/environ); do
    pid=\${file#/proc/}; kill "-$2" "\${pid%/environ}" 2>/dev/null
  done
  [ "$2" = TERM ] && break
done`;

const MISSING = (word: string) =>
  `command -v -- "${word}" >/dev/null || { echo "reasonix: the image has no program ${word}" >&2; exit 127; }`;

/** Reads the kernel's list of mounts, and finds what part of its file system one shows. */
const READ_MOUNTS = `nested=$1 kind=$2 roots=; shift 2
while read -r _ _ _ root at _; do
  roots="$roots
$at\t\${root%/}
"
done </proc/self/mountinfo
root_of() {
  found=\${roots##*"
$1\t"}; found=\${found%%"
"*}
  case $roots in *"
$1\t"*) ;; *) found=none ;; esac
}`;

/**
 * Checks that each mount in `$1` exists and shows its part of the outer one. A job that runs at the same time
 * may have replaced it by a link to anywhere on the machine.
 */
const CHECK_MOUNTS = `${READ_MOUNTS}
set -f; IFS='
'
for pair in $nested; do
  at=\${pair%%\t*} outer=\${pair#*\t}
  root_of "$outer"; wanted=$found\${at#"$outer"}
  root_of "$at"
  if [ "$found" != "$wanted" ]; then
    echo "reasonix: $kind did not start the container: $at was replaced" >&2; exit 125
  fi
done
set +f; unset IFS`;

/** The first process of a new container: it collects orphans, and all processes end with it. */
const INNER = `ulimit -c 0
${CHECK_MOUNTS}
${MISSING("$1")}
exec 3>&2 2>/dev/null
"$@" 2>&3 3>&-; exit $?`;

/** Runs one command in a kept container and ends what the command leaves behind. */
const INNER_KEPT = `ulimit -c 0; id=$REASONIX_ID; unset REASONIX_ID
${CHECK_MOUNTS}
${MISSING("$1")}
exec 3>&2 2>/dev/null
${MARK}=$id "$@" 2>&3 3>&-; code=$?
set -- "$id" KILL
${SWEEP}
exit $code`;

/** The first process of a kept container. It ends after ten minutes in which nothing ran. */
const FIRST_PROCESS = `trap 'exit 0' TERM INT
idle=0
while [ $idle -lt 10 ]; do
  sleep 60 & wait $!
  set -- /proc/[0-9]*
  if [ $# -le 1 ]; then idle=$((idle + 1)); else idle=0; fi
done`;

const STATE =
  '{{index .Config.Labels "reasonix.image"}} {{index .Config.Labels "reasonix.plan"}} {{.State.Running}}';

/** Shell text that removes a container with other mounts, and names the image with its files. */
const RETIRE = `from=$image
    case $state in
      "$image "*) "$program" commit -q "$name" "reasonix-kept/$name" >/dev/null || return 125
        from=reasonix-kept/$name ;;
    esac
    [ "$state" ] && "$program" rm -f "$name" >/dev/null`;

/**
 * Starts the kept container with the present mounts. One with other mounts is replaced by one with its files.
 */
const ENSURE = `ensure() (
  eval "set -- $create"
  for attempt in 1 2 3; do
    state=$("$program" container inspect -f '${STATE}' "$name" 2>/dev/null)
    case $state in
      "$image $plan true") return 0 ;;
      "$image $plan "*) "$program" start "$name" >/dev/null && return 0; continue ;;
    esac
    ${RETIRE}
    "$program" "$@" "$from" -c "$first" >/dev/null && return 0
  done
  return 125
)`;

/** Shell text of what differs: how the command starts, is asked to end, and is ended. */
const FRESH = {
  before: "name=$name-$id",
  start: 'session "$program" run --name "$name" "$@"',
  ask: '"$program" exec "$name" /bin/sh -c "kill -TERM -1"',
  end: '"$program" kill "$name" || "$program" rm -f "$name"',
};
const KEPT = {
  before: `image=$1 plan=$2 create=$3 first=$4; shift 4; export REASONIX_ID=$id
${ENSURE}
ensure || { echo "reasonix: $program did not start the container" >&2; exit 125; }`,
  start: 'session "$program" exec "$@"',
  ask: '"$program" exec "$name" /bin/sh -c "$sweep" sweep "$id" TERM',
  end: '"$program" exec "$name" /bin/sh -c "$sweep" sweep "$id" KILL',
};

const SESSION = `session() {
  if [ -x /usr/bin/setsid ]; then exec /usr/bin/setsid "$@"; fi
  if [ -x /usr/bin/perl ]; then exec /usr/bin/perl -e 'setpgrp(0, 0); exec @ARGV' "$@"; fi
  exec "$@"
}`;

/** Shell text that waits for the exit code of a command and ends the command where none comes. */
const watcher = (end: string) =>
  `watch='trap "" HUP INT TERM QUIT
read -r code || code=
if [ "\${code:-200}" -ge 125 ]; then { ${end}; } >/dev/null 2>&1 </dev/null; fi
${CLEANER.replaceAll("'", `'\\''`)}
exit "\${code:-137}"'`;

/**
 * The shell that starts a container program. A container outlives its process group, so that program and a
 * second shell run in their own sessions. The second shell reads the exit code from a pipe, and ends the
 * command where the pipe ends without one. It also removes what must not appear. It lacks the mark, so the
 * guard of commands does not end it.
 */
const starter = ({ before, start, ask, end }: typeof FRESH) =>
  `unset REASONIX_GUARD
program=$1 name=$2 files=$3 sweep=$4; shift 4
id=$$-$(date +%s)
${before}
export program name files sweep id
${SESSION}
${watcher(end)}
trap : TERM INT HUP
exec 7<&0 8>&1
{
  trap '{ ${ask}; } >/dev/null 2>&1 </dev/null 7<&- 8>&- 9>&- &' TERM
  ${start} <&7 >&8 7<&- 8>&- 9>&- &
  client=$!
  while wait $client; code=$?; kill -0 $client 2>/dev/null; do :; done
  echo $code >&9
} 9>&1 >&8 | session /bin/sh -c "$watch" 7<&- 8>&-`;

function field(name: string, value: string): string {
  const text = `${name}=${value}`;
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function mount({ path, from, writable }: BindMount): string {
  const fields = ["type=bind", field("source", from), field("destination", path)];
  return `--mount=${[...fields, ...(writable ? [] : ["readonly"])].join(",")}`;
}

/** One mount per path: hidden wins over read-only. */
function mounts(plan: JailPlan, probe: ProbeResult): BindMount[] {
  const shown = bindMounts(plan);
  const hidden = plan.hidden.filter(({ path }) => shown.some((one) => contains(one.path, path)))
    .map(({ path, directory }) => ({
      path,
      from: directory ? probe.empty ?? "/dev/null" : "/dev/null",
      writable: false,
    }));
  const ofSession = plan.privateTmp === undefined || shown.some(({ path }) => path === "/tmp")
    ? []
    : [{ path: "/tmp", from: plan.privateTmp, writable: true }];
  return [...new Map([...ofSession, ...shown, ...hidden].map((one) => [one.path, one])).values()];
}

/** Pairs of a mount and the one around it, as the kernel's list writes them. */
function nestedMounts(entries: readonly BindMount[]): string {
  // The virtual machine of Docker on macOS has its own list.
  const real = Deno.build.os === "linux" ? entries.filter(({ path, from }) => path === from) : [];
  const escaped = (path: string) =>
    path.replace(/[\\ \t\n]/g, (one) => `\\${one.charCodeAt(0).toString(8).padStart(3, "0")}`);
  const lines = real.flatMap(({ path }) => {
    const outer = real.filter((one) => one.path !== path && contains(one.path, path))
      .reduce((longest, one) => one.path.length > longest.length ? one.path : longest, "");
    return outer === "" ? [] : [`${escaped(path)}\t${escaped(outer)}`];
  });
  return `\n${lines.join("\n")}\n`;
}

/** Directories in memory: where nothing else is mounted, and the home of the user. */
function temporary(entries: readonly BindMount[], home: string | undefined, kept: boolean): string[] {
  const wanted = ["/run", "/tmp", "/var/tmp", ...(home === undefined || home === "/" || kept ? [] : [home])];
  return wanted.filter((path) => !entries.some((one) => one.path === path || isInside(path, one)))
    .map((path) => `--tmpfs=${path}:${TMPFS}`);
}

/** The private `/tmp` is another directory than the real one, so a home below the real one is not in it. */
function isInside(path: string, one: BindMount): boolean {
  return one.from === one.path && contains(one.path, path);
}

/**
 * Variables that the container gets: the image has its own programs and directories, so those that name
 * others are left out.
 */
function passed(env: Readonly<Record<string, string>>, entries: readonly BindMount[]): string[] {
  const isThere = (path: string) => entries.some((one) => isInside(path, one));
  return Object.entries(env).filter(([name, value]) => {
    if (IMAGE_DECIDES.has(name) || !/^[A-Za-z_]\w*$/.test(name)) return false;
    const paths = [...value.matchAll(/(?:^|[:;,=\s])(\/(?!\/)[^:;,=\s]*)/g)].map((match) => match[1] ?? "");
    return paths.every(isThere);
  }).map(([name]) => name);
}

/** A program of the machine is the program of the same name in the image, unless it is mounted. */
function inImage([program = "", ...rest]: readonly string[], entries: readonly BindMount[]): string[] {
  const stays = !program.startsWith("/") || entries.some((one) => isInside(program, one));
  return [stays ? program : program.slice(program.lastIndexOf("/") + 1), ...rest];
}

function quoted(words: readonly string[]): string {
  return words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
}

function digest(text: string): string {
  return sha256(text).slice(0, 12);
}

function keptName(project: string): string {
  return `reasonix-${digest(`${project}\0${Deno.uid()}`)}`;
}

interface Proxied {
  readonly argv: readonly string[];
  readonly mounts: readonly BindMount[];
  readonly env: Readonly<Record<string, string>>;
}

function proxied(
  { network, proxy, privateTmp }: JailPlan,
  argv: readonly string[],
  kept: boolean,
): Proxied {
  const { socket, forwarder: [runtime = Deno.execPath(), ...words] = [] } = proxy ?? {};
  const program: BindMount = { path: RUNTIME, from: runtime, writable: false };
  if (network !== "filtered" || socket === undefined) {
    // A kept container has it always: an answer that opens hosts must not replace the container.
    return { argv, mounts: kept ? [program] : [], env: {} };
  }
  // A kept container has mounts that stay, so its socket is in a directory that it sees.
  const shared = privateTmp !== undefined && contains(privateTmp, socket);
  const inner = shared ? `/tmp${socket.slice(privateTmp.length)}` : PROXY_SOCKET;
  return {
    argv: [RUNTIME, ...words, inner, String(PROXY_PORT), ...argv],
    mounts: [
      program,
      ...(shared ? [] : [{ path: inner, from: socket, writable: true }]),
    ],
    env: proxyEnvironment(PROXY_PORT),
  };
}

function wrap({ program: kind, image, kept }: ContainerSettings, command: JailedCommand): SpawnPlan {
  const { plan, probe, cwd } = command;
  const program = probe.program ?? kind;
  const project = kept ? plan.project : undefined;
  const entries = mounts(plan, probe);
  const proxy = proxied(plan, inImage(command.argv, entries), project !== undefined && probe.proxy === true);
  const env = { ...command.env, ...proxy.env };
  const names = new Set([...passed(env, entries), ...Object.keys(proxy.env)]);
  entries.push(...proxy.mounts);
  const box = [
    "--pull=never",
    `--network=${plan.network === "open" ? "host" : "none"}`,
    ...CONFINED,
    ...(probe.options ?? []),
    ...temporary(entries, plan.userHome, project !== undefined),
    ...entries.sort((a, b) => a.path.length - b.path.length).map(mount),
    "--entrypoint=/bin/sh",
  ];
  const inside = [
    "--interactive",
    `--workdir=${cwd}`,
    "--env=TMPDIR=/tmp",
    ...(plan.userHome === undefined ? [] : [`--env=HOME=${plan.userHome}`]),
    ...[...names].map((name) => `--env=${name}`),
  ];
  const nested = nestedMounts(entries);
  const common = (name: string) => [program, name, joinPaths(plan.mustNotAppear), SWEEP];
  const words = project === undefined
    ? [
      ...[starter(FRESH), "reasonix", ...common("reasonix")],
      ...["--rm", "--read-only", "--log-driver=none", ...box, ...inside, image],
      ...["-c", INNER, "sh", nested, kind, ...proxy.argv],
    ]
    : [
      ...[starter(KEPT), "reasonix", ...common(keptName(project))],
      ...keptParts(project, image, box),
      ...[...userOf(probe), ...inside, "--env=REASONIX_ID", keptName(project)],
      ...["/bin/sh", "-c", INNER_KEPT, "sh", nested, kind, ...proxy.argv],
    ];
  return { command: "/bin/sh", args: ["-c", ...words], env: { ...env, PATH: SYSTEM_PATH } };
}

/** The image, the mark of the mounts, the words that create the container, and its first process. */
function keptParts(project: string, image: string, box: readonly string[]): string[] {
  const plan = digest(box.join("\0"));
  const labels = { image, plan, project };
  const create = [
    ...["run", "--detach", `--name=${keptName(project)}`],
    ...Object.entries(labels).map(([name, value]) => `--label=reasonix.${name}=${value}`),
    ...box,
  ];
  return [image, plan, quoted(create), FIRST_PROCESS];
}

function userOf({ options = [] }: ProbeResult): string[] {
  return options.filter((word) => word.startsWith("--user="));
}

/** Refused to every command; root keeps what lets it use files of other owners. */
const CONFINED = [
  "--cap-drop=ALL",
  ...(Deno.build.os !== "windows" && Deno.uid() === 0 ? ROOT_CAPABILITIES : [])
    .map((name) => `--cap-add=${name}`),
  "--security-opt=no-new-privileges",
  "--security-opt=label=disable",
];

async function output(
  program: string,
  args: readonly string[],
): Promise<{ code: number; stdout: string; error: string }> {
  // Podman and docker have their own variables, such as DOCKER_HOST and CONTAINERS_CONF.
  const env = { ...Deno.env.toObject(), PATH: SYSTEM_PATH };
  const { code, text, errors } = await runProgram([program, ...args], { env });
  const error = errors.trim().split("\n")[0]?.replace(/^(?:docker|Error|error): /, "");
  return { code, stdout: text.trim(), error: error || `exit code ${code}` };
}

const NO_DAEMON = /cannot connect to the docker daemon|failed to connect to the docker|docker\.sock/i;

function problem({ program, image }: ContainerSettings, error: string): string {
  return program === "docker" && NO_DAEMON.test(error)
    ? "the Docker daemon does not answer; start it (systemctl start docker) and join the group docker"
    : `cannot start a container of ${image}: ${error}`;
}

/** Root in a container without root is the user outside, unless the program keeps the user's number. */
async function userOptions(kind: string, program: string): Promise<string[]> {
  const [uid, gid] = [Deno.uid(), Deno.gid()];
  if (kind === "podman") {
    return [...(uid === 0 ? [] : ["--userns=keep-id"]), `--user=${uid}:${gid}`];
  }
  const { stdout } = await output(program, ["info", "--format", "{{json .SecurityOptions}}"]);
  return [stdout.includes("rootless") ? "--user=0:0" : `--user=${uid}:${gid}`];
}

async function emptyDirectory(cacheDir: string | undefined): Promise<string> {
  if (cacheDir === undefined) return await Deno.makeTempDir({ prefix: "reasonix-empty-" });
  await Deno.mkdir(cacheDir, { recursive: true, mode: 0o700 });
  await Deno.mkdir(`${cacheDir}/jail-empty`, { recursive: true, mode: 0o500 });
  return `${cacheDir}/jail-empty`;
}

async function probe(settings: ContainerSettings, cacheDir?: string): Promise<ProbeResult> {
  const { program: kind, image } = settings;
  const program = findJailProgram(kind);
  if (program === undefined) return { works: false, detail: `${kind} is not installed` };
  if (image === "") return { works: false, program, detail: "[sandbox] image names no image" };
  const failed = (error: string) => ({ works: false, program, detail: problem(settings, error) });
  const known = await output(program, ["image", "inspect", "--format", "{{.Id}}", image]);
  if (known.code !== 0) {
    return NO_DAEMON.test(known.error) || !/no such|not known|not found|not exist/i.test(known.error)
      ? failed(known.error)
      : { works: false, program, detail: `the image ${image} is not here; get it: ${kind} pull ${image}` };
  }
  const options = await userOptions(kind, program);
  const runtime = mount({ path: RUNTIME, from: Deno.execPath(), writable: false });
  const run = (script: string) =>
    output(program, [
      ...["run", "--rm", "--pull=never", "--network=none", "--read-only", ...CONFINED, ...options],
      ...[`--tmpfs=/run:${TMPFS}`, runtime, "--entrypoint=/bin/sh", image, "-c", script],
    ]);
  const { code, error } = await run(`${RUNTIME} --version >/dev/null 2>&1 && exit 42; exit 43`);
  if (code !== 42 && code !== 43) return failed(error);
  return {
    works: true,
    program,
    options,
    network: true,
    proxy: code === 42,
    empty: await emptyDirectory(cacheDir),
  };
}

/** Linux and, with Docker's own virtual machine, macOS: a container of an image of the user's choice. */
export function containerBackend(settings: ContainerSettings): Backend {
  return {
    async fingerprint() {
      const program = findJailProgram(settings.program);
      if (program === undefined) return undefined;
      const { mtime } = await Deno.stat(program);
      return [program, mtime?.getTime(), Deno.osRelease(), Deno.uid(), Deno.execPath(), settings.image].join(
        " ",
      );
    },
    probe: (cacheDir) => probe(settings, cacheDir),
    wrap: (command) => wrap(settings, command),
  };
}
