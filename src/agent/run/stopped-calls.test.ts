// What each vendor is sent after a run was stopped: every call with a response, right after it, and the partial answer.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { all, at, toolOf } from '../../../test/support/runs.ts';
import { anthropic } from '../../../test/support/vendors/anthropic.ts';
import { google } from '../../../test/support/vendors/google.ts';
import { openaiCompatible } from '../../../test/support/vendors/openai-compatible.ts';
import { openai } from '../../../test/support/vendors/openai.ts';
import { fakeVendor } from '../../../test/support/vendors/server.ts';
import { llmAgent } from '../agents/llm.ts';
import { contentText, functionResponses } from '../content.ts';
import type { Event } from '../event.ts';
import type { Model } from '../model.ts';
import { resolveModel } from '../models/resolve.ts';
import { memorySessions } from '../sessions/memory.ts';
import { scriptedModel } from '../models/scripted.ts';
import { createRunner } from './runner.ts';

const NOTE = '[The user canceled this request.]';
const STOPPED = 'stopped by the user: this call did not finish';

/** A part of a request, in the words of one of the vendors. */
interface Wire {
  readonly type?: string;
  readonly role?: string;
  readonly text?: string;
  readonly content?: string | readonly Wire[];
  readonly parts?: readonly Wire[];
  readonly output?: unknown;
  readonly id?: string;
  readonly call_id?: string;
  readonly tool_use_id?: string;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly Wire[];
  readonly functionCall?: Wire;
  readonly functionResponse?: { readonly id?: string; readonly response: unknown };
}

/** The conversation in a request: `role: text`, `call ID` and `ID -> response`, whichever vendor it is for. */
function told(body: unknown): string[] {
  const { messages, contents, input } = body as Record<string, readonly Wire[] | undefined>;
  const lines: string[] = [];
  const ids: string[] = [];
  const short = (id = ''): string => {
    if (!ids.includes(id)) ids.push(id);
    return `${ids.indexOf(id)}`;
  };
  const result = (id: string | undefined, value: unknown): void => {
    const stopped = JSON.stringify(value).includes(STOPPED);
    lines.push(`${short(id)} -> ${stopped ? 'stopped' : JSON.stringify(value)}`);
  };
  const say = (role: string, part: Wire): void => {
    if (part.text !== undefined && part.type !== 'thinking') lines.push(`${role}: ${part.text}`);
    if (part.type === 'tool_use') lines.push(`call ${short(part.id)}`);
    if (part.type === 'tool_result') result(part.tool_use_id, part.content);
    if (part.functionCall) lines.push(`call ${short(part.functionCall.id)}`);
    if (part.functionResponse) result(part.functionResponse.id, part.functionResponse.response);
  };
  for (const item of messages ?? contents ?? input ?? []) {
    const role = item.role === 'assistant' || item.role === 'model' ? 'model' : 'user';
    if (item.type === 'function_call') lines.push(`call ${short(item.call_id)}`);
    else if (item.type === 'function_call_output') result(item.call_id, item.output);
    else if (item.role === 'tool') result(item.tool_call_id, item.content);
    else if (item.role !== 'system' && item.role !== 'developer') {
      const { content } = item;
      if (typeof content === 'string' && content !== '') lines.push(`${role}: ${content}`);
      if (Array.isArray(content)) for (const part of content as Wire[]) say(role, part);
      for (const part of item.parts ?? []) say(role, part);
      for (const call of item.tool_calls ?? []) lines.push(`call ${short(call.id)}`);
    }
  }
  return lines;
}

