/** Examines the installation: what `reasonix doctor`, `/doctor` and `/bug` show. */
export { diagnose } from "./report.ts";
export { reportText } from "./text.ts";
