/**
 * Parses a bash command line for the policy. Finds the simple commands that can run, with their words. Also finds the
 * files that redirections read or write, and the files that `find` writes. Never runs anything and never throws.
 *
 *   parseCommandLine('git status && rm -rf x').commands   // two commands
 *
 * Nested commands are included: substitutions, subshells, `bash -c`, `xargs`, `find -exec` and similar commands (see
 * wrappers.ts). Some parts cannot be parsed reliably, for example functions, arithmetic, arrays, and a program name
 * from an expansion. In these cases, `problem` is the reason, and the list of commands may be incomplete. An incomplete
 * list may be used to deny the line, but never to allow it.
 */
import { hidesCommand, isPlainAssignment, setsVariables } from './builtins.ts';
import { setOf } from './read-options.ts';
import type { SimpleCommand, Word } from './simple-command.ts';
import { unwrap } from './wrappers.ts';

export interface CommandLine {
  readonly commands: readonly SimpleCommand[];
  /**
   * The files that redirections write, except those in HARMLESS_TARGET, and the files that `find` writes or deletes.
   */
  readonly writes: readonly string[];
  /** The files that redirections read, except `/dev/null`. */
  readonly reads: readonly string[];
  /** True if a redirection is an input: a file except `/dev/null`, a here-document or a here-string. */
  readonly hasInput: boolean;
  /** The reason why the line cannot be parsed reliably, or undefined if it can. */
  readonly problem: string | undefined;
}

/** Maximum length of a line, in characters. Longer lines are not parsed. */
export const MAX_LINE = 32 * 1024;
const MAX_DEPTH = 16;

