/**
 * A SLURM cluster with one node on loopback: Debian's slurmctld, slurmd and munged as processes of this user,
 * with every file in a temporary directory.
 */
import { isInstalled } from "./containers.ts";
import { gone, processesWith } from "./processes.ts";
import { makeTempDir } from "./tool_context.ts";
import { needs } from "./tools.ts";

const DAEMONS = ["munged", "slurmctld", "slurmd"];

/** Options of a test that needs a cluster. */
export function clustered(name: string): { name: string; ignore: boolean } {
  const isThere = isInstalled("sbatch") && DAEMONS.every((name) => isInstalled(name, "/usr/sbin"));
  return needs("sbatch", isThere, name, "slurm-wlm and munge are not installed");
}

/** A job, or an element of an array, that has ended. */
interface EndedJob {
  /** Number in the array; "" without one. */
  readonly index: string;
  readonly state: string;
  readonly code: number;
  readonly restarts: number;
}

interface SlurmOptions {
  readonly maxArraySize?: number;
  readonly cpus?: number;
}

/** Starts a cluster; it ends with all of its jobs. */
export async function startSlurm({ maxArraySize = 1001, cpus = 4 }: SlurmOptions = {}) {
  const temp = await makeTempDir();
  const at = (name: string) => `${temp.path}/${name}`;
  for (const name of ["state", "spool", "munge"]) await Deno.mkdir(at(name), { mode: 0o700 });
  await Deno.writeFile(at("munge/key"), crypto.getRandomValues(new Uint8Array(64)), { mode: 0o600 });
  await Deno.writeTextFile(at("plugstack.conf"), "");
  const [ctldPort, slurmdPort] = freePorts(2);
  const [host, user] = [Deno.hostname(), await userName()];
  await Deno.writeTextFile(
    at("slurm.conf"),
    `ClusterName=test
SlurmctldHost=${host}(127.0.0.1)
SlurmctldPort=${ctldPort}
SlurmdPort=${slurmdPort}
SlurmUser=${user}
SlurmdUser=${user}
AuthType=auth/munge
# A requeued job starts again after this time, which cannot be shorter.
AuthInfo=socket=${at("munge/socket")},cred_expire=5
StateSaveLocation=${at("state")}
SlurmdSpoolDir=${at("spool")}
SlurmctldPidFile=${at("slurmctld.pid")}
SlurmdPidFile=${at("slurmd.pid")}
PlugStackConfig=${at("plugstack.conf")}
MailProg=/bin/true
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
MaxArraySize=${maxArraySize}
NodeName=node1 NodeHostname=${host} NodeAddr=127.0.0.1 CPUs=${cpus} RealMemory=4000
PartitionName=all Nodes=node1 Default=YES MaxTime=INFINITE State=UP
`,
  );
  const env = { SLURM_CONF: at("slurm.conf") };
  const daemons: { readonly child: Deno.ChildProcess; readonly log: Promise<string> }[] = [];
  const start = (name: string, ...args: string[]) => {
    const child = new Deno.Command(`/usr/sbin/${name}`, {
      args,
      env,
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    daemons.push({ child, log: new Response(child.stderr).text() });
  };
  const run = async (program: string, args: readonly string[], more: Partial<Deno.CommandOptions> = {}) => {
    const { code, stdout, stderr } = await new Deno.Command(program, {
      args: [...args],
      stdin: "null",
      ...more,
      env: { ...env, ...more.env },
    }).output();
    const decoder = new TextDecoder();
    return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
  };
  const end = async () => {
    // Steps are no children of a daemon: they, and the tasks in them, are found by the environment.
    await run("scancel", ["--me"]).catch(() => {});
    for (const { child } of daemons.toReversed()) {
      kill(child.pid, "SIGTERM");
      await child.status;
    }
    for (const { pid } of await gone(() => processesWith(temp.path), 2000)) kill(pid, "SIGKILL");
    await gone(() => processesWith(temp.path));
    await temp[Symbol.asyncDispose]();
  };
  const munge = ["socket", "key-file", "pid-file", "log-file", "seed-file"].map((name) =>
    `--${name}=${at(`munge/${name.replace("-file", "")}`)}`
  );
  start("munged", "--foreground", "--force", "--num-threads=2", ...munge);
  await until(() => Deno.statSync(at("munge/socket")).isSocket === true);
  start("slurmctld", "-D", "-i");
  start("slurmd", "-D", "-N", "node1");
  const isUp = await until(async () => (await run("sinfo", ["-h", "-o", "%t"])).stdout.trim() === "idle");
  if (!isUp) {
    for (const { child } of daemons) kill(child.pid, "SIGTERM");
    const logs = (await Promise.all(daemons.map(({ log }) => log))).join("\n");
    await end();
    throw new Error(`SLURM does not start:\n${logs}`);
  }
  return {
    env,
    run,
    /** Waits for the end of a submitted job, and returns the elements of its array in order. */
    async ended(id: string): Promise<EndedJob[]> {
      for (;;) {
        const { stdout } = await run("scontrol", ["show", "job", "--oneliner", id]);
        const jobs = stdout.trim().split("\n").map(parseJob);
        if (jobs.every(({ state }) => !/PENDING|RUNNING|COMPLETING|CONFIGURING|REQUEUED/.test(state))) {
          return jobs.sort((a, b) => Number(a.index) - Number(b.index));
        }
        await new Promise((resolve) => setTimeout(resolve, 300));
      }
    },
    [Symbol.asyncDispose]: end,
  };
}

function parseJob(line: string): EndedJob {
  const field = (name: string) => new RegExp(`\\b${name}=(\\S*)`).exec(line)?.[1] ?? "";
  const [code = "", signal = ""] = field("ExitCode").split(":");
  return {
    index: field("ArrayTaskId"),
    state: field("JobState"),
    code: Number(code) || (Number(signal) && 128 + Number(signal)),
    restarts: Number(field("Restarts")),
  };
}

async function userName(): Promise<string> {
  const { stdout } = await new Deno.Command("id", { args: ["-un"] }).output();
  return new TextDecoder().decode(stdout).trim();
}

/** Ports that were free a moment ago, all different. */
function freePorts(count: number): number[] {
  const listeners = Array.from({ length: count }, () => Deno.listen({ hostname: "127.0.0.1", port: 0 }));
  return listeners.map((listener) => {
    listener.close();
    return listener.addr.port;
  });
}

/** Waits until something is so, at most half a minute. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<boolean> {
  for (let left = 300; left > 0; left--) {
    try {
      if (await isSo()) return true;
    } catch { /* not yet */ }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return false;
}

function kill(pid: number, signal: Deno.Signal): void {
  try {
    Deno.kill(pid, signal);
  } catch { /* it has ended */ }
}
