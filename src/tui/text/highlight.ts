/**
 * Code in colours: comments, strings, numbers, keywords, names that are called, names of types. It reads no grammar, so
 * what it does not know stays plain; it never changes, drops or adds a character.
 */
import { languageNamed, type Language } from './languages.ts';
import { line, span, type StyledLine, type StyledText, type Tone } from './styled-line.ts';

/** Longer code is shown as it is. */
const MAX_CODE = 100_000;

const WORD = /[\p{L}_$][\p{L}\p{N}_$]*/uy;
const NUMBER = /\b(?:0[xXbBoO][\da-fA-F_]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)/y;

/** The lines of a piece of code; `name` is what stands behind the fence, or a file's ending. */
export function highlight(code: string, name: string): StyledLine[] {
  if (name === 'diff' || name === 'patch') return code.split('\n').map(patchLine);
  const language = code.length > MAX_CODE ? undefined : languageNamed(name);
  if (!language) return code.split('\n').map((text) => line(text));
  return toLines(tokens(code, language));
}

export function patchLine(text: string): StyledLine {
  if (/^(?:\+\+\+|---|diff |index )/.test(text)) return line(text, 'dim');
  if (text.startsWith('@@')) return line(text, 'accent');
  if (text.startsWith('+')) return line(text, 'added');
  return text.startsWith('-') ? line(text, 'removed') : line(text);
}

function tokens(code: string, language: Language): StyledText[] {
  const out: StyledText[] = [];
  let plain = '';
  const push = (text: string, tone: Tone): void => {
    if (plain !== '') out.push(span(plain));
    plain = '';
    out.push(span(text, tone));
  };
  let at = 0;
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(code)?.[0];
    if (found === undefined || found === '') return undefined;
    at += found.length;
    return found;
  };
  while (at < code.length) {
    const before = code[at - 1] ?? '\n';
    // A hash in the middle of a word begins no comment.
    const comment = code[at] === '#' && /\S/.test(before) ? undefined : take(language.comment);
    if (comment !== undefined) {
      push(comment, 'comment');
      continue;
    }
    const quoted = take(language.string);
    if (quoted !== undefined) {
      push(quoted, 'string');
      continue;
    }
    const number = take(NUMBER);
    if (number !== undefined) {
      push(number, 'number');
      continue;
    }
    const word = take(WORD);
    if (word === undefined) {
      plain += code[at];
      at += 1;
      continue;
    }
    const tone = toneOf(word, code[at], language);
    if (tone === undefined) plain += word;
    else push(word, tone);
  }
  if (plain !== '') out.push(span(plain));
  return out;
}

function toneOf(word: string, next: string | undefined, language: Language): Tone | undefined {
  const known = language.anyCase === true ? word.toLowerCase() : word;
  if (language.keywords.has(known)) return 'keyword';
  if (next === '(') return 'call';
  return /^\p{Lu}.*\p{Ll}/u.test(word) ? 'type' : undefined;
}

function toLines(spans: readonly StyledText[]): StyledLine[] {
  const lines: StyledText[][] = [[]];
  for (const each of spans) {
    for (const [index, text] of each.text.split('\n').entries()) {
      if (index > 0) lines.push([]);
      if (text !== '') lines.at(-1)?.push({ ...each, text });
    }
  }
  return lines;
}
