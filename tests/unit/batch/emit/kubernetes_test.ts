import fc from "fast-check";
import { ConfigMap } from "kubernetes-models/v1/ConfigMap";
import { Pod } from "kubernetes-models/v1/Pod";
import { PersistentVolumeClaim } from "kubernetes-models/v1/PersistentVolumeClaim";
import { Job } from "kubernetes-models/batch/v1/Job";
import { NetworkPolicy } from "kubernetes-models/networking.k8s.io/v1/NetworkPolicy";
import { parse as parseToml } from "smol-toml";
import { parse } from "yaml";
import { kubernetes } from "../../../../src/batch/emit/kubernetes.ts";
import { yaml } from "../../../../src/batch/emit/yaml.ts";
import { manifestOf, ResultsDir } from "../../../../src/batch/results_dir.ts";
import type { TaskResult } from "../../../../src/batch/result.ts";
import { readTasks } from "../../../../src/batch/task_file.ts";
import { assert, assertEquals, assertMatch, assertRejects } from "../../../support/assert.ts";
import { type Given, planFor, PROVIDER } from "../../../support/emit_plan.ts";
import { type Manifest, readManifests } from "../../../support/job_controller.ts";
import { codeBlocks } from "../../../support/readme.ts";
import { configFixture } from "../../config/fixture.ts";
import { SEED, soakSize } from "../../../support/seed.ts";

const resolve = (host: string) =>
  host.endsWith(".invalid")
    ? Promise.reject(new Error(`failed to look up ${host}`))
    : Promise.resolve(["192.0.2.9", "2001:db8::7", "192.0.2.9"]);

async function manifestsFor(given: Given = {}): Promise<Manifest[]> {
  return readManifests(await kubernetes(await planFor(given), resolve));
}

const MODELS = { ConfigMap, PersistentVolumeClaim, NetworkPolicy, Job } as const;

/** Checks documents against the OpenAPI schema of Kubernetes. */
function validate(manifests: readonly Manifest[]): void {
  for (const manifest of manifests) {
    new MODELS[manifest.kind as keyof typeof MODELS](manifest as never).validate();
  }
}

function jobsOf(manifests: readonly Manifest[]): Manifest[] {
  return manifests.filter(({ kind }) => kind === "Job");
}

function commandOf(job: Manifest | undefined): string {
  return job?.spec.template.spec.containers[0].command[2]?.replaceAll("$$", "$") ?? "";
}

Deno.test("kubernetes writes documents that the OpenAPI schema accepts, one Job for each image", async () => {
  const tasks = [
    { id: "a", prompt: "p", image: "python:3.12", limits: { cpus: 2, memory: "3Gi" } },
    { id: "b", prompt: "p", repo: "git@git.example:o/r.git" },
    { id: "c", prompt: "p", image: "python:3.12", repo: "https://models.example:8443/o/r" },
  ];
  const manifests = await manifestsFor({ tasks });
  validate(manifests);
  assertEquals(manifests.map(({ kind, metadata: { name } }) => `${kind} ${name}`), [
    "ConfigMap tasks-tasks",
    "PersistentVolumeClaim tasks-results",
    "NetworkPolicy tasks",
    "Job tasks",
    "Job tasks-2",
  ]);
  const jobs = jobsOf(manifests);
  assertEquals(jobs.map(({ spec }) => [spec.completions, spec.template.spec.containers[0].image]), [
    [2, "python:3.12"],
    [1, "example/agent:1"],
  ]);
  assertEquals(jobs.map(commandOf), [
    "exec reasonix run --tasks /etc/reasonix/tasks.jsonl --results-dir /results --image python:3.12 " +
    '--task-index "$JOB_COMPLETION_INDEX"',
    "exec reasonix run --tasks /etc/reasonix/tasks.jsonl --results-dir /results --image '' " +
    '--task-index "$JOB_COMPLETION_INDEX"',
  ]);
  const pod = jobs[0]?.spec.template.spec;
  assertEquals(parse(yaml(pod?.containers[0])).resources, {
    requests: { cpu: "2", memory: "3072Mi" },
    limits: { memory: "3072Mi" },
  });
});

