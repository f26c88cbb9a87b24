import { isRecord, parseJson } from "../../util/json.ts";
import { plainArguments } from "../tool_arguments.ts";
import type { TextCall } from "./syntax.ts";

const FUNCTION = /^\s*<function=([\w.-]+)>([\s\S]*)<\/function>\s*$/;
const PARAMETER = /^\s*<parameter=([\w.-]+)>\n?([\s\S]*?)\n?<\/parameter>\s*(?=<parameter=|$)/;
const INVOKE = /^\s*<(?:\w+:)?invoke\s+name="([^"]+)"\s*>([\s\S]*?)<\/(?:\w+:)?invoke>\s*(?=<|$)/;
const NAMED =
  /^\s*<(?:\w+:)?parameter\s+name="([^"]+)"[^>]*>\n?([\s\S]*?)\n?<\/(?:\w+:)?parameter>\s*(?=<|$)/;

/** Calls as one JSON object or a list of them; undefined when it is anything else. */
export function readJsonCalls(text: string): readonly TextCall[] | undefined {
  const value = parseJson(text);
  if (value === undefined) return undefined;
  const calls: TextCall[] = [];
  for (const item of Array.isArray(value) ? value : [value]) {
    const call = isRecord(item) ? jsonCall(item) : undefined;
    if (call === undefined) return undefined;
    calls.push(call);
  }
  return calls.length > 0 ? calls : undefined;
}

/** An object that says more, such as an entry of a package list, is no call. */
function jsonCall(item: Readonly<Record<string, unknown>>): TextCall | undefined {
  const { name, arguments: args, parameters, function: called, type, id: _id, ...other } = item;
  if (Object.keys(other).length > 0 || (type !== undefined && type !== "function")) return undefined;
  if (isRecord(called) && name === undefined) return jsonCall(called);
  const given = args ?? parameters;
  if (typeof name !== "string" || given === undefined || called !== undefined) return undefined;
  const whole = plainArguments(typeof given === "string" ? given : JSON.stringify(given));
  return whole === undefined ? undefined : { name, arguments: whole };
}

/** A call as `<function=name><parameter=key>…`. */
export function readFunctionTags(text: string): readonly TextCall[] | undefined {
  const [, name, inner] = FUNCTION.exec(text) ?? [];
  const args = name === undefined ? undefined : readParameters(inner ?? "", PARAMETER);
  return args && name !== undefined ? [{ name, arguments: JSON.stringify(args) }] : undefined;
}

/** Calls as `<invoke name="…"><parameter name="…">…`. */
export function readInvokes(text: string): readonly TextCall[] | undefined {
  const calls: TextCall[] = [];
  for (let rest = text; rest.trim() !== "";) {
    const found = INVOKE.exec(rest);
    const args = found ? readParameters(found[2] ?? "", NAMED) : undefined;
    if (!found || !args) return undefined;
    calls.push({ name: found[1] ?? "", arguments: JSON.stringify(args) });
    rest = rest.slice(found[0].length);
  }
  return calls.length > 0 ? calls : undefined;
}

function readParameters(text: string, parameter: RegExp): Record<string, string> | undefined {
  const given: [string, string][] = [];
  for (let rest = text; rest.trim() !== "";) {
    const found = parameter.exec(rest);
    if (!found) return undefined;
    given.push([found[1] ?? "", found[2] ?? ""]);
    rest = rest.slice(found[0].length);
  }
  return Object.fromEntries(given);
}
