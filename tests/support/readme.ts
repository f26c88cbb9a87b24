const ROOT = new URL("../../", import.meta.url);

/** The commands of the first block after the title of the install section, without their comments. */
export async function installLines(page: string): Promise<string[]> {
  const text = await Deno.readTextFile(new URL(page, ROOT));
  const [, block = ""] = /^## (?:Install|安装)\n+```sh\n([^]*?)```/m.exec(text) ?? [];
  return block.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
}
