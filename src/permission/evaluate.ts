import { message, type PreparedCall, subjectOf, type Text } from "../core/mod.ts";
import { absolutePath, contains, normalize } from "../path/lexical.ts";
import { PROTECTED_KINDS, protectedHolder, protectedPath } from "../path/protected.ts";
import { RealPathCache } from "../path/real_path.ts";
import {
  createPathMatcher,
  judgeCall,
  NO_RULE,
  type PathContext,
  type PathMatcher,
  type RuledCall,
  RuleSet,
  type Ruling,
  type ToolRules,
  webHost,
} from "../rule/mod.ts";
import type { CommandJudge, CommandReport, JudgeContext } from "./command/judge.ts";
import type { GateOptions } from "./types.ts";

/** Everything known about one call before anybody is asked. */
export interface Evaluation {
  readonly call: PreparedCall;
  readonly subject: string;
  readonly ruling: Ruling;
  readonly report?: CommandReport;
  /** The directory in which a command runs. */
  readonly directory?: string;
}

/** Returns what identifies a call that was approved for the session as it is. */
export function exactKey({ call, subject, directory = "" }: Evaluation): string {
  const { tool, args, command, reads, writes = [] } = call;
  const what = command || reads.length + writes.length > 0 ? subject : JSON.stringify(args);
  return [tool, directory, what].join("\0");
}

const READER: Ruling = {
  outcome: "allow",
  by: "fallback",
  reason: message`a read-only tool that no rule concerns`,
};
const DELEGATE: Ruling = {
  outcome: "allow",
  by: "fallback",
  reason: message`another agent works on it, whose own calls are judged one by one`,
};
const WRITER: Ruling = { outcome: "ask", by: "fallback", reason: NO_RULE };

const SOME_EDIT: PreparedCall = {
  call: { id: "", name: "write_file", arguments: "" },
  tool: "write_file",
  args: {},
  title: "",
  family: "Edit",
  readOnly: false,
  planSafe: false,
  reads: [],
  writes: ["src/file.txt"],
  subjects: [],
  runsIn: "worker",
};

/** Finds out what rules, protected paths and, for a command line, the parser say of a call. */
export class Evaluator {
  readonly rules: RuleSet;
  /** The reason why there is no jail; known once a command was evaluated. */
  unconfined: string | undefined;
  readonly #options: GateOptions;
  readonly #online: () => boolean;
  readonly #written = new WrittenFiles();
  /** Real paths of one evaluation: looked up once, never kept for the next call. */
  readonly #real = new RealPathCache();
  #pathContext: PathContext;
  #paths: PathMatcher;
  #judge: CommandJudge | undefined;
  #loading: Promise<CommandJudge> | undefined;
  /** A line was judged, or is about to be. */
  #used = false;

