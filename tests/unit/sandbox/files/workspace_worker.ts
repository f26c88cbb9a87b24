import { createWorkspace } from "../../../../src/sandbox/mod.ts";
import { errorMessage } from "../../../../src/core/mod.ts";

declare const self: Worker;

self.onmessage = async (event: MessageEvent) => {
  const workspace = createWorkspace(event.data.options);
  const answers = [];
  for (const path of event.data.paths) answers.push(await workspace.write(path).catch(errorMessage));
  self.postMessage(answers);
};