for (const wire of [google, anthropic, openai, openaiCompatible]) {
  test(`${wire.model} is sent every stopped call with its response, and the partial answer`, async () => {
    const said = wire.answer.slice(
      0,
      wire.answer.findIndex((event) => event.includes('sunny')),
    );
    await using vendor = await fakeVendor([
      { events: wire.calls },
      { events: said, after: 'hang' },
      { events: wire.answer },
    ]);
    const model = resolveModel(wire.model, { env: wire.env(vendor.url, 'key') });
    let called = 0;
    const both = Promise.withResolvers<void>();
    const hangs = toolOf('get_weather', () => {
      if (++called === 2) both.resolve();
      return new Promise(() => {});
    });
    const runner = createRunner({ agent: llmAgent({ name: 'me', model, tools: [hangs] }) });

    /** Runs until something happens, then stops the run as a user does. */
    async function stopped(runId: string, message: string, when: (event: Event) => boolean) {
      const stop = new AbortController();
      const abort = () => stop.abort(new Error('stopped by the user'));
      if (runId === 'r1') void both.promise.then(abort);
      const run = async () => {
        for await (const event of runner.run({ ...at, runId, message, signal: stop.signal })) {
          if (when(event)) abort();
        }
      };
      await assert.rejects(run(), { message: 'stopped by the user' });
      await runner.cancel({ ...at, runId });
    }

    await stopped('r1', 'Weather?', () => false);
    await stopped('r2', 'And now?', ({ content }) => contentText(content) !== '');
    await all(runner.run({ ...at, message: 'Well?' }));

    const lines = told(vendor.asked[2]?.body).join('\n').replaceAll(NOTE, '[canceled]');
    assert.deepEqual(lines.replaceAll(/\[canceled\]\n?(?:user: )?/g, '[canceled] ').split('\n'), [
      'user: Weather?',
      'call 0',
      'call 1',
      '0 -> stopped',
      '1 -> stopped',
      'user: [canceled] And now?',
      'model: It is ',
      'user: [canceled] Well?',
    ]);
  });
}

test('a run that reaches its time limit responds to its open calls, before its error', async () => {
  const model = scriptedModel([
    [{ text: 'Let me see. ' }, { call: { name: 'hang' } }, { call: { name: 'pay' } }],
  ]);
  const hang = toolOf('hang', () => new Promise(() => {}));
  const pay = toolOf('pay', () => 'paid', { confirm: () => true });
  const agent = llmAgent({ name: 'me', model, tools: [hang, pay] });
  const runner = createRunner({ agent, limits: { timeMs: 100 } });
  const events = await all(runner.run({ ...at, message: 'go' }));
  const responses = events.flatMap(({ content }) => functionResponses(content));
  const reason = 'the run ended with an error (time-limit): this call';
  assert.deepEqual(
    responses.map(({ name, response, error }) => [name, response, error?.type]),
    [
      ['hang', `${reason} did not finish`, 'stopped'],
      ['pay', `${reason} was not run`, 'stopped'],
    ],
  );
  assert.equal(events.at(-1)?.error?.code, 'time-limit');
});

test('a time limit beyond the longest timer does not end the run at once', async () => {
  for (const timeMs of [2 ** 31, Number.MAX_SAFE_INTEGER]) {
    const model = scriptedModel([[{ call: { name: 'rest' } }], [{ text: 'rested' }]]);
    const rest = toolOf('rest', () => new Promise((resolve) => setTimeout(resolve, 20, 'ok')));
    const agent = llmAgent({ name: 'me', model, tools: [rest] });
    const events = await all(
      createRunner({ agent, limits: { timeMs } }).run({ ...at, message: 'go' }),
    );
    assert.equal(contentText(events.at(-1)?.content), 'rested');
  }
});

test('a partial answer without visible characters is not kept, because vendors refuse it', async () => {
  const model: Model = {
    name: 'slow',
    async *generate(_request, signal) {
      yield { kind: 'text', text: '\n\n' };
      await once(signal, 'abort');
    },
  };
  const sessions = memorySessions();
  const agent = llmAgent({ name: 'me', model });
  const runner = createRunner({ agent, sessions, app: 'app' });
  const stop = new AbortController();
  const run = async () => {
    for await (const event of runner.run({ ...at, message: 'go', signal: stop.signal })) {
      if (event.partial === true) stop.abort(new Error('stopped by the user'));
    }
  };
  await assert.rejects(run(), { message: 'stopped by the user' });
  const session = await sessions.get({ app: 'app', user: at.user, id: at.session });
  assert.deepEqual(
    session?.events.map(({ author }) => author),
    ['user'],
  );
});
