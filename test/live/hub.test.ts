// The live session as those in the same process see it.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { ScriptedResponse } from '../../src/agent/models/scripted.ts';
import { sqliteSessions } from '../../src/agent/sqlite/index.ts';
import { localSession } from '../../src/cli/coder/stored-sessions.ts';
import { MODE_KEY } from '../../src/coder/approval/guard.ts';
import type { LiveSink } from '../../src/live/session-reader.ts';
import { A2AError } from '../../src/protocol/index.ts';
import { sqliteStore } from '../../src/store/sqlite.ts';
import { makePlace } from '../coder/support.ts';
import { writes } from '../coder/talk.ts';
import { within } from '../support/within.ts';
import { openSession, Watcher } from './support.ts';

const says = (text: string): ScriptedResponse => [{ text }];

test('a prompt of one client is seen by all, with its name, in the same order', async (t) => {
  const { live } = await openSession(t, { script: [says('Hello.')] });
  const terminal = new Watcher(live.join({ kind: 'terminal' }));
  const phone = new Watcher(live.join({ kind: 'a2a', name: 'phone' }));
  await terminal.until(({ kind }) => (kind === 'snapshot' ? true : undefined));
  await phone.until(({ kind }) => (kind === 'snapshot' ? true : undefined));
  const { queued, taskId } = await phone.session.prompt('hi');
  assert.deepEqual([queued, taskId], [false, live.taskId]);
  await Promise.all([terminal.state('completed'), phone.state('completed')]);
  assert.deepEqual(terminal.said, ['phone: hi', 'agent: Hello.']);
  assert.deepEqual(phone.order, terminal.order);
});

test('one who joins gets the task so far, what waits, the mode and who is there', async (t) => {
  const { live, place } = await openSession(t, { script: [writes('a.txt', 'A'), says('Done.')] });
  const terminal = new Watcher(live.join({ kind: 'terminal', name: 'Ann' }));
  await terminal.session.prompt('write');
  const call = await terminal.pending();
  const late = new Watcher(live.join({ kind: 'acp', name: 'zed' }));
  const snapshot = await late.until((item) =>
    item.kind === 'snapshot' ? item.snapshot : undefined,
  );
  assert.equal(snapshot.taskId, live.taskId);
  assert.deepEqual(snapshot.pending, [call]);
  assert.equal(snapshot.task.history?.[0]?.role, 'user');
  assert.deepEqual(
    [snapshot.approval, snapshot.model, snapshot.workspace],
    ['ask', 'scripted', place.workspace],
  );
  assert.deepEqual(
    snapshot.clients.map(({ name, kind, roles }) => `${name} ${kind} ${roles.join()}`),
    ['Ann terminal view,prompt,approve', 'zed acp view,prompt,approve'],
  );
  assert.ok(snapshot.seq >= 3);
});

test('a mode that the session chose where it was allowed more is not shown as its mode', async (t) => {
  const { live, place } = await openSession(t, { script: [says('Hello.')] });
  const terminal = new Watcher(live.join({ kind: 'terminal' }));
  await terminal.session.prompt('hi');
  await terminal.state('completed');
  const sessions = sqliteSessions(join(place.home, 'sessions.db'));
  const event = { id: 'e', runId: 'r', author: 'user', timestamp: 1, aside: true };
  const actions = { stateDelta: { [MODE_KEY]: 'yolo' } };
  await sessions.append(localSession(live.contextId), [{ ...event, actions }]);
  await sessions.close();
  const late = new Watcher(live.join({ kind: 'a2a' }));
  const snapshot = await late.until((item) =>
    item.kind === 'snapshot' ? item.snapshot : undefined,
  );
  assert.equal(snapshot.approval, 'ask');
});

