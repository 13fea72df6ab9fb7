/**
 * Makes readable text of what a program writes to a terminal: escape sequences are dropped, a line that is written over
 * again and again (a progress bar) is kept as it was last, backspaces take back.
 *
 * Works on chunks as they come; a sequence may be cut anywhere. Memory is bounded whatever comes.
 */

/** A longer line is passed on in pieces; only its last piece can still be written over. */
const MAX_LINE = 4096;
/** An escape sequence that goes on for longer is none. */
const MAX_SEQUENCE = 4096;

/** All that is not plain text: C0 without tab and newline, DEL, C1. */
// oxlint-disable-next-line no-control-regex -- control characters are what this is about
const CONTROL = /[\0-\x08\x0b-\x1f\x7f-\x9f]/g;
const SEQUENCE =
  // oxlint-disable-next-line no-control-regex -- as above
  /^(?:\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)|\x1b[ -/]*[0-Z\\`-~])/;
// oxlint-disable-next-line no-control-regex -- as above
const BEGUN = /^\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b\x9c]*\x1b?|[ -/]*)$/;

export interface Cleaner {
  /** Takes what came and returns the text that stands: lines that are finished. */
  write(chunk: string): string;
  /** The line that is being written. */
  line(): string;
}

export function createCleaner(): Cleaner {
  /** The beginning of a sequence, or a carriage return of which it is not clear yet what it means. */
  let held = '';
  let line = '';
  /** The cursor is at the line's beginning: what comes next replaces it. */
  let returned = false;

  /** Adds plain text and returns the lines that it finished. */
  function plain(text: string): string {
    if (text === '') return '';
    if (returned && text[0] !== '\n') line = '';
    returned = false;
    const end = text.lastIndexOf('\n') + 1;
    const finished = end > 0 ? line + text.slice(0, end) : '';
    line = end > 0 ? text.slice(end) : line + text;
    if (line.length <= MAX_LINE) return finished;
    const piece = line.slice(0, -MAX_LINE / 2);
    line = line.slice(-MAX_LINE / 2);
    return finished + piece;
  }

  function write(chunk: string): string {
    let text = (held + chunk).replaceAll('\r\n', '\n');
    held = '';
    let finished = '';
    let from = 0;
    CONTROL.lastIndex = 0;
    for (let match = CONTROL.exec(text); match; match = CONTROL.exec(text)) {
      const at = match.index;
      finished += plain(text.slice(from, at));
      from = at + 1;
      switch (match[0]) {
        case '\r':
          if (from === text.length) held = '\r';
          else returned = true;
          break;
        case '\b':
          line = line.slice(0, -1);
          break;
        case '\x1b': {
          const rest = text.slice(at, at + MAX_SEQUENCE);
          const sequence = SEQUENCE.exec(rest);
          if (sequence) from = at + sequence[0].length;
          else if (BEGUN.test(rest) && rest.length < MAX_SEQUENCE) {
            held = rest;
            from = text.length;
          }
          break;
        }
        default:
      }
      CONTROL.lastIndex = from;
    }
    text = text.slice(from);
    return finished + plain(text);
  }

  return { write, line: () => line };
}

/** The text of a whole output. */
export function cleaned(output: string): string {
  const cleaner = createCleaner();
  return cleaner.write(output) + cleaner.line();
}
