import { needs } from "./tools.ts";

/** The image that tests run commands in: programs of this machine with their libraries. */
export const IMAGE = "localhost/reasonix-test:1";

const PROGRAMS =
  ("bash sh cat chmod chroot cp cut date dd dmesg echo env find git grep head id insmod install kill ln ls " +
    "mkdir mknod mount mv nsenter ps pwd rm sed seq setsid sleep sort stat tar tee touch true umount uname " +
    "unshare wc").split(" ");

const isThere = (path: string) => {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
};

/** Reports whether Debian's package of a program is installed. */
export function isInstalled(program: string, directory = "/usr/bin"): boolean {
  return isThere(`${directory}/${program}`);
}

/** Options of a test that needs podman. */
export function contained(name: string): { name: string; ignore: boolean } {
  return needs("podman", Deno.build.os === "linux" && isThere("/usr/bin/podman"), name);
}

async function sh(script: string, ...args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command("/bin/bash", {
    args: ["-c", script, "sh", ...args],
  }).output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(decoder.decode(stderr));
  return decoder.decode(stdout).trim();
}

const BUILD = `set -e
cd "$1"; shift
mkdir -p root/bin root/etc root/proc root/sys root/dev root/tmp root/run root/var/tmp root/root root/opt
chmod 1777 root/opt root/tmp
echo 'root:x:0:0:root:/root:/bin/sh' > root/etc/passwd
files=$(type -P "$@") || :
cp -L $files root/bin
ldd $files "$(type -P deno)" 2>/dev/null | grep -o '[[:space:]]/[^ :]* ' | sort -u | xargs cp -L --parents -t root
tar -C root -cf image.tar .
podman import -q image.tar ${IMAGE}
rm -r root image.tar`;

let built: Promise<Readonly<Record<string, string>>> | undefined;

/**
 * Creates an image in a separate store and returns the variables with which podman finds it. A separate
 * configuration makes podman work without full root rights: limits no higher than the current ones, and a
 * runtime that uses the machine's control groups.
 */
export function containerStore(): Promise<Readonly<Record<string, string>>> {
  return built ??= build();
}

async function build(): Promise<Readonly<Record<string, string>>> {
  const directory = await Deno.makeTempDir({ prefix: "reasonix-containers-" });
  const [files = "1024", processes = "1024"] = (await sh("ulimit -Hn; ulimit -Hu")).split("\n");
  const limit = (text: string) => Math.min(Number(text) || 4096, 4096);
  const runtime = ["/usr/sbin/runc", "/usr/bin/runc"].find(isThere);
  const variables = {
    CONTAINERS_CONF: `${directory}/containers.conf`,
    CONTAINERS_STORAGE_CONF: `${directory}/storage.conf`,
  };
  const limits = [`nofile=${limit(files)}:${limit(files)}`, `nproc=${limit(processes)}:${limit(processes)}`];
  await Deno.writeTextFile(
    variables.CONTAINERS_CONF,
    `[engine]\n${runtime ? `runtime = "${runtime}"\n` : ""}[containers]\ndefault_ulimits = ${
      JSON.stringify(limits)
    }\n`,
  );
  await Deno.writeTextFile(
    variables.CONTAINERS_STORAGE_CONF,
    `[storage]\ndriver = "overlay"\ngraphroot = "${directory}/store"\nrunroot = "${directory}/run"\n`,
  );
  for (const [name, value] of Object.entries(variables)) Deno.env.set(name, value);
  globalThis.addEventListener("unload", () => {
    new Deno.Command("/bin/sh", {
      args: [
        "-c",
        'podman rm -fa -t 0; podman rmi -fa; umount "$1/store/overlay"; rm -rf "$1"',
        "sh",
        directory,
      ],
      stdout: "null",
      stderr: "null",
    }).outputSync();
  });
  await sh(BUILD, directory, ...PROGRAMS);
  return variables;
}

/** Runs podman with the store of the tests. */
export async function podman(...args: string[]): Promise<string> {
  await containerStore();
  return await sh('podman "$@"', ...args);
}
