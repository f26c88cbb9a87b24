/**
 * Conversions of material from outside, apart from the process of the plugin and within bounds.
 *
 * The plugin starts a web worker without any permission but to read the files of the program. A converter
 * receives bytes; it can neither read files nor reach the network. Documents and large input are converted in
 * a Node worker within it, which takes half a second to start and has a limit of its heap.
 *
 * The runtime interrupts a worker that computes without a pause only if it is a Node worker with a web lock,
 * so that one holds a lock. In the web worker a watchdog of `node:vm` interrupts a converter until it has
 * returned its promise. One that computes without an end afterwards makes the process end:
 * {@linkcode stuckConversion}.
 */
import { type Converter, CONVERTERS } from "./converters.ts";
import { PluginError } from "./plugin.ts";

export interface ConversionLimits {
  readonly seconds: number;
  /** Growth of the memory of the process, with buffers. */
  readonly heapMb: number;
}

/** The names by which the module that started the process recognizes that it runs as a worker. */
const OUTER = "reasonix-conversions";
const INNER = "reasonix-conversion";
const MAX_WORKERS = 2;
/** Workers stay for the next conversion, with the libraries loaded. */
const IDLE_MS = 60_000;
/** A worker that was asked to stop answers within this time. */
const STOP_MS = 2000;
/** The same for one that takes memory meanwhile. */
const STOP_FULL_MS = 300;
const MEMORY_INTERVAL_MS = 100;
/** Bytes of an input that the inner worker converts. */
const LARGE = 512 * 1024;

interface Request {
  readonly converter: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly limits: ConversionLimits;
}

type ToWorker = Request | "stop";
type Reply =
  /** A worker receives nothing before it listens, and `stopped` says that it can be terminated. */
  | "ready"
  | "stopped"
  /** The inner worker has reached the limit of its heap. */
  | "full"
  | { readonly result: unknown }
  | { readonly error: string; readonly remedy?: string | undefined; readonly timedOut?: boolean };

interface Slot {
  readonly worker: Worker;
  readonly heapMb: number;
  /** Resident memory when the worker started. */
  readonly memory: number;
  /** It was started for this conversion, and sends `ready`. */
  fresh: boolean;
  /** Ends the worker when no conversion followed. */
  idle?: ReturnType<typeof setTimeout>;
}

const idleSlots: Slot[] = [];
const waiting: (() => void)[] = [];
let busy = 0;
let reportStuck = () => {};

/** Resolves when a conversion can neither finish nor be ended. Then the process has to end. */
export const stuckConversion: Promise<void> = new Promise((resolve) => reportStuck = resolve);

/**
 * Runs a converter and resolves to its result. The buffers of `Uint8Array`s in the input are moved, not
 * copied. Throws a {@linkcode PluginError} for a conversion beyond its limits and for what the converter
 * throws; rejects with the reason of an aborted signal.
 */
export async function convert<T>(
  entry: string,
  converter: string,
  input: Readonly<Record<string, unknown>>,
  limits: ConversionLimits,
  signal: AbortSignal,
): Promise<T> {
  await turn(signal);
  const slot = takeSlot(entry, limits.heapMb);
  let reusable = false;
  try {
    const reply = await answer(slot, { converter, input, limits }, signal);
    reusable = true;
    if (typeof reply === "object" && "error" in reply) throw new PluginError(reply.error, reply.remedy);
    return (typeof reply === "object" ? reply.result : undefined) as T;
  } finally {
    if (reusable) keep(slot);
    busy--;
    waiting.shift()?.();
  }
}

/** Ends the workers that wait for a conversion, which would keep the process alive. */
export function endConversions(): void {
  for (const { worker, idle } of idleSlots.splice(0)) {
    clearTimeout(idle);
    worker.terminate();
  }
}

async function turn(signal: AbortSignal): Promise<void> {
  while (busy >= MAX_WORKERS) {
    signal.throwIfAborted();
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.push(resolve);
    signal.addEventListener("abort", () => resolve(), { once: true });
    await promise;
  }
  signal.throwIfAborted();
  busy++;
}

