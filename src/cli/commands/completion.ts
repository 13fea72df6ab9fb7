/**
 * `parley completion SHELL`: prints the completions for a shell. They are made from the tables of commands and flags
 * that `--help` shows. The script contains everything, so that a shell does not start the program to complete a word.
 */
import { singleQuoted } from '../../base/index.ts';
import { type Command, type CommandTable, defineCommand } from '../program/command.ts';
import { usageError } from '../program/exit.ts';
import type { Flags } from '../program/flags.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** Makes the command for a table of commands, and for the flags of `parley` without a command. */
export function completionCommand(table: CommandTable, top: () => Promise<Flags>): Command {
  return defineCommand({
    operands: ['SHELL'],
    about: `Prints the completions of commands and flags for a shell: ${SHELLS.join(', ')}.`,
    flags: {},
    examples: [
      'eval "$(parley completion bash)"                                  # in ~/.bashrc',
      'eval "$(parley completion zsh)"                                   # in ~/.zshrc, after compinit',
      'parley completion fish > ~/.config/fish/completions/parley.fish',
    ],
    async run({ operands: [name = ''] }) {
      const shell = SHELLS.find((each) => each === name);
      if (shell === undefined) {
        throw usageError(`unknown shell "${name}": use one of ${SHELLS.join(', ')}`);
      }
      process.stdout.write(completionScript(shell, await describe(table, await top())));
    },
  });
}

interface Word {
  readonly word: string;
  readonly about: string;
}

interface FlagWord extends Word {
  /** Whether a value follows. */
  readonly valued: boolean;
  readonly choices: readonly string[];
}

/** The words and flags that may follow `path`, for example `['keys', 'create']` for `parley keys create`. */
interface CompletedPlace {
  readonly path: readonly string[];
  readonly words: readonly Word[];
  readonly flags: readonly FlagWord[];
}

/**
 * Describes a table of commands. The names of the commands follow the words of `path`. `flags` are the flags that may
 * follow these words without a command. Loads every command.
 */
export async function describe(
  table: CommandTable,
  flags: Flags,
  path: readonly string[] = [],
): Promise<CompletedPlace[]> {
  const words = Object.entries(table).map(([word, { about }]) => ({ word, about }));
  const places: CompletedPlace[] = [{ path, words, flags: flagWords(flags) }];
  for (const [name, entry] of Object.entries(table)) {
    const command = await entry.load();
    const inner = [...path, name];
    if (command.actions) {
      places.push(...(await describe(command.actions, {}, inner)));
      continue;
    }
    // In `list|retry URL`, for example, the first operand is the word `list` or the word `retry`.
    const [first = ''] = (entry.operands ?? '').split(' ');
    const actions = first.includes('|') ? first.split('|') : [];
    places.push({
      path: inner,
      words: actions.map((word) => ({ word, about: '' })),
      flags: flagWords(command.flags ?? {}),
    });
  }
  return places;
}

function flagWords(flags: Flags): FlagWord[] {
  const all: FlagWord[] = Object.entries(flags).map(([name, flag]) => ({
    word: `--${name}`,
    about: flag.help,
    valued: flag.type === 'string' && flag.optional !== true,
    choices: flag.choices ?? [],
  }));
  return [...all, { word: '--help', about: 'Show this help.', valued: false, choices: [] }];
}

export function completionScript(shell: Shell, places: readonly CompletedPlace[]): string {
  return { bash, zsh, fish }[shell](places);
}

/**
 * Returns the branches of a `case` statement that complete the value of a flag. The words of the command and the flag
 * select the branch. If the flag has no choices, files are completed.
 */
function valueCases(
  { path, flags }: CompletedPlace,
  offer: (choices: readonly string[]) => string,
  files: string,
): string[] {
  return flags
    .filter(({ valued }) => valued)
    .map(({ word, choices }) => {
      const action = choices.length > 0 ? offer(choices) : files;
      return `    ${singleQuoted([...path, word].join(' '))}) ${action}; return ;;`;
    });
}

/**
 * Returns the part of a loop, for bash and zsh, that adds each word of the command to `place`. Other words end the
 * loop.
 */
