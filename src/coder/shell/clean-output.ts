/**
 * Converts terminal output to readable text: removes escape sequences, keeps only the last version of a line that is
 * overwritten (such as a progress bar), and applies backspaces.
 *
 * The output is processed in chunks. A sequence may be split between chunks. Memory is bounded for any input.
 */

/** Maximum length of an incomplete line, in characters. The start of a longer line is returned early and is final. */
const MAX_LINE = 4096;
/** Maximum length of an escape sequence, in characters. Of a longer sequence, only the escape character is removed. */
const MAX_SEQUENCE = 4096;

/** Control characters: C0 without tab and newline, DEL, C1. */
// oxlint-disable-next-line no-control-regex -- searches for control characters
const CONTROL = /[\0-\x08\x0b-\x1f\x7f-\x9f]/g;
const SEQUENCE =
  // oxlint-disable-next-line no-control-regex -- as above
  /^(?:\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)|\x1b[ -/]*[0-Z\\`-~])/;
// oxlint-disable-next-line no-control-regex -- as above
const INCOMPLETE = /^\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b\x9c]*\x1b?|[ -/]*)$/;

export function createCleaner() {
  /** The end of the last chunk, if it is an incomplete escape sequence or a carriage return. */
  let held = '';
  let line = '';
  /** True if the cursor is at the start of the line. New text then replaces the line. */
  let returned = false;

  /** Adds text without control characters. Returns the lines that are now complete, and the start of a long line. */
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

  /** Processes a chunk. Returns the lines that are now complete, and the start of a long line. */
  function write(chunk: string): string {
    const text = (held + chunk).replaceAll('\r\n', '\n');
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
          else if (INCOMPLETE.test(rest) && rest.length < MAX_SEQUENCE) {
            held = rest;
            from = text.length;
          }
          break;
        }
        default:
      }
      CONTROL.lastIndex = from;
    }
    return finished + plain(text.slice(from));
  }

  return {
    write,
    /** Returns the current, incomplete line. */
    line: () => line,
  };
}

/** Returns the readable text of a complete output. */
export function cleaned(output: string): string {
  const cleaner = createCleaner();
  return cleaner.write(output) + cleaner.line();
}
