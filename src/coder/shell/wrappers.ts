/** Programs that run other programs: what a simple command would run beside itself. */
import type { SimpleCommand, Word } from './simple-command.ts';

export interface Inner {
  readonly commands?: readonly SimpleCommand[];
  /** Whole command lines in words. */
  readonly scripts?: readonly string[];
  readonly writes?: readonly string[];
  readonly problem?: string;
}

interface Options {
  /** Letters that stand alone. */
  readonly flags?: string;
  /** Letters that take a value. */
  readonly valued?: string;
  readonly long?: readonly string[];
  readonly longValued?: readonly string[];
  /** Operands before the command. */
  readonly operands?: number;
}

/** The command stands behind their options. An option that is not here is not understood. */
const PREFIXES: Readonly<Record<string, Options>> = {
  sudo: { flags: 'AbEHknPS', valued: 'CDghpRTuU' },
  doas: { flags: 'n', valued: 'Cu' },
  env: {
    flags: 'i0v',
    valued: 'uC',
    long: ['--ignore-environment', '--null', '--debug'],
    longValued: ['--unset', '--chdir'],
  },
  nice: { valued: 'n', longValued: ['--adjustment'] },
  ionice: { flags: 't', valued: 'cn' },
  nohup: {},
  setsid: { flags: 'cfw', long: ['--ctty', '--fork', '--wait'] },
  time: { flags: 'pv', valued: 'fo' },
  command: { flags: 'p' },
  builtin: {},
  exec: { flags: 'cl', valued: 'a' },
  timeout: {
    flags: 'v',
    valued: 'ks',
    long: ['--foreground', '--preserve-status', '--verbose'],
    longValued: ['--kill-after', '--signal'],
    operands: 1,
  },
  stdbuf: { valued: 'ioe', longValued: ['--input', '--output', '--error'] },
  chroot: { longValued: ['--userspec', '--groups'], operands: 1 },
  busybox: {},
  flock: { flags: 'sxneFu', valued: 'wE', operands: 1 },
  xargs: {
    flags: '0rtpxo',
    valued: 'nPIdLsaE',
    long: ['--null', '--no-run-if-empty', '--verbose', '--exit', '--interactive', '--open-tty'],
    longValued: [
      '--max-args',
      '--max-procs',
      '--replace',
      '--delimiter',
      '--max-lines',
      '--arg-file',
    ],
  },
};

const SHELLS = new Set(['bash', 'sh', 'dash', 'ash', 'ksh', 'mksh']);
const SHELL_OPTIONS: Options = {
  flags: 'ceuxvnf',
  valued: 'oO',
  long: ['--norc', '--noprofile', '--posix'],
};

/** They run others in ways of their own, or read another language than ours. */
const OPAQUE = new Set(
  (
    'zsh fish csh tcsh pwsh parallel su script nsenter unshare systemd-run pkexec runuser chrt ' +
    'taskset fakeroot watch expect at batch strace ltrace gdb bwrap ' +
    'mapfile readarray compgen complete bind enable fc'
  ).split(' '),
);

/** Builtins that change what the commands behind them mean. */
const SETTERS = new Set(
  (
    'declare typeset local export readonly read mapfile readarray getopts let unset set shopt alias ' +
    'unalias enable hash'
  ).split(' '),
);
/** Builtins that take the name of a variable, and evaluate its subscript, substitutions and all. */
const NAMING = new Set([...SETTERS, 'test', '[', 'printf', 'wait']);

