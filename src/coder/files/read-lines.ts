/** Reads a range of lines from a file in pieces, so that files of any size can be read. */
const PIECE = 256 * 1024;
const FEED = 0x0a;

/** A source of bytes, which is an open file or a buffer. */
export interface ByteReader {
  read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesRead: number }>;
}

export interface LineWindow {
  /** The lines without line ends, each truncated to `maxLine` bytes. */
  readonly lines: readonly Buffer[];
  /** Whether some lines were truncated. */
  readonly cutLines: boolean;
  /** Whether there are lines after the range. */
  readonly more: boolean;
  /** The number of lines that were counted. If `countedAll` is true, it is the number of lines of the whole file. */
  readonly counted: number;
  readonly countedAll: boolean;
}

export interface WindowOptions {
  /** The number of the first line, starting from 1. */
  readonly offset: number;
  /** Maximum number of lines. */
  readonly limit: number;
  /** Maximum length of a line in bytes. Longer lines are truncated. */
  readonly maxLine: number;
  /** Maximum total size of the lines in bytes. The first line is returned even if it is larger. */
  readonly maxBytes: number;
  /** After the range, lines are counted up to this position in the file, in bytes. */
  readonly countBytes: number;
  readonly signal: AbortSignal;
}

export async function readLines(handle: ByteReader, options: WindowOptions): Promise<LineWindow> {
  const { offset, limit, maxLine, maxBytes, countBytes, signal } = options;
  const piece = Buffer.allocUnsafe(PIECE);
  const lines: Buffer[] = [];
  /** The part of the current line that is kept, and the length of the whole line. */
  let kept: Buffer[] = [];
  let length = 0;
  let total = 0;
  let number = 1;
  let cutLines = false;
  let full = false;
  let position = 0;

  const take = (bytes: Buffer): void => {
    if (number >= offset && !full) {
      const room = Math.max(0, maxLine + 1 - length);
      if (room > 0 && bytes.length > 0) kept.push(Buffer.from(bytes.subarray(0, room)));
    }
    length += bytes.length;
  };
  const close = (): void => {
    if (number >= offset && !full) {
      const bytes = Buffer.concat(kept);
      // If the line was kept completely, a CR at its end belongs to the line end. Otherwise, its end is not known.
      const line = bytes.length === length ? withoutCr(bytes) : bytes;
      const cut = line.length > maxLine;
      const shown = cut ? line.subarray(0, maxLine) : line;
      // The first line is always included, so that reading can continue after it.
      if (lines.length >= limit || (lines.length > 0 && total + shown.length > maxBytes)) {
        full = true;
      } else {
        lines.push(shown);
        total += shown.length;
        cutLines ||= cut;
      }
    }
    number += 1;
    kept = [];
    length = 0;
  };

  for (;;) {
    signal.throwIfAborted();
    const { bytesRead } = await handle.read(piece, 0, PIECE, position);
    if (bytesRead === 0) break;
    const bytes = piece.subarray(0, bytesRead);
    let from = 0;
    for (let at = bytes.indexOf(FEED); at !== -1; at = bytes.indexOf(FEED, from)) {
      take(bytes.subarray(from, at));
      close();
      from = at + 1;
    }
    take(bytes.subarray(from));
    position += bytesRead;
    if (full && position >= countBytes) {
      return { lines, cutLines, more: true, counted: number - 1, countedAll: false };
    }
  }
  // The last line may have no line end.
  if (length > 0) close();
  const counted = number - 1;
  return { lines, cutLines, more: full, counted, countedAll: true };
}

function withoutCr(line: Buffer): Buffer {
  return line.at(-1) === 0x0d ? line.subarray(0, -1) : line;
}