Deno.test("a tasks file with secrets is a Secret of the cluster, and not in the manifest", async () => {
  const rows = [
    [{ prompt: "p", env: { API_TOKEN: "hunter2" } }, "hunter2"],
    [{ prompt: "p", env: { DATABASE: "postgres://me:opensesame@db/x" } }, "opensesame"],
    [{ prompt: "use ghp_0123456789abcdefghijABCDEFGHIJ012345" }, "ghp_"],
  ] as const;
  for (const [task, secret] of rows) {
    const text = await kubernetes(await planFor({ tasks: [task] }), resolve);
    assert(!text.includes(secret), text);
    assertMatch(
      text,
      /^# {3}kubectl create secret generic tasks-tasks --from-file=tasks.jsonl=tasks.jsonl$/m,
    );
    const manifests = readManifests(text);
    validate(manifests);
    const [job] = jobsOf(manifests);
    const { volumes } = job?.spec.template.spec as unknown as { readonly volumes: readonly unknown[] };
    assertEquals(volumes[0], {
      name: "tasks",
      projected: { sources: [{ configMap: { name: "tasks-tasks" } }, { secret: { name: "tasks-tasks" } }] },
    });
  }
  const plain = await kubernetes(
    await planFor({ tasks: [{ prompt: "p", env: { TOKEN: "", CI: "true" } }] }),
    resolve,
  );
  assert(plain.includes("tasks.jsonl: "), plain);
});

Deno.test("a Job retries what another attempt can change, and its pods may do nothing but their work", async () => {
  const [job] = jobsOf(await manifestsFor());
  const { backoffLimitPerIndex, podFailurePolicy, template: { spec: pod } } = job?.spec ?? ({} as never);
  assertEquals(backoffLimitPerIndex, 3);
  assertEquals(podFailurePolicy.rules, [
    { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget" }] },
    {
      action: "FailIndex",
      onExitCodes: { containerName: "reasonix", operator: "In", values: [1, 2, 3, 4, 6, 7] },
    },
  ]);
  const { containers: [container], ...rest } = pod as Readonly<Record<string, unknown>> & typeof pod;
  assertEquals([rest.restartPolicy, rest.automountServiceAccountToken, rest.terminationGracePeriodSeconds], [
    "Never",
    false,
    60,
  ]);
  assertEquals(rest.securityContext, {
    runAsNonRoot: true,
    runAsUser: 1000,
    runAsGroup: 1000,
    fsGroup: 1000,
    seccompProfile: { type: "RuntimeDefault" },
  });
  assertEquals((container as Readonly<Record<string, unknown>> & typeof container).securityContext, {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ["ALL"] },
  });
  assertEquals(container.env.at(-1), {
    name: "NEAR_KEY",
    valueFrom: { secretKeyRef: { name: "reasonix-keys", key: "NEAR_KEY" } },
  });
});