function takeSlot(entry: string, heapMb: number): Slot {
  const index = idleSlots.findIndex((each) => each.heapMb === heapMb);
  const [found] = index < 0 ? [] : idleSlots.splice(index, 1);
  if (found) {
    clearTimeout(found.idle);
    return found;
  }
  while (busy + idleSlots.length > MAX_WORKERS) {
    const oldest = idleSlots.shift();
    clearTimeout(oldest?.idle);
    oldest?.worker.terminate();
  }
  const none = { write: false, net: false, env: false, run: false, ffi: false, sys: false, import: false };
  const read = [entry, import.meta.url].map((module) => new URL(".", module));
  const permissions = { ...none, read };
  const memory = Deno.memoryUsage().rss;
  const worker = new Worker(entry, { type: "module", name: OUTER, deno: { permissions } });
  return { worker, heapMb, memory, fresh: true };
}

function keep(slot: Slot): void {
  slot.fresh = false;
  slot.idle = setTimeout(() => {
    idleSlots.splice(idleSlots.indexOf(slot), 1);
    slot.worker.terminate();
  }, IDLE_MS);
  idleSlots.push(slot);
}

async function answer(slot: Slot, request: Request, signal: AbortSignal): Promise<Reply> {
  const { worker, fresh } = slot;
  const { seconds, heapMb } = request.limits;
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const started = performance.now();
  const end = (reason: unknown) => {
    reject(reason);
    stop(worker, Math.max(0, seconds * 1000 - (performance.now() - started)) + STOP_MS);
  };
  let conversions = busy;
  const checkMemory = () => {
    conversions = Math.max(conversions, busy);
    if (Deno.memoryUsage().rss - slot.memory < heapMb * conversions * 1e6) return;
    reject(new PluginError(`The conversion needs over ${heapMb} MB`));
    stop(worker, STOP_FULL_MS);
  };
  const tooLong = () => end(new PluginError(`The conversion took over ${seconds} s`));
  const timer = setTimeout(tooLong, seconds * 1000);
  const memoryTimer = setInterval(checkMemory, MEMORY_INTERVAL_MS);
  const onAbort = () => end(signal.reason);
  const send = () => worker.postMessage(request, buffersOf(request.input));
  signal.addEventListener("abort", onAbort, { once: true });
  worker.onmessage = ({ data }: MessageEvent<Reply>) => {
    if (data === "ready") send();
    else if (typeof data === "object" && "error" in data && data.timedOut) tooLong();
    else resolve(data);
  };
  worker.onerror = (event) => {
    event.preventDefault();
    reject(new PluginError(`The conversion ended: ${event.message}`));
  };
  if (signal.aborted) onAbort();
  else if (!fresh) send();
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    clearInterval(memoryTimer);
    signal.removeEventListener("abort", onAbort);
  }
}

/** Terminates a worker as soon as it can be, and reports one that cannot. */
function stop(worker: Worker, milliseconds: number): void {
  const timer = setTimeout(() => {
    worker.terminate();
    reportStuck();
  }, milliseconds);
  worker.onmessage = ({ data }: MessageEvent<Reply>) => {
    if (data !== "ready" && data !== "stopped") return;
    clearTimeout(timer);
    worker.terminate();
  };
  worker.postMessage("stop");
}

/** Containers and compressed streams unpack to far more than they have. */
function isLarge({ converter, input }: Request): boolean {
  const size = buffersOf(input).reduce((sum, { byteLength }) => sum + byteLength, 0);
  return converter === "document" || size >= LARGE;
}

function buffersOf(input: Readonly<Record<string, unknown>>): ArrayBuffer[] {
  return Object.values(input).flatMap((value) =>
    value instanceof Uint8Array && value.buffer instanceof ArrayBuffer ? [value.buffer] : []
  );
}

/** A Node worker takes seconds to receive a large array, and none for its buffer. */
function packed(input: Request["input"]): Request["input"] {
  const pack = (value: unknown) =>
    value instanceof Uint8Array
      ? { buffer: value.buffer, at: value.byteOffset, length: value.length }
      : value;
  return Object.fromEntries(Object.entries(input).map(([key, value]) => [key, pack(value)]));
}

