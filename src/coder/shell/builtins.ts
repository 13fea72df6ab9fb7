/**
 * Decides which builtins of bash may run a command that their arguments contain, or change how bash reads the commands
 * that follow. A line with such a call cannot be parsed reliably.
 *
 *   test -v 'a[$(rm x)]'      bash evaluates the subscript
 *   declare -i n; n='a[$(rm x)]'   bash evaluates the value of an integer
 *   hash -p /bin/rm ls; ls x       "ls" is now another program
 */
import { setOf } from './read-options.ts';
import type { SimpleCommand, Word } from './simple-command.ts';

/** Builtins that set variables or options, or otherwise change the meaning of later commands. */
const SETTERS = setOf(
  'declare typeset local export readonly read mapfile readarray getopts let unset set shopt alias unalias enable hash',
);

/**
 * Variables whose values bash runs, evaluates or uses as settings. Examples are PS4 with `set -x`, BASH_ENV at the
 * start of another bash, BASH_CMDS, and integers such as RANDOM and OPTIND.
 */
const EVALUATED =
  /^(?:BASH\w*|ENV|PS\d|PROMPT_COMMAND|SHELLOPTS|S?RANDOM|SECONDS|LINENO|HISTCMD|OPTIND|OPTERR)$/;
const IDENTIFIER = /^[A-Za-z_]\w*$/;

/** Options of `set` and `shopt` that do not change how bash reads a line. */
const SET_LETTERS = /^[-+][abefhmuvxBCET]*o?$/;
const SET_NAMES =
  /^(?:allexport|braceexpand|errexit|errtrace|functrace|hashall|monitor|noclobber|noexec|noglob|notify|nounset|physical|pipefail|verbose|xtrace)$/;
const SHOPT_NAMES =
  /^(?:dotglob|failglob|globasciiranges|globstar|inherit_errexit|lastpipe|nocaseglob|nocasematch|nullglob)$/;

/** Unary operators of `test`. `-v` and `-R` are left out, because their operand is the name of a variable. */
const UNARY = /^-[abcdefghknoprstuwxzGLNOS]$/;
const BINARY = /^(?:=|==|!=|<|>|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef))$/;
/** A quoted expansion that is exactly one word. Its value may still be anything. */
const ONE_WORD = /^"[^"@*]*"$/;
/** An expansion to a number. */
const NUMBER = /^"?\$[?#$!]"?$/;

type Check = (words: readonly Word[]) => boolean;

/**
 * For each of these builtins, a function that returns whether a call with these arguments does only what the parser
 * understands.
 */
const UNDERSTOOD: Readonly<Record<string, Check>> = {
  declare: declares('fFglprux'),
  typeset: declares('fFglprux'),
  local: declares('lru'),
  export: declares('fnp'),
  readonly: declares('fp'),
  read: (words) => words.every(isPlain),
  unset: (words) => words.every(isPlain),
  getopts: (words) => words.slice(0, 2).every(isPlain),
  wait: (words) => words.every((word) => NUMBER.test(word.text) || isPlain(word)),
  printf: ([first, second]) => {
    if (first === undefined) return true;
    if (!first.literal) return false;
    if (!first.text.startsWith('-v')) return true;
    const name = first.text.slice(2) || (second?.literal === true ? second.text : '');
    return IDENTIFIER.test(name) && !EVALUATED.test(name);
  },
  let: () => false,
  hash: (words) => words.every((word) => word.literal && !/^-[^-]*p/.test(word.text)),
  alias: (words) => words.every((word) => word.literal && !word.text.includes('=')),
  jobs: (words) => words.every((word) => word.literal && !/^-[^-]*x/.test(word.text)),
  set: setsOptions,
  shopt: (words) =>
    words.every(
      ({ text, literal }) => literal && (/^-[spqu]+$/.test(text) || SHOPT_NAMES.test(text)),
    ),
  test: isClearTest,
  '[': isClearTest,
  source: ([file]) => isScriptFile(file),
  '.': ([file]) => isScriptFile(file),
};

/**
 * Returns whether the command is a builtin that sets variables or options, and so may change the meaning of later
 * commands.
 */
