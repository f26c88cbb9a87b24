import type { Backend, ContainerSettings } from "./backend.ts";

/** Every way to confine a command; one line per entry. */
export const BACKENDS = {
  none: (): Promise<Backend> => Promise.resolve(NONE),
  bubblewrap: async (): Promise<Backend> => (await import("./backends/bubblewrap.ts")).bubblewrap,
  seatbelt: async (): Promise<Backend> => (await import("./backends/seatbelt.ts")).seatbelt,
  podman: (settings?: ContainerSettings) =>
    container({ program: "podman", image: "", kept: false, ...settings }),
  docker: (settings?: ContainerSettings) =>
    container({ program: "docker", image: "", kept: false, ...settings }),
} as const;

/** Runs commands as they are; only the environment is cleaned. */
const NONE: Backend = {
  fingerprint: () => Promise.resolve("none"),
  probe: () => Promise.resolve({ works: true }),
  wrap: ({ argv: [command = "", ...args], env }) => ({ command, args, env }),
};

async function container(settings: ContainerSettings): Promise<Backend> {
  return (await import("./backends/container.ts")).containerBackend(settings);
}

export type BackendName = keyof typeof BACKENDS;

export function candidates(
  container: ContainerSettings | undefined,
): readonly Exclude<BackendName, "none">[] {
  return container === undefined ? CANDIDATES[Deno.build.os] ?? [] : [container.program];
}

/** By operating system, the strongest first. */
const CANDIDATES: { readonly [os: string]: readonly Exclude<BackendName, "none">[] } = {
  linux: ["bubblewrap"],
  darwin: ["seatbelt"],
};
