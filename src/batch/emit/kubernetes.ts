import { secretVariables } from "../../config/mod.ts";
import { errorMessage, message, usageError } from "../../core/mod.ts";
import { isAbsolute, normalize } from "../../path/lexical.ts";
import { createRedactor } from "../../util/redact.ts";
import { shellWord } from "../../util/process.ts";
import { type Endpoint, endpointOf } from "./machine_config.ts";
import { type EmitGroup, type EmitPlan, MAX_RETRIES, NO_RETRY, unitCommand } from "./plan.ts";
import { yaml } from "./yaml.ts";

const SECRET = "reasonix-keys";
/** Limit of a ConfigMap. */
const MAX_CONFIG_BYTES = 1 << 20;
const PARALLEL_SHARDS = 16;
const GRACE_SECONDS = 60;
const KEEP_SECONDS = 7 * 24 * 60 * 60;
/** The user of the pods. */
const USER = 1000;
const CONFIG = "/etc/reasonix";
const HOME = "/reasonix";

type Resolve = (host: string) => Promise<readonly string[]>;

/** A server for pods: by addresses that are fixed now, or by the namespace of its service. */
type Target =
  & Endpoint
  & ({ readonly addresses: readonly string[] } | { readonly namespace: string | undefined });

/**
 * Writes the manifest: for each image an Indexed Job, and what its pods need. Throws a ReasonixError (usage)
 * for what no pod could run, such as a server without an address.
 */
export async function kubernetes(plan: EmitPlan, resolve: Resolve = addressesOf): Promise<string> {
  const { name, tasks, tasksText, machine, groups } = plan;
  const { variables: keys } = machine;
  const imageless = groups.find(({ image }) => image === undefined);
  if (imageless && plan.container === undefined) {
    throw usageError(
      message`Cannot write a Job for ${plan.tasksFile}: ${imageless.count} of its tasks name no image`,
      message`add --container IMAGE, or an "image" to each task`,
    );
  }
  const exposed = tasks.find(({ repo }) => /^https?:\/\/[^/]*@|^\w+:\/\/[^/]*:[^/]*@/i.test(repo ?? ""));
  if (exposed) {
    throw usageError(
      message`Cannot write a Job for ${plan.tasksFile}: the repo of task ${exposed.id} holds a secret`,
      message`leave it out there, and give the image a credential helper for git`,
    );
  }
  const repositories = tasks.flatMap(({ repo }) => repo === undefined ? [] : endpointOf(repo));
  const targets: Target[] = [];
  for (const endpoint of unique([...machine.endpoints, ...repositories])) {
    targets.push({ ...endpoint, ...await locate(endpoint.host, resolve) });
  }
  const isLarge = new TextEncoder().encode(tasksText + machine.text).length > MAX_CONFIG_BYTES;
  const secrets = tasks.flatMap(({ env = {} }) => secretVariables(env));
  const isSecret = !isLarge && (secrets.length > 0 || createRedactor([])(tasksText) !== tasksText);
  const mount = normalize(isAbsolute(plan.resultsDir) ? plan.resultsDir : `/${plan.resultsDir}`);
  const jobs = groups.map((group, at) =>
    job(plan, group, {
      name: at === 0 ? name : `${name}-${at + 1}`,
      mount,
      tasksFile: `${isLarge ? mount : CONFIG}/tasks.jsonl`,
      targets,
      isSecret,
    })
  );
  const config = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: metadata(name, `${name}-tasks`),
    data: {
      ...(isLarge || isSecret ? {} : { "tasks.jsonl": tasksText }),
      "config.toml": machine.text,
    },
  };
  const header = comment([
    `${tasks.length} tasks of ${plan.tasksFile}. In the namespace of the Jobs:`,
    ...(keys.length === 0 ? [] : [
      `  kubectl create secret generic ${SECRET} ` +
      keys.map((key) => `--from-literal=${key}="$${key}"`).join(" "),
    ]),
    ...(isSecret
      ? [
        `  kubectl create secret generic ${name}-tasks --from-file=tasks.jsonl=${shellWord(plan.tasksFile)}`,
      ]
      : []),
    "  kubectl apply --server-side -f FILE",
    ...(isLarge
      ? [`The tasks file is too large for a ConfigMap. Copy it to ${mount}/tasks.jsonl of the claim first.`]
      : []),
    `Results are in ${mount} of the claim ${name}-results, for \`reasonix batch status\` and \`merge\`.`,
    `An image needs: sh, git, reasonix on PATH, what the tasks use, a project that user ${USER} owns.`,
    ...(machine.files.length === 0 ? [] : [`And these files of this machine: ${machine.files.join(", ")}`]),
  ]);
  const documents = [config, claim(name), networkPolicy(name, targets), ...jobs];
  return header + documents.map((document) => `---\n${yaml(document)}\n`).join("");
}

function unique(endpoints: readonly Endpoint[]): Endpoint[] {
  return [...new Map(endpoints.map((each) => [`${each.host} ${each.port}`, each])).values()];
}

