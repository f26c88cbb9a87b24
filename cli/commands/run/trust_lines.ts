import type { TrustItem } from "../../../src/config/mod.ts";
import { formatPlace } from "../../../src/core/mod.ts";
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

/** The files that bring it, whole and as they are. */
export function trustDetails(items: readonly TrustItem[]): string {
  const places = items.flatMap(({ place, widens = [] }) => [place, ...widens.map((each) => each.place)]);
  const files = [...new Set(places.map(({ file }) => file))];
  return files.map((file) => `── ${file}\n${readSmallText(file) ?? ""}`).join("\n");
}
