import { VENDORS } from "../../../src/config/mod.ts";

/** A key in the middle of other text; long enough that no host name is taken for one. */
const GLUED_KEY = /(?:sk|gsk|xai)[-_](?=[\w-]*\d)[\w-]{16,}|AIza[\w-]{20,}/i;

/** Returns what is wrong with a key as it was typed; undefined when it may be one. */
export function keyProblem(key: string, vendorName: string | undefined): string | undefined {
  if (/^https?:/i.test(key)) return "This is an address; the key comes here";
  if (/\s/.test(key)) return "A key has no blanks: paste it alone";
  if (!/^[\x21-\x7e]+$/.test(key) || /["'`\\]/.test(key)) {
    return "A key has only letters, digits and signs such as - _ . : paste it without quotes";
  }
  if (/^\w+_API_KEY=/.test(key)) return "Paste only what stands behind the =";
  if (key.length < 8) return "A key is longer than that";
  const owner = VENDORS.find(({ keyPrefix }) => keyPrefix !== undefined && key.startsWith(keyPrefix));
  if (owner && vendorName !== undefined && owner.name !== vendorName) {
    return `This looks like a key of ${owner.label}`;
  }
  return undefined;
}

/** Returns what is wrong with the address of an API; undefined when it may be one. */
export function addressProblem(address: string): string | undefined {
  const url = URL.parse(address);
  if (!url || !/^https?:\/\/[^/]/i.test(address)) return "Give an address such as https://example.com/v1";
  if (url.username !== "" || url.password !== "" || GLUED_KEY.test(address)) {
    return "There is a key in this address: give the address alone, the key is asked for next";
  }
  if (/\s/.test(address)) return "An address has no blanks";
  if (/:\/\/.*:\/\//.test(address) || /:\d/.test(url.pathname)) return "These are two addresses in one";
  return undefined;
}

/** Tokens as people write them (131072, 128k, 1M); undefined when it is no such number. */
export function readTokens(text: string): number | undefined {
  const [, digits, unit = ""] = /^(\d[\d_,]*)([km]?)$/i.exec(text.trim()) ?? [];
  if (digits === undefined) return undefined;
  const factor = { k: 1000, m: 1_000_000 }[unit.toLowerCase()] ?? 1;
  const tokens = Number(digits.replace(/[_,]/g, "")) * factor;
  return Number.isSafeInteger(tokens) ? tokens : undefined;
}