test('the first answer counts everywhere; the late one is told whose it was', async (t) => {
  const { live, place } = await openSession(t, { script: [writes('a.txt', 'A'), says('Done.')] });
  const ann = new Watcher(live.join({ kind: 'terminal', name: 'Ann' }));
  const bob = new Watcher(live.join({ kind: 'a2a', name: 'Bob' }));
  await ann.session.prompt('write');
  const { tool_call_id, correlationId } = await bob.pending();
  await bob.session.confirm({ tool_call_id, selected_option_id: 'proceed_once', correlationId });
  await assert.rejects(ann.session.confirm({ tool_call_id, selected_option_id: 'cancel' }), {
    code: -32004,
    reason: 'ALREADY_RESOLVED',
    message: 'already resolved by Bob: proceed_once',
  });
  await ann.state('completed');
  assert.ok(existsSync(join(place.workspace, 'a.txt')));
  const late = new Watcher(live.join({ kind: 'a2a' }));
  const { pending } = await late.until((i) => (i.kind === 'snapshot' ? i.snapshot : undefined));
  assert.deepEqual(pending, []);
});

test('two calls that wait are answered by two clients at the same moment', async (t) => {
  const both = [...writes('a.txt', 'A'), ...writes('b.txt', 'B')];
  const { live, place } = await openSession(t, { script: [both, says('Done.')] });
  const ann = new Watcher(live.join({ kind: 'terminal', name: 'Ann' }));
  const bob = new Watcher(live.join({ kind: 'a2a', name: 'Bob' }));
  await ann.session.prompt('write both');
  const [one, other] = await Promise.all([ann.pending(0), bob.pending(1)]);
  await ann.state('input-required');
  await Promise.all([
    ann.session.confirm({ tool_call_id: one.tool_call_id, selected_option_id: 'proceed_once' }),
    bob.session.confirm({ tool_call_id: other.tool_call_id, selected_option_id: 'proceed_once' }),
  ]);
  await ann.state('completed');
  for (const name of ['a.txt', 'b.txt']) assert.ok(existsSync(join(place.workspace, name)));
});

test('prompts that come while a turn runs wait, are shown, and are sent in their order', async (t) => {
  const script = [writes('a.txt', 'A'), says('One.'), says('Two.'), says('Three.')];
  const { live } = await openSession(t, { script });
  const ann = new Watcher(live.join({ kind: 'terminal', name: 'Ann' }));
  const bob = new Watcher(live.join({ kind: 'a2a', name: 'Bob' }));
  await ann.session.prompt('first');
  const { tool_call_id } = await ann.pending();
  assert.equal((await bob.session.prompt('second')).queued, true);
  assert.equal((await ann.session.prompt('third')).queued, true);
  const shown = await ann.until((item) =>
    item.kind === 'presence' && item.queued.length === 2 ? item.queued : undefined,
  );
  assert.deepEqual(shown, [
    { text: 'second', from: 'Bob' },
    { text: 'third', from: 'Ann' },
  ]);
  await bob.session.confirm({ tool_call_id, selected_option_id: 'proceed_once' });
  await ann.state('completed', 3);
  const lines = ['Ann: first', 'One.', 'Bob: second', 'Two.', 'Ann: third', 'Three.'];
  assert.deepEqual(
    ann.said.map((line) => line.replace('agent: ', '')),
    lines,
  );
  await ann.until((i) => (i.kind === 'presence' && i.queued.length === 0 ? true : undefined));
});

test('so many prompts wait, and no more', async (t) => {
  const { live } = await openSession(t, { script: [writes('a.txt', 'A')] });
  const ann = new Watcher(live.join({ kind: 'terminal' }));
  await ann.session.prompt('first');
  await ann.pending();
  for (let prompt = 0; prompt < 64; prompt++) await ann.session.prompt(`next ${prompt}`);
  await assert.rejects(ann.session.prompt('one more'), { code: -31429 });
  await ann.session.cancel();
  await ann.until((i) => (i.kind === 'presence' && i.queued.length === 0 ? true : undefined));
});

