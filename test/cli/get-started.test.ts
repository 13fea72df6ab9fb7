// docs/get-started.md, followed by somebody who has nothing else. The packages that the page installs have their own
// tests (test/package); here `parley` and `parley-a2a` run from their sources. test/browser joins with a phone.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { readPage, root } from '../docs/page.ts';
import { folder, parley } from './support.ts';

const page = readPage('docs/get-started.md');
const bin = path.join(folder, 'bin');
mkdirSync(bin, { recursive: true });
const main = path.join(root, 'src/cli/main.ts');
writeFileSync(
  path.join(bin, 'parley'),
  `#!/bin/sh\nexec "${process.execPath}" --conditions=parley-source "${main}" "$@"\n`,
);
chmodSync(path.join(bin, 'parley'), 0o755);

const env = {
  ...process.env,
  PATH: `${bin}:${path.dirname(process.execPath)}:${process.env['PATH']}`,
  NODE_OPTIONS: '--conditions=parley-source',
  PARLEY_HOME: path.join(folder, 'data'),
  PARLEY_MODEL: 'offline',
};

function block(words: string): string {
  const found = page.blocks.find(({ text }) => text.includes(words));
  assert.ok(found, `the page has no block with ${words}`);
  return found.text;
}

/** Starts a program that stays, and waits until it prints a line with these words. */
async function started(command: string, cwd: string, words: RegExp): Promise<string[]> {
  const child = spawn('sh', ['-c', `exec ${command}`], { cwd, env });
  after(() => child.kill());
  const seen: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      seen.push(line);
      if (words.test(line)) child.emit('seen');
    });
  }
  await once(child, 'seen', { signal: AbortSignal.timeout(30_000) });
  return seen;
}

async function shell(script: string, cwd: string): Promise<string> {
  const { stdout } = await promisify(execFile)('sh', ['-ec', script], {
    cwd,
    env,
    timeout: 60_000,
  });
  return stdout;
}

test('the first prompt lists the files of the folder', async () => {
  assert.ok(block('parley -p').startsWith('parley -p "list" '));
  const { out } = await parley(['-p', 'list'], { cwd: root });
  assert.match(out, /package\.json/);
});

test('the agent and the client of the page talk to each other', async () => {
  const cwd = mkdtempSync(path.join(root, 'test/.guide-'));
  after(() => rmSync(cwd, { recursive: true, force: true }));
  const [agent, client] = [block('createAgent'), block('connect(')];
  writeFileSync(path.join(cwd, 'agent.ts'), agent.replace('4000', '0'));
  const [url = ''] = await started('node agent.ts', cwd, /^http/);
  writeFileSync(path.join(cwd, 'client.ts'), client.replace('http://localhost:4000', url));
  const commands = block('node client.ts').split('\n').slice(1).join('\n');
  const printed = await shell(commands.replace('http://localhost:4000', url), cwd);
  assert.equal(printed, 'hello there \nhello there \n');
});

test('the gateway of the page answers with a key that has a budget', async () => {
  const lines = await started(`parley gateway --port 0`, folder, /127\.0\.0\.1:\d+/);
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(lines.join('\n'))?.[0] ?? '';
  const [create = '', , ...ask] = block('parley keys create').split('\n');
  const key = /parley_\S+/.exec(await shell(create, folder))?.[0];
  assert.ok(key);
  const answer = await shell(
    `TEAM_KEY=${key}\n${ask.join('\n').replace('http://localhost:8090', url)}`,
    folder,
  );
  assert.match(answer, /"role":\s*"assistant"/);
  const budget = await shell('parley keys list --json', folder);
  assert.match(budget, /"tokens":\s*100\b/);
});
