import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { type SandboxDirs, sandboxDirs } from "../../unit/sandbox/support.ts";
import { removeTree } from "../../support/remove_tree.ts";

/** Marks of the fixture that must stay in place. */
export const SECRET = "the-outside-secret";
export const KEY = "provider-key-0123456789";

/** A workspace surrounded by targets of attacks. */
export interface Fixture extends AsyncDisposable {
  readonly g: SandboxDirs;
  /** Not writable, and forbidden to read. */
  readonly vault: string;
  readonly userHome: string;
  /** A process that an attack may try to reach. */
  readonly victim: Deno.ChildProcess;
  /** Loopback listeners of the host, and what reached them. */
  readonly tcpPort: number;
  readonly udpPort: number;
  readonly unixPath: string;
  readonly reached: string[];
  /** Replaces placeholders of paths in a text: {ws} {out} {vault} {home} {user} {pid} {tcp} {udp} {unix}. */
  fill(text: string): string;
}

async function git(cwd: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command("git", { args, cwd }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}

function copyDirectory(from: string, to: string): void {
  Deno.mkdirSync(to);
  for (const { name, isDirectory } of Deno.readDirSync(from)) {
    if (isDirectory) copyDirectory(`${from}/${name}`, `${to}/${name}`);
    else Deno.copyFileSync(`${from}/${name}`, `${to}/${name}`);
  }
}

let repository: Promise<string> | undefined;

/**
 * A `.git` directory with one commit of `src/a.ts` and `secret.txt`; cached, since each fixture needs two.
 */
async function makeRepository(): Promise<string> {
  const directory = await Deno.makeTempDir({ prefix: "reasonix-repository-" });
  globalThis.addEventListener("unload", () => Deno.removeSync(directory, { recursive: true }));
  await Deno.mkdir(`${directory}/src`);
  await Deno.writeTextFile(`${directory}/src/a.ts`, "inside");
  await Deno.writeTextFile(`${directory}/secret.txt`, SECRET);
  const identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"];
  await git(directory, "-c", "init.defaultBranch=main", "init", "-q", "--template=");
  await git(directory, "add", "-A");
  await git(directory, ...identity, "commit", "-q", "-m", "start");
  await Deno.mkdir(`${directory}/.git/modules/sub/hooks`, { recursive: true });
  await Deno.mkdir(`${directory}/.git/hooks`, { recursive: true });
  return directory;
}

async function furnish(g: SandboxDirs, vault: string): Promise<void> {
  const userHome = `${g.base}/home`;
  await Deno.mkdir(`${userHome}/.ssh`);
  await Deno.mkdir(`${userHome}/.cache/deno`, { recursive: true });
  await Deno.mkdir(vault);
  await Deno.writeTextFile(`${vault}/secret.txt`, SECRET);
  await Deno.writeTextFile(`${g.outside}/secret.txt`, "outside");
  await Deno.writeTextFile(`${g.home}/.env`, `KEY=${KEY}`);
  await Deno.writeTextFile(`${userHome}/.bashrc`, "");
  for (const name of [".bashrc", ".envrc", "reasonix.toml", ".mcp.json"]) {
    await Deno.writeTextFile(`${g.ws}/${name}`, "");
  }
  await Deno.mkdir(`${g.ws}/.vscode`);
  await Deno.writeTextFile(`${g.ws}/.vscode/tasks.json`, "{}");
  for (const name of ["hooks", "plugins", "bin"]) {
    await Deno.mkdir(`${g.ws}/.reasonix/${name}`, { recursive: true });
  }
  for (const name of ["settings.json", "hooks.toml"]) {
    await Deno.writeTextFile(`${g.ws}/.reasonix/${name}`, "");
  }
  const template = await (repository ??= makeRepository());
  for (const directory of [g.ws, vault]) copyDirectory(`${template}/.git`, `${directory}/.git`);
}

async function drain(listener: Deno.Listener, name: string, reached: string[]): Promise<void> {
  try {
    for await (const conn of listener) {
      reached.push(name);
      conn.close();
    }
  } catch {
    // Closed with the scene.
  }
}

async function listenUdp(reached: string[]): Promise<Socket> {
  const socket = createSocket("udp4");
  socket.on("message", () => reached.push("udp"));
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return socket;
}

export async function makeFixture(): Promise<Fixture> {
  const g = await sandboxDirs();
  const vault = `${g.base}/vault`;
  await furnish(g, vault);
  const reached: string[] = [];
  const tcp = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const udp = await listenUdp(reached);
  // Under /tmp, where services of the user's session have theirs.
  const directory = await Deno.makeTempDir({ dir: "/tmp" });
  const unix = Deno.listen({ transport: "unix", path: `${directory}/service.sock` });
  const done = [drain(tcp, "tcp", reached), drain(unix, "unix", reached)];
  const victim = new Deno.Command("sleep", { args: ["1000"], env: { KEY }, clearEnv: true }).spawn();
  const places: { readonly [name: string]: string } = {
    ws: g.ws,
    out: g.outside,
    vault,
    home: g.home,
    user: `${g.base}/home`,
    pid: String(victim.pid),
    tcp: String(tcp.addr.port),
    udp: String(udp.address().port),
    unix: `${directory}/service.sock`,
  };
  return {
    g,
    vault,
    userHome: `${g.base}/home`,
    victim,
    tcpPort: tcp.addr.port,
    udpPort: Number(places.udp),
    unixPath: `${directory}/service.sock`,
    reached,
    fill: (text) => text.replace(/\{(\w+)\}/g, (whole, name) => places[name] ?? whole),
    async [Symbol.asyncDispose]() {
      for (const open of [tcp, udp, unix]) open.close();
      try {
        victim.kill("SIGKILL");
      } catch {
        // An attack got it.
      }
      await Promise.all([...done, victim.status]);
      await removeTree(directory);
      await g[Symbol.asyncDispose]();
    },
  };
}
