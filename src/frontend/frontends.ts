/** The list of front ends: one line per folder. */
export const FRONTENDS = {
  print: () => import("./print/mod.ts"),
};
