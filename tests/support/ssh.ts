/** Machines behind ssh: sshd on loopback with separate keys, or a stand-in for ssh where it cannot start. */
import { isInstalled } from "./containers.ts";
import { makeTempDir } from "./tool_context.ts";

interface SshOptions {
  /** The environment of a login. */
  readonly env: Readonly<Record<string, string>>;
  /** Variables that a login takes over from ssh. */
  readonly accept: readonly string[];
}

/** Starts the machines `one` and `two`; `down` is one that does not answer. `bin` has the `ssh` for them. */
export async function startSsh(options: SshOptions) {
  const temp = await makeTempDir();
  const bin = `${temp.path}/bin`;
  await Deno.mkdir(bin);
  const server = await startServer(temp.path, options);
  const ssh = server ? `exec /usr/bin/ssh -F ${temp.path}/ssh_config "$@"` : standIn(options);
  await Deno.writeTextFile(`${bin}/ssh`, `#!/bin/bash\n${ssh}\n`, { mode: 0o755 });
  return {
    bin,
    /** Reports whether sshd is behind it. */
    isReal: server !== undefined,
    async [Symbol.asyncDispose]() {
      if (server) end(server);
      await server?.status;
      await temp[Symbol.asyncDispose]();
    },
  };
}

async function startServer(directory: string, { env, accept }: SshOptions) {
  const isThere = ["ssh", "ssh-keygen"].every((name) => isInstalled(name)) &&
    isInstalled("sshd", "/usr/sbin");
  if (!isThere) return undefined;
  for (const name of ["host", "user"]) {
    const args = ["-q", "-t", "ed25519", "-N", "", "-f", `${directory}/${name}`];
    await new Deno.Command("ssh-keygen", { args }).output();
  }
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  const machines = ["one", "two", "down"].map((name, at) => `Host ${name}\n  HostName 127.0.0.${at + 1}\n`);
  await Deno.writeTextFile(
    `${directory}/ssh_config`,
    `${machines.join("")}Host *
  Port ${port}
  IdentityFile ${directory}/user
  IdentitiesOnly yes
  UserKnownHostsFile ${directory}/known_hosts
  StrictHostKeyChecking no
  LogLevel ERROR
`,
  );
  const values = Object.entries(env).map(([name, value]) => `"${name}=${value}"`).join(" ");
  await Deno.writeTextFile(
    `${directory}/sshd_config`,
    `Port ${port}
ListenAddress 127.0.0.1
ListenAddress 127.0.0.2
HostKey ${directory}/host
AuthorizedKeysFile ${directory}/user.pub
StrictModes no
UsePAM no
PidFile none
MaxStartups 100
PermitRootLogin yes
AcceptEnv ${accept.join(" ")}
SetEnv ${values}
`,
  );
  const sshd = ["/usr/sbin/sshd", "-D", "-e", "-f", `${directory}/sshd_config`];
  // Started by root it needs a directory below /run, which the service makes.
  const jail = ["bwrap", "--dev-bind", "/", "/", "--tmpfs", "/run", "--dir", "/run/sshd", "--cap-add", "ALL"];
  const [program = "", ...words] = Deno.uid() === 0 ? [...jail, "--die-with-parent", ...sshd] : sshd;
  const server = new Deno.Command(program, { args: words, stdin: "null", stdout: "null", stderr: "piped" })
    .spawn();
  // Its first line says that it listens, or why it does not. An account may have no shell for logins.
  const [first, log] = server.stderr.tee();
  void log.pipeTo(new WritableStream()).catch(() => {});
  await first.getReader().read();
  const args = ["-F", `${directory}/ssh_config`, "-o", "BatchMode=yes", "one", "true"];
  if ((await new Deno.Command("/usr/bin/ssh", { args }).output()).success) return server;
  end(server);
  await server.status;
  return undefined;
}

/** Runs the command here, with the environment of a login. */
function standIn({ env, accept }: SshOptions): string {
  const values = Object.entries(env).map(([name, value]) => `'${name}=${value}'`);
  return `while [[ $1 == -* ]]; do case $1 in -o) shift 2 ;; *) shift ;; esac; done
[ "$1" = down ] && exit 255
shift
exec env -i ${values.join(" ")} ${accept.map((name) => `${name}="$${name}"`).join(" ")} bash -c "$*"`;
}

function end(server: Deno.ChildProcess): void {
  try {
    server.kill();
  } catch { /* it has ended */ }
}