  /** `online` reports whether people opened hosts while the session runs. */
  constructor(options: GateOptions, online: () => boolean = () => false) {
    this.#options = options;
    this.#online = online;
    this.rules = new RuleSet(options.policy, options.temporaryRules);
    this.#pathContext = {
      cwd: options.cwd,
      home: options.home,
      roots: options.roots,
      protectedFiles: options.protectedFiles,
      realPath: (path) => this.#real.of(path),
      ignoreCase: options.ignoreCase ?? (Deno.build.os === "darwin" || Deno.build.os === "windows"),
    };
    this.#paths = createPathMatcher(this.#pathContext);
  }

  get pathContext(): PathContext {
    return this.#pathContext;
  }

  set cwd(cwd: string) {
    this.#pathContext = { ...this.#pathContext, cwd };
    this.#paths = createPathMatcher(this.#pathContext);
  }

  async warm(): Promise<void> {
    const judge = await this.#load();
    // A line that is here already is judged sooner without.
    if (!this.#used) judge.warm(this.#context({ deny: [], ask: [], allow: [] }, this.#pathContext.cwd));
    this.#used = true;
  }

  /** Judges an edit that is not made, so that the next one is fast. */
  warmUpEdit(): Evaluation {
    return this.#evaluateTool(SOME_EDIT);
  }

  async #load(): Promise<CommandJudge> {
    this.#loading ??= import("./command/judge.ts").then(async (module) => {
      this.unconfined = await this.#options.unconfined?.();
      const online = this.#online;
      const { privateDirectories = [], network = true } = await this.#options.commandEnvironment?.() ?? {};
      return module.createCommandJudge(this.#options, {
        privateDirectories,
        get network() {
          return network || online();
        },
      });
    });
    return this.#judge = await this.#loading;
  }

  /** Returns a promise only for the first command. */
  evaluate(call: PreparedCall): Evaluation | Promise<Evaluation> {
    if (!call.command) return this.#evaluateTool(call);
    this.#used = true;
    if (this.#judge) return this.#evaluateCommand(call, this.#judge);
    return this.#load().then((judge) => this.#evaluateCommand(call, judge));
  }

  /** Reports whether a call that was evaluated would be allowed by one more rule. */
  allowedBy(rule: string, { call, report }: Evaluation): boolean {
    const { policy } = this.#options;
    const trial = new Evaluator({
      ...this.#options,
      policy: { ...policy, allow: [...policy.allow, { text: rule }] },
    });
    trial.cwd = this.#pathContext.cwd;
    const found = this.#judge && report
      ? trial.#evaluateCommand(call, this.#judge)
      : trial.#evaluateTool(call);
    return found.ruling.outcome === "allow";
  }

  isRuled(call: PreparedCall): boolean {
    const { deny, ask } = this.rules.for(ruledCall(call));
    return deny.length + ask.length > 0;
  }

  /** Reports whether a call writes outside of the directories that may be written to. */
  writesOutside({ writes = [] }: PreparedCall): boolean {
    const { roots } = this.#pathContext;
    return writes.some((path) => {
      const { real } = this.#paths.forms(path);
      return !roots.some((root) => contains(root, real));
    });
  }

  noteWrites(evaluation: Evaluation): void {
    this.#written.add(evaluation, this.#paths);
  }

  describe({ subject, report }: Evaluation): ReturnType<CommandJudge["describe"]> | undefined {
    return report?.line && this.#judge?.describe(subject, report.line);
  }

  #evaluateTool(call: PreparedCall): Evaluation {
    this.#real.forget();
    const ruled = judgeCall(this.rules.for(ruledCall(call)), call, this.#paths);
    const before = ruled?.outcome === "deny"
      ? ruled
      : alwaysAsked(call, ruled) ?? this.#protected(call, ruled);
    const ruling = before ?? ruled ??
      (call.readOnly
        ? READER
        : call.delegates
        ? DELEGATE
        : { ...WRITER, reason: networkReason(call) ?? NO_RULE });
    return { call, subject: subjectOf(call) || call.tool, ruling };
  }

  #protected({ writes = [] }: PreparedCall, ruled: Ruling | undefined): Ruling | undefined {
    for (const path of writes) {
      const names = Object.values(this.#paths.forms(path));
      const what = protectedPath(names, this.#pathContext) ?? protectedHolder(names, this.#pathContext);
      if (what) {
        return { ...ruled, outcome: "ask", by: "protected", reason: PROTECTED_KINDS[what] };
      }
    }
    return undefined;
  }

  #evaluateCommand(call: PreparedCall, judge: CommandJudge): Evaluation {
    this.#real.forget();
    const subject = subjectOf(call);
    const directory = this.#directory(call.command?.directory);
    const report = judge.judge(subject, this.#context(this.rules.for(ruledCall(call)), directory));
    return { call, subject, ruling: report.ruling, report, directory };
  }

  #context(rules: ToolRules, directory: string): JudgeContext {
    const paths = this.#paths;
    const wrote = (path: string) => this.#written.has(path, paths);
    return { ruleSet: this.rules, rules, paths, pathContext: this.#pathContext, directory, wrote };
  }

  /** The directory in which a command starts: the given one, else that of the last command. */
  #directory(named: string | undefined): string {
    const { cwd, home } = this.#pathContext;
    if (named !== undefined) return normalize(absolutePath(named, { cwd, home }));
    return this.#options.shellDirectory?.() ?? cwd;
  }
}

/** Names the machines that a call of a plugin of this program would send its arguments to. */
function networkReason({ readsNetwork, declared }: PreparedCall): Text | undefined {
  if (!readsNetwork || !declared) return undefined;
  const hosts = declared.urls.flatMap((url) => webHost(url) ?? []);
  if (hosts.length > 0) return message`no rule allows to read from ${hosts}`;
  return declared.queries.length > 0 ? message`no rule allows to send this to a search service` : undefined;
}

function ruledCall({ call, tool, family, server, declared }: PreparedCall): RuledCall {
  return {
    tool,
    ...(family ? { family } : {}),
    ...(server === undefined ? {} : { server }),
    ...(declared ? { declared } : {}),
    ...(call.name === tool ? {} : { alias: call.name }),
  };
}

function alwaysAsked({ alwaysAsk }: PreparedCall, ruled: Ruling | undefined): Ruling | undefined {
  if (alwaysAsk === undefined) return undefined;
  return { ...ruled, outcome: "ask", by: "alwaysAsk", reason: message`it would ${alwaysAsk}` };
}

/**
 * Files that this session was allowed to write, by their real paths: a script among them is judged by its
 * content when it is run.
 */
class WrittenFiles {
  readonly #paths = new Set<string>();

  /** Notes what an allowed call writes, as far as that is known beforehand. */
  add({ call, report }: Evaluation, paths: PathMatcher): void {
    for (const path of call.writes ?? []) this.#paths.add(paths.forms(path).real);
    for (const { writes, cwds } of report?.line?.commands ?? []) {
      for (const { path } of writes) {
        for (const cwd of /^[/~]/.test(path) ? [undefined] : cwds ?? []) {
          this.#paths.add(paths.forms(path, cwd).real);
        }
      }
    }
  }

  has(path: string, paths: PathMatcher): boolean {
    return this.#paths.has(paths.forms(path).real);
  }
}