function placeCases(places: readonly CompletedPlace[]): string[] {
  const paths = places.map(({ path }) => path.join(' ')).filter((path) => path !== '');
  return [
    `    case "\${place:+$place }$word" in`,
    `      ${paths.map(singleQuoted).join('|')}) place="\${place:+$place }$word" ;;`,
    '      *) break ;;',
    '    esac',
  ];
}

function bash(places: readonly CompletedPlace[]): string {
  const offer = (words: readonly string[]) =>
    `COMPREPLY=($(compgen -W ${singleQuoted(words.join(' '))} -- "$current"))`;
  return [
    '# Completions of parley for bash. In ~/.bashrc: eval "$(parley completion bash)"',
    '_parley() {',
    '  local current="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" place="" word',
    '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
    ...placeCases(places),
    '  done',
    '  COMPREPLY=()',
    '  case "${place:+$place }$before" in',
    // If COMPREPLY stays empty, bash completes the names of files (`-o default`).
    ...places.flatMap((place) => valueCases(place, offer, ':')),
    '  esac',
    '  case "$place" in',
    ...places.map(
      ({ path, words, flags }) =>
        `    ${singleQuoted(path.join(' '))}) ${offer([...words, ...flags].map(({ word }) => word))} ;;`,
    ),
    '  esac',
    '}',
    'complete -o default -F _parley parley',
    '',
  ].join('\n');
}

function zsh(places: readonly CompletedPlace[]): string {
  const described = ({ word, about }: Word) =>
    singleQuoted(about === '' ? word : `${word}:${about.replaceAll('\n', ' ')}`);
  return [
    '#compdef parley',
    '# Completions of parley for zsh. In ~/.zshrc, after compinit: eval "$(parley completion zsh)"',
    '_parley() {',
    '  local place="" word before="${words[CURRENT-1]}"',
    '  local -a commands flags',
    '  for word in "${(@)words[2,CURRENT-1]}"; do',
    ...placeCases(places),
    '  done',
    '  case "${place:+$place }$before" in',
    ...places.flatMap((place) =>
      valueCases(place, (choices) => `compadd -- ${choices.join(' ')}`, '_files'),
    ),
    '  esac',
    '  case "$place" in',
    ...places.flatMap(({ path, words, flags }) => [
      `    ${singleQuoted(path.join(' '))})`,
      `      commands=(${words.map(described).join(' ')})`,
      `      flags=(${flags.map(described).join(' ')}) ;;`,
    ]),
    '  esac',
    '  if [[ "${words[CURRENT]}" == -* ]]; then',
    "    _describe -o 'flag' flags",
    '  elif (( ${#commands} )); then',
    "    _describe 'command' commands",
    '  else',
    '    _files',
    '  fi',
    '}',
    'if (( $+functions[compdef] )); then compdef _parley parley; fi',
    '',
  ].join('\n');
}

function fish(places: readonly CompletedPlace[]): string {
  const text = (each: string) => `'${each.replaceAll(/['\\]/g, String.raw`\$&`)}'`;
  const names = (places.find(({ path }) => path.length === 0)?.words ?? []).map(({ word }) => word);
  return [
    '# Completions of parley for fish: parley completion fish > ~/.config/fish/completions/parley.fish',
    ...places.flatMap(({ path, words, flags }) => {
      const seen = path.map((each) => `__fish_seen_subcommand_from ${each}`);
      const inner = words.map(({ word }) => word).join(' ');
      const none = `not __fish_seen_subcommand_from ${path.length === 0 ? names.join(' ') : inner}`;
      const here = text(seen.length > 0 ? seen.join('; and ') : none);
      const before = text([...seen, none].join('; and '));
      return [
        ...words.map(
          ({ word, about }) =>
            `complete -c parley -f -n ${before} -a ${text(word)}${about && ` -d ${text(about)}`}`,
        ),
        ...flags.map(({ word, about, valued, choices }) => {
          const values = choices.length > 0 ? ` -x -a ${text(choices.join(' '))}` : ' -r';
          const long = text(word.slice('--'.length));
          return `complete -c parley -n ${here} -l ${long}${valued ? values : ''} -d ${text(about)}`;
        }),
      ];
    }),
    '',
  ].join('\n');
}
