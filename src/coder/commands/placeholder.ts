/**
 * The placeholder in a command file for the arguments that the user has entered: `$ARGUMENTS` or `{{args}}`.
 *
 * In a command line, the arguments are inserted in single quotes, as one word. Inside other quotes, and in some other
 * places, bash reads these single quotes differently. The arguments could then run commands:
 *
 *   grep "{{args}}" .       with the arguments $(rm x)
 *   grep '{{args}}' .       with the arguments a; rm x
 */

export const PLACEHOLDER = /\$ARGUMENTS\b|\{\{\s*args\s*\}\}/g;

/**
 * Matches blanks and operators, after which a new word begins, but not `((` (arithmetic) and `<<` (a here-document).
 */
const GAP = /[ \t\n;&|)>]|\((?!\()|<<<|<(?!<)/y;
/**
 * Matches the command `[`. In other brackets, such as `[[ … ]]` and the index of an array, bash may evaluate the
 * arguments.
 */
const TEST = /\[(?=[ \t\n])/y;
/**
 * Matches a character of a word, a quoted part, `${NAME}`, or the `$` of another expansion. Does not match a command in
 * backticks, or `${…}` with more than a name. A part in double quotes must not contain `$(…)`, because `$(…)` may
 * contain further quotes.
 */
const PART =
  /\\[^\n]|'[^']*'|\$'(?:[^'\\]|\\[\s\S])*'|\$?"(?:[^"\\$`]|\\[\s\S]|\$\{\w+\}|\$(?![([{\\]))*"|\$\{\w+\}|\$\$|\$(?=[^'"[{$])|[^ \t\n;&|()<>\\'"$`]/y;

/**
 * Returns whether bash reads the quoted arguments as one literal word at each placeholder of a command line. Returns
 * false if this is uncertain, because the text before a placeholder is too complex.
 */
export function takesArguments(line: string): boolean {
  let isWordStart = true;
  /** Number of brackets that are open. */
  let brackets = 0;
  for (const piece of line.split(PLACEHOLDER).slice(0, -1)) {
    let at = 0;
    while (at < piece.length) {
      // After `$(…)` or `<(…)`, bash reads `#` as part of the word. After another `)`, `#` starts a comment.
      // This function does not distinguish these cases.
      if (piece[at] === '#' && piece[at - 1] === ')') return false;
      if (piece[at] === '#' && isWordStart) {
        const end = piece.indexOf('\n', at);
        if (end === -1) return false;
        at = end;
      } else if (piece.startsWith('\\\n', at)) {
        // Bash joins the two lines. If no blank comes before the backslash, the characters on both sides could form an
        // operator, such as `<<`.
        if (!/[ \t\n]/.test(piece.charAt(at - 1))) return false;
        at += 2;
      } else {
        const gap = lengthOf(GAP, piece, at);
        const test = isWordStart ? lengthOf(TEST, piece, at) : 0;
        const length = gap || test || lengthOf(PART, piece, at);
        if (length === 0 || (gap > 0 && brackets > 0)) return false;
        if (piece[at] === '[' && test === 0) brackets++;
        else if (piece[at] === ']' && brackets > 0) brackets--;
        isWordStart = gap > 0;
        at += length;
      }
    }
    if (brackets > 0) return false;
    isWordStart = false;
  }
  return true;
}

/** Returns the length of the match of a sticky pattern at a position, or 0 if there is none. */
function lengthOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0].length ?? 0;
}
