/** Reads on until a buffer is full or the file ends; returns the part of it that was filled. */
export function readFully<T extends ArrayBufferLike>(
  file: Deno.FsFile,
  buffer: Uint8Array<T>,
): Uint8Array<T> {
  let filled = 0;
  while (filled < buffer.length) {
    const count = file.readSync(buffer.subarray(filled));
    if (count === null) break;
    filled += count;
  }
  return buffer.subarray(0, filled);
}

/** Reads a piece of an open file, which the end of the file may make shorter. */
export function readPiece(file: Deno.FsFile, from: number, length: number): Uint8Array<ArrayBuffer> {
  file.seekSync(from, Deno.SeekMode.Start);
  return readFully(file, new Uint8Array(length));
}

/** Opens a file for one piece of it. */
export function readPieceOf(path: string | URL, from: number, length: number): Uint8Array<ArrayBuffer> {
  const file = Deno.openSync(path);
  try {
    return readPiece(file, from, length);
  } finally {
    file.close();
  }
}
