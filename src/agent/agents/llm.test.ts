import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import type { Agent } from '../agent.ts';
import { functionResponses, contentText } from '../content.ts';
import type { Event, AnswerInbox } from '../event.ts';
import type { ModelRequest } from '../model.ts';
import { scriptedModel, type ScriptedResponse } from '../models/scripted.ts';
import { resultOf } from '../run/run-result.ts';
import { createRunner, type Runner, type RunnerOptions } from '../run/runner.ts';
import { memorySessions } from '../sessions/memory.ts';
import { RichResponse, type Tool } from '../tool.ts';
import { llmAgent, type LlmAgentOptions } from './llm.ts';
import { all, at, mortal, toolOf, words } from '../../../test/support/runs.ts';

/** A runner of one agent whose model says these things, and the requests that it gets. */
function scripted(
  responses: readonly ScriptedResponse[],
  options: Partial<LlmAgentOptions> = {},
  more: Partial<RunnerOptions> = {},
): { runner: Runner; requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  const model = scriptedModel(responses, { onRequest: (request) => requests.push(request) });
  const agent = llmAgent({ name: 'a', model, ...options });
  return { runner: createRunner({ agent, app: 'app', ...more }), requests };
}

function responsesIn(events: readonly Event[]) {
  return events.flatMap(({ content }) => functionResponses(content));
}

const call = (name: string, args = {}): ScriptedResponse[number] => ({ call: { name, args } });

test('the pieces of an answer make up the whole that follows, and have its id', async () => {
  const { runner } = scripted([[{ text: 'A long enough answer to be cut into pieces.' }]]);
  const events = await all(runner.run({ ...at, message: 'go' }));
  const whole = events.at(-1)!;
  const pieces = events.slice(0, -1);
  assert.ok(pieces.length > 1);
  assert.ok(pieces.every(({ partial, id }) => partial === true && id === whole.id));
  assert.equal(
    pieces.map(({ content }) => contentText(content)).join(''),
    contentText(whole.content),
  );
});

test('calls of one answer run at the same time, and each response is stored when it is there', async () => {
  const slow = Promise.withResolvers<string>();
  const tools = [toolOf('slow', () => slow.promise), toolOf('fast', () => 'fast')];
  const { runner, requests } = scripted([[call('slow'), call('fast')], [{ text: 'done' }]], {
    tools,
  });
  const order: string[] = [];
  for await (const event of runner.run({ ...at, message: 'go' })) {
    for (const { name } of functionResponses(event.content)) {
      order.push(name);
      if (name === 'fast') slow.resolve('slow');
    }
  }
  assert.deepEqual(order, ['fast', 'slow']);
  const [, said, heard] = requests[1]!.messages;
  assert.equal(said?.parts.length, 2);
  // Behind their calls, in the calls' order.
  assert.deepEqual(
    functionResponses(heard).map(({ response }) => response),
    ['slow', 'fast'],
  );
});

const wrongs: { what: string; response: ScriptedResponse; tools: Tool[]; says: RegExp }[] = [
  {
    what: 'a tool that throws',
    response: [call('bad')],
    tools: [
      toolOf('bad', () => {
        throw new Error('no such city');
      }),
    ],
    says: /^no such city$/,
  },
  {
    what: 'a tool that is not there',
    response: [call('other')],
    tools: [toolOf('bad', () => 1)],
    says: /there is no tool other; the tools are: bad/,
  },
  {
    what: 'arguments that do not fit',
    response: [call('bad')],
    tools: [
      toolOf('bad', () => 1, {
        parse: () => {
          throw new TypeError('city is missing');
        },
      }),
    ],
    says: /city is missing/,
  },
];
for (const { what, response, tools, says } of wrongs) {
  test(`${what} is told to the model, and the run goes on`, async () => {
    const { runner } = scripted([response, [{ text: 'sorry' }]], { tools });
    const events = await all(runner.run({ ...at, message: 'go' }));
    const [told] = responsesIn(events);
    assert.equal(told?.isError, true);
    assert.match(words(told?.response), says);
    assert.equal(contentText(events.at(-1)?.content), 'sorry');
  });
}

