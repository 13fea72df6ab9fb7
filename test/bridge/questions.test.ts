// Tools that ask, behind A2A: how a person is asked, and what becomes of the answer.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { JsonObject } from '../../src/base/index.ts';
import fc from 'fast-check';
import type { Agent } from '../../src/agent/agent.ts';
import { llmAgent } from '../../src/agent/agents/llm.ts';
import type { ModelRequest } from '../../src/agent/model.ts';
import { memorySessions } from '../../src/agent/sessions/memory.ts';
import type { Tool, ToolContext } from '../../src/agent/tool.ts';
import type { Part, Task } from '../../src/protocol/index.ts';
import { answers, bridge, data, lastOf, modelOf, send, statusText, toolOf } from './support.ts';

/** Calls the tools that the user names, with what follows the colon; then says what they responded. */
function caller(tools: Tool[], seen: ModelRequest[] = []): Agent {
  const model = modelOf((request) => {
    seen.push(request);
    const last = lastOf(request);
    const responses = last.flatMap((part) => (part.kind === 'function-response' ? [part] : []));
    // Before a prompt are the responses to calls of earlier turns.
    if (responses.length > 0 && last.at(-1)?.kind !== 'text') {
      const told = responses.map(({ name, response }) => `${name}=${JSON.stringify(response)}`);
      return [{ kind: 'text', text: told.join(' ') }];
    }
    const newest = last.at(-1);
    const said = newest?.kind === 'text' ? newest.text : '';
    return said.split(' ').map((word, index) => {
      const [name = '', arg = ''] = word.split(':');
      if (!tools.some((tool) => tool.name === name)) return { kind: 'text', text: `${word} ` };
      const id = `${request.messages.length}-${index}`;
      return { kind: 'function-call', id, name, args: { arg } };
    });
  });
  return llmAgent({ name: 'caller', description: 'Calls tools', model, tools });
}

/** A tool that needs a yes, and notes what it was called with. */
function guarded(calls: JsonObject[]): Tool {
  return toolOf('erase', {
    confirm: () => true,
    run(args) {
      calls.push(args);
      return 'erased';
    },
  });
}

async function asked(t: TestContext, agent: Agent, said: string) {
  const sessions = memorySessions();
  const client = await (await bridge(t, agent, { sessions })).client();
  const task = await send(client, said);
  assert.equal(task.status.state, 'input-required');
  const key = { app: agent.name, user: 'anonymous', id: task.contextId };
  const stored = async () => (await sessions.get(key))?.events.length;
  const answer = (with_: string | Part[]) => send(client, with_, { taskId: task.id });
  return { client, task, stored, answer };
}

function questionsOf(task: Task): { id: string; kind: string; args?: { arg: string } }[] {
  for (const part of task.status.message?.parts ?? []) {
    if (part.kind === 'data') return (part.data as { questions: [] }).questions;
  }
  return [];
}

test('a confirmation says which tool is to be called with what, in words and as data', async (t) => {
  const { task } = await asked(t, caller([guarded([])]), 'erase:a.txt');
  assert.match(statusText(task), /erase[^]*\{"arg":"a\.txt"\}[^]*Answer yes or no\./);
  assert.deepEqual(
    questionsOf(task).map(({ kind, args }) => [kind, args]),
    [['confirmation', { arg: 'a.txt' }]],
  );
});

test('yes makes the call, once, and the run goes on', async (t) => {
  const calls: JsonObject[] = [];
  const { answer } = await asked(t, caller([guarded(calls)]), 'erase:a.txt');
  const done = await answer('Yes.');
  assert.equal(done.status.state, 'completed');
  assert.deepEqual(answers(done), ['erase="erased"']);
  assert.deepEqual(calls, [{ arg: 'a.txt' }]);
});

test('no makes no call, and the model hears of it', async (t) => {
  const calls: JsonObject[] = [];
  const { answer } = await asked(t, caller([guarded(calls)]), 'erase:a.txt');
  const done = await answer('no');
  assert.equal(done.status.state, 'completed');
  assert.deepEqual(calls, []);
  assert.match(answers(done)[0] ?? '', /^erase=/);
});

test('an unclear answer is asked again, and changes nothing', async (t) => {
  const calls: JsonObject[] = [];
  const { answer, stored } = await asked(t, caller([guarded(calls)]), 'erase:a.txt');
  const before = await stored();
  for (const unclear of ['why?', 'yes, but later', 'not no']) {
    const again = await answer(unclear);
    assert.equal(again.status.state, 'input-required');
    assert.match(statusText(again), /neither a clear yes nor a clear no[^]*erase/);
  }
  assert.equal(await stored(), before);
  assert.deepEqual(calls, []);
  assert.equal((await answer('ok')).status.state, 'completed');
  assert.equal(calls.length, 1);
});

