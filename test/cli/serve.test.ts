import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { connect } from '../../src/client/index.ts';
import { assertRefused, folder, lines, parley, serving, start } from './support.ts';

const manifest = await import('../../package.json', { with: { type: 'json' } });

function file(name: string, text: string): string {
  const place = path.join(folder, name);
  mkdirSync(path.dirname(place), { recursive: true });
  writeFileSync(place, text);
  return place;
}

/** A data folder of its own, for a store that others must not hold. */
function home(name: string): { env: { PARLEY_HOME: string } } {
  return { env: { PARLEY_HOME: path.join(folder, name) } };
}

describe('parley serve', { concurrency: 3 }, () => {
  test('with --json the ready line is the object of the contract', async () => {
    const server = await serving(['disk'], home('ready'));
    const { ready, url, port, pid, store, version } = server;
    assert.deepEqual(
      { ready, url, port, pid, store, version },
      {
        ready: true,
        url: `http://127.0.0.1:${port}`,
        port,
        pid: server.child.pid,
        store: 'sqlite',
        version: manifest.default.version,
      },
    );
    assert.equal((await server.stop()).out.split('\n').length, 2);
  });

  test('a collector gets a span for each execution', async () => {
    const received: string[] = [];
    const collector = createServer((request, response) => {
      void text(request).then((body) => received.push(`${request.url} ${body}`));
      response.end('{}');
    }).listen(0, '127.0.0.1');
    await once(collector, 'listening');
    const { port } = collector.address() as AddressInfo;
    const server = await serving(['--agent', 'echo'], {
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` },
    });
    await (await connect(server.url)).send('a secret');
    await server.stop();
    collector.close();
    assert.match(received.join('\n'), /^\/v1\/traces .*"invoke_agent Echo"/);
    assert.doesNotMatch(received.join('\n'), /a secret/);
  });

  test('--only-version speaks one version alone, and the card says nothing of the other', async () => {
    const { url } = await serving(['--only-version', '1.0']);
    const card = (await (await fetch(`${url}/.well-known/agent-card.json`)).json()) as object;
    assert.ok('supportedInterfaces' in card && !('url' in card) && !('protocolVersion' in card));
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tasks/get',
      params: { id: 'x' },
    });
    const headers = { 'content-type': 'application/json', 'a2a-version': '0.3' };
    const answer = await fetch(url, { method: 'POST', headers, body });
    assert.match(await answer.text(), /-32009/);
    assertRefused(await parley(['serve', '--only-version', '0.2']), 2, /0\.3 or 1\.0/);
  });

  test('without --json the ready line is one line with the address, and without colours', async () => {
    const running = start(['serve', '--agent', 'echo', '--port', '0', '--store', 'memory']);
    await running.saying(/\n/);
    running.child.kill('SIGTERM');
    const { code, out, err } = await running.ended;
    assert.match(out, /^Echo is ready at http:\/\/127\.0\.0\.1:\d+ .*\n$/);
    assert.deepEqual({ code, err }, { code: 0, err: '' });
  });

  test('variables do instead of flags', async () => {
    const running = start(['serve'], {
      env: {
        PARLEY_AGENT: 'echo',
        PARLEY_PORT: '0',
        PARLEY_STORE: 'memory',
        PARLEY_JSON: '1',
        PARLEY_TOKEN: 's3cret',
      },
    });
    await running.saying(/\n/);
    running.child.kill('SIGINT');
    const { code, out } = await running.ended;
    assert.equal(code, 130);
    const [ready] = lines(out);
    assert.deepEqual([ready?.['ready'], ready?.['store']], [true, 'memory']);
  });

  test('a flag wins over its variable', async () => {
    const server = await serving(['--agent', 'bench'], { env: { PARLEY_AGENT: 'echo' } });
    const agent = await connect(server.url);
    assert.equal(agent.card.name, 'Bench');
    await server.stop();
  });

  test('--token: who has none is refused with 401, who has it is served', async () => {
    const server = await serving(['--agent', 'echo', '--token', 's3cret']);
    const [without, wrong, right, short, both, fromServer] = await Promise.all([
      parley(['send', server.url, 'hi']),
      parley(['send', server.url, 'hi', '--header', 'Authorization: Bearer other']),
      parley(['send', server.url, 'hi', '--header', 'Authorization: Bearer s3cret']),
      parley(['send', server.url, 'hi', '--token', 's3cret']),
      parley([
        'send',
        server.url,
        'hi',
        '--token',
        'x',
        '--header',
        'Authorization: Bearer s3cret',
      ]),
      parley(['send', server.url, 'hi'], { env: { PARLEY_TOKEN: 's3cret' } }),
    ]);
    assert.deepEqual([short.code, short.out], [0, 'hi\n']);
    assertRefused(both, 2, /use either --token or --header Authorization/);
    assert.equal(fromServer.code, 1, "the server's own token is not sent anywhere");
    assertRefused(without, 1, /\(-31401\): add credentials with --token T/);
    assertRefused(wrong, 1, /-31401/);
    assert.deepEqual([right.code, right.out], [0, 'hi\n']);
    const plain = await fetch(server.url, { method: 'POST', body: '{}' });
    assert.equal(plain.status, 401);
    await server.stop();
  });

  test('--keys: users do not see the tasks of each other', async () => {
    const keys = file('keys.txt', '# people\n\nann:token-a\nbob: token-b\n');
    const server = await serving(['--agent', 'echo', '--keys', keys]);
    const [ann, bob] = await Promise.all(
      ['token-a', 'token-b'].map((token) =>
        connect(server.url, { headers: { authorization: `Bearer ${token}` } }),
      ),
    );
    assert.ok(ann && bob);
    const task = await ann.send('mine');
    assert.ok(task.kind === 'task');
    assert.equal((await ann.list()).tasks.length, 1);
    assert.equal((await bob.list()).tasks.length, 0);
    await assert.rejects(bob.get(task.id), { kind: 'taskNotFound' });
    await assert.rejects(
      connect(server.url).then((nobody) => nobody.get(task.id)),
      {
        kind: 'unauthenticated',
      },
    );
    await server.stop();
  });

  test('--keys with a line that is none: one line that says which, and exit code 2', async () => {
    const keys = file('bad-keys.txt', 'ann:a\nbob\n');
    assertRefused(await parley(['serve', '--keys', keys]), 2, /line 2: the format is NAME:TOKEN/);
  });

  test('--public-url is what the card says', async () => {
    const server = await serving(['--public-url', 'https://agent.example/a/']);
    const port = `http://127.0.0.1:${server.port}`;
    const response = await fetch(`${port}/.well-known/agent-card.json`);
    const card = (await response.json()) as { url: string };
    assert.equal(card.url, 'https://agent.example/a');
    await server.stop();
  });

  test('--require-extension: a request that does not name it is refused with -32008', async () => {
    const server = await serving(['--agent', 'echo', '--require-extension']);
    const agent = await connect(server.url);
    const [extension] = agent.card.capabilities.extensions ?? [];
    assert.equal(extension?.required, true);
    const [without, named] = await Promise.all([
      parley(['send', server.url, 'hi']),
      parley(['send', server.url, 'hi', '--extension', extension.uri]),
    ]);
    assertRefused(without, 1, /\(-32008\): add --extension/);
    assert.deepEqual([named.code, named.out], [0, 'hi\n']);
    await server.stop();
  });

  test('--max-task-bytes: a task that outgrows it in memory fails', async () => {
    const server = await serving(['--agent', 'bench', '--max-task-bytes', '10000']);
    const ended = await parley(['send', server.url, 'task 100 1000']);
    assertRefused(ended, 1, /the task failed: The task exceeded the limit of 10000 bytes/);
    await server.stop();
  });

  test('the store of an agent survives a restart, and what was interrupted says so', async () => {
    const { env } = home('restart');
    const first = await serving(['--agent', 'bench', 'disk'], { env });
    const agent = await connect(first.url);
    const done = await agent.send('task 5');
    const stream = agent.stream('hold');
    for await (const { event } of stream) if (event.kind === 'status-update') break;
    assert.ok(done.kind === 'task' && stream.task);
    await first.stop('SIGKILL');

    const second = await serving(['--agent', 'bench', 'disk'], { env });
    const again = await connect(second.url);
    assert.deepEqual(await again.get(done.id), done);
    const held = await again.get(stream.task.id);
    assert.equal(held.status.state, 'failed');
    await second.stop();
  });

  test('a store that another parley holds: one line with the way out, and exit code 2', async () => {
    const { env } = home('held');
    const first = await serving(['--agent', 'echo', 'disk'], { env });
    const ended = await parley(['serve', '--agent', 'echo', '--port', '0'], { env });
    assertRefused(ended, 2, /echo\.db is in use by another process: .*--store memory/);
    await first.stop();
  });

  test('SIGTERM: what is being done is finished, and the exit code is 0', async () => {
    const server = await serving(['--agent', 'bench']);
    const agent = await connect(server.url);
    const stream = agent.stream('task 20 16 20');
    let count = 0;
    for await (const _ of stream) if (++count === 3) server.child.kill('SIGTERM');
    assert.deepEqual([count, stream.task?.status.state], [20, 'completed']);
    const { code, err } = await server.ended;
    assert.deepEqual({ code, err }, { code: 0, err: '' });
  });

  test('a second signal does not wait', async () => {
    const server = await serving(['--agent', 'bench']);
    const agent = await connect(server.url);
    for await (const { event } of agent.stream('hold')) if (event.kind === 'status-update') break;
    server.child.kill('SIGTERM');
    // The listener is closed as soon as the first signal has been taken.
    for (;;) {
      const refused = await fetch(server.url, { headers: { connection: 'close' } }).then(
        () => false,
        () => true,
      );
      if (refused) break;
    }
    const { code } = await server.stop('SIGINT');
    assert.equal(code, 130);
  });

  test('an agent of a file, which need not have parley-a2a installed', async () => {
    const name = file(
      'agents/loud.ts',
      `import { createAgent } from 'parley-a2a/server';
       const name: string = 'Loud';
       export default createAgent({ name, description: 'Shouts' }, async function* ({ text }) {
         yield text.toUpperCase();
       });`,
    );
    const server = await serving(['--agent', './loud.ts', 'disk'], {
      cwd: path.dirname(name),
      ...home('file'),
    });
    const { code, out } = await parley(['send', server.url, 'hello']);
    assert.deepEqual({ code, out }, { code: 0, out: 'HELLO\n' });
    await server.stop();
  });

  test('an executor under the name `agent`, whose failure is in the log and not at the peer', async () => {
    const name = file(
      'agents/broken.js',
      `export const agent = {
         profile: { name: 'Broken', description: 'Fails' },
         async *execute() { throw new Error('the cellar is flooded'); },
       };`,
    );
    const server = await serving(['--agent', name]);
    const sent = await parley(['send', server.url, 'hello']);
    assertRefused(sent, 1, /the task failed: The agent failed\. Correlation id: /);
    assert.equal(sent.out, '');
    assert.doesNotMatch(sent.err, /cellar/);
    const [line] = lines((await server.stop()).err);
    assert.equal(line?.['level'], 50);
    assert.match(JSON.stringify(line), /the cellar is flooded/);
  });

  const bad: [sentence: string, text: string, says: RegExp][] = [
    [
      'exports no agent',
      'export default 1;',
      /exports a number, which is not an agent: it should export default/,
    ],
    ['has a slip', 'export default (;', /cannot load .*SyntaxError/],
    ['throws', 'throw new Error("no\\nluck")', /cannot load .*: no luck/],
    ['lacks a package', "import 'parley-a2a/none'", /cannot load .*none/],
  ];
  for (const [sentence, text, says] of bad) {
    test(`a file that ${sentence}: one line and exit code 2`, async () => {
      const name = file(`agents/${sentence.replaceAll(' ', '-')}.js`, text);
      assertRefused(await parley(['serve', '--agent', name]), 2, says);
    });
  }

  test('PARLEY_LOG_LEVEL decides what is logged', async () => {
    const env = { PARLEY_LOG_LEVEL: 'info' };
    const server = await serving(['--token', 's3cret'], { env });
    const { err } = await server.stop();
    assert.match(err, /"msg":"ready"/);
    assert.doesNotMatch(err, /s3cret/);
    const ended = await parley(['serve'], { env: { PARLEY_LOG_LEVEL: 'loud' } });
    assertRefused(ended, 2, /PARLEY_LOG_LEVEL=loud is invalid/);
  });
});