test('a message that comes again is no second turn, and stops nobody', async (t) => {
  const { live } = await openSession(t, { script: [says('One.'), says('Two.')] });
  const member = live.join({ kind: 'a2a', name: 'Ann' });
  const ann = new Watcher(member);
  const parts = [{ kind: 'text' as const, text: 'first' }];
  const message = { kind: 'message', messageId: 'm1', role: 'user', parts } as const;
  await Promise.all([member.send({ message }), member.send({ message })]);
  await ann.state('completed');
  assert.equal((await member.send({ message })).queued, false);
  assert.equal((await member.prompt('second')).queued, false);
  await ann.state('completed', 2);
  assert.deepEqual(ann.said, ['Ann: first', 'agent: One.', 'Ann: second', 'agent: Two.']);
});

test('a turn that is canceled ends its task; everybody goes on in another one', async (t) => {
  const { live } = await openSession(t, { script: [writes('a.txt', 'A'), says('Again.')] });
  const ann = new Watcher(live.join({ kind: 'terminal', name: 'Ann' }));
  const bob = new Watcher(live.join({ kind: 'a2a', name: 'Bob' }));
  await ann.session.prompt('write');
  await bob.pending();
  await bob.session.prompt('and that');
  const { taskId: before, contextId } = live;
  await bob.session.cancel();
  await ann.state('canceled');
  const snapshot = await ann.until((item) =>
    item.kind === 'snapshot' && item.snapshot.taskId !== before ? item.snapshot : undefined,
  );
  assert.equal(snapshot.contextId, contextId);
  assert.deepEqual(snapshot.pending, []);
  await ann.session.prompt('once more');
  await bob.state('completed');
  assert.deepEqual(ann.said, ['Ann: write', 'Ann: once more', 'agent: Again.']);
  assert.deepEqual(bob.order, ann.order);

  const late = new Watcher(live.join({ kind: 'a2a', name: 'Late' }));
  const { earlier = [] } = await late.until((item) =>
    item.kind === 'snapshot' ? item.snapshot : undefined,
  );
  const [canceled] = earlier;
  assert.deepEqual([earlier.length, canceled?.id, canceled?.status.state], [1, before, 'canceled']);
  assert.match(JSON.stringify(canceled?.history), /"write"/);
  assert.equal(snapshot.earlier, undefined, 'whoever was there has seen it');
});

test('a turn that fails ends its task; what was queued is sent in the next one', async (t) => {
  const failure: ScriptedResponse = [{ delayMs: 50 }, { error: { status: 400, message: 'no' } }];
  const { live } = await openSession(t, { script: [failure, says('Better.')] });
  const ann = new Watcher(live.join({ kind: 'terminal' }));
  await ann.session.prompt('first');
  assert.equal((await ann.session.prompt('second')).queued, true);
  await ann.state('completed');
  assert.equal(ann.said.at(-1), 'agent: Better.');
  assert.equal(ann.items.filter(({ kind }) => kind === 'snapshot').length, 2);
});

test('to cancel while nothing runs changes nothing', async (t) => {
  const { live } = await openSession(t, { script: [says('Hello.')] });
  const { taskId } = live;
  const ann = new Watcher(live.join({ kind: 'terminal' }));
  await ann.session.cancel();
  await ann.session.prompt('hi');
  await ann.state('completed');
  await ann.session.cancel();
  assert.equal(live.taskId, taskId);
});