test('a confirmation may change what the call is made with', async (t) => {
  const calls: JsonObject[] = [];
  const { task, answer } = await asked(t, caller([guarded(calls)]), 'erase:a.txt');
  const questionId = questionsOf(task)[0]?.id;
  await answer([data({ questionId, confirmed: true, args: { arg: 'b.txt' } })]);
  assert.deepEqual(calls, [{ arg: 'b.txt' }]);
});

test('a tool’s question is answered in free words, and the tool goes on with them', async (t) => {
  const book = toolOf('book', {
    run: (_args, ctx) =>
      ctx.answer ? `to ${ctx.answer.value as string}` : ctx.ask({ text: 'Where?' }),
  });
  const { task, answer } = await asked(t, caller([book]), 'book:trip');
  assert.match(statusText(task), /^Where\?/);
  assert.deepEqual(answers(await answer('the sea')), ['book="to the sea"']);
});

test('a file answers a question, and the tool and the model see it', async (t) => {
  const seen: ModelRequest[] = [];
  const picture = { kind: 'blob', mediaType: 'image/png', data: 'AAAA', name: 'a.png' } as const;
  const read = toolOf('read', {
    run(_args, ctx) {
      if (!ctx.answer) return ctx.ask({ text: 'Which picture?' });
      const shown = ctx.history.flatMap(({ parts }) => parts).find(({ kind }) => kind === 'blob');
      assert.deepEqual(shown, picture);
      return ctx.answer.value;
    },
  });
  const { answer } = await asked(t, caller([read], seen), 'read:it');
  const file = { bytes: 'AAAA', mimeType: 'image/png', name: 'a.png' };
  const done = await answer([{ kind: 'file', file }]);
  assert.deepEqual(answers(done), ['read="a.png"']);
  assert.deepEqual(lastOf(seen.at(-1)!).at(-1), picture);
});

test('what a long-running tool waits for is its response', async (t) => {
  const ticket = toolOf('ticket', { longRunning: true, run: () => ({ ticket: 7 }) });
  const { task, answer } = await asked(t, caller([ticket]), 'ticket:open');
  const questionId = questionsOf(task)[0]?.id;
  const done = await answer([data({ questionId, value: { approved: true } })]);
  assert.deepEqual(answers(done), ['ticket={"approved":true}']);
});

test('words do not answer when several questions are open', async (t) => {
  const calls: JsonObject[] = [];
  const { answer } = await asked(t, caller([guarded(calls)]), 'erase:a erase:b');
  const again = await answer('yes');
  assert.equal(again.status.state, 'input-required');
  assert.match(statusText(again), /^Several questions are open/);
  assert.deepEqual(calls, []);
});

test('several questions are answered in any order and grouping, each once, and the rest is asked again', async (t) => {
  const names = ['a', 'b', 'c', 'd'];
  const given = fc.record({
    order: fc.shuffledSubarray(names, { minLength: names.length }),
    cuts: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
    yes: fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
  });
  await fc.assert(
    fc.asyncProperty(given, async ({ order, cuts, yes }) => {
      const calls: JsonObject[] = [];
      const said = names.map((name) => `erase:${name}`).join(' ');
      const { task, answer } = await asked(t, caller([guarded(calls)]), said);
      const ids = new Map(questionsOf(task).map(({ id, args }) => [args?.arg, id]));
      const groups: string[][] = [[]];
      for (const [index, name] of order.entries()) {
        groups.at(-1)!.push(name);
        if (cuts[index]) groups.push([]);
      }
      const open = new Set(names);
      let now: Task = task;
      for (const group of groups.filter(({ length }) => length > 0)) {
        const confirmed = (name: string) => yes[names.indexOf(name)];
        now = await answer(
          group.map((name) => data({ questionId: ids.get(name), confirmed: confirmed(name) })),
        );
        for (const name of group) open.delete(name);
        const left = questionsOf(now).map(({ args }) => args?.arg);
        assert.deepEqual(left, now.status.state === 'completed' ? [] : [...open]);
        assert.equal(now.status.state, open.size === 0 ? 'completed' : 'input-required');
      }
      assert.deepEqual(
        calls.map(({ arg }) => arg as string).toSorted(),
        names.filter((_, index) => yes[index]),
      );
    }),
    { numRuns: 15 },
  );
});

