/** Finds the commands that a simple command would run, if it is a program that runs other programs. */
import { isHarmlessOption, isPlainAssignment, isScriptFile } from './builtins.ts';
import { optionReader, type GivenOption, type KnownOptions } from './read-options.ts';
import type { SimpleCommand, Word } from './simple-command.ts';

export interface Inner {
  readonly commands?: readonly SimpleCommand[];
  /** Arguments that are whole command lines. */
  readonly scripts?: readonly string[];
  readonly writes?: readonly string[];
  readonly problem?: string;
}

interface Options extends KnownOptions {
  /** The number of operands before the command. */
  readonly operands?: number;
}

/** Programs whose options are followed by a command. A call with an option that is not listed cannot be checked. */
const PREFIXES: Readonly<Record<string, Options>> = {
  sudo: { short: 'AbEHknPSC:D:g:h:p:R:T:u:U:' },
  doas: { short: 'nC:u:' },
  env: { short: 'i0vu:C:', long: '--ignore-environment --null --debug --unset: --chdir:' },
  nice: { short: 'n:', long: '--adjustment:' },
  ionice: { short: 'tc:n:' },
  nohup: {},
  setsid: { short: 'cfw', long: '--ctty --fork --wait' },
  time: { short: 'pvf:o:' },
  command: { short: 'p' },
  builtin: {},
  exec: { short: 'cla:' },
  timeout: {
    short: 'vk:s:',
    long: '--foreground --preserve-status --verbose --kill-after: --signal:',
    operands: 1,
  },
  stdbuf: { short: 'i:o:e:', long: '--input: --output: --error:' },
  chroot: { long: '--userspec: --groups:', operands: 1 },
  busybox: {},
  // Without a command, `arch` prints the name of the processor. On macOS, it runs a command.
  arch: {},
  xcrun: { long: '--show-sdk-path --show-sdk-version --sdk: --toolchain:' },
  flock: { short: 'sxneFuw:E:', operands: 1 },
  xargs: {
    short: '0rtpxon:P:I:d:L:s:a:E:',
    long: `--null --no-run-if-empty --verbose --exit --interactive --open-tty --replace:: --max-lines::
      --max-args: --max-procs: --delimiter: --arg-file:`,
  },
};

const SHELLS = new Set(['bash', 'sh', 'dash', 'ash', 'ksh', 'mksh']);
const SHELL_LONG = new Set(['--norc', '--noprofile', '--posix']);
/**
 * A group of short options of a shell. In bash and dash, `o` takes the next word as its value wherever it is in the
 * group. In ksh, the rest of the group is the value. All shells agree only if `o` is the last letter.
 */
const SHELL_LETTERS = /^-[ceuxvnf]*[oO]?$/;

/**
 * Builtins and programs whose calls are not parsed. The main purpose of these programs is to run or control other
 * programs. Shells that are not in SHELLS are included. Interpreters, and programs with another main purpose, such as
 * `ssh`, `docker` and `make`, are not included.
 */
const OPAQUE = new Set(
  // Shells.
  (
    'zsh fish csh tcsh rbash posh yash lksh osh ysh nu xonsh elvish ksh93 rksh hush sash static-sh bash-static ' +
    'busybox-static toybox execlineb cmd cmd.exe powershell powershell.exe pwsh pwsh.exe wsl wsl.exe winpty ' +
    // Another user, folder, container or system.
    'su sg newgrp newrole gosu su-exec run0 pkexec gksu gksudo kdesu mdo runuser runcon aa-exec setpriv capsh ' +
    'nsenter unshare arch-chroot schroot fakechroot fakeroot fakeroot-ng pseudo proot firejail bwrap nsjail ' +
    'minijail0 rootlesskit sandbox-exec systemd-nspawn lxc-execute lxc-attach lxc-usernsexec flatpak-spawn ' +
    'host-spawn distrobox-enter distrobox-host-exec ' +
    // Another processor, priority or limit.
    'setarch linux32 linux64 uname26 i386 i486 i586 i686 x86_64 ppc ppc32 ppc64 s390 s390x sparc sparc64 mips mips64 ' +
    'chrt taskset taskpolicy numactl cgexec prlimit choom uclampset coresched schedtool cpulimit idprio rtprio ' +
    'cpuset limits lockf softlimit timelimit nocache trickle pipesz enosys caffeinate systemd-inhibit ' +
    // In the background, later, repeatedly or in parallel.
    'systemd-run systemd-cat systemd-socket-activate start-stop-daemon daemon daemonize setuidgid chpst envdir ' +
    'envuidgid setlock pgrphack fghack runsv tini dumb-init catatonit run-parts at batch tsp nq parallel ' +
    'env_parallel sem rush xe apply retry watch entr watchexec reflex nodemon concurrently tcpsvd udpsvd ' +
    // Other input, output, environment or libraries.
    'script unbuffer expect rlwrap dtach abduco tmux screen zellij logsave openvt cttyhack xterm chronic ifne pee ' +
    'mispipe lckdo zrun sshpass ssh-agent dbus-run-session dbus-launch xvfb-run xinit startx env-cmd cross-env ' +
    'cross-env-shell dotenv envchain eatmydata faketime torify torsocks tsocks usewithtor proxychains proxychains4 ' +
    // Observed.
    'strace ltrace truss dtruss ktrace gdb lldb rr valgrind heaptrack uftrace perf hyperfine catchsegv memusage sotruss ' +
    // Builtins.
    'mapfile readarray compgen complete bind enable fc'
  ).split(' '),
);

