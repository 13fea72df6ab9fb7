/** What the public kits ask of the agent, by the ids of their messages, over each version and binding. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkShape, type Kind } from './shapes.ts';
import {
  eventOf,
  idOf,
  type Json,
  OLD_REST,
  OLD_RPC,
  start,
  stateName,
  stateOf,
  taskOf,
  type Wire,
  WIRES,
} from './support.ts';

/** The id's prefix, the state it leads to, and what is in the only artifact, if there is one. */
const SENDS: readonly [
  prefix: string,
  state: string,
  artifact?: 'text' | 'raw' | 'url' | 'data',
][] = [
  ['tck-complete-task', 'completed'],
  ['tck-artifact-text', 'completed', 'text'],
  ['tck-artifact-file', 'completed', 'raw'],
  ['tck-artifact-file-url', 'completed', 'url'],
  ['tck-artifact-data', 'completed', 'data'],
  ['tck-input-required', 'input-required'],
  ['tck-reject-task', 'rejected'],
  ['anything-else', 'completed', 'text'],
  ['text-message-id', 'input-required'],
  ['test-history-message-1', 'input-required'],
  ['test-push-delivery', 'input-required'],
];

/** What a part holds, in 1.0's words. */
function contentOf(wire: Wire, part: Json): string {
  if (wire.version === '1.0') return ['text', 'raw', 'url', 'data'].find((name) => name in part)!;
  const file = part['file'] as Json | undefined;
  if (!file) return wire === OLD_RPC ? String(part['kind']) : Object.keys(part)[0]!;
  return 'uri' in file || 'fileWithUri' in file ? 'url' : 'raw';
}

async function collect(wire: Wire, events: AsyncIterable<Json>): Promise<[Kind, Json][]> {
  const all: [Kind, Json][] = [];
  for await (const event of events) {
    const [name, inside] = eventOf(wire, event);
    checkShape(wire, name as Kind, inside);
    all.push([name as Kind, inside]);
  }
  return all;
}

