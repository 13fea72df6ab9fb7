// What docs/gateway.md shows, pasted: its commands against a real gateway with a free port, its configuration checked.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { SCOPES } from '../../src/gateway/api/caller.ts';
import { TasksConfig } from '../../src/gateway/tasks/config.ts';
import { DEFAULT_RETENTION } from '../../src/tasks/index.ts';
import { folder, parley, serving, start } from './support.ts';

const root = path.resolve(import.meta.dirname, '../..');
const guide = readFileSync(path.join(root, 'docs/gateway.md'), 'utf8');
const main = path.join(root, 'src/cli/main.ts');

/** The blocks of one language under a heading. */
function blocks(heading: string, language: string): string[] {
  const section = guide.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? '';
  const fence = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms');
  return [...section.matchAll(fence)].map(([, text = '']) => text);
}

async function gateway(...args: string[]) {
  // A home of its own, so that the gateway creates its first key.
  const env = { PARLEY_HOME: mkdtempSync(path.join(folder, 'guide-')) };
  const running = start(['gateway', '--port', '0', '--json', ...args], { env });
  const [line] = await running.saying(/.*\n/);
  const { port, key } = JSON.parse(line) as { port: number; key: string };
  return {
    async stop() {
      running.child.kill('SIGTERM');
      await running.ended;
    },
    /** Runs it as a shell would, in the order of the page; a request that fails ends it. */
    async paste(script: string): Promise<string> {
      const given = script
        .replace(/^ADMIN_KEY=.*$/m, `ADMIN_KEY=${key}`)
        .replaceAll('http://localhost:8090', `http://127.0.0.1:${port}`);
      const shell = `set -eu; ADMIN_KEY=${key}
        curl() { command curl --silent --show-error --fail-with-body "$@"; echo; }
        parley() { '${process.execPath}' --conditions=parley-source '${main}' "$@"; }
        ${given}`;
      const { stdout } = await promisify(execFile)('bash', ['-c', shell], {
        env: { ...process.env, ...env },
        timeout: 60_000,
      });
      return stdout;
    },
  };
}

test('the first steps, pasted', async () => {
  const running = await gateway();
  const [, use = ''] = blocks('First steps', 'sh');
  const [card = ''] = blocks('Model cards', 'sh');
  const said = await running.paste(use);
  assert.match(said, /"chat-completion"/);
  assert.match(said, /"sessionId":"session-123"/);
  assert.match(said, /"type":"completed"/);
  assert.match(said, /\nYou said: "Hello, agent!"/);
  assert.match(await running.paste(card), /"cost":\{"amount":0\.\d+,"currency":"USD"\}/);
  await running.stop();
});

test('keys, usage and the skill, pasted', async () => {
  const running = await gateway();
  const [keys = ''] = blocks('Keys', 'sh');
  const made = await running.paste('parley keys create --name own --json');
  const id = /"id": *"([^"]+)"/.exec(made)?.[1] ?? '';
  const said = await running.paste(keys.replace(/\bID\b/g, id));
  assert.match(said, / ci\n/);
  assert.match(await running.paste('parley keys list'), /revoked +.*own/);
  const [skill = ''] = blocks('The skill chat-completion', 'sh');
  assert.match(await running.paste(skill), /TASK_STATE_COMPLETED/);
  const [usage = ''] = blocks('Usage', 'sh');
  assert.match(await running.paste(usage), /"calls":1/);
  await running.stop();
});

test('the configuration that it shows has nothing wrong', async () => {
  const [text = ''] = blocks('The configuration', 'jsonc');
  const file = path.join(folder, 'gateway.json');
  writeFileSync(file, text);
  const env = { OPENAI_API_KEY: 'k', TRAVEL_TOKEN: 't' };
  const checked = await parley(['gateway', '--config', file, '--check', '--json'], { env });
  assert.deepEqual(checked.err, '');
  const { ok, warnings } = JSON.parse(checked.out) as { ok: boolean; warnings: string[] };
  assert.deepEqual({ ok, warnings }, { ok: true, warnings: [] });
});

test('an agent behind the gateway, pasted', async () => {
  const echo = await serving(['--agent', 'echo']);
  const [script = ''] = blocks('Agents', 'sh');
  const shown = /\{ "agents": .*\}/.exec(script)?.[0] ?? '';
  const file = path.join(folder, 'agents.json');
  writeFileSync(file, shown.replace('http://127.0.0.1:4000', echo.url));
  const running = await gateway('--config', file);
  const said = await running.paste(script.split('\n\n')[1] ?? '');
  assert.match(said, /^Hello\n/);
  assert.match(said, /"path":"\/agents\/echo"/);
  await running.stop();
  await echo.stop();
});

test('every scope that there is has its place in the table', () => {
  for (const scope of SCOPES) assert.ok(guide.includes(`\`${scope}\``), scope);
});

test('every setting of tasks is on the page, with its default', () => {
  const [, table = ''] = /^### Lifetime of tasks\n(.*?)^##/ms.exec(guide) ?? [];
  const { maxBytes: retentionBytes } = DEFAULT_RETENTION;
  const defaults: Readonly<Record<string, number | undefined>> = {
    ...TasksConfig.parse({}),
    retentionBytes,
  };
  for (const name of Object.keys(TasksConfig.shape)) {
    const [, value = ''] =
      new RegExp(`^\\| \`${name}\` \\|.*\\| ([^|]*) \\|$`, 'm').exec(table) ?? [];
    const known = defaults[name];
    assert.equal(value.replaceAll(',', '').split(' ')[0], String(known ?? 'unlimited'), name);
  }
});
