import type { TrustItem } from "../../../src/config/mod.ts";
import { formatPlace, type SourcePlace } from "../../../src/core/mod.ts";
import type { Texts } from "../../../src/i18n/mod.ts";
import { readSmallText } from "../../../src/path/probe.ts";

type TrustTexts = Texts["overlay"]["trust"];

/** What a project brings, in plain words: one line for each single thing, with its place. */
export function trustLines(items: readonly TrustItem[], texts: TrustTexts): string[] {
  return items.flatMap((item) => {
    const { kind, name, reason, place, widens } = item;
    if (widens) {
      return widens.map(({ key, value, place }) => `${widening(key, value, texts)} (${formatPlace(place)})`);
    }
    const words = kind === "shell" ? texts.shell(name) : texts.entry(kind, name, reason);
    return [`${words} (${formatPlace(place)})`];
  });
}

function widening(key: string, value: string, texts: TrustTexts): string {
  if (key === "sandbox.allow_write") return texts.write(value);
  return key === "sandbox.network_hosts" ? texts.connect(value) : texts.allow(value);
}

/**
 * Everything that the question is about: of a plugin what there is to know, of the rest the files as they
 * are, without the values that plugins hand on.
 */
export function trustDetails(items: readonly TrustItem[]): string {
  const plugins = items.flatMap(({ name, place, lines }) =>
    lines ? [`── ${name}  ${formatPlace(place)}\n${lines.join("\n")}\n`] : []
  );
  const rest = items.filter(({ lines }) => lines === undefined);
  const places = rest.flatMap(({ place, widens = [] }) => [place, ...widens.map((each) => each.place)]);
  const files = [...new Set(places.map(({ file }) => file))].map((file) => {
    const hidden = items.flatMap((item) => item.hidden ?? []).filter((place) => place.file === file);
    return `── ${file}\n${withoutLiterals(readSmallText(file) ?? "", hidden)}`;
  });
  return [...plugins, ...files].join("\n");
}

const LITERAL = /"""[^]*?"""|'''[^]*?'''|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'/y;

/** The text with the quoted texts at these places taken out. */
function withoutLiterals(text: string, places: readonly SourcePlace[]): string {
  const starts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
  const offsets = places.map(({ line = 1, column = 1 }) => (starts[line - 1] ?? 0) + column - 1);
  return offsets.toSorted((a, b) => b - a).reduce((shown, offset) => {
    LITERAL.lastIndex = offset;
    const found = LITERAL.exec(shown);
    return found ? `${shown.slice(0, offset)}"[secret]"${shown.slice(offset + found[0].length)}` : shown;
  }, text);
}