Deno.test("pods reach the addresses of the model and of remote repositories, and names of the cluster", async () => {
  const egress = async (given: Given) => {
    const manifests = await manifestsFor(given);
    validate(manifests);
    const policy = manifests.find(({ kind }) => kind === "NetworkPolicy");
    const spec: unknown = jobsOf(manifests)[0]?.spec.template.spec;
    const { egress } = policy?.spec as unknown as { readonly egress: readonly unknown[] };
    return { egress, aliases: (spec as { readonly hostAliases?: unknown }).hostAliases };
  };
  const to = ["192.0.2.9/32", "2001:db8::7/128"].map((cidr) => ({ ipBlock: { cidr } }));
  const model = { to, ports: [{ protocol: "TCP", port: 8443 }] };
  const names = [{ ip: "192.0.2.9", hostnames: ["models.example"] }, {
    ip: "2001:db8::7",
    hostnames: ["models.example"],
  }];
  assertEquals(await egress({}), { egress: [model], aliases: names });
  const tasks = [{ prompt: "p", repo: "https://git.example/o/r" }, { prompt: "q", repo: "/srv/r" }];
  assertEquals((await egress({ tasks })).egress, [model, { to, ports: [{ protocol: "TCP", port: 443 }] }]);
  const at = (address: string, more = "") => ({ config: PROVIDER.replace(/https:[^"]*/, address) + more });
  const dns = {
    to: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "kube-system" } } }],
    ports: [{ protocol: "UDP", port: 53 }, { protocol: "TCP", port: 53 }],
  };
  assertEquals(await egress(at("http://vllm.models.svc.cluster.local/v1")), {
    egress: [
      { to: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "models" } } }] },
      dns,
    ],
    aliases: undefined,
  });
  assertEquals((await egress(at("http://vllm:8000/v1"))).egress, [{ to: [{ podSelector: {} }] }, dns]);
  assertEquals((await egress(at("https://[2001:db8::1]/v1"))).egress, [
    { to: [{ ipBlock: { cidr: "2001:db8::1/128" } }], ports: [{ protocol: "TCP", port: 443 }] },
  ]);
  assertEquals((await egress(at("https://a.example", 'proxy = "http://192.0.2.1:3128"\n'))).egress, [
    { to: [{ ipBlock: { cidr: "192.0.2.1/32" } }], ports: [{ protocol: "TCP", port: 3128 }] },
  ]);
  for (
    const [address, reason] of [
      ["https://models.invalid/v1", /Cannot allow pods to reach models\.invalid: failed to look up/],
      ["http://localhost:11434/v1", /Cannot allow pods to reach localhost: it is this machine itself/],
      ["http://127.0.0.1:11434/v1", /127\.0\.0\.1: it is this machine itself/],
    ] as const
  ) {
    const local = (host: string) => host === "localhost" ? Promise.resolve(["::1"]) : resolve(host);
    const error = await assertRejects(async () => await kubernetes(await planFor(at(address)), local));
    assertMatch(String(error), reason);
  }
});

Deno.test("the configuration of pods has the used providers and names of variables in place of secrets", async () => {
  const config = `default_model = "near"
[ui]
theme = "dark"
[security]
env_keys = false
[sandbox]
bash = "auto"
${PROVIDER}headers = { Authorization = "Bearer \${TOKEN}", X-Team = "a" }
[[providers]]
name = "far"
kind = "openai"
base_url = "https://far.example"
model = "f"
api_key_env = "FAR_KEY"
[[hooks]]
event = "Stop"
command = "true"
`;
  const { machine } = await planFor({ config, variables: { TOKEN: "s3cr3t-value" } });
  assertEquals(structuredClone(parseToml(machine.text)), {
    default_model: "near",
    sandbox: { bash: "auto" },
    providers: [{
      name: "near",
      kind: "openai",
      base_url: "https://models.example:8443/v1",
      model: "m",
      api_key_env: "NEAR_KEY",
      headers: { Authorization: "Bearer ${TOKEN}", "X-Team": "a" },
    }],
  });
  assertEquals(machine.variables, ["NEAR_KEY", "TOKEN"]);
  assertEquals(machine.endpoints, [{ host: "models.example", port: 8443 }]);
  const both = await planFor({
    config,
    variables: { TOKEN: "t" },
    tasks: [{ prompt: "p", model: "far/f" }, { prompt: "q" }],
  });
  assertEquals(both.machine.variables, ["FAR_KEY", "NEAR_KEY", "TOKEN"]);
  const receivedAt = async (otlp: string) => {
    const { machine } = await planFor({ config: `[telemetry]\notlp = "${otlp}"\n${PROVIDER}` });
    return [machine.text.includes("[telemetry]"), machine.endpoints.slice(1)];
  };
  assertEquals(await receivedAt("http://localhost:4318"), [false, []]);
  assertEquals(await receivedAt("http://otel.svc.example"), [true, [{ host: "otel.svc.example", port: 80 }]]);
  for (const repo of ["https://token@git.example/r", "ssh://git:word@git.example/r"]) {
    const error = await assertRejects(() => manifestsFor({ tasks: [{ id: "x", prompt: "p", repo }] }));
    assertMatch(String(error), /the repo of task x holds a secret$/);
  }
  await manifestsFor({ tasks: [{ prompt: "p", repo: "ssh://git@git.example:2222/r" }] });
  for (
    const line of [
      'headers = { Authorization = "Bearer 0123456789abcdef" }',
      'headers = { X-Team = "a1b2c3d4e5f6a7b8c9" }',
      'proxy = "http://user:word@proxy.example:3128"',
    ]
  ) {
    const error = await assertRejects(() => planFor({ config: PROVIDER + line }));
    assertMatch(String(error), /config\.toml: providers\.0\.\S+ is a secret that is written out/);
    assert(!/0123|a1b2|word@/.test(String(error)));
  }
});

