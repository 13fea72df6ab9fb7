// The README's own code, run as it stands there.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const root = path.join(import.meta.dirname, '..');
const readme = readFileSync(path.join(root, 'README.md'), 'utf8');
const samples = [...readme.matchAll(/```ts\n(.*?)```/gs)].map((match) => match[1]!);

/** Runs a module inside the repository, where `parley-a2a/…` is this package, and gives what it printed. */
async function run(code: string): Promise<string> {
  const folder = mkdtempSync(path.join(root, 'test', '.readme-'));
  try {
    const file = path.join(folder, 'sample.ts');
    writeFileSync(file, code);
    const child = spawn(process.execPath, ['--conditions=parley-source', file], {
      stdio: ['ignore', 'pipe', 'inherit'],
      // Whatever keys this machine has, no vendor is asked.
      env: { ...process.env, PARLEY_MODEL: 'offline' },
      timeout: 30_000,
    });
    let printed = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
    const [exitCode] = await once(child, 'close');
    assert.equal(exitCode, 0);
    return printed;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The sample with a free port where it names one. */
function onFreePort(code: string): string {
  return code.replace(
    /await serve\((.+)\)\.listen\(4000\);/,
    'const { url } = await serve($1).listen();',
  );
}

test('the agent and the client of the first screen talk to each other', async () => {
  const [agent = '', client = ''] = samples;
  assert.ok(agent.includes('createAgent') && client.includes('connect'));
  const talk = client.replace("'http://localhost:4000'", 'url');
  assert.equal(await run(`${onFreePort(agent)}\n${talk}\nprocess.exit();`), 'hello there \n');
});

test('the agent that asks back gets its answer', async () => {
  const trip = samples.find((sample) => sample.includes('ctx.ask')) ?? '';
  assert.ok(trip.includes('export default createAgent('));
  const code = `
    import { connect } from 'parley-a2a/client';
    import { serve } from 'parley-a2a/server';
    ${trip.replace('export default', 'const trip =')}
    const { url } = await serve(trip).listen();
    const agent = await connect(url);
    const asked = await agent.send('a trip');
    console.log(asked.status.state);
    console.log(await agent.send('Paris', { taskId: asked.id }).text());
    process.exit();`;
  assert.equal(await run(code), 'input-required\nOff to Paris!\n');
});

test('the ten lines of the agent with a model are ten, and a remote agent of that address uses it', async () => {
  const local = samples.find((sample) => sample.includes('llmAgent')) ?? '';
  const remote = samples.find((sample) => sample.includes('remoteAgent')) ?? '';
  assert.ok(local.split('\n').filter((line) => line !== '').length <= 10);
  assert.ok(remote.includes("url: 'http://localhost:4000'"));
  const use = remote
    .replace("url: 'http://localhost:4000'", 'url')
    .replaceAll('weather =', 'far =');
  const code = `${onFreePort(local)}\n${use.replace('agent: weather', 'agent: far')}\nprocess.exit();`;
  assert.equal(await run(code), 'get_weather returned:\nIt is sunny in Paris\n');
});
