/** Runs command lines, each in a jail with a separate tree, and reports what each of them did. */

/** The path of the tree in the jail, the same for every line. */
export interface World {
  /** The initial tree of every line. The jail shows it as `tree`. */
  readonly seed: string;
  /** The directory in which the jail shows a fresh copy of it; outside it only has directories. */
  readonly tree: string;
  /** The directory within the tree where lines run; absent: the tree. */
  readonly start?: string;
  /** Programs whose starts are recorded. Installed ones are then run. */
  readonly noted?: readonly string[];
  /** Programs that are only recorded, since they require another machine. */
  readonly imitated?: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** The actions of one line. Paths are relative to the tree. */
export interface Recording {
  /** Starts of recorded programs, each as a plain command line, in order. */
  readonly started: readonly string[];
  /** Files and directories that were created, removed or changed. */
  readonly changed: readonly string[];
  /** Files whose content was read. */
  readonly read: readonly string[];
  /** Its output, up to 100,000 bytes. */
  readonly output: string;
  /** It had to be stopped. */
  readonly stopped: boolean;
}

const LIMIT_SECONDS = 20;
/** Long enough for an endless loop to show what it starts. */
const MOST_STARTS = 20;

/**
 * Replaces a recorded program. Under another name, such as `git-upload-pack`, it does not count as a start.
 * The group of a line that never ends is killed after its actions are recorded.
 */
const recorder = (name: string): string =>
  `#!/bin/bash -p
own=\${0##*/}
if [[ $own = ${name} ]]; then
  printf -v line '%q ' "$own" "$@"
  printf '%s\\n' "$line" >> /tmp/started
  mapfile -t all < /tmp/started
  ((\${#all[@]} < ${MOST_STARTS})) || kill -KILL 0
fi
[[ -e /tmp/real/${name} ]] && exec -a "$own" /tmp/real/${name} "$@"
exit 0
`;

/** A read updates the access time, which is old before the line; nothing else reads the tree. */
const RUNNER = `tree=$1 start=$2 line=$3
cp -a /tmp/seed/. "$tree" && find "$tree" -exec touch -h -a -d 2001-01-01 {} +
look() { find "$tree" -mindepth 1 -printf '%P\\t%y %m %s %n %T@ %C@ %l\\t%y%A@\\0'; }
cd "$tree/$start"; look; : > /tmp/started
printf '\\1'
env -i "\${@:4}" timeout -s KILL ${LIMIT_SECONDS} bash -c "$line" </dev/null >/tmp/output 2>/dev/null
code=$?
# What it left running may still be at work.
for ((i = 0; i < 100; i++)); do
  running=(/proc/[0-9]*); ((\${#running[@]} > 2)) || break; sleep 0.02
done
look; printf '\\1'; cat /tmp/started; printf '\\1'; head -c 100000 /tmp/output; printf '\\1%s' "$code"`;

/** A jail for lines over one world. */
export class RecordingJail {
  readonly #world: World;
  readonly #mounts: readonly string[];

  private constructor(world: World, mounts: readonly string[]) {
    this.#world = world;
    this.#mounts = mounts;
  }

  /** Creates the jail of a world; `directory` has its files. */
  static async create(world: World, directory: string): Promise<RecordingJail> {
    const { noted = [], imitated = [] } = world;
    await Deno.mkdir(`${directory}/bin`, { recursive: true });
    await Deno.mkdir(world.tree, { recursive: true });
    const mounts: string[] = [];
    for (const name of noted) {
      await Deno.writeTextFile(`${directory}/bin/${name}`, recorder(name), { mode: 0o755 });
      const [first, ...more] = imitated.includes(name) ? [] : await placesOf(name);
      if (first === undefined) continue;
      mounts.push("--ro-bind", first, `/tmp/real/${name}`);
      // The same for who names it by its path.
      for (const place of [first, ...more]) mounts.push("--ro-bind", `${directory}/bin/${name}`, place);
    }
    mounts.push("--ro-bind", `${directory}/bin`, "/tmp/bin", "--ro-bind", world.seed, "/tmp/seed");
    return new RecordingJail(world, mounts);
  }

  async record(line: string): Promise<Recording> {
    const { tree, start = "", env } = this.#world;
    const walls = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"];
    const child = new Deno.Command("bwrap", {
      args: [
        ...walls,
        ...this.#mounts,
        ...["--tmpfs", tree, "--unshare-all", "--die-with-parent", "--new-session"],
        ...["--setenv", "PATH", "/usr/bin:/bin", "--", "bash", "-c"],
        RUNNER,
        ...["bash", tree, start, line, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)],
      ],
      clearEnv: true,
      cwd: "/",
      stdin: "null",
    });
    let { success, stdout, stderr } = await child.output();
    // Mounts of containers that other tests remove meanwhile: the line has not begun, so it begins again.
    for (let more = 4; more > 0 && !success && isMountLost(stderr); more--) {
      ({ success, stdout, stderr } = await child.output());
    }
    const decoder = new TextDecoder();
    const [before = "", after = "", started = "", output = "", code] = decoder.decode(stdout).split("\x01");
    if (!success || code === undefined) {
      throw new Error(`The recording jail failed at ${JSON.stringify(line)}: ${decoder.decode(stderr)}`);
    }
    return {
      ...compare(entries(before), entries(after)),
      output,
      started: started.split("\n").map((each) => each.trim()).filter(Boolean),
      stopped: code === "137",
    };
  }
}

function isMountLost(stderr: Uint8Array): boolean {
  return new TextDecoder().decode(stderr).startsWith("bwrap: Can't bind mount /oldroot/ on /newroot/");
}

/** The path of a program; git starts itself from a separate directory. */
async function placesOf(name: string): Promise<string[]> {
  const places = ["/usr/bin", "/usr/lib/git-core", "/usr/libexec/git-core"].map((place) =>
    `${place}/${name}`
  );
  const there = await Promise.all(places.map((place) => Deno.stat(place).then(() => [place], () => [])));
  return there.flat();
}

type Entry = { readonly state: string; readonly access: string };

function entries(text: string): ReadonlyMap<string, Entry> {
  return new Map(
    text.split("\0").filter(Boolean).map((row) => {
      const [path = "", state = "", access = ""] = row.split("\t");
      return [path, { state, access }];
    }),
  );
}

function compare(before: ReadonlyMap<string, Entry>, after: ReadonlyMap<string, Entry>) {
  const paths = [...new Set([...before.keys(), ...after.keys()])].sort();
  return {
    changed: paths.filter((path) => before.get(path)?.state !== after.get(path)?.state),
    read: paths.filter((path) => {
      const [was, is] = [before.get(path)?.access, after.get(path)?.access];
      return was?.startsWith("f") && is !== undefined && was !== is;
    }),
  };
}

/** Runs the lines, several at a time. */
export async function recordAll(
  jail: RecordingJail,
  lines: readonly string[],
): Promise<ReadonlyMap<string, Recording>> {
  const found = new Map<string, Recording>();
  const waiting = lines.values();
  const lane = async () => {
    for (const line of waiting) found.set(line, await jail.record(line));
  };
  await Promise.all(Array.from({ length: 4 }, lane));
  return found;
}