/** The dynamic linker, which runs the program that it gets as an argument. */
const LINKER = /^ld(?:-.*)?\.so/;

/** Matches the `g` with which the names of GNU's programs start on macOS and BSD. */
const GNU = /^g(?=(?:chroot|env|find|nice|nohup|stdbuf|time|timeout|xargs)$)/;

const RESERVED = /^(?:!|\{|\[\[|if|while|until|for|case|select|function|coproc)$/;

const ANYTHING: Word = { text: '…', literal: false };

/**
 * Returns the name of a program without its path and without the `g` of GNU. The name is in lower case, because some
 * file systems ignore case.
 */
export function programName(path: string): string {
  return baseName(path).toLowerCase().replace(GNU, '');
}

/** Returns the name of a program without its path. */
export function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

export function unwrap({ words }: SimpleCommand): Inner {
  const name = programName(words[0]!.text);
  const problem = `it is not clear what "${baseName(words[0]!.text)}" would run`;
  if (OPAQUE.has(name) || LINKER.test(name)) return { problem };
  if (SHELLS.has(name)) return shell(words) ?? { problem, scripts: possibleScripts(words) };
  if (name === 'eval') return words.every((word) => word.literal) ? evaluated(words) : { problem };
  if (name === 'trap') return trap(words) ?? { problem };
  if (name === 'find') return find(words) ?? { problem };
  if (!Object.hasOwn(PREFIXES, name)) return {};
  // `command -v git` only prints the path of git.
  if (name === 'command' && /^-[vV]+$/.test(words[1]?.text ?? '')) return {};
  const options = PREFIXES[name]!;
  const read = optionsOf(words, options);
  if (!read) return { problem };
  let start = read.first + (options.operands ?? 0);
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
  if (name === 'xargs') rest = withInput(rest, read.given);
  return { commands: [{ words: rest, assigns }], ...(unclear && { problem }) };
}

interface ReadOptions {
  /** The index of the first operand. */
  readonly first: number;
  readonly given: readonly GivenOption[];
}

/** Returns the options of a command, or undefined if an option is unknown or contains an expansion. */
function optionsOf(words: readonly Word[], options: Options): ReadOptions | undefined {
  const optionsIn = optionReader(options);
  const given: GivenOption[] = [];
  let index = 1;
  for (; index < words.length; index++) {
    const { text, literal } = words[index]!;
    if (text === '--') return { first: index + 1, given };
    if (!/^[-+]./.test(text)) break;
    const found = literal && text.startsWith('-') && optionsIn(text, words[index + 1]?.text);
    if (!found) return undefined;
    given.push(...found);
    if (found.at(-1)!.separate) index++;
  }
  return { first: index, given };
}

/** Returns what a shell runs, or undefined if its options are unknown or it reads commands from standard input. */
function shell(words: readonly Word[]): Inner | undefined {
  let isScript = false;
  let index = 1;
  for (; /^[-+]/.test(words[index]?.text ?? ''); index++) {
    const { text, literal } = words[index]!;
    if (text === '--') {
      index++;
      break;
    }
    if (SHELL_LONG.has(text)) continue;
    // A single `-` ends the options, and `+c` means the same as `-c`. These two forms are rare and are not parsed.
    if (!literal || text === '-' || !SHELL_LETTERS.test(text)) return undefined;
    isScript ||= text.includes('c');
    if (/[oO]$/.test(text) && !isHarmlessOption(text, words[++index])) return undefined;
  }
  const operand = words[index];
  if (!operand?.literal) return undefined;
  if (isScript) return { scripts: [operand.text] };
  return isScriptFile(operand) ? {} : undefined;
}

/**
 * Returns the words that could be the script of a shell with unclear options. Rules that deny a command are checked
 * against all of them.
 */
function possibleScripts(words: readonly Word[]): string[] {
  const rest = words.slice(1).filter((word) => word.literal);
  return rest.some(({ text }) => /^[-+].*c/.test(text)) ? rest.map(({ text }) => text) : [];
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

/**
 * Returns the words of a command that xargs runs with unknown input. Xargs either replaces a text with the input, or
 * adds the input to the words. With some combinations of options, the order of the options and the version of xargs
 * decide which of these happens. The result then covers both cases. If there are several texts to replace, every word
 * is marked as not literal.
 */
function withInput(words: readonly Word[], given: readonly GivenOption[]): Word[] {
  const places = given
    .filter(({ name }) => name === '-I' || name === '--replace')
    .map(({ value }) => value ?? '{}');
  const counts = given.some(({ name }) => /^(?:-[nL]|--max-(?:args|lines))$/.test(name));
  const [place] = places;
  if (place === undefined) return [...words, ANYTHING];
  const marked = withUnknown(words, places.length > 1 ? '' : place);
  return counts || places.length > 1 ? [...marked, ANYTHING] : marked;
}

/** Returns the words. Marks the words that contain `place` as not literal. */
function withUnknown(words: readonly Word[], place: string): Word[] {
  return words.map((word) => (word.text.includes(place) ? { ...word, literal: false } : word));
}