async function addressesOf(host: string): Promise<string[]> {
  const { lookup } = await import("node:dns/promises");
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

async function locate(host: string, resolve: Resolve) {
  const service = /^[a-z][\w-]*(?:\.([\w-]+)\.svc(?:\.[\w.-]+)?)?\.?$/i.exec(host);
  const cannot = (reason: string) =>
    usageError(
      message`Cannot allow pods to reach ${host}: ${reason}`,
      message`use an address of the network, or SERVICE.NAMESPACE.svc for a server in the cluster`,
    );
  if (service && host !== "localhost") return { namespace: service[1] };
  let addresses: readonly string[];
  try {
    addresses = /^[\d.]+$|:/.test(host) ? [host] : await resolve(host);
  } catch (error) {
    throw cannot(errorMessage(error));
  }
  if (addresses.length === 0) throw cannot("it has no address");
  if (addresses.some((address) => /^127\.|^::1$|^0\.0\.0\.0$/.test(address))) {
    throw cannot("it is this machine itself");
  }
  return { addresses: [...new Set(addresses)].sort() };
}

function labels(name: string) {
  return { "app.kubernetes.io/name": "reasonix", "app.kubernetes.io/instance": name };
}

function metadata(plan: string, name = plan) {
  return { name, labels: labels(plan) };
}

function claim(name: string) {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: metadata(name, `${name}-results`),
    spec: { accessModes: ["ReadWriteMany"], resources: { requests: { storage: "10Gi" } } },
  };
}

/** Lets pods reach these servers and nothing else; names only where the cluster has to resolve one. */
function networkPolicy(name: string, targets: readonly Target[]) {
  const inNamespace = (namespace: string | undefined) =>
    namespace === undefined
      ? { podSelector: {} }
      : { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } } };
  const rules = targets.map((target) =>
    "addresses" in target
      ? {
        to: target.addresses.map((address) => ({
          ipBlock: { cidr: `${address}/${address.includes(":") ? 128 : 32}` },
        })),
        ports: [{ protocol: "TCP", port: target.port }],
      }
      // The port of a pod may be another one than that of its service.
      : { to: [inNamespace(target.namespace)] }
  );
  const dns = {
    to: [inNamespace("kube-system")],
    ports: ["UDP", "TCP"].map((protocol) => ({ protocol, port: 53 })),
  };
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: metadata(name),
    spec: {
      podSelector: { matchLabels: labels(name) },
      policyTypes: ["Ingress", "Egress"],
      egress: targets.some((target) => "namespace" in target) ? [...rules, dns] : rules,
    },
  };
}

interface JobDetails {
  readonly name: string;
  readonly mount: string;
  readonly tasksFile: string;
  readonly targets: readonly Target[];
  /** The tasks file is a Secret of the cluster. */
  readonly isSecret: boolean;
}

function job(plan: EmitPlan, group: EmitGroup, { name, mount, tasksFile, targets, isSecret }: JobDetails) {
  const { shards, count } = group;
  const { cpus, memoryBytes } = plan.resources;
  const tasks = { name: `${plan.name}-tasks` };
  const memory = `${Math.ceil(memoryBytes / 1024 ** 2)}Mi`;
  const line = unitCommand({ ...plan, tasksFile, resultsDir: mount }, group, "$JOB_COMPLETION_INDEX").join(
    " ",
  );
  const aliases = targets.flatMap((target) =>
    "addresses" in target
      ? target.addresses.filter((ip) => ip !== target.host).map((ip) => ({ ip, hostnames: [target.host] }))
      : []
  );
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: metadata(plan.name, name),
    spec: {
      completionMode: "Indexed",
      completions: shards,
      parallelism: shards === count ? Math.min(plan.jobs, shards) : Math.min(PARALLEL_SHARDS, shards),
      backoffLimitPerIndex: MAX_RETRIES,
      podFailurePolicy: {
        rules: [
          { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget" }] },
          {
            action: "FailIndex",
            onExitCodes: { containerName: "reasonix", operator: "In", values: [...NO_RETRY] },
          },
        ],
      },
      ttlSecondsAfterFinished: KEEP_SECONDS,
      template: {
        metadata: { labels: labels(plan.name) },
        spec: {
          restartPolicy: "Never",
          terminationGracePeriodSeconds: GRACE_SECONDS,
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: USER,
            runAsGroup: USER,
            fsGroup: USER,
            seccompProfile: { type: "RuntimeDefault" },
          },
          ...(aliases.length > 0 ? { hostAliases: aliases } : {}),
          containers: [{
            name: "reasonix",
            image: group.image ?? plan.container,
            // Kubernetes reads $$ as $, and $(NAME) as a variable.
            command: ["sh", "-c", `exec ${line}`.replaceAll("$", "$$$$")],
            env: [
              { name: "HOME", value: HOME },
              { name: "REASONIX_HOME", value: `${HOME}/.reasonix` },
              { name: "AGENT_CONFIG_PATH", value: `${CONFIG}/config.toml` },
              ...plan.machine.variables.map((key) => ({
                name: key,
                valueFrom: { secretKeyRef: { name: SECRET, key } },
              })),
            ],
            resources: { requests: { cpu: String(cpus), memory }, limits: { memory } },
            securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
            volumeMounts: [
              { name: "tasks", mountPath: CONFIG, readOnly: true },
              { name: "results", mountPath: mount },
              { name: "home", mountPath: HOME },
            ],
          }],
          volumes: [
            isSecret
              ? { name: "tasks", projected: { sources: [{ configMap: tasks }, { secret: tasks }] } }
              : { name: "tasks", configMap: tasks },
            { name: "results", persistentVolumeClaim: { claimName: `${plan.name}-results` } },
            { name: "home", emptyDir: {} },
          ],
        },
      },
    },
  };
}

function comment(lines: readonly string[]): string {
  return lines.map((line) => `# ${line.replace(/\p{C}|[\u2028\u2029]/gu, "?")}\n`).join("");
}
