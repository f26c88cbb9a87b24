import { ReasonixError } from "../../src/core/mod.ts";
import type { PermissionMode } from "../../src/permission/mod.ts";

const text = (value: string) => value;

export const flag = (brief: string) =>
  ({ kind: "boolean", optional: true, withNegated: false, brief }) as const;

export const option = (brief: string, placeholder?: string) =>
  ({ kind: "parsed", parse: text, optional: true, brief, ...(placeholder ? { placeholder } : {}) }) as const;

export const argument = (brief: string, placeholder: string) =>
  ({ brief, placeholder, parse: text }) as const;

export const NONE = { positional: { kind: "tuple", parameters: [] } } as const;

export const PERMISSION_MODES = [
  "read-only",
  "workspace-write",
  "danger-full-access",
  "plan",
] as const satisfies readonly PermissionMode[];

/** A whole number from `least` on. */
export function wholeNumber(flagName: string, least: number): (value: string) => number {
  return (value) => {
    const number = /^\d+$/.test(value) ? Number(value) : NaN;
    if (Number.isSafeInteger(number) && number >= least) return number;
    throw new ReasonixError(`Cannot use "${value}" for ${flagName}: give a whole number from ${least} on`, {
      exit: "usage",
    });
  };
}

/** A TCP port, or 0 for any free one. */
export function portNumber(flagName: string): (value: string) => number {
  const whole = wholeNumber(flagName, 0);
  return (value) => {
    const port = whole(value);
    if (port < 65536) return port;
    throw new ReasonixError(`Cannot use "${value}" for ${flagName}: give a port, from 0 to 65535`, {
      exit: "usage",
    });
  };
}
