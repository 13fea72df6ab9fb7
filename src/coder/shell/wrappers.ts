/** Finds the commands that a simple command would run, if it is a program that runs other programs. */
import { isPlainAssignment, isScriptFile } from './builtins.ts';
import { wordsIn, type KnownOptions } from './read-options.ts';
import type { SimpleCommand, Word } from './simple-command.ts';

export interface Inner {
  readonly commands?: readonly SimpleCommand[];
  /** Arguments that are whole command lines. */
  readonly scripts?: readonly string[];
  readonly writes?: readonly string[];
  readonly problem?: string;
}

interface Options extends Pick<KnownOptions, 'flags' | 'valued' | 'long' | 'longValued'> {
  /** The number of operands before the command. */
  readonly operands?: number;
}

/** Programs whose options are followed by a command. A command with other options cannot be checked. */
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
    longValued: wordsIn('--max-args --max-procs --replace --delimiter --max-lines --arg-file'),
  },
};

const SHELLS = new Set(['bash', 'sh', 'dash', 'ash', 'ksh', 'mksh']);
const SHELL_OPTIONS: Options = {
  flags: 'ceuxvnf',
  valued: 'oO',
  long: ['--norc', '--noprofile', '--posix'],
};

/** Programs that run other programs in a way that is not parsed, or that use another shell language. */
const OPAQUE = new Set(
  (
    'zsh fish csh tcsh pwsh rbash posh yash lksh osh ysh nu xonsh elvish parallel su sg newgrp gosu su-exec ' +
    'script nsenter unshare systemd-run pkexec runuser runcon aa-exec setpriv capsh chrt taskset numactl cgexec ' +
    'prlimit choom setarch linux32 linux64 fakeroot proot firejail watch entr expect unbuffer rlwrap at batch ' +
    'strace ltrace gdb valgrind perf hyperfine bwrap toybox tini dumb-init run-parts start-stop-daemon daemonize ' +
    'setuidgid chpst softlimit envdir dbus-run-session dbus-launch xvfb-run ssh-agent tmux screen dtach logsave ' +
    'eatmydata faketime torsocks proxychains ' +
    'mapfile readarray compgen complete bind enable fc'
  ).split(' '),
);

const RESERVED = /^(?:!|\{|\[\[|if|while|until|for|case|select|function|coproc)$/;

const ANYTHING: Word = { text: '…', literal: false };

export function unwrap({ words }: SimpleCommand): Inner {
  const path = words[0]!.text;
  // The name is in lower case, because some file systems ignore case.
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase();
  const problem = `it is not clear what "${name}" would run`;
  if (OPAQUE.has(name)) return { problem };
  if (SHELLS.has(name)) return shell(words) ?? { problem };
  if (name === 'eval') return words.every((word) => word.literal) ? evaluated(words) : { problem };
  if (name === 'trap') return trap(words) ?? { problem };
  if (name === 'find') return find(words) ?? { problem };
  if (!Object.hasOwn(PREFIXES, name)) return {};
  // `command -v git` only prints the path of git.
  if (name === 'command' && /^-[vV]+$/.test(words[1]?.text ?? '')) return {};
  const options = PREFIXES[name]!;
  const first = operandOf(words, options);
  if (first === undefined) return { problem };
  let start = first + (options.operands ?? 0);
  let assigns = false;
  let unclear = false;
  if (name === 'env' && words[start]?.text === '-') start++;
  if (name === 'env' || name === 'sudo' || name === 'doas') {
    // Any name is allowed here, even the name of an exported shell function (`BASH_FUNC_git%%`).
    for (; words[start]?.text.includes('='); start++) {
      assigns = true;
      unclear ||= !isPlainAssignment(words[start]!.text);
    }
  }
  if (words.slice(0, start).some((word) => !word.literal)) return { problem };
  let rest = words.slice(start);
  if (rest.length === 0) return assigns ? { problem } : {};
  // In bash, `time` is a reserved word. The pipeline after it may start with an assignment.
  if (name === 'time' && /^\w+(?:\[.*)?\+?=/.test(rest[0]!.text)) unclear = true;
  if (name === 'time' && RESERVED.test(rest[0]!.text)) return { problem };
  // `sudo` accepts options after assignments. These options are not parsed.
  if (rest[0]!.text.startsWith('-')) return { problem };
  if (name === 'xargs') rest = withUnknown(rest, replaced(words.slice(1, start)));
  return { commands: [{ words: rest, assigns }], ...(unclear && { problem }) };
}

/** Returns the index of the first operand, or undefined if an option is unknown. */
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
  // Without an operand the shell reads commands from standard input.
  if (!operand?.literal || words.slice(0, first).some((word) => !word.literal)) return undefined;
  const isScript = words.slice(1, first).some((word) => /^-[a-z]*c/.test(word.text));
  if (isScript) return { scripts: [operand.text] };
  return isScriptFile(operand) ? {} : undefined;
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
    if (text === '-delete') writes.push('the files that find matches');
    if (/^-(?:fprint|fprint0|fprintf|fls)$/.test(text)) writes.push(words[index + 1]?.text ?? '');
    if (!/^-(?:exec|execdir|ok|okdir)$/.test(text)) continue;
    const start = index + 1;
    for (index = start; index < words.length; index++) {
      const end = words[index]!.text;
      if (end === ';' || (end === '+' && words[index - 1]!.text === '{}')) break;
    }
    if (index === start || index >= words.length) return undefined;
    commands.push({ words: withUnknown(words.slice(start, index), '{}'), assigns: false });
  }
  // A word with an expansion could become one of these options.
  const unclear = words.some((word) => !word.literal && /^["']*[-$`]|\{/.test(word.text));
  return unclear ? undefined : { commands, writes };
}

/** Returns the text that xargs replaces with its input, or undefined if xargs appends the input. */
function replaced(options: readonly Word[]): string | undefined {
  for (const [index, { text }] of options.entries()) {
    if (text.startsWith('--replace')) return text.slice('--replace='.length) || '{}';
    const short = /^-[0rtpxo]*I(.*)$/s.exec(text);
    if (short) return short[1] || options[index + 1]?.text;
  }
  return undefined;
}

/** Returns the command. Words that will contain unknown input are marked as not literal. */
function withUnknown(words: readonly Word[], place: string | undefined): Word[] {
  if (place === undefined) return [...words, ANYTHING];
  return words.map((word) => (word.text.includes(place) ? { ...word, literal: false } : word));
}