Deno.test("names of Jobs are labels, whatever the file is called", async () => {
  const nameOf = async (tasksFile: string) => (await planFor({ input: { tasksFile } })).name;
  assertEquals(await nameOf("../work/fix-1.jsonl"), "fix-1");
  assertEquals(await nameOf("-"), "tasks");
  const files = [
    "任务.jsonl",
    "修复.jsonl",
    "A b.jsonl",
    "a-b.jsonl",
    `${"x".repeat(300)}.jsonl`,
    `${"x".repeat(200)}`,
  ];
  const names = await Promise.all(files.map(nameOf));
  assertEquals(new Set(names).size, names.length, names.join());
  for (const name of names) assertMatch(name, /^(?=.{1,40}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/);
});

Deno.test("resources follow an earlier run, else the limits of the tasks, for the tasks of an index at once", async () => {
  const tasks = [1, 2, 3, 4].map((at) => ({ prompt: "p", limits: { cpus: at / 2, memory: "100Mi" } }));
  const resourcesOf = async (input: Given["input"]) =>
    (await planFor({ tasks, input: { ...input } })).resources;
  const MIB = 1024 ** 2;
  assertEquals(await resourcesOf({}), { cpus: 2, memoryBytes: 100 * MIB });
  assertEquals(await resourcesOf({ shards: 2, jobs: 3 }), { cpus: 4, memoryBytes: 200 * MIB });
  await using fixture = configFixture();
  const dir = `${fixture.cwd}/results`;
  const tasksText = '{"id":"a","prompt":"p"}\n{"id":"b","prompt":"p"}\n';
  const given = { file: "t.jsonl", cwd: fixture.cwd, elsewhere: true };
  const manifest = manifestOf({ tasks: readTasks(tasksText, given), text: tasksText, file: "t.jsonl" });
  const results = ResultsDir.open(dir, manifest);
  const measured = { measured: dir };
  const error = await assertRejects(() => resourcesOf(measured));
  assertMatch(String(error), /Cannot take resources from \S+\/results: no result there has figures/);
  for (const [index, memory, seconds] of [[0, 90, 6], [1, 200, 10]] as const) {
    const runner = { peak_memory_bytes: memory * MIB, cpu_seconds: seconds, jobs: 2 };
    const result = { id: "ab"[index] ?? "", ok: true, reason: "done", duration_ms: 10_000 } as TaskResult;
    results.put(index, { started: "2026-01-01T00:00:00Z", runner }, result, {});
  }
  assertEquals(await resourcesOf(measured), { cpus: 0.4, memoryBytes: 256 * MIB });
  assertEquals(await resourcesOf({ ...measured, shards: 1, jobs: 4 }), { cpus: 1.6, memoryBytes: 512 * MIB });
});

Deno.test("the examples of the page are parts of the manifest that its command writes", async () => {
  const page = "docs/batch/kubernetes.md";
  const [line = "", ...lines] = (await codeBlocks(page, "jsonl")).join("").split("\n");
  const tasks = [line, ...lines].filter((each) => each !== "").map((each) => JSON.parse(each));
  const [command = ""] = await codeBlocks(page, "console");
  const [words = "", flags = ""] = command.trim().split(" -- ");
  assertMatch(
    words,
    /^\$ reasonix batch emit kubernetes --tasks tasks.jsonl --results-dir \/results --container \S+$/,
  );
  const input = { container: words.split(" ").at(-1), runFlags: flags.split(" ") };
  const text = await kubernetes(
    await planFor({ tasks, config: PROVIDER.replace("NEAR", "MODEL"), input }),
    resolve,
  );
  const [header = "", policy = "", pod = ""] = await codeBlocks(page, "yaml");
  assert(text.startsWith(header), text);
  assert(text.includes(policy.replaceAll(/^(?=.)/gm, "  ")), text);
  const shown = parse(pod);
  new Pod(shown).validate();
  assert(text.includes(`claimName: ${shown.spec.volumes[0].persistentVolumeClaim.claimName}\n`));
});

Deno.test("a tasks file that is too large for a ConfigMap is expected in the volume", async () => {
  const tasks = Array.from({ length: 1200 }, () => ({ prompt: "x".repeat(900) }));
  const text = await kubernetes(await planFor({ tasks }), resolve);
  assertMatch(text, /^# .*Copy it to \/results\/tasks\.jsonl of the claim first\.$/m);
  const manifests = readManifests(text);
  assertEquals(Object.keys(manifests[0]?.data ?? {}), ["config.toml"]);
  assertMatch(commandOf(jobsOf(manifests)[0]), /--tasks \/results\/tasks\.jsonl /);
});

Deno.test("more tasks than a Job has indexes run in shards", async () => {
  const task = (await planFor()).tasks[0];
  assert(task);
  const tasks = Array.from({ length: 250_000 }, (_, at) => ({ ...task, id: String(at) }));
  const [job] = jobsOf(await manifestsFor({ input: { tasks } }));
  assert((job?.spec.completions ?? Infinity) <= 100_000);
  assertMatch(commandOf(job), /--shard "\$\(\(\$JOB_COMPLETION_INDEX \+ 1\)\)\/100000" -j 4$/);
});

Deno.test("flags and tasks of any characters arrive as they are", async () => {
  const nasty = fc.oneof(
    fc.constantFrom(
      "007",
      "1e3",
      "true",
      "~",
      "- a",
      "a: b",
      "# c",
      "|",
      "é\u2028\u0085\ufeff",
      "$(HOME) $$ $HOME `x`",
    ),
    fc.string({ unit: "binary", minLength: 1 }).filter((text) => !text.includes("\0") && text.isWellFormed()),
  );
  const plan = await planFor();
  await fc.assert(
    fc.asyncProperty(fc.array(nasty, { minLength: 1, maxLength: 4 }), nasty, async (flags, text) => {
      const manifests = readManifests(
        await kubernetes({ ...plan, runFlags: flags, tasksText: text, name: "n" }, resolve),
      );
      assertEquals(manifests[0]?.data?.["tasks.jsonl"], text);
      const line = commandOf(manifests[3]).replace(/^exec reasonix/, "printf '%s\\0'");
      const { stdout } = await new Deno.Command("sh", { args: ["-c", line] }).output();
      assertEquals(
        new TextDecoder("utf-8", { ignoreBOM: true }).decode(stdout).split("\0").slice(7, -1),
        flags,
      );
    }),
    { seed: SEED, numRuns: soakSize(300, 12) },
  );
});

Deno.test("yaml writes every value of JSON so that parsers of YAML 1.1 and 1.2 read the same", () => {
  const text = fc.oneof(fc.string({ unit: "binary" }), fc.stringMatching(/^[\n #:a-z'"|\\-]{0,12}$/));
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      text.filter((each) => each.isWellFormed()),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(text.filter((each) => each.isWellFormed()), tie("value"), {
        maxKeys: 4,
        noNullPrototype: true,
      }),
    ),
  }));
  fc.assert(
    fc.property(value, (each) => {
      for (const version of ["1.1", "1.2"] as const) {
        assertEquals(parse(yaml({ each }), { version, uniqueKeys: true, merge: false }), { each });
      }
    }),
    { seed: SEED, numRuns: soakSize(10_000, 100) },
  );
});