const RESERVED = /^(?:!|\{|\[\[|if|while|until|for|case|select|function|coproc)$/;

const ANYTHING: Word = { text: '…', literal: false };

/** Whether variables are different behind this command: then it is no more itself than `PATH=/tmp git` is `git`. */
export function setsVariables({ words: [program, ...rest] }: SimpleCommand): boolean {
  if (program?.text === 'printf') return rest[0]?.text.startsWith('-v') ?? false;
  return program !== undefined && SETTERS.has(program.text);
}

/** Whether a word that looks plain is a command all the same: `test -v 'a[$(rm x)]'`. */
export function hidesCommand({ words: [program, ...rest] }: SimpleCommand): boolean {
  return NAMING.has(program?.text ?? '') && rest.some(({ text }) => /\[.*(?:\$\(|`)/s.test(text));
}

export function unwrap({ words }: SimpleCommand): Inner {
  const path = words[0]!.text;
  // Some file systems do not tell upper case from lower.
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase();
  const problem = `what "${name}" would run is not clear`;
  if (OPAQUE.has(name)) return { problem };
  if (SHELLS.has(name)) return shell(words) ?? { problem };
  if (name === 'eval') return words.every((word) => word.literal) ? evaluated(words) : { problem };
  if (name === 'trap') return trap(words) ?? { problem };
  if (name === 'find') return find(words) ?? { problem };
  if (!Object.hasOwn(PREFIXES, name)) return {};
  // `command -v git` only asks where git is.
  if (name === 'command' && /^-[vV]+$/.test(words[1]?.text ?? '')) return {};
  const options = PREFIXES[name]!;
  const first = operandOf(words, options);
  if (first === undefined) return { problem };
  let start = first + (options.operands ?? 0);
  let assigns = false;
  if (name === 'env' && words[start]?.text === '-') start++;
  if (name === 'env' || name === 'sudo' || name === 'doas') {
    while (/^[A-Za-z_]\w*=/.test(words[start]?.text ?? '')) {
      assigns = true;
      start++;
    }
  }
  if (words.slice(0, start).some((word) => !word.literal)) return { problem };
  let rest = words.slice(start);
  if (rest.length === 0) return assigns ? { problem } : {};
  // To bash, `time` is a word before any pipeline.
  if (name === 'time' && RESERVED.test(rest[0]!.text)) return { problem };
  if (name === 'xargs') rest = filledIn(rest, replaced(words.slice(1, start)));
  return { commands: [{ words: rest, assigns }] };
}

/** Where the operands begin; undefined when the options are not understood. */
function operandOf(words: readonly Word[], options: Options): number | undefined {
  const { flags = '', valued = '', long = [], longValued = [] } = options;
  let index = 1;
  for (; index < words.length; index++) {
    const { text, literal } = words[index]!;
    if (text === '--') return index + 1;
    if (!/^[-+]./.test(text)) return index;
    if (!literal) return undefined;
    if (text.startsWith('--')) {
      const [name = ''] = text.split('=', 1);
      if (longValued.includes(name)) index += text.includes('=') ? 0 : 1;
      else if (!long.includes(text)) return undefined;
      continue;
    }
    for (let letter = 1; letter < text.length; letter++) {
      if (flags.includes(text[letter]!)) continue;
      if (!valued.includes(text[letter]!)) return undefined;
      if (letter === text.length - 1) index++;
      break;
    }
  }
  return index;
}

function shell(words: readonly Word[]): Inner | undefined {
  const first = operandOf(words, SHELL_OPTIONS);
  if (first === undefined) return undefined;
  const operand = words[first];
  // Without one it reads its commands from somewhere else.
  if (!operand?.literal || words.slice(0, first).some((word) => !word.literal)) return undefined;
  const isScript = words.slice(1, first).some((word) => /^-[a-z]*c/.test(word.text));
  if (isScript) return { scripts: [operand.text] };
  return operand.text === '-' || /^\/(?:dev|proc)\//.test(operand.text) ? undefined : {};
}

function evaluated(words: readonly Word[]): Inner {
  const script = words.slice(words[1]?.text === '--' ? 2 : 1).map((word) => word.text);
  return { scripts: [script.join(' ')] };
}

function trap(words: readonly Word[]): Inner | undefined {
  const action = words[words[1]?.text === '--' ? 2 : 1];
  if (!action || action.text === '-' || action.text === '-l' || action.text === '-p') return {};
  return action.literal ? { scripts: [action.text] } : undefined;
}

function find(words: readonly Word[]): Inner | undefined {
  const commands: SimpleCommand[] = [];
  const writes: string[] = [];
  for (let index = 1; index < words.length; index++) {
    const { text } = words[index]!;
    if (text === '-delete') writes.push('the files that find finds');
    if (/^-(?:fprint|fprint0|fprintf|fls)$/.test(text)) writes.push(words[index + 1]?.text ?? '');
    if (!/^-(?:exec|execdir|ok|okdir)$/.test(text)) continue;
    const start = index + 1;
    for (index = start; index < words.length; index++) {
      const end = words[index]!.text;
      if (end === ';' || (end === '+' && words[index - 1]!.text === '{}')) break;
    }
    if (index === start || index >= words.length) return undefined;
    commands.push({ words: filledIn(words.slice(start, index), '{}'), assigns: false });
  }
  // An option that is the result of an expansion could be any of these.
  const unclear = words.some((word) => !word.literal && /^[$`]/.test(word.text));
  return unclear ? undefined : { commands, writes };
}

/** What xargs puts its input in the place of; undefined when it appends it. */
function replaced(options: readonly Word[]): string | undefined {
  for (const [index, { text }] of options.entries()) {
    if (text.startsWith('--replace')) return text.slice('--replace='.length) || '{}';
    const short = /^-[0rtpxo]*I(.*)$/s.exec(text);
    if (short) return short[1] || options[index + 1]?.text;
  }
  return undefined;
}

/** The command with the places marked where something unknown is put. */
function filledIn(words: readonly Word[], place: string | undefined): Word[] {
  if (place === undefined) return [...words, ANYTHING];
  return words.map((word) => (word.text.includes(place) ? { ...word, literal: false } : word));
}