test('a client does what its roles allow, and no more', async (t) => {
  const { live } = await openSession(t, { script: [writes('a.txt', 'A'), says('Done.')] });
  const viewer = live.join({ kind: 'a2a', name: 'wall', roles: ['view'] });
  const prompter = live.join({ kind: 'a2a', name: 'bot', roles: ['view', 'prompt'] });
  const watcher = new Watcher(viewer);
  const forbidden = { code: -31403 };
  await assert.rejects(viewer.prompt('hi'), forbidden);
  await assert.rejects(viewer.cancel(), forbidden);
  await assert.rejects(viewer.execute({ command_path: ['help'], args: '' }), forbidden);
  await prompter.prompt('write');
  const { tool_call_id } = await watcher.pending();
  const answer = { tool_call_id, selected_option_id: 'proceed_once' };
  await assert.rejects(prompter.confirm(answer), forbidden);
  await assert.rejects(prompter.prompt([{ kind: 'data', data: answer }]), forbidden);
  // Its words are no answer either: they wait.
  assert.equal((await prompter.prompt('yes')).queued, true);
  await live.join({ kind: 'terminal' }).confirm(answer);
  await watcher.state('completed');
});

test('a question in free words is answered by a prompt', async (t) => {
  const ask: ScriptedResponse = [{ call: { name: 'ask_user', args: { question: 'Which one?' } } }];
  const { live } = await openSession(t, { script: [ask, says('Blue it is.')] });
  const ann = new Watcher(live.join({ kind: 'a2a', name: 'Ann' }));
  await ann.session.prompt('paint it');
  await ann.state('input-required');
  assert.equal((await ann.session.prompt('blue')).queued, false);
  await ann.state('completed');
  assert.deepEqual(ann.said.at(-1), 'agent: Blue it is.');
});

test('a prompt of the terminal is no answer: the person may have typed it before the question came', async (t) => {
  const ask: ScriptedResponse = [{ call: { name: 'ask_user', args: { question: 'Which one?' } } }];
  const { live } = await openSession(t, { script: [ask, says('Blue it is.'), says('Next.')] });
  const ann = new Watcher(live.join({ kind: 'terminal', name: 'Ann' }));
  await ann.session.prompt('paint it');
  await ann.state('input-required');
  assert.equal((await ann.session.prompt('and then the door')).queued, true);
  const { tool_call_id } = await ann.pending();
  await ann.session.confirm({ tool_call_id, selected_option_id: 'answer', answer: 'blue' });
  await ann.until(() => (ann.said.at(-1) === 'agent: Next.' ? true : undefined));
  assert.ok(ann.said.includes('agent: Blue it is.'));
});

test('a command is a turn that everybody sees', async (t) => {
  const { live } = await openSession(t);
  const ann = new Watcher(live.join({ kind: 'terminal', name: 'Ann' }));
  const bob = live.join({ kind: 'a2a', name: 'Bob' });
  const started = await bob.execute({ command_path: ['approval'], args: 'auto-edit' });
  assert.equal(started.status, 'STARTED');
  assert.notEqual(started.execution_id, live.taskId);
  await ann.state('completed');
  assert.equal(ann.said[0], 'Bob: /approval auto-edit');
  const late = new Watcher(live.join({ kind: 'a2a' }));
  const { approval } = await late.until((i) => (i.kind === 'snapshot' ? i.snapshot : undefined));
  assert.equal(approval, 'auto-edit');
  const unknown = await bob.execute({ command_path: ['nothing'], args: '' });
  assert.equal(unknown.status, 'FAILED_TO_START');
  assert.ok((await bob.commands()).some(({ name }) => name === 'help'));
});

test('one who comes back goes on behind the last event it saw', async (t) => {
  const { live } = await openSession(t, { script: [says('One.'), says('Two.')] });
  const ann = new Watcher(live.join({ kind: 'terminal', name: 'Ann' }));
  const bob = live.join({ kind: 'a2a', name: 'Bob' });
  const first = new Watcher(bob);
  await bob.prompt('first');
  await first.state('completed');
  await bob.close();
  await first.done;
  const last = first.items.findLast((item) => item.kind === 'event');
  assert.ok(last?.kind === 'event');
  await ann.session.prompt('second');
  await ann.state('completed', 2);
  const again = new Watcher(live.join({ kind: 'a2a', name: 'Bob' }), { after: last.seq });
  await again.state('completed');
  assert.deepEqual([...first.order, ...again.order], ann.order);
  assert.ok(!again.items.some(({ kind }) => kind === 'snapshot'));
});

