// `parley gateway` as a real process.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { describe, test } from 'node:test';
import { connect } from '../../src/client/index.ts';
import { data } from '../support/vendors/server.ts';
import { assertRefused, folder, lines, parley, serving, start, type Running } from './support.ts';
import { WAIT_MS } from '../support/within.ts';

const root = path.resolve(import.meta.dirname, '../..');

interface Ready {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly store: string;
  readonly version: string;
  readonly key?: string;
}

interface Gateway extends Running, Ready {
  /** A request with the key. */
  call(route: string, init?: { readonly body?: unknown; readonly key?: string }): Promise<Response>;
}

let homes = 0;
function home(): { env: { readonly PARLEY_HOME: string; readonly [name: string]: string } } {
  return { env: { PARLEY_HOME: path.join(folder, `gateway-${(homes += 1)}`) } };
}

function config(name: string, value: unknown): string {
  const file = path.join(folder, name);
  writeFileSync(file, typeof value === 'string' ? value : JSON.stringify(value), { mode: 0o600 });
  return file;
}

/** On a free port, in a data folder of its own unless told. */
async function gateway(args: readonly string[], options = home()): Promise<Gateway> {
  const running = start(['gateway', '--port', '0', '--json', ...args], options);
  const [line] = await running.saying(/.*\n/);
  const ready = JSON.parse(line) as Ready;
  return {
    ...running,
    ...ready,
    call: (route, { body, key = ready.key } = {}) =>
      fetch(`${ready.url}${route}`, {
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
      }),
  };
}

function message(text: string, metadata: object = {}): object {
  return { message: { role: 'user', content: text }, metadata };
}

async function stop({ child, ended }: Running): Promise<void> {
  child.kill('SIGTERM');
  assert.equal((await ended).code, 0);
}

/** Again and again until it is so; each try is a request. */
async function until(check: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + WAIT_MS;
  while (!(await check())) assert.ok(performance.now() < end, `never: ${String(check)}`);
}

/** A model that says one word, and the other when it is told. */
async function heldVendor() {
  const chunk = (content: string, finish_reason: string | null = null) =>
    data({
      id: 'c',
      object: 'chat.completion.chunk',
      created: 0,
      model: 'm',
      choices: [{ index: 0, delta: { content }, finish_reason }],
    });
  const held = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(chunk('one '));
    void held.promise.then(() => response.end(`${chunk('two', 'stop')}data: [DONE]\n\n`));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    release: held.resolve,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

describe('parley gateway', { concurrency: 2 }, () => {
  test('the first start makes a key and says it in the ready line; the second has none to say', async () => {
    const options = home();
    const first = await gateway([], options);
    const { url, port, pid, store, key } = first;
    assert.deepEqual([url, pid, store], [`http://127.0.0.1:${port}`, first.child.pid, 'sqlite']);
    assert.ok(key);
    const sent = await first.call('/a2a/tasks/send', { body: message('Hello') });
    assert.equal(sent.status, 200);
    assert.equal((await fetch(`${url}/a2a/tasks/x`)).status, 401);
    await stop(first);

    const second = await gateway([], options);
    assert.ok(!('key' in second) || second.key === undefined);
    assert.equal((await second.call('/a2a/tasks/none', { key })).status, 404);
    await stop(second);
  });

  test('keys that were made under another PARLEY_SECRET_KEY are told of', async () => {
    const options = home();
    await stop(await gateway([], options));
    const other = await gateway([], {
      env: { ...options.env, PARLEY_SECRET_KEY: 'correct horse' },
    });
    await other.saying(/a key in this register was created with another PARLEY_SECRET_KEY/, 'err');
    await stop(other);
  });

  test('without --json standard output has one line, and standard error the key with its use', async () => {
    const running = start(['gateway', '--port', '0', '--store', 'memory'], home());
    const [, key] = await running.saying(/^ {4}(\S+)\n/m, 'err');
    await running.saying(/\n/);
    running.child.kill('SIGTERM');
    const { code, out, err } = await running.ended;
    assert.match(out, /^Parley gateway is ready at http:\/\/127\.0\.0\.1:\d+ .*\n$/);
    assert.equal(code, 0);
    assert.ok(key && err.includes(`Authorization: Bearer ${key}`));
    assert.match(err, /shown only once/);
  });

  test('off loopback without a key it is refused, and with one it is served', async () => {
    const options = home();
    const args = ['gateway', '--host', '0.0.0.0', '--port', '0', '--json'];
    const [disk, memory] = await Promise.all([
      parley(args, options),
      parley([...args, '--store', 'memory'], options),
    ]);
    assertRefused(disk, 2, /no key yet: create one with parley keys create/);
    assertRefused(memory, 2, /no key yet: keys cannot be created in advance for --store memory/);
    const made = await parley(['keys', 'create', '--name', 'x', '--json'], options);
    assert.equal(made.code, 0, made.err);
    const running = await gateway(['--host', '0.0.0.0'], options);
    assert.equal(running.key, undefined);
    await stop(running);
  });

  test('an unknown flag, a wrong port and a port in use: one line and exit code 2', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const [flag, wrong, taken] = await Promise.all([
      parley(['gateway', '--confg', 'x'], home()),
      parley(['gateway', '--port', 'x'], home()),
      parley(['gateway', '--port', String(port), '--store', 'memory'], home()),
    ]);
    other.close();
    assertRefused(flag, 2, /unknown flag --confg: did you mean --config\?/);
    assertRefused(wrong, 2, /--port x: use a whole number/);
    assertRefused(taken, 2, new RegExp(`port ${port} is in use`));
  });
});

