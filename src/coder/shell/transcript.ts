/**
 * What a command printed, as readable text, in bounded memory: its beginning and its end, and how much is missing
 * between them.
 */
import { createCleaner } from './clean.ts';

const HEAD_CHARACTERS = 10_000;
const TAIL_CHARACTERS = 20_000;

export interface Transcript {
  write(chunk: string): void;
  /** How many characters there were until now. */
  length(): number;
  /** The text behind the first `from` characters, with a line in the place of what was not kept. */
  text(from?: number): string;
  /** The end of the text, at most so many bytes of UTF-8. */
  tail(bytes: number): string;
}

export function createTranscript(): Transcript {
  const cleaner = createCleaner();
  let head = '';
  /** The end of what stands behind `head`; up to twice what is promised, so that not every chunk has to be copied. */
  let tail = '';
  /** Of finished text, `head` included. */
  let total = 0;

  function write(chunk: string): void {
    let text = cleaner.write(chunk);
    total += text.length;
    if (head.length < HEAD_CHARACTERS) {
      const room = HEAD_CHARACTERS - head.length;
      head += text.slice(0, room);
      text = text.slice(room);
    }
    if (text.length >= TAIL_CHARACTERS) tail = text.slice(-TAIL_CHARACTERS);
    else tail += text;
    if (tail.length > 2 * TAIL_CHARACTERS) tail = tail.slice(-TAIL_CHARACTERS);
  }

  function text(from = 0): string {
    const beginning = head.slice(from);
    const ending = tail.slice(Math.max(0, from - (total - tail.length))) + lineFrom(from);
    const cut = total - tail.length - Math.max(from, head.length);
    if (cut <= 0) return (beginning + ending).toWellFormed();
    const gap = beginning === '' || beginning.endsWith('\n') ? '' : '\n';
    const note = `[… ${cut.toLocaleString('en-GB')} characters were cut here …]\n`;
    return (beginning + gap + note + ending).toWellFormed();
  }

  function lineFrom(from: number): string {
    return cleaner.line().slice(Math.max(0, from - total));
  }

  return {
    write,
    length: () => total + cleaner.line().length,
    text,
    tail(bytes) {
      const recent = ((tail === '' ? head : tail) + cleaner.line()).slice(-bytes);
      const encoded = Buffer.from(recent.toWellFormed());
      if (encoded.length <= bytes) return recent.toWellFormed();
      let start = encoded.length - bytes;
      // Not in the middle of a character.
      while (start < encoded.length && (encoded[start]! & 0xc0) === 0x80) start++;
      return encoded.toString('utf8', start);
    },
  };
}
