/**
 * Highlights code with simple patterns: comments, strings, numbers, keywords, calls and type names. Everything else has
 * no colour. The text itself is never changed.
 */
import { languageNamed, type Language } from './languages.ts';
import { line, span, splitLines, type StyledLine, type StyledText, type Tone } from './spans.ts';

/** Maximum length of code that is highlighted. */
const MAX_CODE = 100_000;

const WORD = /[\p{L}_$][\p{L}\p{N}_$]*/uy;
const NUMBER = /\b(?:0[xXbBoO][\da-fA-F_]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)/y;

/** Returns the highlighted lines of some code. `name` is the language of a fenced code block, or a file extension. */
export function highlight(code: string, name: string): StyledLine[] {
  if (name === 'diff' || name === 'patch') return code.split('\n').map(patchLine);
  const language = code.length > MAX_CODE ? undefined : languageNamed(name);
  if (!language) return code.split('\n').map((text) => line(text));
  return splitLines(tokens(code, language));
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
  const kinds: readonly (readonly [RegExp, Tone])[] = [
    [language.comment, 'comment'],
    [language.string, 'string'],
    [NUMBER, 'number'],
  ];
  const takeKind = (): boolean => {
    // A hash directly after another character, as in `$#`, does not start a comment.
    const inWord = code[at] === '#' && /\S/.test(code[at - 1] ?? '\n');
    for (const [pattern, tone] of inWord ? kinds.slice(1) : kinds) {
      const text = take(pattern);
      if (text === undefined) continue;
      push(text, tone);
      return true;
    }
    return false;
  };
  while (at < code.length) {
    if (takeKind()) continue;
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