describe('parley gateway --check', { concurrency: 2 }, () => {
  test('a good configuration is summed up, and no data folder is made', async () => {
    const file = config(
      'good.json',
      `{
      // two places
      "providers": {
        "east": { "type": "openai", "apiKey": "\${EAST_KEY}", "models": ["big"] },
        "spare": { "type": "offline" }
      },
      "models": { "fast": { "routes": [{ "provider": "east", "model": "big" }, { "provider": "spare" }] } },
      "agents": { "travel": { "url": "http://127.0.0.1:9" } },
      "defaultModel": "fast"
    }`,
    );
    const { env } = home();
    const options = { env: { ...env, EAST_KEY: 'k' } };
    const [plain, json] = await Promise.all([
      parley(['gateway', '--config', file, '--check'], options),
      parley(['gateway', '--config', file, '--check', '--json'], options),
    ]);
    assert.deepEqual([plain.code, plain.err], [0, '']);
    for (const part of [/east \(openai\)/, /fast → east \| spare/, /travel at http/, /EAST_KEY/]) {
      assert.match(plain.out, part);
    }
    const [checked] = lines(json.out);
    assert.deepEqual(checked, {
      ok: true,
      file,
      providers: ['east', 'spare'],
      models: ['fast'],
      agents: ['travel'],
      variables: ['EAST_KEY'],
      warnings: [],
    });
    assert.ok(!existsSync(env.PARLEY_HOME));
  });

  test('a bad one has a line for each thing that is wrong, and exit code 2', async () => {
    const file = config(
      'bad.json',
      '{\n "providers": { "east": { "type": "openay" } },\n "agent": {}\n}',
    );
    const { code, out, err } = await parley(['gateway', '--config', file, '--check'], home());
    assert.deepEqual([code, out], [2, '']);
    const [one, two, ...rest] = err.trimEnd().split('\n');
    assert.match(one ?? '', /bad\.json:2: providers\.east\.type: /);
    assert.match(two ?? '', /bad\.json:3: agent: there is no such setting/);
    assert.deepEqual(rest, []);
    const started = await parley(['gateway', '--config', file, '--port', '0'], home());
    assert.deepEqual([started.code, started.out, started.err], [2, '', err]);
    const warned = config('warned.json', { providers: { e: { type: 'openai' } }, agent: {} });
    const checked = await parley(['gateway', '--config', warned, '--check'], home());
    assert.equal(checked.code, 2);
    assert.match(checked.err, /agent: there is no such setting/);
    assert.match(
      checked.err,
      /warning: .*providers\.e has no apiKey, and OPENAI_API_KEY is not set/,
    );
  });

  test("a vendor's address in the environment that is none is one line, with a file or without", async () => {
    const env = { ...home().env, OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'nowhere' };
    const file = config('empty.json', {});
    const starts = [[], ['--config', file], ['--config', file, '--check']];
    for (const args of starts) {
      const refused = await parley(['gateway', '--port', '0', ...args], { env });
      assertRefused(
        refused,
        2,
        /^parley: OPENAI_BASE_URL is not a valid address: set it to an address such as/,
      );
    }
  });

  test('a file that is not there, and no file at all', async () => {
    const [none, unnamed] = await Promise.all([
      parley(['gateway', '--config', 'none.json', '--check'], home()),
      parley(['gateway', '--check'], home()),
    ]);
    assertRefused(none, 2, /none\.json: no such file/);
    assertRefused(unnamed, 2, /add --config FILE/);
  });
});

