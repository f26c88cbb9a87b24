import { shellWord } from "../../util/process.ts";
import { type EmitPlan, MAX_RETRIES, RETRY, unitLines } from "./plan.ts";
import { yaml } from "./yaml.ts";

const CHECKOUT = "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1";
const NODE = "actions/setup-node@820762786026740c76f36085b0efc47a31fe5020";
const UPLOAD = "actions/upload-artifact@bbbca2ddaa5d8feaa63e36b76fdaad77386f024f";
const DOWNLOAD = "actions/download-artifact@3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c";

const RUN_MINUTES = 360;
const MERGE_MINUTES = 30;

/** Writes a workflow: a job of a matrix for each index, and one that merges their results. */
export function github(plan: EmitPlan): string {
  const { name, groups, jobs, container, npmPackage, tasks } = plan;
  const { text: config, variables: keys } = plan.machine;
  const path = literal(plan.resultsDir);
  const images = groups.flatMap(({ image = container ?? "", shards }) => Array<string>(shards).fill(image));
  const include = images.map((image, index) => image === "" ? { index } : { index, image: literal(image) });
  const [isBare, isContained] = [images.includes(""), images.some((image) => image !== "")];
  const install = [
    { uses: NODE, with: { "node-version": 22 } },
    { run: `npm install --global ${npmPackage}` },
  ];
  // In a container the container is the jail.
  const jail = {
    name: "Install bubblewrap, and let it make user namespaces",
    ...(isContained ? { if: "${{ !matrix.image }}" } : {}),
    run: "sudo apt-get update -qq && sudo apt-get install -y -qq bubblewrap\n" +
      "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 || true\n",
  };
  const artifact = "results-${{ matrix.index }}";
  const lines = [
    ...(config === "" ? [] : [
      'export AGENT_CONFIG_PATH="$RUNNER_TEMP/reasonix.toml"',
      'printf %s "$config" >"$AGENT_CONFIG_PATH"',
    ]),
    "unit() (",
    ...unitLines(plan, () => []).map((line) => `  ${line}`),
    ")",
    "# No line of the output is a command to the runner.",
    `echo "::stop-commands::$(od -An -N16 -tx1 /dev/urandom | tr -d ' \\n')"`,
    `for attempt in ${Array.from({ length: MAX_RETRIES + 1 }, (_, at) => at).join(" ")}; do`,
    '  [ "$attempt" = 0 ] || sleep 30',
    "  code=0",
    "  unit || code=$?",
    `  case $code in ${RETRY.join(" | ")}) ;; *) break ;; esac`,
    "done",
    'exit "$code"',
  ];
  const header = keys.length === 0 ? "" : `# Secrets of the repository that it needs: ${keys.join(", ")}\n`;
  const secrets = keys.map((key) => [key, `\${{ secrets.${key} }}`]);
  const workflow = {
    name,
    on: "workflow_dispatch",
    permissions: { contents: "read" },
    jobs: {
      run: {
        "runs-on": "ubuntu-latest",
        "timeout-minutes": RUN_MINUTES,
        strategy: {
          "fail-fast": false,
          ...(plan.shards === tasks.length ? { "max-parallel": jobs } : {}),
          matrix: { include },
        },
        ...(isContained ? { container: "${{ matrix.image }}" } : {}),
        steps: [
          { uses: CHECKOUT, with: { "persist-credentials": false } },
          ...install,
          ...(isBare ? [jail] : []),
          {
            name: "Fetch what an earlier attempt of this run has done",
            if: "github.run_attempt > 1",
            "continue-on-error": true,
            uses: DOWNLOAD,
            with: { name: artifact, path },
          },
          {
            name: "Run",
            shell: "sh",
            env: {
              index: "${{ matrix.index }}",
              ...(config === "" ? {} : { config: literal(config) }),
              ...Object.fromEntries(secrets),
            },
            run: literal(`${lines.join("\n")}\n`),
          },
          {
            if: "${{ !cancelled() }}",
            uses: UPLOAD,
            with: { name: artifact, path, overwrite: true },
          },
        ],
      },
      merge: {
        needs: "run",
        if: "${{ !cancelled() }}",
        "runs-on": "ubuntu-latest",
        "timeout-minutes": MERGE_MINUTES,
        steps: [
          ...install,
          { uses: DOWNLOAD, with: { pattern: "results-*", "merge-multiple": true, path } },
          { run: literal(`reasonix batch merge ${shellWord(plan.resultsDir)} --results results.jsonl`) },
          {
            if: "${{ !cancelled() }}",
            uses: UPLOAD,
            with: { name: "results", path: `results.jsonl\n${path}\n`, overwrite: true },
          },
        ],
      },
    },
  };
  return `${header}${yaml(workflow)}\n`;
}

/** Text in which GitHub finds no expression. */
function literal(text: string): string {
  return text.replaceAll("${{", "${{ '${{' }}");
}
