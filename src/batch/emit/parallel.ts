import { shellWord } from "../../util/process.ts";
import { type EmitPlan, MAX_RETRIES, RETRY, unitLines } from "./plan.ts";

/** Exit code of ssh without a connection. */
const LOST = 255;

/** Writes a script for GNU parallel, on this machine or on others through ssh. */
export function parallel(plan: EmitPlan): string {
  const { tasks, groups, shards, jobs, machine: { variables: keys } } = plan;
  const results = shellWord(plan.resultsDir);
  const ssh = ["ssh", ...keys.map((name) => `-o SendEnv=${name}`), "-o ServerAliveInterval=30"].join(" ");
  return [
    "#!/bin/bash",
    `# ${tasks.length} tasks as ${shards} jobs of GNU parallel. Start it where the tasks file is:`,
    "#   bash FILE            on this machine",
    "#   bash FILE LOGINS     on those of a file, one [user@]host a line; they share this directory",
    "# It may be started again: what is finished is not repeated.",
    ...(groups.some(({ image = plan.container }) => image !== undefined)
      ? ["# Images are not used: tasks run on the machines as these are."]
      : []),
    'if [ $# -gt 0 ]; then machines=(--filter-hosts --sshloginfile "$1"); else machines=(); fi',
    `mkdir -p -- ${results} || exit 2`,
    `log=${results}/parallel.tsv`,
    "unit() {",
    "  index=$1",
    ...unitLines(plan, () => []).map((line) => `  ${line}`),
    "}",
    'UNIT="$(declare -f unit); unit \\"\\$1\\"" && export UNIT',
    "trap 'exit 130' INT",
    "trap 'exit 143' TERM",
    "# What has no line in the log is done: first also what failed before this start.",
    "again='$7 != 0 || $8 != 0'",
    `for attempt in {0..${MAX_RETRIES}}; do`,
    '  if [ -f "$log" ]; then',
    `    awk -F '\\t' "NR == 1 || !($again)" "$log" >"$log.new"`,
    '    mv "$log.new" "$log"',
    `    [ "$(wc -l <"$log")" -gt ${shards} ] && break`,
    "  fi",
    `  again='$7 ~ /^(${[...RETRY, LOST].join("|")})$/ || $8 != 0'`,
    '  [ "$attempt" = 0 ] || sleep 30',
    `  seq 0 ${shards - 1} |`,
    `    parallel --jobs ${shards === tasks.length ? jobs : 1} --resume --joblog "$log" --workdir "$PWD" \\`,
    `      --env UNIT --ssh ${shellWord(ssh)} "\${machines[@]}" 'bash -c "$UNIT" unit {}'`,
    "done",
    `reasonix batch merge ${results}`,
    "",
  ].join("\n");
}
