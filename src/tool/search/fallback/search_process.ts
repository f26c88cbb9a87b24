import { type LinePort, readLines, tell } from "../../host/json_lines.ts";
import type { FoundFile, SearchRequest } from "../request.ts";
import { ScanJob } from "./scan_job.ts";

export interface SearchJob {
  readonly files: readonly string[];
  readonly request: SearchRequest;
}

/** Progress of a job: what was found since the last message and the index of the file that comes next. */
export interface SearchPart {
  readonly found: readonly FoundFile[];
  readonly next: number;
  readonly done: boolean;
  readonly full: boolean;
}

const REPORT_MS = 100;

/** Body of the search process: takes jobs until there are no more. */
export async function runSearchProcess(port: LinePort): Promise<void> {
  for await (const job of readLines<SearchJob>(port.input)) {
    const run = new ScanJob(job.files, job.request);
    while (true) {
      const found = run.step(REPORT_MS);
      tell(port, { found, next: run.next, done: run.done, full: run.full } satisfies SearchPart);
      if (run.done) break;
    }
  }
}
