import type { LoadedConfig } from "../src/config/mod.ts";
import type { PreparedCall } from "../src/core/mod.ts";
import { createGate, type Explanation, type PermissionMode } from "../src/permission/mod.ts";
import { buildAccessScope, gateOptions, type RunPaths, SandboxSession } from "../src/run/mod.ts";

/** The decision about a prepared call and its reasons, as the gate of a run gives them. */
export async function explainCall(
  call: PreparedCall,
  { paths, loaded, permissionMode }: {
    readonly paths: RunPaths;
    readonly loaded: LoadedConfig;
    readonly permissionMode?: PermissionMode | undefined;
  },
): Promise<Explanation> {
  const scope = buildAccessScope(paths, loaded.config, permissionMode);
  const jail = new SandboxSession({ paths, loaded, workspace: scope.workspace, unconfined: scope.full });
  const record = () => {};
  const gate = createGate(
    gateOptions({ paths, loaded, scope, openJail: jail.open, onAsk: undefined, permissionMode, record }),
  );
  try {
    return await gate.explain(call);
  } finally {
    await jail.close();
  }
}
