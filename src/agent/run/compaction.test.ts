import assert from 'node:assert/strict';
import { test } from 'node:test';
import { llmAgent } from '../agents/llm.ts';
import { contextTokens, cutOf } from './compaction.ts';
import { functionCalls, functionResponses, contentText, type ContentPart } from '../content.ts';
import { createEvent, type Event, type EventFields } from '../event.ts';
import { ModelError, type Model, type ModelRequest } from '../model.ts';
import { createRunner } from './runner.ts';

const at = { user: 'ann', session: 's' };

/** Answers with how much it was told, calls a tool when it hears `call`, and sums up as it is told to. */
function counting(sumUp: () => string): { model: Model; requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  const model: Model = {
    name: 'counting',
    contextWindow: 100,
    async *generate(request) {
      const size = JSON.stringify(request.messages).length;
      const usage = { inputTokens: Math.ceil(size / 20), outputTokens: 1 };
      if (request.system?.startsWith('Summarize') === true) {
        yield { kind: 'text', text: sumUp() };
      } else {
        requests.push(request);
        yield { kind: 'text', text: `answer ${requests.length}` };
      }
      yield { kind: 'finish', reason: 'stop', usage };
    },
  };
  return { model, requests };
}

test('a conversation that outgrows the window goes on with a summary and the latest events', async () => {
  const { model, requests } = counting(() => 'They talked.');
  const agent = llmAgent({ name: 'a', model, compaction: { keepEvents: 3 } });
  const runner = createRunner({ agent });
  for (let turn = 1; turn <= 60; turn++) await runner.runToEnd({ ...at, message: `turn ${turn}` });
  const last = requests.at(-1)!;
  assert.match(
    contentText(last.messages[0]),
    /^Summary of the conversation so far:\nThey talked\./,
  );
  assert.match(contentText(last.messages.at(-1)), /turn 60$/);
  assert.ok(Math.max(...requests.map(({ messages }) => messages.length)) < 60);
  const session = await runner.sessions.get({ app: 'a', user: 'ann', id: 's' });
  assert.equal(session?.events.filter(({ author }) => author === 'user').length, 60);
});

test('a summary that cannot be had does not fail the run', async () => {
  const { model, requests } = counting(() => {
    throw new ModelError('overloaded', 'later');
  });
  const agent = llmAgent({ name: 'a', model, compaction: { atTokens: 1, keepEvents: 1 } });
  const runner = createRunner({ agent });
  for (let turn = 1; turn <= 5; turn++) {
    const { error } = await runner.runToEnd({ ...at, message: `turn ${turn}` });
    assert.equal(error, undefined);
  }
  assert.equal(requests.at(-1)?.messages.length, 9);
});

test('an agent that wants no compaction gets none', async () => {
  const { model, requests } = counting(() => assert.fail('summed up'));
  const agent = llmAgent({ name: 'a', model, compaction: false });
  const runner = createRunner({ agent });
  for (let turn = 1; turn <= 40; turn++) await runner.runToEnd({ ...at, message: `turn ${turn}` });
  assert.equal(requests.at(-1)?.messages.length, 79);
});

test('a call and its response stay on the same side of the cut', () => {
  const event = (...parts: ContentPart[]): Event =>
    createEvent({ runId: 'r', author: 'a' }, { content: { role: 'model', parts } });
  const call = (id: string): ContentPart => ({ kind: 'function-call', id, name: 'f', args: {} });
  const response = (id: string): ContentPart => ({
    kind: 'function-response',
    id,
    name: 'f',
    response: 1,
  });
  const events = [
    event(call('never answered')),
    event(call('1'), call('2')),
    event(response('1')),
    event(call('3')),
    event(response('2')),
    event(response('3')),
    event({ kind: 'text', text: 'done' }),
  ];
  for (let keep = 0; keep <= events.length; keep++) {
    const cut = cutOf(events, keep);
    assert.ok(cut <= events.length - keep);
    const gone = new Set(
      events.slice(0, cut).flatMap(({ content }) => functionCalls(content).map(({ id }) => id)),
    );
    for (const { content } of events.slice(cut)) {
      for (const { id } of functionResponses(content)) assert.ok(!gone.has(id), `${id} at ${keep}`);
    }
  }
  assert.equal(cutOf(events, 1), 6);
});

test('a count of the vendor from before the summary does not count what the summary replaced', () => {
  const event = (fields: EventFields) => createEvent({ author: 'a', runId: 'r' }, fields);
  const usage = { inputTokens: 100_000, outputTokens: 0 };
  const long = event({ usage, content: { role: 'model', parts: [{ kind: 'text', text: 'x' }] } });
  assert.equal(contextTokens([long], 'a'), 100_000);
  const kept = event({
    usage,
    content: { role: 'model', parts: [{ kind: 'text', text: 'kept' }] },
  });
  const compaction = { summary: 'They talked.', upTo: long.id };
  const summary = event({ actions: { compaction } });
  assert.ok(contextTokens([long, kept, summary], 'a') < 100);
  const after = event({ usage: { inputTokens: 50, outputTokens: 7 } });
  assert.equal(contextTokens([long, kept, summary, after], 'a'), 57);
});

test('a request for a summary uses at most half of the context window, including the summary of the parts before', async () => {
  const contextWindow = 1000;
  const sizes: number[] = [];
  const model: Model = {
    name: 'wordy',
    contextWindow,
    async *generate({ system, messages }) {
      const isSummary = system?.startsWith('Summarize') === true;
      if (isSummary) sizes.push(contentText(messages[0]).length);
      yield { kind: 'text', text: isSummary ? 'x'.repeat(20_000) : 'answer' };
      yield { kind: 'finish', reason: 'stop' };
    },
  };
  const agent = llmAgent({ name: 'a', model, compaction: { keepEvents: 1 } });
  const runner = createRunner({ agent });
  for (let turn = 1; turn <= 4; turn++) {
    await runner.runToEnd({ ...at, message: `turn ${turn} ${'y'.repeat(1500)}` });
  }
  assert.ok(sizes.length > 1, 'the conversation needs several requests');
  const room = (contextWindow / 2) * 4;
  assert.ok(Math.max(...sizes) <= room, `${Math.max(...sizes)} characters of ${room}`);
});

test('a summary is made of data and the names of files too', async () => {
  const transcripts: string[] = [];
  const model: Model = {
    name: 'reading',
    async *generate({ system, messages }) {
      if (system?.startsWith('Summari') === true) transcripts.push(contentText(messages[0]));
      yield { kind: 'text', text: 'fine' };
      yield { kind: 'finish', reason: 'stop' };
    },
  };
  const agent = llmAgent({ name: 'a', model, compaction: { atTokens: 1, keepEvents: 1 } });
  const runner = createRunner({ agent });
  const message: ContentPart[] = [
    { kind: 'data', data: { order: 17 } },
    {
      kind: 'file',
      uri: 'https://files.test/plan',
      name: 'plan.pdf',
      mediaType: 'application/pdf',
    },
    { kind: 'blob', data: 'AAAA', mediaType: 'image/png' },
  ];
  await runner.runToEnd({ ...at, message });
  for (let turn = 1; turn <= 3; turn++) await runner.runToEnd({ ...at, message: `turn ${turn}` });
  assert.equal(
    transcripts[0]?.split('\nAgent: ')[0],
    [
      'User: {"order":17}',
      'User sent the file plan.pdf at https://files.test/plan (application/pdf)',
      'User sent a file (image/png)',
    ].join('\n'),
  );
});
