import { dynamic, type Program, type RemoteDeletion } from "../program.ts";

/** Statements that delete, in any language of databases that is like SQL. */
export const SQL_DELETION =
  /\b(?:drop\s+(?:table|database|schema|index|view|materialized|user|role|owned|function|procedure|type|extension|column|constraint|keyspace|tablespace|sequence|trigger|stage|warehouse|stream|topic)\b|truncate\s+\w|delete\s+from\b)/i;
/** Calls that delete in the shell of MongoDB. */
export const MONGO_DELETION = /\.(?:drop\w*|delete(?:One|Many)|remove|findOneAndDelete)\s*\(/;
const REDIS_DELETION = /^[ \t]*(?:flush(?:all|db)|del|unlink|shutdown|swapdb)\b/im;
/** A shell command for another machine or a container that deletes. */
const SHELL_DELETION = /\brm\b[^;|&]*\s-{1,2}\w*[rR]|\b(?:mkfs|wipefs|shutdown|reboot|poweroff)\b/;

const SQL: RemoteDeletion = { text: SQL_DELETION };
const REMOVALS: RemoteDeletion = {
  words: "delete remove",
  depth: 2,
  options: "-X=DELETE --method=DELETE",
};

/** Programs that talk to other machines, among them clients of services with how they delete there. */
export const NETWORK: readonly Program[] = [
  { names: "curl", network: true, outputs: "-o --output", prints: "--version -V" },
  {
    names: "wget",
    network: true,
    code: /^-e/,
    codeLong: "use-askpass execute",
    outputs: "-o -O --output --output-document",
    prints: "--version -V",
  },
  {
    names: "sftp",
    network: true,
    code: /^-[So]/,
    read: ({ name, input }) =>
      input.kind === "inherited" ? undefined : dynamic(`${name} runs what it is given as input`),
  },
  { names: "socat", network: true, code: /\b(?:exec|system|shell):/i },
  { names: "nc ncat netcat", network: true, code: /^-[A-Za-z]*[ec]|^--(?:exec|sh-exec|lua-exec)/ },
  { names: "adb", network: true, mentions: "afterFirst" },
  { names: "dig host nslookup ping traceroute", network: true },
  service("kubectl oc", {
    words: "delete drain",
    depth: 2,
    options: "--force --prune --grace-period=0",
    text: SHELL_DELETION,
  }, { mentions: "afterFirst", offers: "get describe" }),
  service("helm", { words: "uninstall delete del un", depth: 2, options: "--force" }),
  service("terraform tofu terragrunt", {
    words: "destroy rm delete force-unlock",
    depth: 2,
    options: "-destroy --destroy -force",
  }),
  service("pulumi cdk sam sls serverless", { words: "destroy delete remove rm", depth: 2 }),
  service("aws", {
    words: "rm rb delete-* terminate-* purge-* destroy-* deregister-* remove-* schedule-key-deletion",
    depth: 2,
    options: "--delete --force --force-delete* --force-destroy*",
  }),
  service("gcloud az", { words: "delete* destroy* purge* rm", depth: 5 }),
  service("gsutil s3cmd mc", { words: "rm rb del", depth: 2, options: "--delete-removed --remove" }),
  service("bq", { words: "rm remove", depth: 2, ...SQL }),
  service("azcopy", { words: "remove rm", depth: 1, options: "--delete-destination=*" }),
  service("doctl fly flyctl wrangler supabase railway hcloud linode-cli scw oci ibmcloud vercel", {
    words: "delete destroy remove rm reset",
    depth: 4,
  }),
  service("heroku netlify firebase", {
    words: "*:delete *:destroy *:reset *:remove *:disable",
    depth: 1,
  }),
  service("docker podman nerdctl", {
    words: "rm rmi prune",
    depth: 3,
    options: "--force --volumes",
    text: SHELL_DELETION,
  }, { mentions: "afterFirst", offers: "ps logs", prints: "--version -v version" }),
  service("docker-compose podman-compose", { words: "rm", depth: 2, options: "--force --volumes" }, {
    mentions: "afterFirst",
  }),
  service("lxc vagrant", { words: "delete destroy", depth: 2 }, { mentions: "afterFirst" }),
  service("mysqladmin mariadb-admin", { words: "drop flush-*", depth: 2 }),
  service("dropdb dropuser", { words: "*", depth: 1 }),

  service("redis-cli valkey-cli keydb-cli", {
    words: "flush* del unlink shutdown swapdb",
    depth: 2,
    text: REDIS_DELETION,
  }),
  service("cqlsh clickhouse clickhouse-client sqlcmd sqlplus snowsql trino presto beeline cockroach", SQL),
  service("etcdctl consul vault nomad", {
    words: "del delete destroy force-leave",
    depth: 3,
    options: "-force -purge",
  }),
  service("rabbitmqctl rabbitmqadmin", { words: "delete* purge* reset force_reset", depth: 2 }),
  service("kafka-topics kafka-topics.sh kafka-consumer-groups kafka-consumer-groups.sh", {
    options: "--delete --delete-offsets",
  }),
  service("rclone", { words: "delete deletefile purge rmdir rmdirs cleanup sync", depth: 1 }),
  service("gh", REMOVALS, { hosts: "api.github.com github.com" }),
  service("glab", REMOVALS),
];

function service(names: string, remote: RemoteDeletion, row: Partial<Program> = {}): Program {
  return { names, network: true, remote, ...row };
}