test('what people are shown instead of a response is stored, and not sent to the model', async () => {
  const tools = [toolOf('t', () => new RichResponse('for the model', { display: 'for people' }))];
  const { runner, requests } = scripted([[call('t')], [{ text: 'ok' }]], { tools });
  const events = await all(runner.run({ ...at, message: 'go' }));
  assert.equal(responsesIn(events)[0]?.display, 'for people');
  assert.doesNotMatch(JSON.stringify(requests[1]), /for people/);
});

test('progress is shown and not stored', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const tools = [
    toolOf('t', async (_, context) => {
      context.progress('half');
      await promise;
    }),
  ];
  const { runner } = scripted([[call('t')], [{ text: 'ok' }]], { tools });
  const shown: unknown[] = [];
  for await (const { actions, partial } of runner.run({ ...at, message: 'go' })) {
    if (!actions.progress) continue;
    assert.equal(partial, true);
    shown.push(actions.progress.value);
    resolve();
  }
  assert.deepEqual(shown, ['half']);
});

test('a call that needs a confirmation is made once it is given, with the arguments that were changed', async () => {
  const made: unknown[] = [];
  const tools = [
    toolOf('pay', (args) => void made.push(args), { confirm: () => ({ text: 'Pay?' }) }),
  ];
  const { runner } = scripted([[call('pay', { sum: 5 })], [{ text: 'paid' }]], { tools });
  const { runId, questions, text } = await runner.runToEnd({ ...at, message: 'go' });
  const [question] = questions;
  assert.deepEqual(
    [question?.kind, question?.text, question?.args],
    ['confirmation', 'Pay?', { sum: 5 }],
  );
  assert.deepEqual([made, text], [[], '']);
  const answers = [{ questionId: question!.id, confirmed: true, args: { sum: 3 } }];
  const result = await resultOf(runner.resume({ ...at, runId, answers }));
  assert.deepEqual([made, result.text], [[{ sum: 3 }], 'paid']);
});

test('a call that was declined is not made, and the model is told why', async () => {
  const tools = [toolOf('pay', () => assert.fail('made'), { confirm: () => true })];
  const { runner } = scripted([[call('pay')], [{ text: 'a pity' }]], { tools });
  const { runId, questions } = await runner.runToEnd({ ...at, message: 'go' });
  const answers = [{ questionId: questions[0]!.id, value: 'too dear' }];
  const events = await all(runner.resume({ ...at, runId, answers }));
  assert.equal(responsesIn(events)[0]?.response, 'this call was declined: too dear');
});

test('a tool that asks is called again with the answer, with what was confirmed before', async () => {
  const tools = [
    toolOf(
      'book',
      (args, context) =>
        context.answer
          ? `${JSON.stringify(args)} ${words(context.answer.value)}`
          : context.ask({ text: 'Which seat?', options: ['aisle', 'window'] }),
      { confirm: () => true },
    ),
  ];
  const { runner } = scripted([[call('book', { day: 1 })], [{ text: 'ok' }]], { tools });
  const first = await runner.runToEnd({ ...at, message: 'go' });
  const { runId } = first;
  const questionId = first.questions[0]!.id;
  const second = await resultOf(
    runner.resume({
      ...at,
      runId,
      answers: [{ questionId, confirmed: true, args: { day: 2 } }],
    }),
  );
  assert.deepEqual(second.questions[0]?.options, ['aisle', 'window']);
  const events = await all(
    runner.resume({ ...at, runId, answers: [{ questionId, value: 'aisle' }] }),
  );
  assert.equal(responsesIn(events)[0]?.response, '{"day":2} aisle');
});

test("a long-running call stays open, and its answer is the call's response", async () => {
  let times = 0;
  const tools = [toolOf('ship', () => ({ ticket: ++times }), { longRunning: true })];
  const { runner } = scripted([[call('ship')], [{ text: 'shipped' }]], { tools });
  const events = await all(runner.run({ ...at, message: 'go' }));
  const [question] = events.at(-1)?.actions.questions ?? [];
  assert.deepEqual(events[0]?.longRunningToolIds, [question?.id]);
  assert.deepEqual(question?.detail, { ticket: 1 });
  const { runId } = events[0];
  const answers = [{ questionId: question.id, value: { arrived: true } }];
  const after = await all(runner.resume({ ...at, runId, answers }));
  assert.deepEqual(responsesIn(after)[0]?.response, { arrived: true });
  assert.equal(times, 1);
});