test('one who resumes behind an event that there is not gets a snapshot', async (t) => {
  const { live } = await openSession(t);
  const lost = new Watcher(live.join({ kind: 'a2a' }), { after: 999 });
  await lost.until(({ kind }) => (kind === 'snapshot' ? true : undefined));
});

test('clients hear who comes and who leaves', async (t) => {
  const { live } = await openSession(t);
  const ann = new Watcher(live.join({ kind: 'terminal', name: 'Ann' }));
  const bob = live.join({ kind: 'a2a', name: ' Bob\u001b[2J\n ' });
  const names = (names: string[]) =>
    ann.until((item) => {
      if (item.kind !== 'presence') return undefined;
      const seen = item.clients.map(({ name }) => name);
      return seen.join() === names.join() ? true : undefined;
    });
  await names(['Ann', 'Bob [2J']);
  await bob.close();
  await names(['Ann']);
  await assert.rejects(bob.prompt('still here?'), { code: -31503 });
});

test('a cancel while a prompt is being sent cancels the turn of this prompt', async (t) => {
  const script = [[{ delayMs: 60_000 }, { text: 'Late.' }]];
  const { live, server } = await openSession(t, { script });
  const ann = live.join({ kind: 'terminal' });
  const watcher = new Watcher(ann);
  const gate = Promise.withResolvers<void>();
  const { sendMessage } = server.handler;
  t.mock.method(server.handler, 'sendMessage', async (...args: Parameters<typeof sendMessage>) => {
    await gate.promise;
    return sendMessage(...args);
  });
  const sent = ann.prompt('one');
  await turn();
  const canceled = ann.cancel();
  await turn();
  gate.resolve();
  assert.equal((await sent).queued, false);
  await canceled;
  await watcher.state('canceled');
  assert.deepEqual(watcher.said, ['terminal: one']);
});

