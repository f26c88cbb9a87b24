import type { Backend } from "./backend.ts";

/** Every way to confine a command; one line per entry. */
export const BACKENDS = {
  none: async (): Promise<Backend> => (await import("./backends/none.ts")).none,
  bubblewrap: async (): Promise<Backend> => (await import("./backends/bubblewrap.ts")).bubblewrap,
  seatbelt: async (): Promise<Backend> => (await import("./backends/seatbelt.ts")).seatbelt,
} as const;

export type BackendName = keyof typeof BACKENDS;

/** What is tried on which system, the strongest first. */
export const CANDIDATES: { readonly [os: string]: readonly Exclude<BackendName, "none">[] } = {
  linux: ["bubblewrap"],
  darwin: ["seatbelt"],
};
