import { errorMessage, ReasonixError } from "../../src/core/mod.ts";

/** Serves the reference plugin until its client has gone or it is interrupted. */
export async function examplePlugin(flags: { readonly http?: number }): Promise<void> {
  const { serve } = await loadExample();
  try {
    await serve(flags.http);
  } catch (error) {
    throw new ReasonixError(`Cannot serve the plugin on port ${flags.http}: ${errorMessage(error)}`, {
      remedy: "choose another port, or 0 for any free one",
    });
  }
}

async function loadExample() {
  try {
    return await import("../../plugins/example/main.ts");
  } catch (error) {
    throw new ReasonixError(`Cannot load the plugin: ${errorMessage(error)}`, {
      remedy: "keep reasonix.mcp.js next to reasonix.js",
    });
  }
}
