// Tasks of the gateway's own door: the model's answer as a task, with its conversation, its price and its failures.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { earlierTurns } from '../../src/gateway/models/tasks/conversation.ts';
import { modelExecutor } from '../../src/gateway/models/tasks/executor.ts';
import { A2AError, textOf, type Metadata, type Part, type Task } from '../../src/protocol/index.ts';
import { createHandler, type RequestHandler } from '../../src/tasks/index.ts';
import type { ExecutionContext, ExecutorEvent } from '../../src/tasks/index.ts';
import { fakeVendor, type Reply } from '../support/vendors/server.ts';
import {
  caller,
  compatible,
  piece,
  rig,
  says,
  spendingInto,
  type Rig,
  type RigOptions,
} from './models-support.ts';

interface Made extends Rig {
  readonly handler: RequestHandler;
  readonly executor: ReturnType<typeof modelExecutor>;
  send(said: string | Part[], metadata?: Metadata, contextId?: string): Promise<Task>;
}

function made(options: RigOptions = {}): Made {
  const own = rig(options);
  const executor = modelExecutor({
    models: own.models,
    earlierTurns: earlierTurns(() => handler),
  });
  const handler = createHandler(executor);
  let count = 0;
  return {
    ...own,
    handler,
    executor,
    async send(said, metadata, contextId) {
      const parts: Part[] = typeof said === 'string' ? [{ kind: 'text', text: said }] : said;
      const messageId = `m${count++}`;
      const message = { kind: 'message' as const, messageId, role: 'user' as const, parts };
      const task = await handler.sendMessage(
        {
          message: { ...message, ...(contextId !== undefined && { contextId }) },
          ...(metadata && { metadata }),
        },
        { user: caller },
      );
      assert(task.kind === 'task');
      return task;
    },
  };
}

async function withVendor(
  replies: readonly Reply[],
  options: RigOptions,
  body: (gateway: Made, asked: () => readonly unknown[]) => Promise<void>,
): Promise<void> {
  await using vendor = await fakeVendor(replies);
  const provider = compatible(vendor.url, {
    models: ['m'],
    embeddingModels: ['e'],
    attempts: 1,
  });
  await body(made({ providers: { p: provider }, ...options }), () =>
    vendor.asked.map((each) => each.body),
  );
}

const CARD = {
  schemaVersion: '1.0',
  name: 'm',
  pricing: { inputPricePerToken: 0.001, outputPricePerToken: 0.01, currency: 'EUR' },
};

