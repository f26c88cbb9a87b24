/** Where a name stands in a file, as the model gives it: a line from 1, the name as it is written there. */
export interface NamePlace {
  readonly path: string;
  readonly line: number;
  readonly symbol: string;
}

/** What language servers know of names. Methods reject with a ReasonixError that the model can act on. */
export interface NamePort {
  definition(place: NamePlace, signal: AbortSignal): Promise<string>;
  references(place: NamePlace, signal: AbortSignal): Promise<string>;
  hover(place: NamePlace, signal: AbortSignal): Promise<string>;
  symbols(path: string, query: string | undefined, signal: AbortSignal): Promise<string>;
}
