/** The date of the files of a release, the same for two builds of one commit. */
import { run } from "../process.ts";

const ROOT = new URL("../../", import.meta.url);

/**
 * Returns SOURCE_DATE_EPOCH, else the date that the changelog has for the version, else the date of the
 * commit. There is none where the changelog names no date and there is no git history.
 */
export async function releaseDate(
  version: string,
  { epoch = Deno.env.get("SOURCE_DATE_EPOCH"), changelog }: { epoch?: string; changelog?: string } = {},
): Promise<Date | undefined> {
  if (epoch) {
    if (/^\d{1,11}$/.test(epoch)) return new Date(Number(epoch) * 1000);
    throw new Error(
      `Cannot use SOURCE_DATE_EPOCH=${epoch}: it is not a number of seconds; unset or correct it`,
    );
  }
  const text = changelog ?? await Deno.readTextFile(new URL("CHANGELOG.md", ROOT));
  const heading = text.split("\n").find((line) => line.startsWith("## ") && line.includes(version));
  const day = /\d{4}-\d{2}-\d{2}/.exec(heading ?? "")?.[0];
  if (day !== undefined) return new Date(`${day}T00:00:00Z`);
  const commit = await run("git", { args: ["-C", ROOT.pathname, "log", "-1", "--format=%ct"] })
    .catch(() => undefined);
  return commit?.code === 0 ? new Date(Number(commit.output) * 1000) : undefined;
}
