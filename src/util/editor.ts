import { errorMessage, message, ReasonixError } from "../core/mod.ts";

export interface EditorEnvironment {
  readonly env: (name: string) => string | undefined;
  /** Lends the terminal to another program while `run` runs. */
  readonly lend: <T>(run: () => Promise<T>) => Promise<T>;
}

/**
 * Opens a text in the user's editor ($VISUAL, $EDITOR, else vi or notepad) and returns what it was saved as.
 * Editors end a file with a line end; one that was not there before is taken off. Throws a ReasonixError when
 * the editor cannot be started or fails.
 */
export async function editText(text: string, { env, lend }: EditorEnvironment): Promise<string> {
  const isWindows = Deno.build.os === "windows";
  const editor = env("VISUAL")?.trim() || env("EDITOR")?.trim() || (isWindows ? "notepad" : "vi");
  // Only the user can read it: a draft may be private.
  const directory = await Deno.makeTempDir({ prefix: "reasonix-" });
  const path = `${directory}/message.md`;
  try {
    await Deno.writeTextFile(path, text, { mode: 0o600 });
    const command = isWindows
      ? new Deno.Command("cmd", { args: ["/d", "/s", "/c", `${editor} "${path}"`] })
      // The setting may have flags, as in "code --wait": the shell splits it, as in git.
      : new Deno.Command("sh", { args: ["-c", `${editor} "$@"`, editor, path] });
    const { code } = await lend(() => command.spawn().status);
    if (code !== 0) {
      throw new ReasonixError(message`The editor ${JSON.stringify(editor)} ended with exit code ${code}`, {
        remedy: code === 127
          ? message`it was not found; set VISUAL or EDITOR to a program that is installed`
          : message`the draft is as it was before`,
      });
    }
    const edited = (await Deno.readTextFile(path)).replace(/\r\n?/g, "\n").toWellFormed();
    return text.endsWith("\n") ? edited : edited.replace(/\n$/, "");
  } catch (error) {
    if (error instanceof ReasonixError) throw error;
    throw new ReasonixError(
      message`Cannot edit the draft with ${JSON.stringify(editor)}: ${errorMessage(error)}`,
      {
        remedy: message`set VISUAL or EDITOR to a program that is installed`,
        cause: error,
      },
    );
  } finally {
    await Deno.remove(directory, { recursive: true }).catch(() => {});
  }
}