const BLANK = /[ \t]/;
/** Characters that end an unquoted word. */
const METACHARACTER = /[ \t\n;&|<>()]/;
const ASSIGNMENT = /^[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=/;
const NAME = /(?:[A-Za-z_]\w*|[0-9@*#?$!-])/y;
const BRACED_NAME = /\{(?:[A-Za-z_]\w*|[0-9]+|[@*#?$!-])\}/y;
// oxlint-disable-next-line no-control-regex -- searches for control characters
const CONTROL = /[\0-\x08\x0b-\x1f\x7f-\x9f]/;
/** Invisible characters. With them, a person would see a command that differs from the command that runs. */
const INVISIBLE = /[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/;
/**
 * A line that is continued in the middle of a word. Bash joins continued lines before it parses them, so a `$` and a
 * `(` on two lines may become `$(`.
 */
const JOINED = /[^ \t\n]\\\n/;
/** Reserved words that are followed by a command or by nothing. */
const KEYWORDS = setOf('if then else elif fi while until do done ! { }');
/** Reserved words that have their own grammar or set variables. They are not supported. */
const UNSUPPORTED = setOf('for select case esac function coproc [[ ]]');
const HARMLESS_TARGET = new Set(['/dev/null', '/dev/stdout', '/dev/stderr']);

/** The results so far. */
interface Found {
  /** If true, a command that another command runs is left out, for example `rm` in `sudo rm`. */
  readonly shallow: boolean;
  readonly commands: SimpleCommand[];
  readonly writes: string[];
  readonly reads: string[];
  hasInput: boolean;
  problem: string | undefined;
}

class TooDeep extends Error {}

export function parseCommandLine(text: string): CommandLine {
  return parse(text, false);
}

/**
 * Returns the words of a line that is a single simple command. Returns undefined for any other line, and if the command
 * sets variables or writes files.
 */
export function parseWords(text: string): readonly Word[] | undefined {
  const { commands, writes, problem } = parse(text, true);
  const [command] = commands;
  const single = commands.length === 1 && writes.length === 0 && problem === undefined;
  return single && !command!.assigns ? command!.words : undefined;
}

function parse(text: string, shallow: boolean): CommandLine {
  const found: Found = {
    shallow,
    commands: [],
    writes: [],
    reads: [],
    hasInput: false,
    problem: undefined,
  };
  if (text.length > MAX_LINE) return { ...found, problem: 'it is too long to check' };
  if (CONTROL.test(text)) found.problem = 'it contains control characters';
  else if (INVISIBLE.test(text)) found.problem = 'it contains invisible characters';
  else if (JOINED.test(text)) found.problem = 'a line is continued in the middle of a word';
  try {
    readScript(text, found, 0, false);
  } catch (error) {
    if (!(error instanceof TooDeep)) throw error;
    found.problem ??= 'it is nested too deeply';
  }
  return found;
}

/** Reads a script. `piped` is true if its commands may read the output of another command. */
function readScript(text: string, found: Found, depth: number, piped: boolean): void {
  if (depth > MAX_DEPTH) throw new TooDeep();
  reader(text, found, piped).list(depth, false);
}

/** Records a command and the commands that it would run. */
function record(command: SimpleCommand, found: Found, depth: number): void {
  if (depth > MAX_DEPTH) throw new TooDeep();
  const { piped = false } = command;
  const [program] = command.words;
  found.commands.push(setsVariables(command) ? { ...command, assigns: true } : command);
  if (!program) return;
  if (!program.literal) {
    found.problem ??= `the program name is not literal: ${program.text}`;
    return;
  }
  if (found.shallow) return;
  if (hidesCommand(command)) found.problem ??= `it is not clear what "${program.text}" would run`;
  const inner = unwrap(command);
  if (inner.problem !== undefined) found.problem ??= inner.problem;
  found.writes.push(...(inner.writes ?? []));
  for (const one of inner.commands ?? []) record({ ...one, piped }, found, depth + 1);
  for (const script of inner.scripts ?? []) readScript(script, found, depth + 1, piped);
}

interface HereDocument {
  readonly delimiter: string;
  readonly quoted: boolean;
  readonly tabs: boolean;
}

interface ReadWord extends Word {
  readonly raw: string;
  /** True if a part of the word is quoted. Such a word is not a reserved word. */
  readonly quoted: boolean;
}

function reader(text: string, found: Found, isPiped: boolean) {
  let at = 0;
  /** True if the command that is read now, and the commands inside it, may read the output of another command. */
  let piped = isPiped;
  let waiting: HereDocument[] = [];

  function problem(why: string): void {
    found.problem ??= why;
  }

  /** Reads commands, up to the closing parenthesis if `closes` is true, or else up to the end. */
  function list(depth: number, closes: boolean): void {
    if (depth > MAX_DEPTH) throw new TooDeep();
    let words: Word[] = [];
    let assigns = false;
    /** True after a redirection. The next word is then not a reserved word. */
    let redirected = false;
    /** True if every command of this list may read the output of a command outside the list. */
    let allPiped = piped;
    const before = piped;

    function finish(): void {
      if (words.length > 0 || assigns) {
        record({ words, assigns, piped }, found, depth);
        piped = allPiped;
      }
      words = [];
      assigns = false;
      redirected = false;
    }

    while (at < text.length) {
      const char = text[at]!;
      const next = text[at + 1];
      if (BLANK.test(char)) at++;
      else if (char === '\\' && next === '\n') at += 2;
      else if (char === '#') {
        const end = text.indexOf('\n', at);
        at = end < 0 ? text.length : end;
      } else if (char === '\n') {
        at++;
        finish();
        hereDocuments(depth);
      } else if (char === '&' && next === '>') {
        at++;
        redirected = true;
        redirection(depth);
      } else if (char === ';' || char === '&' || char === '|') {
        const isPipe = char === '|' && next !== '|';
        at += char === '|' && (next === '|' || next === '&') ? 2 : 1;
        if (char === ';' && (next === ';' || next === '&')) problem('it contains a case statement');
        finish();
        piped = isPipe || allPiped;
      } else if (char === '(') {
        if (next === '(') problem('it contains arithmetic');
        else if (words.length > 0) problem('it defines a function');
        else if (assigns) problem('it contains an array');
        finish();
        at++;
        list(depth + 1, true);
      } else if (char === ')') {
        at++;
        finish();
        piped = before;
        if (closes) {
          if (waiting.length > 0) problem('a here-document has no end');
          return;
        }
        problem('it has an unmatched closing parenthesis');
      } else if ((char === '<' || char === '>') && next !== '(') {
        redirected = true;
        redirection(depth);
      } else {
        const word = readWord(depth);
        const isPlain = words.length === 0 && !assigns && !word.quoted && !redirected;
        if (text[at] === '<' || text[at] === '>') {
          if (/^\d+$/.test(word.raw)) continue;
          if (/^\{[A-Za-z_]/.test(word.raw)) problem('a redirection sets a variable');
        }
        if (words.length === 0 && ASSIGNMENT.test(word.raw)) {
          assigns = true;
          if (!isPlainAssignment(word.raw)) problem('an assignment may run a command');
        } else if (isPlain && KEYWORDS.has(word.raw)) {
          // After a pipe, all commands of a loop or a group may read from the pipe. The parser does not know where the
          // loop or group ends, so all further commands of the list count as piped.
          allPiped ||= piped;
          continue;
        } else {
          if (isPlain && UNSUPPORTED.has(word.raw)) problem(`it contains "${word.raw}"`);
          words.push({ text: word.text, literal: word.literal });
        }
      }
    }
    finish();
    if (closes) problem('a parenthesis is not closed');
    if (waiting.length > 0) problem('a here-document has no end');
    waiting = [];
  }

  /** Reads the bodies of the here-documents that started on the previous line. */
  function hereDocuments(depth: number): void {
    const begun = waiting;
    waiting = [];
    for (const { delimiter, quoted, tabs } of begun) {
      const start = at;
      for (;;) {
        // Bash joins continued lines of a here-document before it looks for the end.
        if (!quoted && text.startsWith('\\\n', text.indexOf('\n', at) - 1)) {
          problem('a line of a here-document is continued');
        }
        if (at >= text.length) {
          problem('a here-document has no end');
          break;
        }
        const newline = text.indexOf('\n', at);
        const end = newline < 0 ? text.length : newline;
        const line = tabs ? text.slice(at, end).replace(/^\t+/, '') : text.slice(at, end);
        if (line === delimiter) {
          if (!quoted) reader(text.slice(start, at), found, piped).expandable(depth + 1, false);
          at = Math.min(end + 1, text.length);
          break;
        }
        at = end + 1;
      }
    }
  }

  function redirection(depth: number): void {
    const operator = /(?:<<<|<<-|<<|<>|<&|>>|>\||>&|>|<)/y;
    operator.lastIndex = at;
    const [sign] = operator.exec(text)!;
    at += sign.length;
    if (text[at] === '>' && sign === '>') at++;
    while (at < text.length && (BLANK.test(text[at]!) || text.startsWith('\\\n', at))) {
      at += text[at] === '\\' ? 2 : 1;
    }
    const start = at;
    const substitutes = (text[at] === '<' || text[at] === '>') && text[at + 1] === '(';
    if (at >= text.length || (METACHARACTER.test(text[at]!) && !substitutes)) {
      problem('a redirection has no target');
      return;
    }
    const target = readWord(depth);
    if (at === start) at++;
    if (sign === '<<' || sign === '<<-') {
      found.hasInput = true;
      if (!target.literal) problem('the end of a here-document is not clear');
      waiting.push({ delimiter: target.text, quoted: target.quoted, tabs: sign === '<<-' });
    } else if (sign === '<<<') found.hasInput = true;
    else if ((sign === '>&' || sign === '<&') && /^(?:\d*-?|\d+)$/.test(target.raw)) return;
    else if (sign === '<' || sign === '<&') {
      const remote = /^\/dev\/(?:tcp|udp)\//.test(target.text);
      if (remote || (!target.literal && !substitutes))
        problem('it is not clear what a redirection reads');
      if (target.literal && target.text === '/dev/null') return;
      found.hasInput = true;
      if (target.literal && !remote) found.reads.push(target.text);
    } else if (!target.literal || !HARMLESS_TARGET.has(target.text)) {
      found.writes.push(target.text);
    }
  }

  function readWord(depth: number): ReadWord {
    const start = at;
    let plain = '';
    let literal = true;
    let quoted = false;
    let braces = false;
    while (at < text.length) {
      const char = text[at]!;
      if ((char === '<' || char === '>') && text[at + 1] === '(' && at === start) {
        substitution();
        at += 2;
        literal = false;
        const before = piped;
        piped ||= char === '>';
        list(depth + 1, true);
        piped = before;
      } else if (METACHARACTER.test(char)) break;
      else if (char === '\\') {
        const next = text[at + 1];
        if (next === undefined) problem('it ends with a backslash');
        else if (next !== '\n') {
          plain += next;
          quoted = true;
        }
        at += 2;
      } else if (char === "'") {
        const end = text.indexOf("'", at + 1);
        if (end < 0) problem('a quote is not closed');
        const close = end < 0 ? text.length : end;
        plain += text.slice(at + 1, close);
        at = close + 1;
        quoted = true;
      } else if (char === '"') {
        quoted = true;
        at++;
        const inside = expandable(depth, true);
        plain += inside.text;
        literal &&= inside.literal;
      } else if (char === '$') {
        const piece = dollar(depth, false);
        plain += piece;
        literal &&= piece === '$';
        // In `$"…"`, the quoted part follows the dollar sign.
        quoted ||= text[at] === '"';
      } else if (char === '`') {
        backtick(depth, false);
        literal = false;
      } else {
        if (char === '*' || char === '?' || char === '[') literal = false;
        if (char === '~' && (at === start || /[:=]/.test(text[at - 1]!))) literal = false;
        if (char === '{' || char === '}') braces = true;
        plain += char;
        at++;
      }
    }
    at = Math.min(at, text.length);
    const raw = text.slice(start, at);
    // Braces are an expansion only if they contain `,` or `..`.
    if (braces && /,|\.\./.test(raw)) literal = false;
    // A single bracket is the program `[` or its last argument, not a pattern.
    if (raw === '[' || raw === ']') literal = true;
    return { text: literal ? plain : raw, literal, raw, quoted };
  }

  /**
   * Reads text in which only expansions and backslashes are special: the rest of a part in double quotes if `isQuoted`
   * is true, or else the body of a here-document.
   */
  function expandable(depth: number, isQuoted: boolean): Word {
    if (depth > MAX_DEPTH) throw new TooDeep();
    let plain = '';
    let literal = true;
    while (at < text.length) {
      const char = text[at]!;
      if (isQuoted && char === '"') {
        at++;
        return { text: plain, literal };
      }
      if (char === '\\') {
        const next = text[at + 1] ?? '';
        if (/["$`\\]/.test(next)) plain += next;
        else if (next !== '\n') plain += char + next;
        at += 2;
      } else if (char === '$') {
        const piece = dollar(depth, true);
        plain += piece;
        literal &&= piece === '$';
      } else if (char === '`') {
        backtick(depth, true);
        literal = false;
      } else {
        plain += char;
        at++;
      }
    }
    if (isQuoted) problem('a quote is not closed');
    return { text: plain, literal };
  }

  /**
   * Reports a substitution that follows a here-document operator on the same line, because versions of bash parse it
   * differently.
   */
  function substitution(): void {
    if (waiting.length > 0) problem('a substitution follows a here-document');
  }

  /**
   * Reads an expansion at a dollar sign. Returns `$` if the dollar sign starts no expansion, otherwise an empty string.
   * `inside` is true inside double quotes or a here-document.
   */
  function dollar(depth: number, inside: boolean): string {
    at++;
    const next = text[at];
    if (next === '(') {
      substitution();
      if (text[at + 1] === '(') problem('it contains arithmetic');
      at++;
      list(depth + 1, true);
      return '';
    }
    if (next === '{') {
      BRACED_NAME.lastIndex = at;
      const name = BRACED_NAME.exec(text);
      if (!name) problem('it contains a complex expansion');
      at += name ? name[0].length : 1;
      return '';
    }
    if (next === '[') {
      problem('it contains arithmetic');
      return '';
    }
    if (next === '"' && !inside) return '';
    if (next === "'" && !inside) {
      at++;
      while (at < text.length && text[at] !== "'") at += text[at] === '\\' ? 2 : 1;
      if (at >= text.length) problem('a quote is not closed');
      at++;
      return '';
    }
    NAME.lastIndex = at;
    const name = NAME.exec(text);
    if (!name) return '$';
    at += name[0].length;
    return '';
  }

  /** Reads a command in backticks. `inside` is true inside double quotes or a here-document. */
  function backtick(depth: number, inside: boolean): void {
    substitution();
    let script = '';
    at++;
    while (at < text.length && text[at] !== '`') {
      const next = text[at + 1];
      if (text[at] === '\\' && next !== undefined && /[`$\\]/.test(next)) {
        script += next;
        at += 2;
      } else {
        // Versions of bash differ in when they remove this backslash.
        if (inside && text[at] === '\\' && next === '"')
          problem('a backtick contains an escaped quote');
        script += text[at++];
      }
    }
    if (at >= text.length) problem('a backtick is not closed');
    at++;
    readScript(script, found, depth + 1, piped);
  }

  return { list, expandable };
}
