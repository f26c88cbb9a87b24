/** The rows of the chat: starts, keys, memory, and what a long session costs. */
import { longLog } from "../../support/long_session.ts";
import { CHAT_FLOOR, onRuntime } from "../programs.ts";
import { type Row, row } from "../report.ts";
import type { Bench, Program, Runner } from "../runner.ts";
import { peerVisitRows } from "../peers/visits.ts";
import type { PtyOptions } from "./pty.ts";
import { type Visit, visit } from "./visit.ts";

const START_RUNS = 11;
const VISIT_RUNS = 3;
const IDLE_MS = 5000;

interface ChatFigure {
  readonly figure: string;
  readonly unit: "ms" | "MB" | "%";
  readonly target: number;
  readonly of: (visit: Visit) => number | undefined;
}

const FIGURES: readonly ChatFigure[] = [
  { figure: "prompt drawn", unit: "ms", target: 60, of: ({ prompt }) => prompt },
  { figure: "a key on the screen", unit: "ms", target: 60, of: ({ echo }) => echo },
  { figure: "key to screen", unit: "ms", target: 3, of: ({ key }) => key },
  {
    figure: "key to screen, 2,000 tokens/s",
    unit: "ms",
    target: 8,
    of: ({ streamKey }) => streamKey,
  },
  { figure: "Enter to the first request", unit: "ms", target: 5, of: ({ submit }) => submit },
  { figure: "Enter to a later request", unit: "ms", target: 5, of: ({ nextSubmit }) => nextSubmit },
  { figure: "paste of 1 MB", unit: "ms", target: 300, of: ({ paste }) => paste },
  { figure: "memory at rest (PSS)", unit: "MB", target: 45, of: ({ memory }) => memory },
  { figure: "processor at rest", unit: "%", target: 0.3, of: ({ idle }) => idle },
];

/** Limits of a session of 10,000 messages: 1.2 times as long, 20 MB more. */
const LONG: readonly (Pick<ChatFigure, "figure" | "unit" | "of"> & { limit: (fresh: number) => number })[] = [
  { figure: "prompt drawn", unit: "ms", of: ({ prompt }) => prompt, limit: (fresh) => 1.2 * fresh },
  { figure: "key to screen", unit: "ms", of: ({ key }) => key, limit: (fresh) => 1.2 * fresh },
  {
    figure: "key to screen, 2,000 tokens/s",
    unit: "ms",
    of: ({ streamKey }) => streamKey,
    limit: (fresh) => 1.2 * fresh,
  },
  { figure: "memory at rest", unit: "MB", of: ({ memory }) => memory, limit: (fresh) => fresh + 20 },
];

/** Visits of each kind, by program; `resumed` is Reasonix in a session of 10,000 messages. */
type Visits = Readonly<Record<"reasonix" | "floor" | "resumed", readonly Visit[]>>;

/** Makes all visits and computes their figures. Without Linux and `script` there are no rows. */
export async function chatRows({ runner, program, quick, peers, log }: Bench): Promise<Row[]> {
  if (Deno.build.os !== "linux" || program.plain === undefined) return [];
  await using homes = await makeHomes(runner, program);
  const starts = await inTurns(homes, quick ? 4 : START_RUNS, { startOnly: true, idleMs: 0 });
  const visits = await inTurns(homes, quick ? 1 : VISIT_RUNS, { idleMs: quick ? 3000 : IDLE_MS });
  const own = rows({
    reasonix: [...starts.reasonix, ...visits.reasonix],
    floor: [...starts.floor, ...visits.floor],
    resumed: [...starts.resumed, ...visits.resumed],
  });
  return peers ? [...own, ...await peerVisitRows(runner, log)] : own;
}