for (const wire of WIRES) {
  describe(wire.name, () => {
    for (const [prefix, state, artifact] of SENDS) {
      test(`${prefix} leads to ${state}${artifact ? ` with an artifact of ${artifact}` : ''}`, async (t) => {
        const url = await start(t);
        const answer = await wire.send(url, idOf(prefix));
        assert.equal(answer.status, 200);
        const task = taskOf(answer);
        checkShape(wire, 'task', task);
        assert.equal(stateOf(task), stateName(wire, state));
        const artifacts = (task['artifacts'] ?? []) as { parts: Json[] }[];
        assert.deepEqual(
          artifacts.map(({ parts }) => parts.map((part) => contentOf(wire, part))),
          artifact ? [[artifact]] : [],
        );
        const got = await wire.get(url, String(task['id']));
        checkShape(wire, 'task', got.result!);
        assert.deepEqual(got.result, task);
      });
    }

    test('tck-message-response is answered with a message and no task', async (t) => {
      const url = await start(t);
      const { result } = await wire.send(url, idOf('tck-message-response'));
      const message = (wire === OLD_RPC ? result! : result!['message']) as Json;
      checkShape(wire, 'message', message);
      assert.equal(message['taskId'], undefined);
    });

    test('the message after input-required completes the task, in the same context', async (t) => {
      const url = await start(t);
      const first = taskOf(await wire.send(url, idOf('tck-input-required')));
      const { id, contextId } = first as { id: string; contextId: string };
      const next = taskOf(await wire.send(url, idOf('tck-next'), { taskId: id }));
      checkShape(wire, 'task', next);
      assert.equal(next['id'], id);
      assert.equal(next['contextId'], contextId);
      assert.equal(stateOf(next), stateName(wire, 'completed'));
    });

    test('a task that waits is canceled, and canceled once only', async (t) => {
      const url = await start(t);
      const { id } = taskOf(await wire.send(url, idOf('cancel-message-id'))) as { id: string };
      const canceled = await wire.cancel(url, id);
      checkShape(wire, 'task', canceled.result!);
      assert.equal(stateOf(canceled.result!), stateName(wire, 'canceled'));
      const again = await wire.cancel(url, id);
      assert.equal(again.result, undefined);
      assert.equal(again.status, wire.rpc ? 200 : 400);
    });

    for (const prefix of [
      'tck-stream-001',
      'tck-stream-002',
      'tck-stream-003',
      'tck-stream-ordering-001',
      'tck-stream-artifact-text',
      'tck-stream-artifact-file',
    ]) {
      test(`${prefix} streams the task, working, an artifact and completed, and ends`, async (t) => {
        const url = await start(t);
        const { events } = await wire.stream(url, idOf(prefix));
        const all = await collect(wire, events);
        const seen = all.map(([kind, event]) =>
          kind === 'artifactUpdate' ? kind : stateOf(event),
        );
        const [opened, ...rest] = seen;
        assert.equal(all[0]![0], 'task');
        assert.equal(opened, stateName(wire, 'submitted'));
        assert.deepEqual(rest, [
          stateName(wire, 'working'),
          'artifactUpdate',
          stateName(wire, 'completed'),
        ]);
        if (wire.version === '0.3') {
          const finals = all.map(([, event]) => event['final']);
          assert.deepEqual(finals, [undefined, false, undefined, true]);
        }
      });
    }

    test('tck-stream-artifact-chunked appends to one artifact and says which chunk is the last', async (t) => {
      const url = await start(t);
      const { events } = await wire.stream(url, idOf('tck-stream-artifact-chunked'));
      const chunks = (await collect(wire, events)).filter(([kind]) => kind === 'artifactUpdate');
      assert.ok(chunks.length > 2);
      const ids = new Set(chunks.map(([, { artifact }]) => (artifact as Json)['artifactId']));
      assert.equal(ids.size, 1);
      const flags = chunks.map(([, { append, lastChunk }]) => [
        append ?? false,
        lastChunk ?? false,
      ]);
      assert.deepEqual(flags[0], [false, false]);
      assert.deepEqual(flags.at(-1), [true, true]);
      for (const middle of flags.slice(1, -1)) assert.deepEqual(middle, [true, false]);
    });

    test('a history is as long as it was asked for', async (t) => {
      const url = await start(t);
      const id = String(taskOf(await wire.send(url, idOf('test-history-message-1')))['id']);
      for (const n of [2, 3]) {
        await wire.send(url, idOf(`test-history-message-${n}`), { taskId: id });
      }
      const lengthOf = async (asked?: number) =>
        ((await wire.get(url, id, asked)).result!['history'] as unknown[] | undefined)?.length;
      const all = (await lengthOf())!;
      assert.ok(all >= 3);
      assert.equal(await lengthOf(1), 1);
      assert.equal(await lengthOf(2), 2);
      assert.equal(await lengthOf(100), all);
      assert.equal(await lengthOf(0), undefined, 'none is a field that is left out');
      const sent = await wire.send(url, idOf('test-history-message-4'), {
        taskId: id,
        historyLength: 1,
        blocking: true,
      });
      assert.equal((taskOf(sent)['history'] as unknown[]).length, 1);
    });

    test('a list has the newest first, pages, and no artifacts', async (t) => {
      const url = await start(t);
      const ids: string[] = [];
      for (let n = 0; n < 3; n++) {
        const task = taskOf(await wire.send(url, idOf('tck-artifact-text')));
        ids.unshift(String(task['id']));
      }
      const { result } = await wire.list(url, { pageSize: 2 });
      const { tasks, nextPageToken, totalSize, pageSize } = result as Json & { tasks: Json[] };
      assert.deepEqual(
        tasks.map(({ id }) => id),
        ids.slice(0, 2),
      );
      assert.deepEqual([totalSize, pageSize], [3, 2]);
      for (const task of tasks) {
        checkShape(wire, 'task', task);
        assert.ok(!('artifacts' in task));
      }
      const last = (await wire.list(url, { pageSize: 2, pageToken: String(nextPageToken) }))
        .result!;
      assert.deepEqual(
        (last['tasks'] as Json[]).map(({ id }) => id),
        ids.slice(2),
      );
      assert.equal(last['nextPageToken'], '');
    });
  });
}

test('test-resubscribe-message-id works for five seconds, and whoever subscribes sees its end', async (t) => {
  const url = await start(t);
  const began = performance.now();
  const sent = await OLD_REST.send(url, idOf('test-resubscribe-message-id'), { blocking: false });
  const id = String(taskOf(sent)['id']);
  await Promise.all(
    WIRES.map(async (wire) => {
      const { events } = await wire.subscribe(url, id);
      const all = await collect(wire, events);
      const [first] = all;
      assert.equal(first![0], 'task', wire.name);
      assert.equal(first![1]['id'], id);
      const states = all.map(([, event]) => stateOf(event));
      // It may have begun only after the first of them came.
      if (states[0] === stateName(wire, 'submitted')) states.shift();
      assert.deepEqual(states, [stateName(wire, 'working'), stateName(wire, 'completed')]);
    }),
  );
  assert.ok(performance.now() - began >= 5000);
});
