import type { ExistingFile } from "../../file/target.ts";
import { binaryKind, type ImageInfo } from "../../file/media.ts";
import type { ToolContext, ToolResult } from "../../tool.ts";

const MAX_IMAGE_BYTES = 5 * 1024 * 1024;

/** The image itself for a model that sees, else what can be said about it. */
export function describeImage(
  context: ToolContext,
  file: ExistingFile,
  bytes: Uint8Array,
  image: ImageInfo,
): ToolResult {
  const kind = image.mime.slice("image/".length).toUpperCase();
  const size = image.width === undefined ? "" : `, ${image.width}×${image.height} pixels`;
  const what = `${kind} image${size}, ${bytes.length} bytes`;
  if (!context.settings.vision) {
    return { content: `${file.shown}: ${what}; this model cannot see images`, summary: what };
  }
  if (bytes.length > MAX_IMAGE_BYTES) {
    return {
      content: `${file.shown}: ${what}; too large to show (at most ${MAX_IMAGE_BYTES})`,
      summary: what,
    };
  }
  return {
    content: `${file.shown}: ${what}`,
    summary: what,
    images: [{ mime: image.mime, data: bytes.toBase64() }],
  };
}

export function describeBinary(file: ExistingFile, bytes: Uint8Array): ToolResult {
  const size = file.info.size || bytes.length;
  const what = `binary file, ${binaryKind(bytes)}, ${size} bytes`;
  return {
    content: `${file.shown}: ${what}; use bash (file, xxd, strings, unzip -l) to look inside`,
    summary: what,
  };
}
