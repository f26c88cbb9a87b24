import { formatLocation, type SourceLocation } from "../core/mod.ts";
import type { Texts } from "../i18n/mod.ts";
import { readSmallText } from "../path/probe.ts";
import type { TrustItem } from "./item.ts";

type TrustTexts = Texts["overlay"]["trust"];

/** Describes an item for `reasonix trust`: a heading, and a line for each fact. */
export function describeItem(item: TrustItem): string[] {
  const { kind, name, place, reason = "", definition, grants } = item;
  if (!grants) {
    return [`${kind} ${name}  ${formatLocation(place)}`, ...item.lines ?? [reason, String(definition)]];
  }
  return [
    `${name} would allow without a question, below your own deny and ask rules:`,
    ...grants.map(({ words, value, place }) => `${words}  ${value}  ${formatLocation(place)}`),
  ];
}

/** Describes items for the trust prompt: one line for each single thing, with its place. */
export function trustLines(items: readonly TrustItem[], texts: TrustTexts): string[] {
  return items.flatMap((item) => {
    const { kind, name, reason = "", place, grants } = item;
    if (grants) {
      return grants.map(({ key, value, place }) =>
        `${grantText(key, value, texts)} (${formatLocation(place)})`
      );
    }
    const words = kind === "shell" ? texts.shell(name) : texts.entry(kind, name, reason);
    return [`${words} (${formatLocation(place)})`];
  });
}

function grantText(key: string, value: string, texts: TrustTexts): string {
  if (key === "sandbox.allow_write") return texts.write(value);
  return key === "sandbox.network_hosts" ? texts.connect(value) : texts.allow(value);
}

/**
 * Returns the details of the trust prompt: the facts of items that have some, and of the rest their files as
 * they are, without the values that plugins pass on.
 */
export function trustDetails(items: readonly TrustItem[]): string {
  const plugins = items.flatMap(({ name, place, lines }) =>
    lines ? [`── ${name}  ${formatLocation(place)}\n${lines.join("\n")}\n`] : []
  );
  const rest = items.filter(({ lines }) => lines === undefined);
  const places = rest.flatMap(({ place, grants = [] }) => [place, ...grants.map((each) => each.place)]);
  const files = [...new Set(places.map(({ file }) => file))].map((file) => {
    const hidden = items.flatMap((item) => item.hidden ?? []).filter((place) => place.file === file);
    return `── ${file}\n${withoutLiterals(readSmallText(file) ?? "", hidden)}`;
  });
  return [...plugins, ...files].join("\n");
}

const LITERAL = /"""[^]*?"""|'''[^]*?'''|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'/y;

/** Replaces the quoted texts at these places. */
function withoutLiterals(text: string, places: readonly SourceLocation[]): string {
  const starts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
  const offsets = places.map(({ line = 1, column = 1 }) => (starts[line - 1] ?? 0) + column - 1);
  return offsets.toSorted((a, b) => b - a).reduce((shown, offset) => {
    LITERAL.lastIndex = offset;
    const found = LITERAL.exec(shown);
    return found ? `${shown.slice(0, offset)}"[secret]"${shown.slice(offset + found[0].length)}` : shown;
  }, text);
}