/** The table's rows; those of a long session have a new one as their floor. */
export function rows(visits: Visits): Row[] {
  const of = (name: keyof Visits, figure: Pick<ChatFigure, "of">) =>
    visits[name].map(figure.of).filter((value) => value !== undefined);
  return [
    ...FIGURES.map((figure) =>
      row({ ...figure, reasonix: of("reasonix", figure), floor: of("floor", figure) })
    ),
    ...LONG.map((figure) =>
      row({
        ...figure,
        figure: `10,000 messages (floor: a new session): ${figure.figure}`,
        target: figure.limit,
        reasonix: of("resumed", figure),
        floor: of("reasonix", figure),
      })
    ),
  ];
}

interface Homes extends AsyncDisposable {
  /** The program of a kind, in a fresh configuration; a long session is as it was. */
  start(kind: keyof Visits, flags?: readonly string[]): Promise<PtyOptions & { readonly path: string }>;
  /** One visit of a kind. */
  visit(kind: keyof Visits, options: VisitKind): Promise<Visit>;
}

export interface VisitKind {
  readonly startOnly?: boolean;
  readonly idleMs: number;
  readonly flags?: readonly string[];
}

/** Visits of the three kinds in turns, after a round that fills the code cache. */
async function inTurns(homes: Homes, runs: number, options: VisitKind): Promise<Visits> {
  const visits = { reasonix: [] as Visit[], floor: [] as Visit[], resumed: [] as Visit[] };
  for (let round = options.startOnly ? -1 : 0; round < runs; round++) {
    for (const kind of ["reasonix", "floor", "resumed"] as const) {
      const found = await homes.visit(kind, options);
      if (round >= 0) visits[kind].push(found);
    }
  }
  return visits;
}

/** Homes in which the programs are visited, and the runtime as a separate file: no process shares it. */
export async function makeHomes(runner: Runner, program: Program): Promise<Homes> {
  const { root, workspace } = runner.stage;
  const runtime = await runner.stage.runtime();
  const homes = { reasonix: `${root}/home_chat`, floor: `${root}/home_floor`, resumed: `${root}/home_long` };
  for (const home of Object.values(homes)) await Deno.mkdir(`${home}/.reasonix`, { recursive: true });
  const long = await makeLongSession(runner, program, homes.resumed);
  let number = 0;
  const start: Homes["start"] = async (kind, flags = []) => {
    const path = `chat/${++number}`;
    const url = `${runner.server.url}/${path}/v1`;
    const chosen = onRuntime(kind === "floor" ? CHAT_FLOOR : program, runtime);
    if (kind !== "floor") {
      await program.prepare(homes[kind], url);
      // The paste is larger than a message that is sent without a question.
      const config = `${homes[kind]}/.reasonix/config.toml`;
      await Deno.writeTextFile(config, "\n[agent]\nlarge_input_tokens = 0\n", { append: true });
    }
    if (kind === "resumed") await Deno.writeTextFile(long.path, long.text);
    return {
      command: chosen.command,
      args: chosen.plain?.([...flags, ...(kind === "resumed" ? ["-c"] : [])]) ?? [],
      cwd: workspace,
      env: { ...runner.environment(homes[kind]), ...chosen.task(url).env },
      path,
    };
  };
  return {
    start,
    visit: async (kind, { flags, ...options }) =>
      await visit(runner, { ...await start(kind, flags), plain: kind === "floor", ...options }),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** Runs one task, and makes its session into one of 10,000 messages. */
async function makeLongSession(
  runner: Runner,
  program: Program,
  home: string,
): Promise<{ readonly path: string; readonly text: string }> {
  const url = `${runner.server.url}/hello/chat/v1`;
  await program.prepare(home, url);
  const run = async (args: readonly string[]) => {
    const options = {
      args: [...args],
      cwd: runner.stage.workspace,
      env: runner.environment(home),
      clearEnv: true,
    };
    const { success, stdout, stderr } = await new Deno.Command(program.command, options).output();
    if (!success) throw new Error(new TextDecoder().decode(stderr));
    return new TextDecoder().decode(stdout);
  };
  await run(program.task(url).args);
  const [session] = JSON.parse(await run(program.plain?.(["session", "list", "--json"]) ?? []));
  return { path: session.path, text: longLog(await Deno.readTextFile(session.path)) };
}
