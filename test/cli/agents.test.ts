// The agents that the program brings along, over the wire, in both versions.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { connect, type RemoteAgentClient } from '../../src/client/index.ts';
import {
  type Message,
  type StreamEvent,
  type TaskState,
  textOf,
} from '../../src/protocol/index.ts';
import { type Served, serving } from './support.ts';

let servers: Served[];
let bench: RemoteAgentClient;
const conformance = new Map<string, RemoteAgentClient>();

before(async () => {
  servers = await Promise.all([serving(['--agent', 'bench']), serving(['--agent', 'conformance'])]);
  const [benchUrl = '', conformanceUrl = ''] = servers.map(({ url }) => url);
  bench = await connect(benchUrl);
  for (const version of ['0.3', '1.0'] as const) {
    for (const binding of ['JSONRPC', 'HTTP+JSON'] as const) {
      const name = `${version} ${binding}`;
      conformance.set(name, await connect(conformanceUrl, { version, binding }));
    }
  }
});
after(() => Promise.all(servers.map((server) => server.stop('SIGKILL'))));

async function events(agent: RemoteAgentClient, input: Parameters<RemoteAgentClient['stream']>[0]) {
  const found: StreamEvent[] = [];
  for await (const { event } of agent.stream(input)) found.push(event);
  return found;
}

function stateOf(event: StreamEvent | undefined): TaskState | undefined {
  return event?.kind === 'status-update' || event?.kind === 'task' ? event.status.state : undefined;
}

describe('bench', { concurrency: true }, () => {
  for (const order of ['task 3', 'task 4', 'task 250', 'task 250 100 burst', 'task 10 8 1']) {
    const [, count = 0, bytes = 16] = order.split(' ').map(Number);
    test(`"${order}" makes exactly ${count} events`, async () => {
      const found = await events(bench, order);
      assert.equal(found.length, count);
      assert.equal(found[0]?.kind, 'task');
      assert.equal(stateOf(found[1]), 'working');
      const last = found.at(-1);
      assert.ok(last?.kind === 'status-update');
      assert.deepEqual([last.status.state, last.status.message], ['completed', undefined]);
      const chunks = found.slice(2, -1);
      for (const [index, chunk] of chunks.entries()) {
        assert.ok(chunk.kind === 'artifact-update');
        assert.equal(chunk.append === true, index > 0);
        assert.equal(textOf(chunk.artifact.parts).length, bytes);
      }
    });
  }

  test('"flood" replaces the artifact with every chunk', async () => {
    const stream = bench.stream('flood 50 1000');
    let count = 0;
    for await (const _ of stream) count++;
    const [artifact] = stream.task?.artifacts ?? [];
    assert.deepEqual([count, textOf(artifact?.parts ?? []).length], [50, 1000]);
  });

  test('"echo" answers with one message, without a task', async () => {
    const answer = await bench.send('echo  a b ');
    assert.ok(answer.kind === 'message');
    assert.equal(textOf(answer.parts), ' a b ');
  });

  test('"hold" works until it is canceled', async () => {
    const stream = bench.stream('hold');
    for await (const { event } of stream) if (stateOf(event) === 'working') break;
    const canceled = await bench.cancel(stream.task?.id ?? '');
    assert.equal(canceled.status.state, 'canceled');
  });

  for (const order of ['task', 'task 2', 'task 9 0', 'task 9 9999999999', 'flood 5 5 x', 'dance']) {
    test(`"${order}" is answered with what it understands`, async () => {
      const answer = await bench.send(order);
      assert.ok(answer.kind === 'message');
      assert.match(textOf(answer.parts), /Supported requests: echo X; task N \[bytes\] \[pace\]/);
    });
  }
});

function message(messageId: string, more: Partial<Message> = {}) {
  return { messageId, parts: [{ kind: 'text' as const, text: 'x' }], ...more };
}

