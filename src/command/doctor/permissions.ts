import type { Texts } from "../../i18n/mod.ts";

/** The permissions that the runtime gives this process, by name. */
export interface Permissions {
  readonly allowed: readonly string[];
  /** Allowed in part, as `import` from the address that the program was installed from. */
  readonly limited: readonly string[];
  readonly denied: readonly string[];
}

const NAMES = ["read", "write", "net", "env", "run", "sys", "ffi", "import"] as const;

/** What the program never needs, and what it would let in. */
const NEEDLESS = { ffi: "nativeCode", import: "remoteModules" } as const;

/** Reads the permissions that this process really has, whatever it was meant to have. */
export function readPermissions(): Permissions {
  const those = (group: keyof Permissions) => NAMES.filter((name) => groupOf(name) === group);
  return { allowed: those("allowed"), limited: those("limited"), denied: those("denied") };
}

/** One sentence for each permission that this process has and never needs. */
export function needlessPermissions({ allowed }: Permissions, texts: Texts["doctor"]): string[] {
  return (["ffi", "import"] as const).filter((name) => allowed.includes(name)).map((name) =>
    texts.needless(texts[NEEDLESS[name]], name)
  );
}

function groupOf(name: typeof NAMES[number]): keyof Permissions {
  const { state, partial } = Deno.permissions.querySync({ name });
  if (state === "denied") return "denied";
  return state === "granted" && !partial ? "allowed" : "limited";
}
