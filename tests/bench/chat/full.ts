/** The rows of the full-screen view: the chat's, its panels with a long session, bytes, and a resize. */
import { TOKENS_BYTES, TOKENS_MS } from "../model/tokens.ts";
import { type Row, row } from "../report.ts";
import { type Bench, wait } from "../runner.ts";
import { makeHomes, type VisitKind } from "./chat.ts";
import { Pty, type PtyOptions } from "./pty.ts";
import { changeTimes, type Part } from "./screen_times.ts";
import type { Visit } from "./visit.ts";

const START_RUNS = 11;
const VISIT_RUNS = 5;
const FLAGS = ["--tui"];
const SIZE = { columns: 120, rows: 40 };
const SMALLER = { columns: 110, rows: 36 };
const SETTLE_MS = 1500;
const KEY_MS = 137;
const KEYS = 8;
const RESIZES = 6;
/** The terminal waits this long for further changes of its size, since a window that is dragged has many. */
const AWAITED_MS = 30;
const PAGE_UP = "\x1b[5~";
const PAGE_DOWN = "\x1b[6~";
const TAB = "\t";

/** Keys that page away from where a panel begins and back; a page that it does not have changes nothing. */
const [FROM_END, FROM_TOP] = [[PAGE_UP, PAGE_DOWN], [PAGE_DOWN, PAGE_UP]] as const;

interface Panel {
  readonly name: string;
  readonly part: Part;
  readonly keys: readonly [away: string, back: string];
}

/** The panels in the order of Tab, from the composer on, and where each is; titles and the rows below not. */
const PANELS: readonly Panel[] = [
  { name: "chat", part: { rows: [1, 30], columns: [0, 50] }, keys: FROM_END },
  { name: "files", part: { rows: [1, 30], columns: [60, 120] }, keys: FROM_TOP },
  { name: "log", part: { rows: [1, 30], columns: [60, 120] }, keys: FROM_END },
];

interface PanelTimes {
  readonly idle: Readonly<Record<string, readonly number[]>>;
  readonly streaming: Readonly<Record<string, readonly number[]>>;
  readonly resizes: readonly number[];
}

/** Makes all visits. Without Linux and `script` there are no rows. */
export async function fullRows({ runner, program, quick }: Bench): Promise<Row[]> {
  if (Deno.build.os !== "linux" || program.plain === undefined) return [];
  await using homes = await makeHomes(runner, program);
  const many = async (kind: "reasonix" | "resumed", runs: number, options: VisitKind) => {
    const visits: Visit[] = [];
    for (let round = options.startOnly ? -1 : 0; round < runs; round++) {
      const found = await homes.visit(kind, { ...options, flags: FLAGS });
      if (round >= 0) visits.push(found);
    }
    return visits;
  };
  const starts = await many("reasonix", quick ? 3 : START_RUNS, { startOnly: true, idleMs: 0 });
  const visits = await many("reasonix", quick ? 1 : VISIT_RUNS, { idleMs: quick ? 3000 : 5000 });
  const long = await many("resumed", quick ? 1 : VISIT_RUNS, { idleMs: 3000 });
  const panels: PanelTimes[] = [];
  const bytes: number[] = [];
  for (let round = 0; round < (quick ? 1 : VISIT_RUNS); round++) {
    bytes.push(await bytesOf(await homes.start("reasonix", FLAGS)));
    panels.push(await visitPanels(await homes.start("resumed", FLAGS)));
  }
  const of = (list: readonly Visit[], figure: (visit: Visit) => number | undefined) =>
    list.map(figure).filter((value) => value !== undefined);
  const all = [...starts, ...visits];
  const LONG = "10,000 messages:";
  return [
    row({ figure: "first frame", unit: "ms", target: 70, reasonix: of(all, ({ prompt }) => prompt) }),
    row({ figure: "key to screen", unit: "ms", target: 3, reasonix: of(visits, ({ key }) => key) }),
    row({
      figure: "key to screen, 2,000 tokens/s",
      unit: "ms",
      target: 8,
      reasonix: of(visits, ({ streamKey }) => streamKey),
    }),
    row({
      figure: "memory at rest (PSS)",
      unit: "MB",
      target: 50,
      reasonix: of(visits, ({ memory }) => memory),
    }),
    row({ figure: "processor at rest", unit: "%", target: 0.3, reasonix: of(visits, ({ idle }) => idle) }),
    row({
      figure: `${LONG} first frame`,
      unit: "ms",
      target: 70,
      reasonix: of(long, ({ prompt }) => prompt),
    }),
    row({ figure: `${LONG} key to screen`, unit: "ms", target: 3, reasonix: of(long, ({ key }) => key) }),
    row({
      figure: `${LONG} key to screen, 2,000 tokens/s`,
      unit: "ms",
      target: 8,
      reasonix: of(long, ({ streamKey }) => streamKey),
    }),
    row({ figure: `${LONG} memory at rest`, unit: "MB", reasonix: of(long, ({ memory }) => memory) }),
    row({
      figure: `${LONG} processor at rest`,
      unit: "%",
      target: 0.3,
      reasonix: of(long, ({ idle }) => idle),
    }),
    ...PANELS.flatMap(({ name }) => [
      row({
        figure: `${LONG} a page up or down in ${name}`,
        unit: "ms",
        target: 3,
        reasonix: panels.flatMap(({ idle }) => idle[name] ?? []),
      }),
      row({
        figure: `${LONG} the same, 2,000 tokens/s, in ${name}`,
        unit: "ms",
        target: 8,
        reasonix: panels.flatMap(({ streaming }) => streaming[name] ?? []),
      }),
    ]),
    row({
      figure: "bytes for each of an answer's text at 120 by 40",
      unit: "bytes",
      target: 4,
      reasonix: bytes,
    }),
    row({
      figure: `${LONG} a resize, after ${AWAITED_MS} ms in which another may follow`,
      unit: "ms",
      target: 30,
      reasonix: panels.flatMap(({ resizes }) => resizes),
    }),
  ];
}

