import type { CommandBody } from "../../command.ts";

export const command: CommandBody = { run: (host) => host.quit() };