describe('the signals of parley gateway', { concurrency: 2 }, () => {
  test('SIGHUP takes a new configuration over while a stream goes on, and a bad one not', async () => {
    const bench = await serving(['--agent', 'bench']);
    const agents = { slow: { url: bench.url } };
    const file = config('reload.json', { agents });
    const running = await gateway(['--config', file], {
      env: { ...home().env, PARLEY_LOG_LEVEL: 'info' },
    });
    const headers = { authorization: `Bearer ${running.key}` };
    const slow = await connect(`${running.url}/agents/slow`, { headers });
    const stream = slow.stream('hold');
    const events = stream[Symbol.asyncIterator]();
    let first = await events.next();
    while (!first.done && first.value.event.kind !== 'status-update') first = await events.next();

    config('reload.json', {
      agents: { ...agents, second: { url: bench.url } },
      providers: { spare: { type: 'offline' } },
      models: { extra: { provider: 'spare' } },
      cors: ['https://app.example'],
    });
    assert.equal((await running.call('/a2a/agents/second')).status, 404);
    running.child.kill('SIGHUP');
    await running.saying(/configuration reloaded/, 'err');
    await running.saying(/"fields":\["cors"\],"msg":"these fields take effect only after/, 'err');
    assert.equal((await running.call('/a2a/agents/second')).status, 200);
    const extra = await running.call('/a2a/tasks/send', {
      body: message('Hello', { model: 'extra' }),
    });
    assert.equal(extra.status, 200, await extra.text());

    config('reload.json', '{ "agents": ');
    running.child.kill('SIGHUP');
    const [bad] = await running.saying(/.*the old one stays in effect.*/, 'err');
    assert.match(bad, /reload\.json:1: a value is expected/);
    const still = await running.call('/a2a/tasks/send', {
      body: message('Hello', { model: 'extra' }),
    });
    assert.equal(still.status, 200);

    assert.ok(stream.task);
    await slow.cancel(stream.task.id);
    let last = first;
    while (!last.done) last = await events.next();
    assert.equal(stream.task.status.state, 'canceled');
    await stop(running);
    await bench.stop();
  });

  const underWay = {
    'a task': [
      '/a2a/tasks/sendSubscribe',
      message('Hello', { model: 'slow' }),
      /"type":"completed"/,
    ],
    "an answer for a client of OpenAI's": [
      '/v1/chat/completions',
      { model: 'slow', messages: [{ role: 'user', content: 'Hello' }], stream: true },
      /\[DONE\]/,
    ],
  } as const;
  for (const [what, [route, body, end]] of Object.entries(underWay)) {
    test(`SIGTERM: not ready from then on, and ${what} that is under way is finished`, async () => {
      await using vendor = await heldVendor();
      const provider = { type: 'openai-compatible', baseUrl: `${vendor.url}/v1`, apiKey: 'k' };
      const file = config('drain.json', {
        providers: { held: provider },
        models: { slow: { provider: 'held' } },
      });
      const running = await gateway(['--config', file]);
      const answer = await running.call(route, { body });
      assert.ok(answer.body);
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let seen = '';
      while (!seen.includes('one')) seen += (await reader.read()).value ?? '';
      assert.equal((await fetch(`${running.url}/readyz`)).status, 200);
      running.child.kill('SIGTERM');
      await until(async () => {
        const { status } = await fetch(`${running.url}/readyz`);
        return status === 503;
      });
      assert.equal((await fetch(`${running.url}/healthz`)).status, 200);
      vendor.release();
      for (let next = await reader.read(); !next.done; next = await reader.read())
        seen += next.value;
      assert.match(seen, end);
      assert.equal((await running.ended).code, 0);
    });
  }
});

/** `npm start` with these arguments: what it says when it is ready, and how it ends on SIGTERM. */
async function npmStart(...args: string[]) {
  const own = ['--port', '0', '--json', '--store', 'memory'];
  const child = spawn('npm', ['start', '--silent', '--', ...args, ...own], {
    cwd: root,
    env: { ...process.env, ...home().env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  while (!out.includes('\n')) await once(child.stdout, 'data');
  const { url, pid, key } = JSON.parse(out) as Ready;
  const card = (await (await fetch(`${url}/.well-known/agent-card.json`)).json()) as object;
  process.kill(pid, 'SIGTERM');
  const [code] = await ended;
  return { key, card: card as { readonly name: string }, code };
}

test('--retention removes finished tasks, whatever the configuration says', async () => {
  const tasks = { sweepSeconds: 1, retentionDays: 365, retentionBytes: 1e12 };
  const file = config('retention.json', { tasks });
  const args = ['--store', 'memory', '--retention', '1KB', '--config', file];
  const running = await gateway(args);
  const sent = await running.call('/a2a/tasks/send', { body: message('x'.repeat(2000)) });
  const { task } = (await sent.json()) as { task: { id: string } };
  await until(async () => (await running.call(`/a2a/tasks/${task.id}`)).status === 404);
  await stop(running);
});

test('npm start takes a command, and serves without one', async () => {
  const gatewayStart = await npmStart('gateway');
  assert.equal(gatewayStart.card.name, 'Parley Gateway');
  assert.ok(gatewayStart.key);
  const serveStart = await npmStart('--agent', 'echo');
  assert.equal(serveStart.card.name, 'Echo');
  assert.deepEqual([gatewayStart.code, serveStart.code], [0, 0]);
});
