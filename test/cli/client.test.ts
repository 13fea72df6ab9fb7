import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { connect } from '../../src/client/index.ts';
import { v1 } from '../../src/protocol/index.ts';
import { cardOf, reply, sendJson as answerJson, startPeer } from '../client/peer.ts';
import { assertRefused, folder, lines, parley, type Served, serving, start } from './support.ts';

/** A file with a new key of our own kind. */
function keyFile(name: string): string {
  const file = path.join(folder, name);
  const { privateKey } = generateKeyPairSync('ed25519');
  writeFileSync(file, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  return file;
}

let echo: Served;
let bench: Served;
let conformance: Served;

before(async () => {
  [echo, bench, conformance] = await Promise.all([
    serving(['--agent', 'echo', '--sign-key', keyFile('echo.pem')]),
    serving(['--agent', 'bench']),
    serving(['--agent', 'conformance']),
  ]);
});
after(() => Promise.all([echo.stop(), bench.stop('SIGKILL'), conformance.stop()]));

interface WireTask {
  readonly kind?: string;
  readonly id: string;
  readonly contextId: string;
  readonly status: { readonly state: string };
  readonly history: readonly { readonly metadata?: unknown }[];
}

async function sendJson(version: '0.3' | '1.0', url: string, ...args: string[]): Promise<WireTask> {
  const { out } = await parley(['send', url, '--json', '--a2a-version', version, ...args]);
  const [result] = lines(out);
  return (version === '0.3' ? result : result?.['task']) as WireTask;
}

/** The id of a task that is held open. */
async function held(): Promise<string> {
  const running = start(['send', bench.url, 'hold', '--stream', '--json', '--a2a-version', '0.3']);
  await running.saying(/"working"/);
  running.child.kill('SIGKILL');
  const [task] = lines((await running.ended).out);
  return String(task?.['id']);
}

describe('the client commands', { concurrency: 3 }, () => {
  test('send prints the answer, with its spaces', async () => {
    const { code, out, err } = await parley(['send', echo.url, ' hello  there\nyou']);
    assert.deepEqual({ code, out, err }, { code: 0, out: ' hello  there\nyou\n', err: '' });
  });

  // /dev/full refuses every write, like a full disk.
  for (const args of [['hello'], ['hello', '--json'], ['hello', '--stream']]) {
    const sentence = `send ${args.join(' ')}: an output that cannot be written is an error`;
    test(sentence, { skip: !existsSync('/dev/full') }, async () => {
      const { code, err } = await parley(['send', echo.url, ...args], { out: '/dev/full' });
      assert.equal(code, 1);
      assert.match(err, /parley: cannot write standard output \(ENOSPC.*another place\n$/);
      assert.doesNotMatch(err, /^ {4}at /m);
    });
  }

  test('send reads standard input when there is no text', async () => {
    const { out } = await parley(['send', echo.url], { input: 'from a pipe\n' });
    assert.equal(out, 'from a pipe\n');
  });

  test('send --data sends data, and shows data', async () => {
    const { out } = await parley(['send', echo.url, '--data', '{"a":[1,2]}']);
    assert.deepEqual(JSON.parse(out), { a: [1, 2] });
  });

  test('send --json prints the object of either version', async () => {
    const [newest, old] = await Promise.all([
      sendJson('1.0', echo.url, 'hi'),
      sendJson('0.3', echo.url, 'hi'),
    ]);
    assert.deepEqual([newest.kind, newest.status.state], [undefined, 'TASK_STATE_COMPLETED']);
    assert.deepEqual([old.kind, old.status.state], ['task', 'completed']);
  });

  test('send --context and --metadata reach the agent', async () => {
    const flags = ['--context', 'ctx-1', '--metadata', '{"k":1}', '--header', 'X-Y: z'];
    const { contextId, history } = await sendJson('0.3', echo.url, 'hi', ...flags);
    assert.deepEqual([contextId, history[0]?.metadata], ['ctx-1', { k: 1 }]);
  });

  test('send --stream prints the text on one stream and the states on the other', async () => {
    const { code, out, err } = await parley(['send', echo.url, '--stream', 'hello there']);
    assert.deepEqual({ code, out }, { code: 0, out: 'hello there\n' });
    assert.equal(err, '· submitted\n· working\n· completed\n');
  });

  test('send --stream --json prints one event on each line', async () => {
    const { out } = await parley(['send', echo.url, '--stream', '--json', 'hello there']);
    const kinds = lines(out).map((event) => Object.keys(event)[0]);
    assert.deepEqual(kinds, [
      'task',
      'statusUpdate',
      'artifactUpdate',
      'artifactUpdate',
      'statusUpdate',
    ]);
  });

  test('a direct message is printed as it is', async () => {
    const { out } = await parley(['send', bench.url, 'echo one two']);
    assert.equal(out, 'one two\n');
  });

  test('input-required: the question, and the command that answers it', async () => {
    const agent = await connect(conformance.url);
    const parts = [{ kind: 'text' as const, text: 'x' }];
    const result = await agent.send({ messageId: 'tck-input-required-1', parts });
    assert.ok(result.kind === 'task');
    const asked = await parley(['watch', conformance.url, result.id]);
    assert.equal(asked.code, 0);
    assert.equal(asked.out, 'What should I do next?\n');
    const command = `parley send ${conformance.url} --task ${result.id} "…"`;
    assert.ok(asked.err.includes(command), asked.err);
    const answered = await parley(['send', conformance.url, '--task', result.id, 'done']);
    assert.deepEqual([answered.code, answered.out], [0, 'Hello from TCK\n']);
  });

  test('get shows a task, list lists it', async () => {
    const { id } = await sendJson('1.0', echo.url, 'to be found');
    const [shown, listed, json, limited] = await Promise.all([
      parley(['get', echo.url, id]),
      parley(['list', echo.url]),
      parley(['list', echo.url, '--json']),
      parley(['list', echo.url, '--limit', '1', '--json']),
    ]);
    assert.match(shown.out, new RegExp(`task +${id}\nstate +completed\n[^]*\nto be found\n$`));
    assert.match(listed.out, /^id +state +context +updated\n/);
    assert.match(listed.out, new RegExp(`^${id} +completed `, 'm'));
    assert.ok(lines(json.out).some((each) => each['id'] === id));
    assert.equal(lines(limited.out).length, 1);
  });

  test('list over 0.3 works too', async () => {
    const { code, err } = await parley(['list', echo.url, '--a2a-version', '0.3']);
    assert.deepEqual({ code, err }, { code: 0, err: '' });
  });

  test('list --json into a closed pipe ends quietly', async () => {
    const running = start(['list', echo.url, '--json']);
    running.child.stdout?.destroy();
    const { code, err } = await running.ended;
    assert.deepEqual({ code, err }, { code: 0, err: '' });
  });

  test('a task that is not there: one line with the code, and exit code 1', async () => {
    assertRefused(await parley(['get', echo.url, 'nope']), 1, /Task not found \(-32001\): /);
  });

  test('cancel ends a task, and whoever watches it ends with exit code 1', async () => {
    const id = await held();
    const watching = start(['watch', bench.url, id, '--json']);
    await watching.saying(/\n/);
    const canceled = await parley(['cancel', bench.url, id]);
    assert.deepEqual([canceled.code, canceled.out], [0, `${id}  canceled\n`]);
    const { code, out, err } = await watching.ended;
    assert.equal(code, 1);
    assert.match(
      lines(out)
        .map((event) => JSON.stringify(event))
        .at(-1) ?? '',
      /_CANCELED/,
    );
    assert.match(err, /the task was canceled/);
    assertRefused(
      await parley(['cancel', bench.url, id]),
      1,
      /already canceled \(-32002\): parley get/,
    );
  });

  test('watch --after does not stop at a question that was answered long ago', async () => {
    const agent = await connect(conformance.url);
    const parts = [{ kind: 'text' as const, text: 'hi' }];
    const asked = await agent.send({ messageId: 'tck-input-required-old', parts });
    assert.ok(asked.kind === 'task');
    await agent.send('an answer', { taskId: asked.id });
    const { code, out } = await parley([
      'watch',
      conformance.url,
      asked.id,
      '--after',
      '1',
      '--json',
    ]);
    assert.equal(code, 0);
    assert.match(out, /_INPUT_REQUIRED/);
    assert.match(
      lines(out)
        .map((event) => JSON.stringify(event))
        .at(-1) ?? '',
      /_COMPLETED/,
    );
  });

  test('watch --after goes on behind that event', async () => {
    const id = await held();
    const watching = start(['watch', bench.url, id, '--after', '1', '--json']);
    await watching.saying(/\n/);
    watching.child.kill('SIGINT');
    const { code, out, err } = await watching.ended;
    assert.equal(code, 130);
    assert.deepEqual(Object.keys(lines(out)[0] ?? {}), ['statusUpdate']);
    assert.match(err, new RegExp(`parley watch ${bench.url} ${id} --after 2`));
  });

  test('watch of a task that has ended shows it', async () => {
    const { id } = await sendJson('1.0', echo.url, 'over');
    const { code, out } = await parley(['watch', echo.url, id]);
    assert.deepEqual({ code, out }, { code: 0, out: 'over\n' });
  });

  test('a message to a task that is not there: one line and exit code 1', async () => {
    const ended = await parley(['send', bench.url, 'task 4', '--task', 'nope']);
    assertRefused(ended, 1, /-32001/);
  });

  test('card shows the card, --json the raw one', async () => {
    const [shown, json, old] = await Promise.all([
      parley(['card', echo.url]),
      parley(['card', echo.url, '--json']),
      parley(['card', echo.url, '--json', '--a2a-version', '0.3']),
    ]);
    assert.match(shown.out, /^Echo .*\nRepeats your message/);
    assert.match(shown.out, /supports +streaming, push notifications/);
    assert.match(shown.out, /1\.0 HTTP\+JSON +http/);
    assert.equal(lines(json.out)[0]?.['name'], 'Echo');
    assert.equal(lines(old.out)[0]?.['protocolVersion']?.toString().slice(0, 3), '0.3');
  });

  test('card --verify holds the agent to its card', async () => {
    const { code, out } = await parley(['card', conformance.url, '--verify']);
    assert.equal(code, 0, out);
    assert.match(out, /✓ 1\.0 JSONRPC .* responds\n/);
    assert.match(out, /✓ 0\.3 HTTP\+JSON .* responds\n/);
    assert.match(out, /✓ signature +unsigned\n/);
    assert.match(out, /Everything is OK\.\n$/);
  });

  test('card --verify checks the signature, by the keys of the server or by a key of the user', async () => {
    const stranger = keyFile('stranger.pem');
    const [own, wrong] = await Promise.all([
      parley(['card', echo.url, '--verify']),
      parley(['card', echo.url, '--verify', '--trust-key', stranger]),
    ]);
    assert.match(own.out, /✓ signature +valid: EdDSA, the key \S{43} of http\S+jwks\.json\n/);
    assert.equal(wrong.code, 1);
    assert.match(wrong.out, /✗ signature +the signature of .* is not valid\n/);
  });

  test('card --verify of an agent that is not where its card says: ✗ and exit code 1', async () => {
    const server = await serving(['--agent', 'echo', '--public-url', 'http://127.0.0.1:9/nowhere']);
    const { code, out } = await parley(['card', `http://127.0.0.1:${server.port}`, '--verify']);
    assert.equal(code, 1);
    assert.match(out, /✗ 1\.0 JSONRPC /);
    await server.stop();
  });

  test('headers go to another origin in the card only with --trusted-origin', async (t) => {
    const other = await startPeer(t, (asked, response) => {
      reply(asked, response, { message: { messageId: 'm', role: 'ROLE_AGENT', parts: [] } });
    });
    const named = await startPeer(t, (_, response) => {
      answerJson(response, v1.encodeCard(cardOf(other.url, '1.0')));
    });
    const header = ['--header', 'X-API-Key: secret'];
    const [refused, checked] = await Promise.all([
      parley(['send', named.url, 'hi', ...header]),
      parley(['card', named.url, '--verify', ...header]),
    ]);
    assertRefused(refused, 4, new RegExp(`${other.url}.*${named.url}.*--trusted-origin`));
    assert.match(checked.out, /1\.0 JSONRPC .* not checked: .* --trusted-origin/);
    assert.deepEqual(other.asked, []);
    const sent = await parley(['send', named.url, 'hi', ...header, '--trusted-origin', other.url]);
    assert.equal(sent.code, 0, sent.err);
    assert.deepEqual(
      other.asked.map(({ headers }) => headers['x-api-key']),
      ['secret'],
    );
  });
});