/** Pages through each panel of a long session, at rest and while an answer streams in, and resizes. */
async function visitPanels(options: PtyOptions): Promise<PanelTimes> {
  await using pty = new Pty({ ...options, size: SIZE });
  await pty.until("a prompt", (printed) => printed.includes("> "));
  await wait(2 * SETTLE_MS);
  const idle = await paged(pty);
  await ask(pty);
  const whileStreaming = await paged(pty);
  await wait(TOKENS_MS);
  const [quiet, busy] = [timesOf(idle), timesOf(whileStreaming)];
  const resizes: number[] = [];
  for (let count = 0; count < RESIZES; count++) {
    const started = performance.now();
    await pty.resize(count % 2 === 0 ? SMALLER : SIZE);
    await wait(SETTLE_MS / 3);
    resizes.push((pty.chunks.at(-1)?.time ?? NaN) - started - AWAITED_MS);
  }
  return { idle: quiet, streaming: busy, resizes };

  function timesOf(keys: readonly Key[]): Record<string, number[]> {
    const shown = changeTimes(pty.chunks, keys, SIZE);
    const times: Record<string, number[]> = {};
    keys.forEach(({ name, time }, at) => (times[name] ??= []).push((shown[at] ?? NaN) - time));
    return times;
  }
}

/** Sends two messages: the second one has the answer that streams. */
async function ask(pty: Pty): Promise<void> {
  for (const message of ["Say one.", "Say much."]) {
    pty.send(message);
    await wait(KEY_MS);
    pty.send("\r");
    await wait(SETTLE_MS);
  }
}

/** Bytes for each byte of an answer that is followed to its end. */
async function bytesOf(options: PtyOptions): Promise<number> {
  await using pty = new Pty({ ...options, size: SIZE });
  await pty.until("a prompt", (printed) => printed.includes("> "));
  await wait(2 * SETTLE_MS);
  const before = pty.chunks.length;
  await ask(pty);
  await wait(TOKENS_MS);
  const text = pty.chunks.slice(before).map(({ text }) => text).join("");
  return new TextEncoder().encode(text).length / TOKENS_BYTES;
}

interface Key {
  readonly name: string;
  readonly time: number;
  readonly part: Part;
}

/** Goes from the composer to each panel with Tab, and pages there; ends in the composer. */
async function paged(pty: Pty): Promise<readonly Key[]> {
  const keys: Key[] = [];
  for (const { name, part, keys: [away, back] } of PANELS) {
    pty.send(TAB);
    await wait(KEY_MS);
    for (let count = 0; count < KEYS; count++) {
      keys.push({ name, part, time: pty.send(count % 4 < 2 ? away : back) });
      await wait(KEY_MS);
    }
  }
  pty.send("\x1b");
  await wait(KEY_MS);
  return keys;
}