describe('a chat', () => {
  test("is the provider's stream in one artifact, and completes with the answer and what it took", () =>
    withVendor([says('It is ', 'sunny.')], { cards: { mine: CARD } }, async (gateway) => {
      const task = await gateway.send('Weather?', { model: 'mine', note: 'kept' });
      assert.equal(task.status.state, 'completed');
      assert.deepEqual(task.metadata, { model: 'mine', api_type: 'chat', note: 'kept' });
      const [artifact, ...others] = task.artifacts ?? [];
      assert.deepEqual(others, []);
      assert.equal(artifact?.artifactId, 'answer');
      assert.equal(textOf(artifact.parts), 'It is sunny.');
      assert.equal(textOf(task.status.message?.parts ?? []), 'It is sunny.');
      assert.deepEqual(task.status.message?.metadata, {
        usage: {
          inputTokens: 20,
          outputTokens: 12,
          cachedTokens: 5,
          thoughtTokens: 0,
          cost: { amount: 0.14, currency: 'EUR' },
          provider: 'p',
          model: 'm',
        },
      });
      assert.equal(gateway.uses.length, 1);
      assert.deepEqual(gateway.uses[0]?.cost, { amount: 0.14, currency: 'EUR' });
    }));

  test('each piece is an event of its own, as it comes', () =>
    withVendor([says('It is ', 'sunny.')], {}, async ({ handler }) => {
      const parts: Part[] = [{ kind: 'text', text: 'Weather?' }];
      const stream = await handler.streamMessage(
        {
          message: { kind: 'message', messageId: 'x', role: 'user', parts },
          metadata: { model: 'm' },
        },
        { user: caller },
      );
      const pieces: string[] = [];
      for await (const { event } of stream) {
        if (event.kind === 'artifact-update') pieces.push(textOf(event.artifact.parts));
      }
      assert.deepEqual(pieces, ['It is', ' sunny', '.']);
    }));

  test('goes on with what was said before in its context, and with nothing else', () =>
    withVendor([says('One.'), says('Two.'), says('Three.')], {}, async (gateway, asked) => {
      const model = { model: 'm' };
      await gateway.send('First?', model, 'c1');
      await gateway.send('Elsewhere?', model, 'c2');
      await gateway.send('Second?', model, 'c1');
      assert.partialDeepStrictEqual(asked()[2], {
        messages: [
          { role: 'user', content: 'First?' },
          { role: 'assistant', content: 'One.' },
          { role: 'user', content: 'Second?' },
        ],
      });
    }));

  test('goes on with the whole of a long answer, of which the status has only where it is', () => {
    const long = 'a'.repeat(300_000);
    return withVendor([says(long), says('Two.')], {}, async (gateway, asked) => {
      const first = await gateway.send('One?', { model: 'm' });
      await gateway.send('Two?', { model: 'm' }, first.contextId);
      assert.partialDeepStrictEqual(asked()[1], {
        messages: [{ role: 'user' }, { role: 'assistant', content: long }, { role: 'user' }],
      });
    });
  });

  test('files and data go to the model with the words', () =>
    withVendor([says('Nice.')], {}, async (gateway, asked) => {
      await gateway.send(
        [
          { kind: 'text', text: 'What is this?' },
          { kind: 'file', file: { bytes: 'iVBORw0KGgo=', mimeType: 'image/png' } },
          { kind: 'data', data: { size: 3 } },
        ],
        { model: 'm' },
      );
      assert.partialDeepStrictEqual(asked()[0], {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'What is this?' },
              { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
              { type: 'text', text: '{"size":3}' },
            ],
          },
        ],
      });
    }));

  test('without a model is for the default one', async () => {
    const task = await made().send('Hello');
    assert.equal(task.status.state, 'completed');
    assert.deepEqual(task.metadata, { model: 'offline', api_type: 'chat' });
    const said = textOf(task.artifacts?.[0]?.parts ?? []);
    assert.match(said, /choose one from the list at \/v1\/models/, 'what a caller can do');
    assert.doesNotMatch(said, /API_KEY/, 'and not what only the operator can');
  });

  test('that cannot be answered fails, and says so in one line', () =>
    withVendor([{ status: 500, body: 'secret of 10.0.0.7' }], {}, async (gateway) => {
      const task = await gateway.send('Weather?', { model: 'm' });
      assert.equal(task.status.state, 'failed');
      const said = textOf(task.status.message?.parts ?? []);
      assert.equal(said, 'The model m failed: try again later');
      assert.deepEqual(gateway.uses, []);
    }));

  test('that breaks off fails, keeps what came, and is counted once, as the task says', () =>
    withVendor([{ events: [piece('It is ')], after: 'break' }], {}, async (gateway) => {
      const task = await gateway.send('Weather?', { model: 'm' });
      assert.equal(task.status.state, 'failed');
      assert.equal(textOf(task.artifacts?.[0]?.parts ?? []), 'It is ');
      const [{ inputTokens, outputTokens } = {}, ...more] = gateway.uses;
      assert.deepEqual(more, []);
      const { usage } = task.status.message?.metadata ?? {};
      assert.partialDeepStrictEqual(usage, { inputTokens, outputTokens, estimated: true });
    }));

  test("that is canceled ends the provider's request", async () => {
    await using vendor = await fakeVendor([{ events: [piece('It is ')], after: 'hang' }]);
    const { handler } = made({ providers: { p: compatible(vendor.url, { models: ['m'] }) } });
    const parts: Part[] = [{ kind: 'text', text: 'Weather?' }];
    const message = { kind: 'message' as const, messageId: 'x', role: 'user' as const, parts };
    const stream = await handler.streamMessage(
      { message, metadata: { model: 'm' } },
      { user: caller },
    );
    let state: string | undefined;
    let said = '';
    for await (const { event } of stream) {
      if (event.kind === 'artifact-update') {
        if (said === '') await handler.cancelTask({ id: event.taskId }, { user: caller });
        said += textOf(event.artifact.parts);
      }
      if (event.kind === 'status-update') state = event.status.state;
    }
    assert.deepEqual([state, said], ['canceled', 'It is ']);
    await vendor.hungUp;
  });
});

