/** Panels of the chat recorded in tests/golden/chat; UPDATE_GOLDEN=1 records changed ones. */
import type { Locale } from "../../src/i18n/mod.ts";
import { assertEquals } from "./assert.ts";

/** A test that a panel looks as recorded in both languages and two widths; `draw` returns its rows. */
export function recordedPanel(
  name: string,
  draw: (locale: Locale, columns: number) => Promise<string>,
): void {
  Deno.test(`the panel ${name} looks as recorded`, async () => {
    const pictures: string[] = [];
    for (const locale of ["en", "zh-CN"] as const) {
      for (const columns of [80, 40]) {
        pictures.push(`== ${locale}, ${columns} columns\n${await draw(locale, columns)}\n`);
      }
    }
    await assertRecorded(name, pictures.join("\n"));
  });
}

export async function assertRecorded(name: string, now: string): Promise<void> {
  const file = new URL(`../golden/chat/${name}.txt`, import.meta.url);
  if (Deno.env.get("UPDATE_GOLDEN")) await Deno.writeTextFile(file, now);
  assertEquals(
    now,
    await Deno.readTextFile(file),
    "a changed panel is a decision: UPDATE_GOLDEN=1 records it",
  );
}
