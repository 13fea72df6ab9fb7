import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createAgent } from '../../src/server.ts';
import {
  genericClient,
  type GenericClient,
  type GrpcServer,
  type Json,
  serveGrpc,
} from '../support/grpc.ts';

const agent = createAgent({ name: 'Echo', description: 'Repeats words' }, async function* (ctx) {
  if (ctx.text === 'wait') await ctx.ask('Which?');
  for (const word of ctx.text.split(' ')) yield `${word} `;
});

const message = (text: string) => ({
  message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] },
});

describe('the gRPC binding', () => {
  let served: GrpcServer;
  let client: GenericClient;
  before(async () => {
    served = await serveGrpc(agent);
    client = genericClient(served.address, 'lf.a2a.v1.A2AService');
  });
  after(async () => {
    client[Symbol.dispose]();
    await served[Symbol.asyncDispose]();
  });

  test('SendMessage answers with the finished task, and GetTask finds it', async () => {
    const { message: sent } = await client.call('SendMessage', message('hello there'));
    const task = sent.task as { id: string; status: { state: string } };
    assert.equal(task.status.state, 'TASK_STATE_COMPLETED');
    const { message: found } = await client.call('GetTask', { id: task.id });
    assert.equal(found.id, task.id);
    assert.deepEqual(found.artifacts, (sent.task as { artifacts: unknown }).artifacts);
  });

  test('SendStreamingMessage sends the events with their sequence numbers, and ends', async () => {
    const events: Json[] = [];
    for await (const event of client.stream('SendStreamingMessage', message('a b'))) {
      events.push(event);
    }
    const kinds = events.map((event) => Object.keys(event)[0]);
    assert.deepEqual(kinds, [
      'task',
      'statusUpdate',
      'artifactUpdate',
      'artifactUpdate',
      'statusUpdate',
    ]);
    assert.deepEqual(
      events.map(({ parleySequence }) => parleySequence),
      ['1', '2', '3', '4', '5'],
    );
  });
});
