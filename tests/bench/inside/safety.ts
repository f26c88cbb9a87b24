/** The cost of safety: a decision of the gate, and a jail. */
import { buildWorkspace, loadTrustedConfig, withJail } from "../../../src/run/mod.ts";
import { EVERYDAY } from "../../conformance/permission/everyday_lines.ts";
import { bash, scene } from "../../unit/permission/scene.ts";
import { quantile } from "../figures.ts";
import { type Row, row } from "../report.ts";
import type { Bench } from "../runner.ts";

const LINES = EVERYDAY.map(({ line }) => line);
const DENIED = ["Bash(npm publish:*)", "Bash(git push --force:*)", "Bash(sudo:*)", "Bash(rm -rf /)"];
const DECISION_ROUNDS = 5;
const JAILS = 30;

/** The decision of the gate about each of a thousand everyday lines, as in a default configuration. */
export async function decisionRows({ runner, quick }: Bench): Promise<Row[]> {
  const { workspace } = runner.stage;
  const commandEnvironment = () =>
    Promise.resolve({ privateDirectories: ["/tmp", "/var/tmp"], network: false } as const);
  const { gate } = scene(workspace, { deny: DENIED }, { commandEnvironment });
  const rounds: number[][] = [];
  for (let round = -1; round < (quick ? 2 : DECISION_ROUNDS); round++) {
    const times: number[] = [];
    for (const line of LINES) {
      const call = bash(line);
      const started = performance.now();
      await gate.explain(call);
      times.push(performance.now() - started);
    }
    if (round >= 0) rounds.push(times);
  }
  const of = (part: number) => rounds.map((times) => quantile(times, part) ?? NaN);
  const title = `decision about a command line (${LINES.length} everyday lines)`;
  return [
    row({ figure: `${title}: median`, unit: "ms", target: 1, reasonix: of(0.5) }),
    row({ figure: `${title}: 99th percentile`, unit: "ms", target: 1, reasonix: of(0.99) }),
  ];
}

/** A command in a jail that nothing was prepared for, and the same command without. */
export async function jailRows({ runner, quick }: Bench): Promise<Row[]> {
  const { workspace, root } = runner.stage;
  const home = `${root}/jail_home`;
  await Deno.mkdir(`${home}/.reasonix`, { recursive: true });
  const env = { HOME: home, PATH: Deno.env.get("PATH") ?? "" };
  const paths = {
    cwd: workspace,
    home: `${home}/.reasonix`,
    env: (name: string) => env[name as keyof typeof env],
  };
  const loaded = await loadTrustedConfig(paths, { ignoreUntrusted: true });
  const sources = { paths, loaded, workspace: buildWorkspace(paths, loaded.config) };
  const argv = ["/bin/bash", "-c", "true"];
  const times = { jailed: [] as number[], plain: [] as number[] };
  await withJail(sources, async (jail) => {
    const [command = "", ...args] = argv;
    for (let round = -2; round < (quick ? JAILS / 3 : JAILS); round++) {
      const jailed = await commandTime(() => jail.wrap(argv, { cwd: workspace }), workspace);
      const plain = await commandTime(() => ({ command, args, env }), workspace);
      if (round < 0) continue;
      times.jailed.push(jailed);
      times.plain.push(plain);
    }
  });
  const figure = "a command in a separate jail (floor: without)";
  return [row({ figure, unit: "ms", target: 15, reasonix: times.jailed, floor: times.plain })];
}

interface Spawn {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

async function commandTime(plan: () => Spawn, cwd: string): Promise<number> {
  const started = performance.now();
  const { command, args, env } = plan();
  const { code } = await new Deno.Command(command, {
    args: [...args],
    cwd,
    env: { ...env },
    clearEnv: true,
    stdin: "null",
  }).output();
  const took = performance.now() - started;
  if (code !== 0) throw new Error(`${command} ended with exit code ${code}`);
  return took;
}
