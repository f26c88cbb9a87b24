export * from "./chunk.ts";
export * from "./errors.ts";
export * from "./event.ts";
export * from "./message.ts";
export * from "./prepared_call.ts";
export * from "./texts.ts";
export * from "./usage.ts";