test('a call that was being made when the process died is not made again', async () => {
  let times = 0;
  const { promise: dies, resolve: die } = Promise.withResolvers<void>();
  const tools = [
    toolOf('pay', () => {
      times++;
      die();
      return new Promise(() => {});
    }),
  ];
  const sessions = memorySessions();
  const process = mortal(sessions);
  const { runner } = scripted([[call('pay')]], { tools }, { sessions: process.store });
  const stop = new AbortController();
  const run = all(runner.run({ ...at, message: 'go', runId: 'r', signal: stop.signal }));
  await dies;
  process.die();
  stop.abort();
  await assert.rejects(run);
  const { runner: next } = scripted([[{ text: 'I do not know' }]], { tools }, { sessions });
  const events = await all(next.resume({ ...at, runId: 'r', answers: [] }));
  assert.match(words(responsesIn(events)[0]?.response), /outcome unknown/);
  assert.equal(contentText(events.at(-1)?.content), 'I do not know');
  assert.equal(times, 1);
  assert.deepEqual(await all(next.resume({ ...at, runId: 'r', answers: [] })), []);
});

test('the instruction is filled in from state and artifacts, once', async () => {
  const { runner, requests } = scripted([[{ text: 'ok' }]], {
    instruction: 'Serve {name}, {title?}at {{place}}. {artifact.notes}',
    callbacks: {
      async beforeAgent({ artifacts }) {
        await artifacts.save('notes', { kind: 'text', text: 'Be {kind}.' });
      },
    },
  });
  await runner.runToEnd({ ...at, message: 'go', state: { name: 'Ann' } });
  assert.equal(requests[0]?.system, 'Serve Ann, at {place}. Be {kind}.');
});

test('an instruction with a key that the state does not have fails the run and says what to do', async () => {
  const { runner } = scripted([], { instruction: 'Serve {name}' });
  const { error } = await runner.runToEnd({ ...at, message: 'go' });
  assert.equal(error?.code, 'instruction');
  assert.match(error?.message ?? '', /state has no name: set it, or write \{name\?\}/);
});

test('the answer goes into the state, as the value that the schema says', async () => {
  const { runner, requests } = scripted([[{ text: '{"city":"Rome"}' }]], {
    outputKey: 'place',
    outputSchema: z.object({ city: z.string() }),
  });
  await runner.runToEnd({ ...at, message: 'go' });
  assert.deepEqual(requests[0]?.outputSchema?.['required'], ['city']);
  const session = await runner.sessions.get({ app: 'app', user: 'ann', id: 's' });
  assert.deepEqual(session?.state, { place: { city: 'Rome' } });
});

test('an answer that does not fit the schema fails the run', async () => {
  const { runner } = scripted([[{ text: '{"town":1}' }]], {
    outputSchema: z.object({ city: z.string() }),
  });
  const { error } = await runner.runToEnd({ ...at, message: 'go' });
  assert.equal(error?.code, 'invalid-output');
});

test("a model's error ends the run with an event of the agent", async () => {
  const { runner } = scripted([[{ error: { status: 401, message: 'bad key' } }]]);
  const events = await all(runner.run({ ...at, message: 'go' }));
  assert.equal(events.at(-1)?.author, 'a');
  assert.match(events.at(-1)?.error?.code ?? '', /^model-/);
});

test('a stream that ends without its end is an error, not a short answer', async () => {
  const model = {
    name: 'short',
    async *generate() {
      yield { kind: 'text' as const, text: 'I was about to' };
    },
  };
  const agent = llmAgent({ name: 'a', model });
  const { error } = await createRunner({ agent }).runToEnd({ ...at, message: 'go' });
  assert.equal(error?.code, 'model-cut-off');
});

function triage(responses: readonly ScriptedResponse[]): Agent {
  const model = scriptedModel(responses);
  return llmAgent({
    name: 'triage',
    model,
    subAgents: [
      llmAgent({ name: 'billing', description: 'Bills', model }),
      llmAgent({ name: 'support', description: 'Trouble', model, disallowTransferToParent: true }),
    ],
  });
}

const transfer = (to: string): ScriptedResponse => [call('transfer_to_agent', { agent_name: to })];

test('an agent hands over to another one, which also gets the next message', async () => {
  const agent = triage([transfer('billing'), [{ text: 'A bill?' }], [{ text: 'Another?' }]]);
  const runner = createRunner({ agent });
  const first = await all(runner.run({ ...at, message: 'my bill' }));
  const second = await all(runner.run({ ...at, message: 'and one more' }));
  assert.equal(first.at(-1)?.author, 'billing');
  assert.equal(contentText(first.at(-1)?.content), 'A bill?');
  assert.equal(second.at(-1)?.author, 'billing');
});

