import { dynamic, type Program, type Wrapper } from "../program.ts";
import { DOT_FILES } from "./interpreters.ts";

const SUDO = "it runs as another user";
const FETCH = "it may download what it runs";
const ELSEWHERE = "it runs in another environment";
const PROJECT = "it runs a program of the project";

function wrapper(names: string, wraps: Wrapper, row: Partial<Program> = {}): Program {
  return { names, wraps, ...row };
}

/** Programs that run the command after their own words, and those whose words are not read that far. */
export const WRAPPERS: readonly Program[] = [
  wrapper("sudo", {
    options:
      "AbBEHknPSNC:D:g:h:p:R:r:T:t:u:U: askpass background bell preserve-env=? set-home non-interactive " +
      "preserve-groups reset-timestamp stdin close-from= chdir= group= host= prompt= chroot= role= type= " +
      "command-timeout= other-user= user=",
    assigns: true,
    guarded: SUDO,
  }),
  wrapper("doas", { options: "LnC:u:", guarded: SUDO }),
  wrapper("env", {
    options: "i0vu:C: ignore-environment null debug unset= chdir=",
    assigns: true,
    dash: true,
    prints: true,
  }),
  wrapper("nice", { options: "n:# adjustment=", prints: true }),
  wrapper("ionice", { options: "tc:n: ignore class= classdata=" }),
  wrapper("nohup busybox toybox builtin", {}),
  wrapper("setsid", { options: "cfw ctty fork wait" }),
  wrapper("stdbuf", { options: "i:o:e: input= output= error=" }),
  wrapper("time", {
    options: "pvaqf:o: portability verbose append quiet format= output=",
    writes: "o output",
    prints: true,
  }),
  wrapper("valgrind", {
    options: "vq leak-check= tool= error-exitcode= track-origins= show-leak-kinds= quiet",
  }),
  wrapper("strace ltrace", { options: "cfqTtyrvwCFie:s:o:S:a:k", writes: "o" }),
  wrapper("timeout", {
    options: "vfs:k: foreground preserve-status verbose signal= kill-after=",
    operands: 1,
  }),
  wrapper("chrt", { options: "abfiomrd", operands: 1 }),
  wrapper("taskset", { options: "ac", operands: 1 }),
  wrapper("flock", {
    options: "snxeuFovw:E: shared nonblock exclusive unlock close verbose no-fork wait= timeout= " +
      "conflict-exit-code=",
    operands: 1,
    writes: "operand",
  }),
  wrapper("command", { options: "pvV", queries: "vV", prints: true }),
  wrapper("exec", { options: "cla:" }),
  wrapper("caffeinate", { options: "dimsut:w:" }),
  wrapper("unbuffer", { options: "p" }),
  wrapper("chroot", {
    options: " userspec= groups=",
    operands: 1,
    guarded: "it runs in another root directory",
    shell: true,
  }),
  wrapper("npx", { options: "yqp: yes no quiet no-install package=", guarded: FETCH }, {
    codeLong: "script-shell call node-options shell",
    network: true,
    registries: "npm",
    prints: "--version -v",
  }),
  wrapper("npm", { options: "y yes no package=", guarded: FETCH }, { sub: "exec x" }),
  wrapper("npm", { operands: 1, guarded: "it runs in another directory" }, { sub: "explore" }),
  wrapper("bunx", { options: " bun", guarded: FETCH }, { network: true, registries: "npm" }),
  wrapper("bun", { guarded: FETCH }, { sub: "x" }),
  wrapper("pnpm yarn", { guarded: FETCH }, { sub: "dlx" }),
  wrapper("pnpm yarn", { guarded: PROJECT }, { sub: "exec" }),
  wrapper("uvx", { options: "p: from= with= python=", guarded: FETCH }, {
    network: true,
    registries: "python",
  }),
  wrapper("uv", {
    options: "qp: frozen locked no-sync offline quiet with= python= extra= group= project=",
    guarded: "it may install before it runs",
  }, { sub: "run" }),
  wrapper("poetry pipenv", { guarded: ELSEWHERE }, { sub: "run" }),
  wrapper("bundle", { guarded: ELSEWHERE }, { sub: "exec" }),
  {
    names: "su unshare nsenter script at batch ssh newgrp gdb lldb osascript",
    runs: "anything",
    obeys: DOT_FILES,
    read: ({ name }) => dynamic(`${name} runs what it is given as input`),
  },
  {
    names: "runuser pkexec setpriv watch parallel sem fakeroot firejail bwrap proot " +
      "systemd-run start-stop-daemon run-parts entr rlwrap xvfb-run dbus-run-session ssh-agent " +
      "perf " +
      "proxychains proxychains4 torsocks tsocks faketime numactl prlimit cgexec cpulimit catchsegv expect " +
      "direnv conda asdf rustup nix nix-shell pdm rye hatch pixi doas-edit " +
      "runcon sg capsh setarch linux32 linux64 i386 x86_64 eatmydata stdbuf-static hyperfine watchexec " +
      "nodemon chpst softlimit envdir s6-setuidgid gosu su-exec tini dumb-init apptainer " +
      "singularity winpty wine logsave choom " +
      "ld.so systemd-nspawn machinectl run0 sshpass autossh mosh flatpak-spawn distrobox " +
      "daemonize daemon rr uftrace " +
      "chronic ifne mispipe zrun fakechroot datefudge libtool xterm konsole gnome-terminal " +
      "alacritty kitty foot dbus-launch xinit " +
      "reflex watchman-make op doppler dotenv dotenvx env-cmd cross-env cross-env-shell " +
      "concurrently lerna volta fnm nvm pyenv " +
      "rbenv jenv micromamba mamba pipx aws-vault chamber sops retry pdsh pssh zellij dtach " +
      "abduco update-alternatives",
    runs: "anything",
  },
  { names: "tmux screen", runs: "anything", obeys: DOT_FILES, prints: "ls list-sessions -ls" },
  { names: "arch", runs: "anything", readOnly: true },
  { names: "crontab", runs: "anything", prints: "-l" },
];