for (const name of ['0.3 JSONRPC', '0.3 HTTP+JSON', '1.0 JSONRPC', '1.0 HTTP+JSON']) {
  describe(`conformance over ${name}`, { concurrency: true }, () => {
    const agent = () => {
      const found = conformance.get(name);
      assert.ok(found);
      return found;
    };
    let count = 0;
    const id = (prefix: string) => `${prefix}-${name.replaceAll(/\W/g, '')}-${++count}`;

    for (const prefix of ['something-else', 'test']) {
      test(`${prefix} completes with a streamed artifact`, async () => {
        const task = await agent().send(message(id(prefix)));
        assert.ok(task.kind === 'task');
        assert.deepEqual([task.status.state, task.status.message], ['completed', undefined]);
        assert.deepEqual(task.artifacts?.[0]?.parts, [{ kind: 'text', text: 'Hello from TCK' }]);
      });
    }

    for (const prefix of ['tck-complete-task']) {
      test(`${prefix} completes`, async () => {
        const task = await agent().send(message(id(prefix)));
        assert.ok(task.kind === 'task');
        assert.equal(task.status.state, 'completed');
        assert.equal(textOf(task.status.message?.parts ?? []), 'Hello from TCK');
      });
    }

    const bytes = Buffer.from('Generated file content').toString('base64');
    const file = { name: 'output.txt', mimeType: 'text/plain' };
    const artifacts: Record<string, unknown> = {
      'tck-artifact-text': { kind: 'text', text: 'Generated text content' },
      'tck-artifact-file': { kind: 'file', file: { ...file, bytes } },
      'tck-artifact-file-url': {
        kind: 'file',
        file: { ...file, uri: 'https://example.com/output.txt' },
      },
      'tck-artifact-data': { kind: 'data', data: { key: 'value', count: 42 } },
    };
    for (const [prefix, part] of Object.entries(artifacts)) {
      test(`${prefix} completes with one artifact of that kind`, async () => {
        const task = await agent().send(message(id(prefix)));
        assert.ok(task.kind === 'task');
        assert.equal(task.status.state, 'completed');
        assert.deepEqual(
          task.artifacts?.map(({ parts }) => parts),
          [[part]],
        );
      });
    }

    test('tck-message-response is a message', async () => {
      const answer = await agent().send(message(id('tck-message-response')));
      assert.ok(answer.kind === 'message');
      assert.equal(textOf(answer.parts), 'Direct message response');
    });

    test('tck-input-required waits, and the next message completes it', async () => {
      const task = await agent().send(message(id('tck-input-required')));
      assert.ok(task.kind === 'task');
      assert.equal(task.status.state, 'input-required');
      const next = await agent().send(message(id('tck-input-required'), { taskId: task.id }));
      assert.ok(next.kind === 'task');
      assert.deepEqual([next.id, next.status.state], [task.id, 'completed']);
    });

    test('tck-reject-task is rejected', async () => {
      const task = await agent().send(message(id('tck-reject-task')));
      assert.ok(task.kind === 'task');
      assert.equal(task.status.state, 'rejected');
    });

    for (const prefix of [
      'tck-stream-001',
      'tck-stream-ordering-001',
      'tck-stream-artifact-file',
    ]) {
      test(`${prefix} streams working, an artifact, completed`, async () => {
        const found = await events(agent(), message(id(prefix)));
        assert.deepEqual(
          found.map((event) => stateOf(event) ?? event.kind),
          ['submitted', 'working', 'artifact-update', 'completed'],
        );
      });
    }

    test('tck-stream-artifact-chunked appends, and says which chunk is the last', async () => {
      const found = await events(agent(), message(id('tck-stream-artifact-chunked')));
      const chunks = found.filter((event) => event.kind === 'artifact-update');
      assert.deepEqual(
        chunks.map(({ append, lastChunk }) => [append === true, lastChunk === true]),
        [
          [false, false],
          [true, false],
          [true, true],
        ],
      );
    });

    test('the ids of the kit for 0.3 leave a task that can be continued and canceled', async () => {
      const uuid = crypto.randomUUID();
      const task = await agent().send(message(`text-message-id-${uuid}`));
      assert.ok(task.kind === 'task');
      for (const each of [1, 2]) {
        const more = message(`test-history-message-${each}-${uuid}`, { taskId: task.id });
        const next = await agent().send(more);
        assert.ok(next.kind === 'task');
        assert.equal(next.status.state, 'input-required');
      }
      assert.equal((await agent().cancel(task.id)).status.state, 'canceled');
    });
  });
}

test('test-resubscribe-message-id works for at least five seconds, and can be canceled', async () => {
  const agent = conformance.get('1.0 JSONRPC');
  assert.ok(agent);
  const begun = performance.now();
  const [whole] = await Promise.all([
    events(agent, message('test-resubscribe-message-id-1')),
    (async () => {
      const stream = agent.stream(message('test-resubscribe-message-id-2'));
      for await (const { event } of stream) if (stateOf(event) === 'working') break;
      assert.ok(stream.task);
      assert.equal((await agent.cancel(stream.task.id)).status.state, 'canceled');
      assert.ok(performance.now() - begun < 5000);
    })(),
  ]);
  assert.ok(performance.now() - begun >= 5000);
  assert.equal(stateOf(whole.at(-1)), 'completed');
});

test('the conformance agent makes a new task of a message id that comes again', async () => {
  const agent = conformance.get('1.0 JSONRPC');
  assert.ok(agent);
  const [one, other] = [
    await agent.send(message('tck-complete-task-again')),
    await agent.send(message('tck-complete-task-again')),
  ];
  assert.ok(one.kind === 'task' && other.kind === 'task');
  assert.notEqual(one.id, other.id);
});
