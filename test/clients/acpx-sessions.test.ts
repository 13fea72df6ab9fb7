/** The sessions that acpx keeps in `parley acp`. Each command starts the agent again. */
import assert from 'node:assert/strict';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { makePlace } from '../coder/support.ts';
import { startProgram } from '../cli/support.ts';
import { tries } from '../support/interop-table.ts';
import { binOf, programs } from './programs.ts';

const MAIN = resolve(import.meta.dirname, '../../src/cli/main.ts');
const PEER = { protocol: 'ACP', peer: 'acpx 0.19.1', role: 'client' } as const;

test('acpx prompts in a session that it opened before, lists it, and sets its model and mode', async (t) => {
  for (const operation of ['sessions', 'model']) tries(t, { ...PEER, operation });
  const { workspace, home } = makePlace(t);
  const agent = [process.execPath, '--conditions=parley-source', MAIN, 'acp'].join(' ');
  const env = { HOME: home, PARLEY_HOME: join(home, 'data') };
  const acpx = async (...args: readonly string[]): Promise<string> => {
    const flags = ['--agent', agent, '--cwd', workspace, '--ttl', '1', '--approve-all'];
    const program = binOf(programs.acpx, 'acpx');
    const { code, out, err } = await startProgram(program, [...flags, ...args], { env }).ended;
    // acpx's background process of the last command may be about to exit.
    if (err.includes('Queue owner is shutting down')) return acpx(...args);
    assert.equal(code, 0, err);
    return out;
  };
  const [, sessionId = ''] = /^(\S+)/.exec(await acpx('sessions', 'new')) ?? [];
  // The agent has exited, and the session has no prompt.
  assert.match(await acpx('prompt', 'list'), /Content of this folder/);
  assert.match(
    await acpx('sessions', 'list'),
    new RegExp(`^${sessionId}\tlist\t${workspace}\t`, 'm'),
  );
  assert.match(await acpx('set', 'model', 'offline'), /model set: offline/);
  assert.match(await acpx('set-mode', 'plan'), /mode set: plan/);
  assert.match(await acpx('prompt', '/approval'), /The approval mode is plan/);
});