test('a cancel does not report a queued prompt as dropped that is already being sent', async (t) => {
  const slow = [{ delayMs: 50 }, { text: 'Done.' }];
  const { live, server } = await openSession(t, { script: [slow, slow] });
  const ann = live.join({ kind: 'terminal' });
  const watcher = new Watcher(ann);
  const [reached, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { sendMessage } = server.handler;
  await ann.prompt('one');
  t.mock.method(server.handler, 'sendMessage', async (...args: Parameters<typeof sendMessage>) => {
    reached.resolve();
    await gate.promise;
    return sendMessage(...args);
  });
  const [two, three] = [await ann.prompt('two'), await ann.prompt('three')];
  assert.deepEqual([two.queued, three.queued], [true, true]);
  const dropped: string[] = [];
  void two.forgotten?.then(() => dropped.push('two'));
  void three.forgotten?.then(() => dropped.push('three'));
  await reached.promise;
  const canceled = ann.cancel();
  await turn();
  gate.resolve();
  await canceled;
  await watcher.state('canceled');
  assert.deepEqual(dropped, ['three']);
  assert.deepEqual(watcher.said.at(-1), 'terminal: two');
});

test('a prompt that starts a turn at once is never on the list of those that wait, also right after a cancel', async (t) => {
  const answer = [{ delayMs: 50 }, { text: 'Done.' }];
  const script = [answer, answer];
  const { live } = await openSession(t, { script });
  const ann = live.join({ kind: 'terminal' });
  const watcher = new Watcher(ann);
  await ann.prompt('one');
  void ann.cancel();
  await watcher.state('canceled');
  await ann.prompt('two');
  await watcher.state('completed');
  const queued = watcher.items.flatMap((item) => (item.kind === 'presence' ? [item.queued] : []));
  assert.deepEqual(queued.at(-1), []);
});

test('the session ends for everybody when it is closed, and when the server is', async (t) => {
  for (const how of ['session', 'server'] as const) {
    const { live, server } = await openSession(t);
    const ann = new Watcher(live.join({ kind: 'terminal' }));
    await ann.until(({ kind }) => (kind === 'snapshot' ? true : undefined));
    await (how === 'session' ? live.close() : server.close(0));
    await ann.done;
    assert.throws(() => live.join({ kind: 'a2a' }), { code: -31503 });
  }
});

test('one who has left is forgotten, though the task goes on', async (t) => {
  const { live } = await openSession(t);
  async function visit(): Promise<WeakRef<LiveSink>> {
    const seen = Promise.withResolvers<void>();
    const sink: LiveSink = {
      snapshot() {
        seen.resolve();
        return true;
      },
      event: () => true,
      presence() {},
      end() {},
    };
    const member = live.join({ kind: 'a2a' });
    member.follow(sink);
    await seen.promise;
    await member.close();
    return new WeakRef(sink);
  }
  const visitors = await Promise.all([visit(), visit(), visit()]);
  await turn();
  setFlagsFromString('--expose-gc');
  runInNewContext('gc()');
  assert.deepEqual(
    visitors.map((visitor) => visitor.deref()),
    [undefined, undefined, undefined],
  );
});

test('a session whose store is unavailable for a while stays open, and its clients miss nothing', async (t) => {
  const script = [[{ text: 'One.' }], [{ text: 'Three.' }]];
  const place = makePlace(t);
  const store = sqliteStore(join(place.home, 'tasks.db'));
  const { live, server } = await openSession(t, { script, place, server: { store } });
  const ann = live.join({ kind: 'terminal' });
  const watcher = new Watcher(ann);
  await ann.prompt('one');
  await watcher.state('completed');
  const { subscribe } = server.handler;
  const refused = Promise.withResolvers<void>();
  let refusals = 0;
  t.mock.method(server.handler, 'subscribe', async (...args: Parameters<typeof subscribe>) => {
    if (refusals === 4) return subscribe(...args);
    if (++refusals === 4) refused.resolve();
    throw new A2AError('unavailable', undefined, { retryAfterSeconds: 1 });
  });
  const failing = t.mock.method(store, 'append', () => {
    throw new Error('the disk is gone');
  });
  await assert.rejects(ann.prompt('two'));
  failing.mock.restore();
  await within('four refused subscriptions', refused.promise);
  await ann.prompt('three');
  await watcher.state('completed', 2);
  assert.deepEqual(watcher.said, [
    'terminal: one',
    'agent: One.',
    'terminal: three',
    'agent: Three.',
  ]);
});

test('after a turn is canceled, neither the session nor its client needs the store at once, and nothing of the next task is missed', async (t) => {
  const script = [writes('a.txt', 'a'), says('Two.')];
  const { live, server } = await openSession(t, { script });
  const ann = live.join({ kind: 'terminal' });
  const watcher = new Watcher(ann);
  const { taskId: first } = await ann.prompt('one');
  await watcher.pending();
  const { subscribe } = server.handler;
  const next = Promise.withResolvers<string>();
  let calls = 0;
  let isAvailable = false;
  t.mock.method(server.handler, 'subscribe', async (...args: Parameters<typeof subscribe>) => {
    const [{ id }] = args;
    // The session tries first. Its second attempt succeeds.
    if (isAvailable || id === first || ++calls === 3) return subscribe(...args);
    next.resolve(id);
    throw new A2AError('unavailable', undefined, { retryAfterSeconds: 1 });
  });
  await ann.cancel();
  const id = await within('the next task', next.promise);
  await ann.prompt('two');
  for await (const { event } of await subscribe({ id, after: 0 })) {
    if (event.kind === 'status-update' && event.final) break;
  }
  isAvailable = true;
  await watcher.state('completed');
  assert.deepEqual(watcher.said.slice(-2), ['terminal: two', 'agent: Two.']);
});
