/** Bytes gathered before they are written. */
const BATCH = 4 << 20;

interface Location {
  readonly pack: string;
  readonly offset: number;
  readonly length: number;
}

/**
 * Contents of files by their git blob id. SHA-1 is git's choice; sharing it means that what the user's
 * repository already holds need not be stored a second time.
 *
 * Many contents share one file, because making files is what costs time: each writer appends to a pack of its
 * own, and to a list of what is where in it. A pack is never touched by anybody else, so a fork can link it.
 *
 * Contract: what `put` returned can be read by other processes after `flush`.
 */
export class BlobStore {
  readonly #dir: string;
  #index: Map<string, Location> | undefined;
  /** The pack this writer appends to, and its size. */
  #pack = "";
  #size = 0;
  #waiting: { readonly id: string; readonly content: Uint8Array }[] = [];
  #waitingBytes = 0;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Stores content and returns its id. */
  async put(content: Uint8Array<ArrayBuffer>): Promise<string> {
    const id = await blobId(content);
    const index = this.#index ??= this.#load();
    if (index.has(id)) return id;
    if (this.#pack === "") this.#pack = crypto.randomUUID().slice(0, 8);
    index.set(id, { pack: this.#pack, offset: this.#size + this.#waitingBytes, length: content.length });
    this.#waiting.push({ id, content });
    this.#waitingBytes += content.length;
    if (this.#waitingBytes > BATCH) this.flush();
    return id;
  }

  /**
   * Writes what waits: contents first, so that the list never names what is not there. Throws what the system
   * says.
   */
  flush(): void {
    if (this.#waiting.length === 0) return;
    const bytes = new Uint8Array(this.#waitingBytes);
    let lines = "";
    let at = 0;
    for (const { id, content } of this.#waiting) {
      bytes.set(content, at);
      lines += `${id} ${this.#size + at} ${content.length}\n`;
      at += content.length;
    }
    const base = `${this.#dir}/${this.#pack}`;
    this.#waiting = [];
    this.#waitingBytes = 0;
    try {
      Deno.mkdirSync(this.#dir, { recursive: true, mode: 0o700 });
      Deno.writeFileSync(`${base}.pack`, bytes, { append: true, mode: 0o600 });
      Deno.writeTextFileSync(`${base}.list`, lines, { append: true, mode: 0o600 });
      this.#size += at;
    } catch (error) {
      // How much of it is there is not known: what follows goes elsewhere.
      this.#index = undefined;
      this.#pack = "";
      this.#size = 0;
      throw error;
    }
  }

  /** The content with an id, or undefined when it is not stored. */
  get(id: string): Uint8Array<ArrayBuffer> | undefined {
    this.flush();
    const found = (this.#index ??= this.#load()).get(id);
    if (!found) return undefined;
    try {
      using file = Deno.openSync(`${this.#dir}/${found.pack}.pack`, { read: true });
      file.seekSync(found.offset, Deno.SeekMode.Start);
      const bytes = new Uint8Array(found.length);
      for (let filled = 0; filled < bytes.length;) {
        const count = file.readSync(bytes.subarray(filled));
        if (count === null) return undefined;
        filled += count;
      }
      return bytes;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    }
  }

  #load(): Map<string, Location> {
    const index = new Map<string, Location>();
    let names: string[];
    try {
      names = [...Deno.readDirSync(this.#dir)].map(({ name }) => name);
    } catch {
      return index;
    }
    for (const name of names.filter((each) => each.endsWith(".list"))) {
      const pack = name.slice(0, -".list".length);
      for (const line of Deno.readTextFileSync(`${this.#dir}/${name}`).split("\n").slice(0, -1)) {
        const [id = "", offset, length] = line.split(" ");
        index.set(id, { pack, offset: Number(offset), length: Number(length) });
      }
    }
    return index;
  }
}

const HEADER = new TextEncoder();

async function blobId(content: Uint8Array): Promise<string> {
  const header = HEADER.encode(`blob ${content.length}\0`);
  const bytes = new Uint8Array(header.length + content.length);
  bytes.set(header);
  bytes.set(content, header.length);
  return new Uint8Array(await crypto.subtle.digest("SHA-1", bytes)).toHex();
}