describe('before there is a task', () => {
  const refused: Readonly<Record<string, readonly [Metadata, RegExp]>> = {
    'an unknown model': [{ model: 'offlyne' }, /^Unknown model "offlyne"\. Similar names: /],
    'a model that is no name': [{ model: 7 }, /^metadata\.model: /],
    'an unknown kind of work': [{ api_type: 'magic' }, /^metadata\.api_type: /],
  };
  for (const [what, [metadata, words]] of Object.entries(refused)) {
    test(`${what} is refused`, async () => {
      const { handler, ...gateway } = made();
      await assert.rejects(gateway.send('Hello', metadata), (error) => {
        assert(error instanceof A2AError);
        assert.equal(error.httpStatus, 400);
        assert.match(error.message, words);
        return true;
      });
      assert.deepEqual((await handler.listTasks({}, { user: caller })).tasks, []);
    });
  }

  test('a spent budget is refused', async () => {
    const gateway = made({
      spending: {
        ...spendingInto([]),
        async check() {
          throw new A2AError('rateLimited', 'spent', { reason: 'BUDGET_EXHAUSTED' });
        },
      },
    });
    await assert.rejects(gateway.send('Hello'), /spent/);
  });
});

test('embeddings are an artifact with the vectors, one for each text', async () => {
  const gateway = made();
  const task = await gateway.send(
    [
      { kind: 'text', text: 'red apple' },
      { kind: 'text', text: 'red pear' },
    ],
    { model: 'offline', api_type: 'embeddings' },
  );
  assert.equal(task.status.state, 'completed');
  const [part] = task.artifacts?.[0]?.parts ?? [];
  assert.equal(part?.kind, 'data');
  assert.partialDeepStrictEqual(part, { data: { model: 'offline', embeddings: [[], []] } });
  assert.equal(gateway.uses.length, 1);
});

describe('after a restart', () => {
  async function resumed(artifacts: NonNullable<Task['artifacts']>): Promise<ExecutorEvent[]> {
    const { executor } = made();
    const message = {
      kind: 'message' as const,
      messageId: 'x',
      role: 'user' as const,
      parts: [{ kind: 'text' as const, text: 'Hello' }],
    };
    const context: ExecutionContext = {
      message,
      turn: [message],
      contextId: 'c',
      // The key is not known any more.
      user: { id: 'default' },
      tenant: '',
      extensions: [],
      metadata: undefined,
      resumed: true,
      signal: new AbortController().signal,
      task: {
        kind: 'task',
        id: 't',
        contextId: 'c',
        status: { state: 'working' },
        metadata: { model: 'offline', api_type: 'chat' },
        artifacts,
      },
    };
    const events: ExecutorEvent[] = [];
    for await (const event of executor.execute(context)) events.push(event);
    return events;
  }

  test('an answer that had not begun is asked for again', async () => {
    const last = (await resumed([])).at(-1);
    assert(last?.kind === 'status-update');
    assert.equal(last.state, 'completed');
  });

  test('an answer that had begun is not joined with another', async () => {
    const begun = { artifactId: 'answer', parts: [{ kind: 'text' as const, text: 'It is ' }] };
    assert.deepEqual(await resumed([begun]), [
      {
        kind: 'status-update',
        state: 'failed',
        message: 'The gateway was restarted in the middle of the answer: send the message again',
      },
    ]);
  });
});
