// The completions, tried in the shells that are installed.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { type CommandTable, defineCommand } from '../program/command.ts';
import { completionScript, describe } from './completion.ts';
import { option, toggle } from '../program/flags.ts';

const serve = defineCommand({
  about: 'Serves',
  flags: {
    port: option('N', 'The port'),
    approval: { ...option('MODE', "What isn't asked"), choices: ['ask', 'auto-edit', 'yolo'] },
    json: toggle('Print JSON.'),
  },
  examples: [],
  run: async () => 0,
});
const create = defineCommand({
  ...emptyCommand(),
  flags: { name: option('NAME', 'Name') },
});
const table: CommandTable = {
  serve: { about: "Serve the agent's tasks: over A2A", load: async () => serve },
  send: { operands: 'URL', about: 'Send', load: async () => defineCommand(emptyCommand()) },
  db: {
    operands: 'migrate|status URL',
    about: 'Database',
    load: async () => defineCommand(emptyCommand()),
  },
  keys: {
    about: 'Keys',
    load: async () =>
      Object.assign(async () => 0, {
        actions: { create: { about: 'Create a key', load: async () => create } },
      }),
  },
};

function emptyCommand() {
  return { about: '', flags: {}, examples: [], run: async () => 0 };
}

/** The words before the cursor, and what a shell offers there. */
const CASES: readonly (readonly [line: string, offered: string])[] = [
  ['parley se', 'send serve'],
  ['parley --mo', '--model'],
  ['parley serve --p', '--port'],
  ['parley serve --approval a', 'ask auto-edit'],
  ['parley serve --port 1 --js', '--json'],
  ['parley db m', 'migrate'],
  ['parley keys c', 'create'],
  ['parley keys create --n', '--name'],
];
const top = { model: option('M', 'The model') };

function isInstalled(shell: string): boolean {
  return spawnSync(shell, ['-c', 'true']).status === 0;
}

function offered(shell: string, script: string): string {
  const { stdout, stderr } = spawnSync(shell, ['-c', script], { encoding: 'utf8' });
  assert.equal(stderr, '');
  return stdout.trim().split(/\s+/).toSorted().join(' ');
}

const MISSING = 'the shell is not installed';

test(
  'bash completes commands, actions, flags and their values',
  { skip: !isInstalled('bash') && MISSING },
  async () => {
    const script = completionScript('bash', await describe(table, top));
    for (const [line, expected] of CASES) {
      const words = line.split(' ');
      const use = `COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}; _parley; echo "\${COMPREPLY[@]}"`;
      assert.equal(offered('bash', `${script}\n${use}`), expected, line);
    }
  },
);

test(
  'fish completes commands, actions, flags and their values',
  { skip: !isInstalled('fish') && MISSING },
  async () => {
    const script = completionScript('fish', await describe(table, top));
    for (const [line, expected] of CASES) {
      const use = `complete -C ${JSON.stringify(line)} | string replace -r '\\t.*' ''`;
      assert.equal(offered('fish', `${script}\n${use}`), expected, line);
    }
  },
);

test(
  'zsh completes commands, actions, flags and their values',
  { skip: !isInstalled('zsh') && MISSING },
  async () => {
    const script = completionScript('zsh', await describe(table, top));
    // In place of zsh's own functions, which need a terminal: they print the words that match the current one.
    const stubs = `
    show() { for each in "$@"; do each="\${each%%:*}"; [[ "$each" == "\${words[CURRENT]}"* ]] && print -- "$each"; done; true }
    compadd() { shift; show "$@" }
    _files() { print files }
    _describe() { local name="\${@[-1]}"; show "\${(@P)name}" }`;
    for (const [line, expected] of CASES) {
      const words = line.split(' ');
      const use = `words=(${words.join(' ')}); CURRENT=${words.length}; _parley`;
      assert.equal(offered('zsh', `${stubs}\n${script}\n${use}`), expected, line);
    }
  },
);
