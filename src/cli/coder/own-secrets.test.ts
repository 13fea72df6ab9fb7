import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { promisify } from 'node:util';

const skip = !existsSync('/proc/self/environ') && 'there is no /proc';

/** A process with secrets, which hides them and then runs a command that looks for them in all its ancestors. */
const PROGRAM = `
  const [, shellFile, secretsFile, command] = process.argv;
  const { openShell } = await import(shellFile);
  const { hideOwnSecrets } = await import(secretsFile);
  if (process.argv.includes('--hide')) hideOwnSecrets();
  await using shell = openShell({ cwd: '/' });
  const { output } = await shell.run(command, { signal: new AbortController().signal });
  const kept = [process.env.GEMINI_API_KEY, process.env.PARLEY_TOKEN, process.argv.at(-1)];
  console.log(JSON.stringify({ output, kept }));
`;
const COMMAND = String.raw`
  p=$$
  while test "$p" -gt 1; do
    cat /proc/$p/environ /proc/$p/cmdline | tr '\0' '\n'
    p=$(sed 's/.*) . \([0-9]*\) .*/\1/' /proc/$p/stat)
  done
  env`;

async function run(...flags: string[]) {
  const files = ['../../coder/shell/shell.ts', './own-secrets.ts'];
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      '--conditions=parley-source',
      '--input-type=module',
      '--eval',
      PROGRAM,
      '--',
      ...files.map((file) => new URL(file, import.meta.url).href),
      COMMAND,
      ...flags,
      '--a2a-token=ann:view:token-of-ann-equals',
      '--store',
      'postgres://ann:token-of-ann-database@db.example/parley',
      '--token',
      'token-of-ann-last',
    ],
    {
      env: {
        PATH: process.env['PATH'],
        GEMINI_API_KEY: 'secret-of-ann-key',
        HARMLESS: 'kept',
        PARLEY_TOKEN: 'secret-of-ann-token',
      },
    },
  );
  const { output, kept } = JSON.parse(stdout) as { output: string; kept: string[] };
  const found = output.match(/(?:secret|token)-of-ann-\w+/g) ?? [];
  return { found, harmless: /^HARMLESS=kept$/m.test(output), kept };
}

test(
  'a command finds no secret in the environment or the arguments of its ancestors',
  { skip },
  async () => {
    const [open, hidden] = await Promise.all([run(), run('--hide')]);
    assert.equal(new Set(open.found).size, 5, 'the command looks in the right places');
    assert.deepEqual(hidden.found, []);
    assert.equal(hidden.harmless, true, 'other variables stay');
    const kept = ['secret-of-ann-key', 'secret-of-ann-token', 'token-of-ann-last'];
    assert.deepEqual(hidden.kept, kept, 'the process itself still has them');
  },
);
