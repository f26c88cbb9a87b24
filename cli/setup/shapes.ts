import { VENDORS } from "../../src/config/mod.ts";
import type { Texts } from "../../src/i18n/mod.ts";

type Wrong = Texts["setup"]["wrong"];

/** A key in the middle of other text; long enough that no host name is taken for one. */
const GLUED_KEY = /(?:sk|gsk|xai)[-_](?=[\w-]*\d)[\w-]{16,}|AIza[\w-]{20,}/i;

/** Returns what is wrong with a key as it was typed; undefined when it may be one. */
export function keyProblem(key: string, vendorName: string | undefined, wrong: Wrong): string | undefined {
  if (/^https?:/i.test(key)) return wrong.keyIsAddress;
  if (/\s/.test(key)) return wrong.keyHasBlanks;
  if (!/^[\x21-\x7e]+$/.test(key) || /["'`\\]/.test(key)) return wrong.keyHasSigns;
  if (/^\w+_API_KEY=/.test(key)) return wrong.keyIsAssignment;
  if (key.length < 8) return wrong.keyTooShort;
  const owner = VENDORS.find(({ keyPrefix }) => keyPrefix !== undefined && key.startsWith(keyPrefix));
  if (owner && vendorName !== undefined && owner.name !== vendorName) {
    return wrong.keyOfOther(owner.label);
  }
  return undefined;
}

/** Returns what is wrong with the address of an API; undefined when it may be one. */
export function addressProblem(address: string, wrong: Wrong): string | undefined {
  const url = URL.parse(address);
  if (!url || !/^https?:\/\/[^/]/i.test(address)) return wrong.address;
  if (url.username !== "" || url.password !== "" || GLUED_KEY.test(address)) {
    return wrong.addressHasKey;
  }
  if (/\s/.test(address)) return wrong.addressHasBlanks;
  if (/:\/\/.*:\/\//.test(address) || /:\d/.test(url.pathname)) return wrong.twoAddresses;
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
