/**
 * A stand-in for a cluster: runs the Indexed Jobs of a manifest as processes of this machine, with the
 * decisions of the job controller, and disturbs their pods.
 */
import { parseAllDocuments } from "yaml";
import { assert } from "./assert.ts";
import { Random } from "./seed.ts";

interface Rule {
  readonly action: string;
  readonly onExitCodes?: {
    readonly containerName: string;
    readonly operator: string;
    readonly values: readonly number[];
  };
  readonly onPodConditions?: readonly { readonly type: string }[];
}

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string } };
}

interface SecretSource {
  readonly secret: { readonly name: string };
}

interface Volume {
  readonly name: string;
  readonly configMap?: { readonly name: string };
  readonly projected?: { readonly sources: readonly [Pick<Volume, "configMap">, ...SecretSource[]] };
  readonly persistentVolumeClaim?: { readonly claimName: string };
}

export interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec: {
    readonly completions: number;
    readonly parallelism: number;
    readonly backoffLimitPerIndex: number;
    readonly podFailurePolicy: { readonly rules: readonly Rule[] };
    readonly template: {
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly containers: readonly [{
          readonly image: string;
          readonly command: readonly string[];
          readonly env: readonly Variable[];
          readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
        }];
        readonly volumes: readonly Volume[];
      };
    };
  };
}

export function readManifests(text: string): Manifest[] {
  return parseAllDocuments(text).map((document) => {
    assert(document.errors.length === 0, String(document.errors));
    return document.toJS();
  });
}

/** The end of a pod that the cluster brings about. */
export type Disturbance = "none" | "kill" | "evict" | "double";

export interface Pod {
  readonly job: string;
  readonly index: number;
  readonly disturbance: Disturbance;
  readonly code: number;
  readonly stderr: string;
}

interface ClusterOptions {
  /** For the volumes. */
  readonly dir: string;
  /** Working directory of the image. */
  readonly cwd: string;
  /** Environment of the image. */
  readonly env: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
  readonly random: Random;
  /** The disturbance of the next pod of an index of a Job. */
  readonly disturb: (job: string, index: number) => Disturbance;
}

interface LivePod {
  readonly child: Deno.ChildProcess;
  readonly disturbance: Disturbance;
  /** Seconds that it has after SIGTERM. */
  readonly grace: number;
  /** Requests of the pod before its end. */
  wait: number;
}

export class Cluster {
  readonly pods: Pod[] = [];
  /** Indexes without a success, by Job. */
  readonly failed: [job: string, index: number][] = [];
  readonly #options: ClusterOptions;
  readonly #documents: readonly Manifest[];
  readonly #live = new Map<number, LivePod[]>();
  #homes = 0;

  constructor(text: string, options: ClusterOptions) {
    this.#documents = readManifests(text);
    this.#options = options;
  }

  /** Directory of a claim. */
  volume(name: string): string {
    return `${this.#options.dir}/claims/${name}`;
  }

  /** Runs one Job after the other. */
  async run(): Promise<void> {
    this.#writeMaps();
    for (const document of this.#documents) if (document.kind === "Job") await this.#runJob(document);
  }

  /** Takes a request of the pods of an index, and ends the pod that is to end here. */
  async requested(index: number): Promise<void> {
    const pod = this.#live.get(index)?.find(({ disturbance, wait }) =>
      wait > 0 && (disturbance === "kill" || disturbance === "evict")
    );
    if (!pod || --pod.wait > 0) return;
    pod.child.kill(pod.disturbance === "kill" ? "SIGKILL" : "SIGTERM");
    const grace = setTimeout(() => pod.child.kill("SIGKILL"), pod.grace * 1000);
    await pod.child.status;
    clearTimeout(grace);
  }