test('a model that names nobody to hand over to is told whom it may name', async () => {
  const runner = createRunner({
    agent: triage([[call('transfer_to_agent', { agent: 'billing' })], [{ text: 'Hm.' }]]),
  });
  const events = await all(runner.run({ ...at, message: 'my bill' }));
  assert.equal(responsesIn(events)[0]?.response, 'agent_name must be one of: billing, support');
});

test('an agent that could not hand back does not keep the conversation', async () => {
  const agent = triage([transfer('support'), [{ text: 'Trouble?' }], [{ text: 'Hello' }]]);
  const runner = createRunner({ agent });
  await runner.runToEnd({ ...at, message: 'help' });
  const events = await all(runner.run({ ...at, message: 'something else' }));
  assert.equal(events.at(-1)?.author, 'triage');
});

test('an agent that hands over while a person is asked does so after the answer', async () => {
  const ask = toolOf('ask', (_, context) => context.answer?.value ?? context.ask({ text: '?' }));
  const model = scriptedModel([
    [call('ask'), call('transfer_to_agent', { agent_name: 'clerk' })],
    [{ text: 'at your service' }],
  ]);
  const subAgents = [llmAgent({ name: 'clerk', model })];
  const runner = createRunner({
    agent: llmAgent({ name: 'desk', model, tools: [ask], subAgents }),
  });
  const first = await runner.runToEnd({ ...at, message: 'go' });
  assert.equal(first.text, '');
  const answers = [{ questionId: first.questions[0]!.id, value: 'yes' }];
  const events = await all(runner.resume({ ...at, runId: first.runId, answers }));
  assert.equal(responsesIn(events)[0]?.response, 'yes');
  assert.equal(events.at(-1)?.author, 'clerk');
});

test('a transfer to an agent that is not there fails the run', async () => {
  const tools = [toolOf('go', (_, context) => context.transferTo('nobody'))];
  const { runner } = scripted([[call('go')]], { tools });
  const { error } = await runner.runToEnd({ ...at, message: 'go' });
  assert.equal(error?.code, 'unknown-agent');
});

test('a run that was handed over and waits goes on with the agent that waits', async () => {
  const model = scriptedModel([transfer('clerk'), [call('ask')], [{ text: 'thanks' }]]);
  const ask = toolOf(
    'ask',
    (_, context) => context.answer?.value ?? context.ask({ text: 'When?' }),
  );
  const agent = llmAgent({
    name: 'desk',
    model,
    subAgents: [llmAgent({ name: 'clerk', model, tools: [ask] })],
  });
  const sessions = memorySessions();
  const { runId, questions } = await createRunner({ agent, sessions }).runToEnd({
    ...at,
    message: 'go',
  });
  const answers = [{ questionId: questions[0]!.id, value: 'now' }];
  const events = await all(createRunner({ agent, sessions }).resume({ ...at, runId, answers }));
  assert.deepEqual(
    events.filter(({ partial }) => !partial).map(({ author }) => author),
    ['clerk', 'clerk'],
  );
});

test('what is answered while another call runs is waited for no more, and the agent goes on', async () => {
  const arrived = Promise.withResolvers<void>();
  const confirm = () => true;
  const first = toolOf('first', () => arrived.promise.then(() => 'one'), { confirm });
  const second = toolOf(
    'second',
    () => {
      arrived.resolve();
      return 'two';
    },
    { confirm },
  );
  const { runner } = scripted([[call('first'), call('second')], [{ text: 'both ran' }]], {
    tools: [first, second],
  });
  const { runId, questions } = await runner.runToEnd({ ...at, message: 'go' });
  const [one] = questions.map(({ id }) => ({ questionId: id, confirmed: true }));
  // The other answer is there as soon as it is looked for.
  const inbox: AnswerInbox = {
    take: ({ id }) => ({ questionId: id, confirmed: true }),
    listen: () => ({ [Symbol.dispose]: () => {} }),
  };
  const result = await resultOf(runner.resume({ ...at, runId, answers: [one!], inbox }));
  assert.deepEqual([result.text, result.questions], ['both ran', []]);
});
