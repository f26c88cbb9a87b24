import manifest from "../../deno.json" with { type: "json" };

/** The version of this program (SemVer 2). */
export const VERSION: string = manifest.version;