export function setsVariables({ words: [program, ...rest] }: SimpleCommand): boolean {
  if (program?.text === 'printf') return rest[0]?.text.startsWith('-v') ?? false;
  return program !== undefined && SETTERS.has(program.text);
}

/** Returns whether the command is a call of a builtin that may run or change something that the parser does not see. */
export function hidesCommand({ words: [program, ...rest] }: SimpleCommand): boolean {
  const name = program?.text ?? '';
  return Object.hasOwn(UNDERSTOOD, name) && !UNDERSTOOD[name]!(rest);
}

/**
 * Returns whether an option of a shell does not change how the shell reads a line. `letters` is a group of letters that
 * ends with `o` (an option of `set`) or `O` (an option of `shopt`). `name` is the word after the group.
 */
export function isHarmlessOption(letters: string, name: Word | undefined): boolean {
  const names = letters.endsWith('o') ? SET_NAMES : SHOPT_NAMES;
  return name?.literal === true && names.test(name.text);
}

/**
 * Returns whether an assignment only stores its value. `written` is the source text of the assignment. Returns false
 * for an array element, because bash evaluates its subscript, and for the variables in EVALUATED.
 */
export function isPlainAssignment(written: string): boolean {
  const name = /^([A-Za-z_]\w*)\+?=/.exec(written)?.[1];
  return name !== undefined && !EVALUATED.test(name);
}

/**
 * Returns whether the operand makes a shell read a script file. Returns false if there is no operand, if its value is
 * unknown, or if the shell could read commands from standard input or another descriptor.
 */
export function isScriptFile(operand: Word | undefined): boolean {
  if (!operand?.literal || operand.text === '-') return false;
  // An earlier command may have changed the folder to /dev or /proc/self/fd, so names such as `stdin` or `0` are
  // refused too.
  return !/(?:^|\/)(?:dev|proc)\/|(?:^|\/)(?:stdin|\d+)$/.test(operand.text);
}

/** Returns whether the word is literal and names neither an array element nor a variable that bash evaluates. */
function isPlain({ text, literal }: Word): boolean {
  return literal && !text.includes('[') && !EVALUATED.test(text);
}

/**
 * Returns the check for a builtin that declares variables and has these options. The check refuses arrays and integers,
 * because bash evaluates them.
 */
function declares(letters: string): Check {
  const options = new RegExp(`^[-+][${letters}-]*$`);
  return (words) =>
    words.every(({ text, literal }) => {
      if (/^[-+]/.test(text)) return literal && options.test(text);
      if (literal && IDENTIFIER.test(text)) return !EVALUATED.test(text);
      return isPlainAssignment(text) && !/^\w+\+?=["']?\(/.test(text);
    });
}

function setsOptions(words: readonly Word[]): boolean {
  for (let index = 0; index < words.length; index++) {
    const { text, literal } = words[index]!;
    if (!literal) return false;
    // All words from here on are positional parameters.
    if (text === '--' || text === '-' || !/^[-+]/.test(text)) return true;
    if (!SET_LETTERS.test(text)) return false;
    if (!text.endsWith('o')) continue;
    const name = words[++index];
    if (name && !(name.literal && SET_NAMES.test(name.text))) return false;
  }
  return true;
}

/**
 * Returns false if a call of `test` could evaluate the subscript of an array. This is possible if an expansion becomes
 * the operator `-v`, or if the operand of `-v` or `-R` is an array element.
 */
function isClearTest(words: readonly Word[]): boolean {
  return words.every((word, index) => {
    const before = words[index - 1];
    const after = words[index + 1];
    if (word.literal) {
      const names = before?.literal === true && /^-[vR]$/.test(before.text);
      return !names || isPlain(word);
    }
    if (NUMBER.test(word.text)) return true;
    if (!ONE_WORD.test(word.text)) return false;
    const isOperand = (side: Word | undefined, operator: RegExp) =>
      side?.literal === true && operator.test(side.text);
    return isOperand(before, UNARY) || isOperand(before, BINARY) || isOperand(after, BINARY);
  });
}
