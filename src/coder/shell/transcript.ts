/**
 * The output of a command as readable text, in bounded memory. Only the start and the end of a long output are kept,
 * with a note about the number of characters between them.
 */
import { createCleaner } from './clean-output.ts';

const HEAD_CHARACTERS = 10_000;
const TAIL_CHARACTERS = 20_000;
/** The number of bytes of a UTF-16 code unit. */
const UNIT = 2;

export type Transcript = ReturnType<typeof createTranscript>;

export function createTranscript() {
  const cleaner = createCleaner();
  let head = '';
  /**
   * The end of the text after `head`, in UTF-16. The buffer is twice as large as necessary, so that most writes
   * copy nothing. It is not a string, because many short-lived strings would make the heap grow by tens of megabytes.
   */
  const tail = Buffer.alloc(UNIT * 2 * TAIL_CHARACTERS);
  let kept = 0;
  /** The length of the text so far, including `head`, but without the incomplete last line. */
  let total = 0;

  function write(chunk: string): void {
    let text = cleaner.write(chunk);
    total += text.length;
    if (head.length < HEAD_CHARACTERS) {
      const room = HEAD_CHARACTERS - head.length;
      head += text.slice(0, room);
      text = text.slice(room);
    }
    text = text.slice(-TAIL_CHARACTERS);
    if (kept + text.length > 2 * TAIL_CHARACTERS) {
      tail.copyWithin(0, UNIT * (kept - TAIL_CHARACTERS), UNIT * kept);
      kept = TAIL_CHARACTERS;
    }
    tail.write(text, UNIT * kept, 'utf16le');
    kept += text.length;
  }

  /** Returns the last `count` characters of the tail. */
  function lastOf(count: number): string {
    return tail.toString('utf16le', UNIT * Math.max(0, kept - count), UNIT * kept);
  }

  /** Returns the text after the first `from` characters. A note replaces the part that was not kept. */
  function text(from = 0): string {
    const beginning = head.slice(from);
    const ending = lastOf(total - from) + cleaner.line().slice(Math.max(0, from - total));
    const cut = total - kept - Math.max(from, head.length);
    if (cut <= 0) return (beginning + ending).toWellFormed();
    const gap = beginning === '' || beginning.endsWith('\n') ? '' : '\n';
    const note = `[… ${cut.toLocaleString('en-GB')} characters were cut here …]\n`;
    return (beginning + gap + note + ending).toWellFormed();
  }

  return {
    write,
    /** Returns the number of characters so far. */
    length: (): number => total + cleaner.line().length,
    text,
    /** Returns the end of the text, at most this many bytes of UTF-8. */
    tail(bytes: number): string {
      const isWhole = total - kept <= head.length;
      const recent = ((isWhole ? head : '') + lastOf(bytes) + cleaner.line()).slice(-bytes);
      const encoded = Buffer.from(recent.toWellFormed());
      if (encoded.length <= bytes) return recent.toWellFormed();
      let start = encoded.length - bytes;
      // Start at the next complete character.
      while (start < encoded.length && (encoded[start]! & 0xc0) === 0x80) start++;
      return encoded.toString('utf8', start);
    },
  };
}
