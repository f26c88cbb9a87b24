import { contains } from "../../../path/lexical.ts";
import {
  ancestors,
  type Backend,
  type JailedCommand,
  type JailPlan,
  type MountPath,
  type ProbeResult,
  type SpawnPlan,
} from "../backend.ts";
import { proxyEnvironment } from "../environment.ts";
import { JAIL_PROGRAMS } from "../backend.ts";
import { runProgram } from "../../../util/process.ts";

const [PROGRAM] = JAIL_PROGRAMS.seatbelt;

/** Devices that programs write to without meaning any. */
const DEVICES = ["/dev/null", "/dev/zero", "/dev/tty", "/dev/dtracehelper", "/dev/random", "/dev/urandom"];

/** Temporary files of macOS: for everyone, and for each user. */
const TEMPORARY = ['(subpath "/private/tmp")', '(regex #"^/private/var/folders/[^/]+/[^/]+/T(/|$)")'];

function quoted(path: string): string {
  return `"${path.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

function pattern(mount: { readonly path: string; readonly directory: boolean }): string {
  return `(${mount.directory ? "subpath" : "literal"} ${quoted(mount.path)})`;
}

function rule(head: string, filters: readonly string[]): string[] {
  return filters.length === 0 ? [] : [`(${head}`, ...filters.map((filter) => `  ${filter}`), ")"];
}

function networkRules(plan: JailPlan): string[] {
  if (plan.network === "open") return ["(allow network*)"];
  if (plan.network === "filtered" && plan.proxy?.port !== undefined) {
    return [`(allow network-outbound (remote ip "localhost:${plan.proxy.port}"))`];
  }
  return [];
}

/** Writable parts of read-only directories, such as caches in a home directory. */
function writableWithin({ writable, readable }: JailPlan): MountPath[] {
  const outer = readable.map((mount) => mount.path);
  return writable.filter(({ path }) =>
    outer.some((directory) => directory !== path && contains(directory, path))
  );
}

/**
 * The profile for sandbox-exec. Later rules win, so the order is: writable, readable, protected, hidden. All
 * else is allowed except writes, the network and the ways to have another process act for this one.
 */
function seatbeltProfile(plan: JailPlan): string {
  return [
    "(version 1)",
    "(allow default)",
    "(deny file-write*)",
    ...rule("allow file-write*", [
      ...DEVICES.map((path) => `(literal ${quoted(path)})`),
      '(regex #"^/dev/(fd/|ttys[0-9]+$)")',
      ...TEMPORARY,
      ...plan.writable.map(pattern),
    ]),
    ...rule("deny file-write*", plan.readable.map(pattern)),
    ...rule("allow file-write*", writableWithin(plan).map(pattern)),
    ...rule("deny file-write*", [
      ...plan.protectedPaths.map(pattern),
      ...plan.mustNotAppear.map((path) => `(literal ${quoted(path)})`),
    ]),
    // Renaming or removing a directory above them would move what is protected out of the way.
    ...rule(
      "deny file-write-unlink",
      ancestors(plan).map((path) => `(literal ${quoted(path)})`),
    ),
    ...rule("deny file-read* file-write*", plan.hidden.map(pattern)),
    "(deny network*)",
    ...networkRules(plan),
    "(deny appleevent-send)",
    "(deny lsopen)",
    "(deny job-creation)",
    // Includes reading the arguments and environment of other processes.
    "(deny process-info*)",
    "(allow process-info* (target same-sandbox))",
    "(deny signal)",
    "(allow signal (target same-sandbox))",
    "",
  ].join("\n");
}

function wrap({ argv, env, plan, probe }: JailedCommand): SpawnPlan {
  const proxied = plan.network === "filtered" && plan.proxy?.port !== undefined;
  return {
    command: probe.program ?? PROGRAM,
    args: ["-p", seatbeltProfile(plan), ...argv],
    env: proxied ? { ...env, ...proxyEnvironment(plan.proxy?.port ?? 0) } : env,
  };
}

async function probe(): Promise<ProbeResult> {
  // The whole of a profile, so that a system that does not know one of its words is noticed here and not at
  // each command.
  const profile = seatbeltProfile({
    writable: [],
    readable: [],
    protectedPaths: [],
    hidden: [],
    agents: [],
    mustNotAppear: [],
    replaced: [],
    network: "none",
  });
  const args = ["-p", profile, "/bin/sh", "-c", "exit 42"];
  const result = await runProgram([PROGRAM, ...args], { env: {} });
  if (result.code === 42) return { works: true, program: PROGRAM, network: true };
  const detail = result.errors.trim().split("\n")[0] || `exit code ${result.code}`;
  return { works: false, program: PROGRAM, detail };
}

/** macOS: a generated profile for sandbox-exec. */
export const seatbelt: Backend = {
  async fingerprint() {
    const info = await Deno.stat(PROGRAM).catch(() => undefined);
    return info && `${PROGRAM} ${info.mtime?.getTime()} ${Deno.osRelease()}`;
  },
  probe,
  wrap,
};
