/** ZIP containers of documents, unpacked within bounds, and the XML in them. */
import { unzipSync, zipSync } from "fflate";
import { Parser } from "htmlparser2";
import { PluginError } from "../common/plugin.ts";

export interface Archive {
  readonly isZip: boolean;
  readonly names: readonly string[];
  /** There is code that a program of an office would run. */
  readonly macros: boolean;
  /** Returns a part; throws for one that is missing. */
  text(name: string): string;
  /** Returns a part that may be missing. */
  optional(name: string): string | undefined;
  /** Returns a container with the parts that `keep` accepts, not compressed. */
  repacked(
    keep: (name: string) => boolean,
    replaced?: Readonly<Record<string, string>>,
  ): Uint8Array<ArrayBuffer>;
}

const MAX_UNPACKED_MB = 200;
const MAX_PARTS = 20_000;
const MAX_DEPTH = 1000;
const MACROS = /(?:^|\/)(?:vbaProject\.bin|vbaData\.xml)$|^Basic\/|^Scripts\//;

/**
 * Reads the list of parts; a part is unpacked when it is asked for. The sizes in the list bound that: a part
 * that is larger is cut. Names of parts are keys, no paths.
 */
export function archiveOf(bytes: Uint8Array, file: string): Archive {
  const isZip = bytes[0] === 0x50 && bytes[1] === 0x4b && bytes[2] === 3 && bytes[3] === 4;
  const sizes = new Map<string, number>();
  const counted = new Set<string>();
  let left = MAX_UNPACKED_MB * 1e6;
  if (isZip) {
    try {
      unzipSync(bytes, { filter: ({ name, originalSize }) => sizes.set(name, originalSize).size < 0 });
    } catch {
      throw new PluginError(
        `Cannot read ${file}: its ZIP container is damaged or incomplete`,
        "fetch it again, or open it in the program that made it and save it again",
      );
    }
    if (sizes.size > MAX_PARTS) throw new PluginError(`Cannot read ${file}: it has ${sizes.size} parts`);
  }
  const unpack = (keep: (name: string) => boolean): Record<string, Uint8Array> => {
    for (const [name, size] of sizes) {
      if (!keep(name) || counted.has(name)) continue;
      counted.add(name);
      left -= size;
    }
    if (left < 0) {
      throw new PluginError(
        `Cannot read ${file}: it unpacks to over ${MAX_UNPACKED_MB} MB`,
        "split it into smaller documents",
      );
    }
    return unzipSync(bytes, { filter: ({ name }) => keep(name) });
  };
  const optional = (wanted: string) => {
    const part = sizes.has(wanted) ? unpack((name) => name === wanted)[wanted] : undefined;
    return part && decodeXml(part);
  };
  const names = [...sizes.keys()];
  return {
    isZip,
    names,
    macros: names.some((name) => MACROS.test(name)),
    optional,
    text: (name) => {
      const text = optional(name);
      if (text === undefined) throw new Error(`${name} is missing`);
      return text;
    },
    repacked: (keep, replaced = {}) => {
      const parts = unpack((name) => keep(name) && !Object.hasOwn(replaced, name));
      for (const [name, text] of Object.entries(replaced)) parts[name] = new TextEncoder().encode(text);
      return zipSync(parts, { level: 0 });
    },
  };
}

function decodeXml(bytes: Uint8Array): string {
  const [first, second] = bytes;
  const wide = first === 0xff && second === 0xfe
    ? "utf-16le"
    : first === 0xfe && second === 0xff
    ? "utf-16be"
    : "utf-8";
  return new TextDecoder(wide).decode(bytes);
}

export interface XmlHandler {
  /** `start` is the offset of the tag. */
  open?(name: string, attributes: Readonly<Record<string, string>>, start: number): void;
  text?(text: string): void;
  /** `end` is the offset behind the tag. */
  close?(name: string, end: number): void;
}

/**
 * Reads XML from front to back. Only the five entities of XML exist, and a document type is skipped.
 */
export function readXml(xml: string, { open, text, close }: XmlHandler): void {
  let depth = 0;
  const parser: Parser = new Parser({
    onopentag: (name, attributes) => {
      if (++depth > MAX_DEPTH) throw new Error(`The XML is nested over ${MAX_DEPTH} levels deep`);
      open?.(name, attributes, parser.startIndex);
    },
    ontext: (data) => text?.(data),
    onclosetag: (name) => {
      depth--;
      close?.(name, parser.endIndex + 1);
    },
  }, { xmlMode: true, decodeEntities: true });
  parser.end(xml);
}

/** Resolves a reference from one part to another; the result is the name of a part, whatever `..` it has. */
export function partName(from: string, reference: string): string {
  const path = URL.parse(reference.replace(/#.*$/s, ""), `zip:/${from}`)?.pathname.slice(1) ?? reference;
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