function unpacked(input: Request["input"]): Request["input"] {
  const unpack = (value: unknown) => {
    const { buffer, at, length } = (value ?? {}) as { buffer?: unknown; at?: number; length?: number };
    return buffer instanceof ArrayBuffer ? new Uint8Array(buffer, at, length) : value;
  };
  return Object.fromEntries(Object.entries(input).map(([key, value]) => [key, unpack(value)]));
}

/** The part of the Web Locks API that the types of the runtime lack. */
interface Locks {
  request(name: string, work: () => Promise<void>): Promise<void>;
}

declare function postMessage(reply: Reply): void;

/** Does the work of a worker for conversions; resolves to `false` in the process itself. */
export async function workAsWorker(entry: string, converters = CONVERTERS): Promise<boolean> {
  const name = globalThis.name;
  if (name !== OUTER && name !== INNER) return false;
  const [{ parentPort, Worker }, vm, { default: process }, v8] = await Promise.all([
    import("node:worker_threads"),
    import("node:vm"),
    import("node:process"),
    import("node:v8"),
  ]);
  // Libraries ask for variables of the environment, which a worker may not read.
  process.env = {};
  // Only a script has a watchdog, and it can call only what is global.
  const current = vm.runInThisContext("globalThis.reasonixConversion = {}") as Partial<Converter>;
  const script = new vm.Script("reasonixConversion.convert()");
  const run = async ({ converter, input, limits }: Request): Promise<Reply> => {
    try {
      const load = converters[converter];
      if (!load) throw new Error(`There is no converter ${converter}`);
      const module = await load();
      if (parentPort) return { result: await module.convert(input as never) };
      current.convert = () => module.convert(input as never);
      return { result: await script.runInThisContext({ timeout: Math.ceil(limits.seconds * 1000) }) };
    } catch (error) {
      const { message, code } = error as Error & { readonly code?: string };
      const remedy = error instanceof PluginError ? error.remedy : undefined;
      return { error: message, remedy, timedOut: code === "ERR_SCRIPT_EXECUTION_TIMEOUT" };
    }
  };
  if (parentPort) {
    const { locks } = navigator as Navigator & { readonly locks: Locks };
    const heapLimit = () => v8.getHeapStatistics().heap_size_limit;
    const limit = heapLimit();
    // The runtime ends what reaches the limit of the heap without an error, and raises the limit.
    setInterval(() => heapLimit() > limit && parentPort.postMessage("full"), MEMORY_INTERVAL_MS).unref();
    parentPort.on("message", async (data: Request) => {
      const request = { ...data, input: unpacked(data.input) };
      await locks.request(crypto.randomUUID(), async () => parentPort.postMessage(await run(request)));
    });
    parentPort.postMessage("ready");
    return true;
  }
  let inner: InstanceType<typeof Worker> | undefined;
  const handOn = (request: Request) => {
    const send = () =>
      inner?.postMessage({ ...request, input: packed(request.input) }, buffersOf(request.input));
    if (inner) return send();
    const full = () => {
      void inner?.terminate();
      inner = undefined;
      postMessage({ error: `The conversion needs over ${request.limits.heapMb} MB` });
    };
    const resourceLimits = { maxOldGenerationSizeMb: Math.ceil(request.limits.heapMb * 1.25) };
    inner = new Worker(new URL(entry), { name: INNER, resourceLimits });
    inner.on("message", (reply: Reply) => {
      if (reply === "ready") send();
      else if (reply === "full") full();
      else postMessage(reply);
    });
    inner.on("error", ({ message }: Error) => {
      if (message.includes("memory limit")) return full();
      inner = undefined;
      postMessage({ error: message });
    });
  };
  addEventListener("message", async (event) => {
    const { data } = event as MessageEvent<ToWorker>;
    if (data === "stop") {
      await inner?.terminate();
      postMessage("stopped");
    } else if (isLarge(data)) handOn(data);
    else postMessage(await run(data));
  });
  postMessage("ready");
  return true;
}