test('cancelling a task that waits leaves its context as good as before', async (t) => {
  const calls: JsonObject[] = [];
  const seen: ModelRequest[] = [];
  const { client, task } = await asked(t, caller([guarded(calls)], seen), 'erase:a.txt');
  assert.equal((await client.cancel(task.id)).status.state, 'canceled');
  const next = await send(client, 'hello', { contextId: task.contextId });
  assert.equal(next.status.state, 'completed');
  assert.deepEqual(answers(next), ['hello ']);
  const parts = seen.at(-1)!.messages.flatMap((content) => content.parts);
  assert.deepEqual(
    parts.map((part) => (part.kind === 'function-response' ? part.response : part.kind)),
    ['text', 'function-call', 'stopped by the user: this call was not run', 'text', 'text'],
    'no open call is in the prompt',
  );
  await assert.rejects(send(client, 'yes', { taskId: task.id }));
  assert.deepEqual(calls, []);
});

test('two tasks of one context wait side by side, and each gets its own answer', async (t) => {
  const calls: JsonObject[] = [];
  const { client, task: first } = await asked(t, caller([guarded(calls)]), 'erase:a');
  const second = await send(client, 'erase:b', { contextId: first.contextId });
  assert.equal(second.status.state, 'input-required');
  assert.equal((await send(client, 'no', { taskId: second.id })).status.state, 'completed');
  assert.equal((await send(client, 'yes', { taskId: first.id })).status.state, 'completed');
  assert.deepEqual(calls, [{ arg: 'a' }]);
});

test('cancelling a task aborts the signal of the tool that it is in', async (t) => {
  const { promise: called, resolve: call } = Promise.withResolvers<ToolContext>();
  const hold = toolOf('hold', {
    run: (_args, ctx) => {
      const { signal } = ctx;
      call(ctx);
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
    },
  });
  const client = await (await bridge(t, caller([hold]))).client();
  const sent = send(client, 'hold:it');
  const { signal, runId } = await called;
  assert.equal((await client.cancel(runId)).status.state, 'canceled');
  assert.equal(signal.aborted, true);
  const canceled = await sent;
  assert.equal(canceled.status.state, 'canceled');
  const next = await send(client, 'hello', { contextId: canceled.contextId });
  assert.deepEqual(answers(next), ['hello ']);
});

test('calls stay inside, unless they are to be seen', async (t) => {
  const look = toolOf('look', { run: () => ({ seen: 1 }) });
  const plain = await send(await (await bridge(t, caller([look]))).client(), 'look:x');
  assert.equal(plain.history?.length, 1);
  const options = { exposeToolCalls: true };
  const shown = await send(await (await bridge(t, caller([look]), options)).client(), 'look:x');
  const marks = shown.history
    ?.slice(1)
    .map(({ parts: [part] }) => Object.keys(part?.metadata ?? {}));
  assert.deepEqual(marks, [['parley.functionCall'], ['parley.functionResponse']]);
  assert.deepEqual(answers(shown), answers(plain));
});

test('a message that names only the context answers a question, and a confirmation only by yes or no', async (t) => {
  const calls: JsonObject[] = [];
  const book = toolOf('book', {
    run: (_args, ctx) =>
      ctx.answer ? `to ${ctx.answer.value as string}` : ctx.ask({ text: 'Where?' }),
  });
  const { client, task } = await asked(t, caller([guarded(calls), book]), 'erase:a.txt');
  const { contextId } = task;
  const said = (text: string | Part[]) => send(client, text, { contextId });
  // Anything else is a request of its own, and the task still waits.
  for (const other of ['ok', 'yes please', 'no, thanks', 'hello', '']) {
    assert.notEqual((await said(other)).id, task.id, other);
  }
  const data = { questionId: questionsOf(task)[0]?.id, confirmed: true };
  assert.notEqual((await said([{ kind: 'data', data }])).id, task.id);
  assert.notEqual(
    (
      await said([
        { kind: 'text', text: 'no' },
        { kind: 'data', data },
      ])
    ).id,
    task.id,
  );
  assert.deepEqual(calls, []);
  const done = await said(' Yes ');
  assert.deepEqual([done.id, done.status.state], [task.id, 'completed']);
  assert.deepEqual(calls, [{ arg: 'a.txt' }]);
  const where = await said('book:trip');
  assert.equal(where.status.state, 'input-required');
  const booked = await said('the sea');
  assert.deepEqual([booked.id, answers(booked)], [where.id, ['book="to the sea"']]);
  // If two tasks wait, it is unclear which of them is meant.
  const first = await said('erase:b.txt');
  const second = await said('erase:c.txt');
  assert.notEqual(first.id, second.id);
  const third = await said('yes');
  assert.ok(third.id !== first.id && third.id !== second.id);
  assert.equal(calls.length, 1);
});