  async #runJob(job: Manifest): Promise<void> {
    const { completions, parallelism } = job.spec;
    const { random } = this.#options;
    const queue = random.shuffled(Array.from({ length: completions }, (_, index) => index)).values();
    const work = async () => {
      for (const index of queue) await this.#complete(job, index);
    };
    await Promise.all(Array.from({ length: parallelism }, work));
  }

  /** Runs pods of an index until it succeeds or may have no further one. */
  async #complete(job: Manifest, index: number): Promise<void> {
    const { backoffLimitPerIndex, podFailurePolicy: { rules } } = job.spec;
    for (let failures = 0; failures <= backoffLimitPerIndex;) {
      const disturbance = this.#options.disturb(job.metadata.name, index);
      const runs = Array.from(
        { length: disturbance === "double" ? 2 : 1 },
        () => this.#runPod(job, index, disturbance),
      );
      const pods = await Promise.all(runs);
      this.pods.push(...pods);
      if (pods.some(({ code }) => code === 0)) return;
      const actions = pods.map(({ code }) =>
        rules.find(({ onExitCodes, onPodConditions }) =>
          onExitCodes
            ? onExitCodes.values.includes(code) === (onExitCodes.operator === "In")
            : disturbance === "evict" && onPodConditions?.some(({ type }) => type === "DisruptionTarget")
        )?.action ?? "Count"
      );
      if (actions.includes("FailIndex")) break;
      if (actions.includes("Count")) failures += 1;
      if (failures <= backoffLimitPerIndex) continue;
    }
    if (!this.pods.some((pod) => pod.index === index && pod.job === job.metadata.name && pod.code === 0)) {
      this.failed.push([job.metadata.name, index]);
    }
  }

  async #runPod(job: Manifest, index: number, disturbance: Disturbance): Promise<Pod> {
    const { random, cwd } = this.#options;
    const { containers: [container], volumes, terminationGracePeriodSeconds: grace } = job.spec.template.spec;
    const directories = new Map(container.volumeMounts.map(({ name, mountPath }) => {
      const volume = volumes.find((each) => each.name === name);
      return [mountPath, this.#directoryOf(volume ?? { name })];
    }));
    const mounted = (text: string) =>
      text.replace(
        /(?<![\w.-]|[\w.-]\/)\/[\w./-]*/g,
        (path) => {
          const [mount, directory] = [...directories].find(([mount]) => `${path}/`.startsWith(`${mount}/`)) ??
            [];
          return mount === undefined ? path : directory + path.slice(mount.length);
        },
      );
    const env: Record<string, string> = { JOB_COMPLETION_INDEX: String(index) };
    for (const { name, value, valueFrom } of container.env) {
      const text = valueFrom ? this.#secret(valueFrom.secretKeyRef) : mounted(expand(value ?? "", env));
      env[name] = text;
    }
    const [program = "", ...args] = container.command.map((word) => mounted(expand(word, env)));
    const child = new Deno.Command(program, {
      args,
      cwd,
      clearEnv: true,
      env: { ...this.#options.env, ...env },
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    const pod: LivePod = { child, disturbance, grace, wait: 1 + random.below(2) };
    this.#live.set(index, [...this.#live.get(index) ?? [], pod]);
    const [stderr, { code }] = await Promise.all([new Response(child.stderr).text(), child.status]);
    this.#live.set(index, (this.#live.get(index) ?? []).filter((each) => each !== pod));
    return { job: job.metadata.name, index, disturbance, code, stderr };
  }

  #secret({ name, key }: { readonly name: string; readonly key: string }): string {
    const value = this.#options.secrets[`${name}/${key}`];
    assert(value !== undefined, `no secret ${name}/${key}`);
    return value;
  }

  #directoryOf({ name, configMap, projected, persistentVolumeClaim }: Volume): string {
    const { dir, secrets } = this.#options;
    if (projected) {
      const [map, ...sources] = projected.sources;
      const path = this.#directoryOf({ ...map, name });
      const files = Object.entries(secrets).map(([key, text]) => [...key.split("/"), text] as const);
      for (const [owner, file, text = ""] of files) {
        if (sources.some(({ secret }) => secret.name === owner)) {
          Deno.writeTextFileSync(`${path}/${file}`, text);
        }
      }
      return path;
    }
    if (persistentVolumeClaim) {
      const path = this.volume(persistentVolumeClaim.claimName);
      Deno.mkdirSync(path, { recursive: true });
      return path;
    }
    const path = configMap ? `${dir}/maps/${configMap.name}` : `${dir}/homes/${this.#homes++}`;
    Deno.mkdirSync(path, { recursive: true });
    return path;
  }

  /** Writes what the pods only read. */
  #writeMaps(): void {
    for (const { kind, metadata: { name }, data = {} } of this.#documents) {
      if (kind !== "ConfigMap") continue;
      const path = this.#directoryOf({ name, configMap: { name } });
      for (const [file, text] of Object.entries(data)) Deno.writeTextFileSync(`${path}/${file}`, text);
    }
  }
}

/** Variables in a command, as Kubernetes reads them. */
function expand(text: string, env: Readonly<Record<string, string>>): string {
  return text.replace(/\$(?:\$|\(([^)]*)\))/g, (whole, name: string | undefined) => {
    if (name === undefined) return "$";
    return env[name] ?? whole;
  });
}
