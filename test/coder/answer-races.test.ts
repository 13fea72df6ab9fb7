/** Answers that come at awkward moments: each one that is taken counts, and what cannot count is refused. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import type { Model } from '../../src/agent/model.ts';
import { scriptedModel } from '../../src/agent/models/scripted.ts';
import { EXTENSION_URI } from '../../src/protocol/development-tool/index.ts';
import type { Message, StreamEvent } from '../../src/protocol/index.ts';
import {
  callIn,
  confirmation,
  makePlace,
  rpc,
  startCoder,
  stream,
  userMessage,
} from './support.ts';
import { turnOf, writes } from './talk.ts';

const asked = (events: readonly StreamEvent[]): string[] => [
  ...new Set(events.flatMap((event) => callIn(event)?.tool_call_id ?? [])),
];

const choose = (taskId: string, id: string, option = 'proceed_once'): Message =>
  confirmation(taskId, { tool_call_id: id, selected_option_id: option });

const send = (url: string, message: Message) =>
  rpc(url, 'message/send', { message, configuration: { blocking: false } });

test('different calls are answered at the same moment, while the turn is only being taken up', async (t) => {
  const place = makePlace(t);
  const names = ['a.txt', 'b.txt', 'c.txt', 'd.txt'];
  const script = [names.flatMap((name) => writes(name, name)), [{ text: 'Done.' }]];
  const { url } = await startCoder(t, place, { script });
  // A folder that is named is looked for on the disk each time: the turn does not begin at once.
  const metadata = { [EXTENSION_URI]: { workspace_path: place.workspace } };
  const events = await stream(url, userMessage('write them', { metadata }));
  const { taskId } = turnOf(events);
  const replies = await Promise.all(
    asked(events).map((id) => rpc(url, 'message/send', { message: choose(taskId, id) })),
  );
  assert.deepEqual(
    replies.map(({ error }) => error?.message),
    names.map(() => undefined),
  );
  assert.deepEqual(
    names.map((name) => existsSync(join(place.workspace, name))),
    [true, true, true, true],
  );
});

test('an answer that comes while a command runs beside the turn is heard', async (t) => {
  const place = makePlace(t);
  const asks = Promise.withResolvers<void>();
  const goesOn = Promise.withResolvers<void>();
  const scripted = scriptedModel([
    [{ text: 'Hello.' }],
    writes('a.txt', 'a'),
    [{ text: 'A summary.' }],
    [{ text: 'Done.' }],
  ]);
  let requests = 0;
  const model: Model = {
    ...scripted,
    async *generate(request, signal) {
      if (++requests === 3) {
        asks.resolve();
        await goesOn.promise;
      }
      yield* scripted.generate(request, signal);
    },
  };
  const { url } = await startCoder(t, place, { model });
  const { contextId } = turnOf(await stream(url, userMessage('hello')));
  const events = await stream(url, userMessage('write it', { contextId }));
  const { taskId } = turnOf(events);
  const command = stream(url, userMessage('/compress', { taskId }));
  await asks.promise;
  const [id = ''] = asked(events);
  const reply = await send(url, choose(taskId, id));
  assert.equal(reply.error, undefined);
  goesOn.resolve();
  assert.equal(turnOf(await command).state, 'completed');
  assert.equal(existsSync(join(place.workspace, 'a.txt')), true);
});

test('words and a choice for the same call, at the same moment: one of them counts', async (t) => {
  const place = makePlace(t);
  const { url } = await startCoder(t, place, {
    script: [writes('a.txt', 'a'), [{ text: 'Done.' }]],
  });
  const metadata = { [EXTENSION_URI]: { workspace_path: place.workspace } };
  const events = await stream(url, userMessage('write it', { metadata }));
  const { taskId } = turnOf(events);
  const [id = ''] = asked(events);
  const replies = await Promise.all([
    send(url, userMessage('yes', { taskId })),
    send(url, choose(taskId, id, 'cancel')),
  ]);
  assert.equal(replies.filter(({ error }) => error === undefined).length, 1);
  const late = await send(url, choose(taskId, id, 'cancel'));
  assert.match(late.error?.message ?? '', /^already resolved by a2a: /);
});
