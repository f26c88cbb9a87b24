export interface Converter {
  /** Receives bytes and whatever else it needs, as data that a worker can receive. */
  convert(input: never): Promise<unknown>;
}

/** The conversions that `bounded.ts` runs apart from a plugin, by name; each is loaded by its first input. */
export const CONVERTERS: Readonly<Record<string, () => Promise<Converter>>> = {
  document: () => import("../documents/convert.ts"),
  feed: () => import("../web/feed.ts"),
  find: () => import("../web/find.ts"),
  page: () => import("../web/page/convert.ts"),
  text: () => import("../web/text.ts"),
};
