import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { LiveItem } from '../../live/client/session.ts';
import { ARTIFACT_NAME_KEY, readMessage } from '../../protocol/development-tool/index.ts';
import type { Part } from '../../protocol/index.ts';
import { editCall, shellCall } from '../../../test/tui/demo.ts';
import { PHONE, ScriptedSession, TERMINAL } from '../../../test/tui/scripted-session.ts';
import type { Entry } from './entry.ts';
import { EMPTY_LOG, LogWriter } from './log.ts';
import { reduceState } from './reduce.ts';
import { INITIAL, isBusy, waitingCalls, type SessionState } from './state.ts';

/** Records the items of a session, and computes the state from them. */
function recorded() {
  const session = new ScriptedSession();
  const items: LiveItem[] = [session.snapshot()];
  const reading = session.items();
  void (async () => {
    for await (const item of reading)
      if (item.kind === 'event' || items.length > 0) items.push(item);
  })();
  return {
    session,
    /** The state after all items so far. */
    state: async (): Promise<SessionState> => {
      await new Promise((resolve) => setImmediate(resolve));
      return items.reduce(next, INITIAL);
    },
  };
}

function shown({ log }: SessionState): unknown[] {
  return [...log.finished, ...log.open].filter(isVisible).map(withoutId);
}

function isVisible(entry: Entry): boolean {
  return entry.kind !== 'text' || entry.text.trim() !== '';
}

function withoutId(entry: Entry): unknown {
  return { ...entry, id: 0, ...(entry.kind === 'text' && { text: entry.text.trim() }) };
}
const next = (state: SessionState, item: LiveItem): SessionState => reduceState(state, item);

test('a turn consists of its prompt, thoughts, calls and blocks of text', async () => {
  const { session, state } = recorded();
  session.heard('do it', TERMINAL);
  session.think('Subject', 'Description');
  session.call({ ...shellCall('1', 'ls'), status: 'EXECUTING', live_content: 'a' });
  session.say('First ');
  session.say('block.\n\nSecond one.\n');
  assert.equal(isBusy(await state()), true);
  assert.deepEqual(
    (await state()).log.finished.map(({ kind }) => kind),
    ['prompt', 'thought'],
    'entries after a running call are not finished yet',
  );
  session.call({ ...shellCall('1', 'ls'), status: 'SUCCEEDED', output: { text: 'a' } });
  session.state('completed', 'First block.\n\nSecond one.');
  const after = await state();
  assert.deepEqual(after.log.open, []);
  assert.deepEqual(
    after.log.finished.map((entry) => (entry.kind === 'text' ? entry.text : entry.kind)),
    ['prompt', 'thought', 'call', 'First block.', 'Second one.'],
  );
  assert.equal(isBusy(after), false);
});

test('the closing message is shown only if it was not streamed before', async () => {
  const { session, state } = recorded();
  session.heard('x', TERMINAL);
  session.state('completed', 'Said at once.');
  const { log } = await state();
  assert.deepEqual(
    log.finished.map((entry) => entry.kind === 'text' && entry.text),
    [false, 'Said at once.'],
  );
});

test('a call waits until a client answers, and then shows who chose what', async () => {
  const { session, state } = recorded();
  session.heard('edit', TERMINAL);
  void session.ask(editCall('e'));
  assert.deepEqual(
    waitingCalls(await state()).map(({ call }) => call.tool_call_id),
    ['e'],
  );
  session.answer({ tool_call_id: 'e', selected_option_id: 'proceed_once' }, PHONE);
  const after = await state();
  assert.deepEqual(waitingCalls(after), []);
  const call = after.log.open.find((entry) => entry.kind === 'call');
  assert.equal(call?.decision?.option, 'Allow once');
  assert.equal(call?.decision?.by?.name, 'phone');
});

test('a call whose question is answered by a prompt is not stopped', async () => {
  const { session, state } = recorded();
  const outer = shellCall('outer', 'npm start');
  session.heard('start', TERMINAL);
  session.call({ ...outer, status: 'EXECUTING' });
  void session.ask({ ...editCall('e'), parentToolCallId: 'outer' });
  session.heard('Allow once', PHONE);
  const ended = { status: 'SUCCEEDED', output: { text: 'done' } } as const;
  session.call({ ...editCall('e'), ...ended, confirmation_request: undefined });
  session.call({ ...outer, ...ended });
  session.state('completed', '');
  const entries = shown(await state()) as Entry[];
  assert.deepEqual(
    entries.map((entry) => (entry.kind === 'call' ? entry.call.tool_call_id : entry.kind)),
    ['prompt', 'outer', 'e', 'prompt'],
  );
  assert.ok(!entries.some((entry) => entry.kind === 'call' && entry.stopped === true));
});

test('a call with a new request waits again', async () => {
  const { session, state } = recorded();
  void session.ask(editCall('e'));
  session.answer({ tool_call_id: 'e', selected_option_id: 'proceed_once' }, PHONE);
  session.call({ ...editCall('e'), correlationId: 'another' });
  assert.equal(waitingCalls(await state()).length, 1);
});

test('a turn that fails or is canceled leaves nothing open', async () => {
  for (const end of ['failed', 'canceled'] as const) {
    const { session, state } = recorded();
    session.heard('x', TERMINAL);
    session.call({ ...shellCall('1', 'sleep'), status: 'EXECUTING' });
    session.say('half a');
    session.state(end, 'Why.');
    const { log } = await state();
    assert.deepEqual(log.open, []);
    assert.deepEqual(
      log.finished.map((entry) =>
        entry.kind === 'notice' ? `${entry.level} ${entry.text}` : entry.kind,
      ),
      ['prompt', 'call', 'text', end === 'failed' ? 'error Why.' : 'info Canceled.'],
    );
  }
});

test('the history continues when the conversation continues in another task', async () => {
  const { session, state } = recorded();
  session.heard('one', TERMINAL);
  await session.cancel();
  session.heard('two', TERMINAL);
  assert.deepEqual(
    (await state()).log.finished.map((entry) => ('text' in entry ? entry.text : '')),
    ['one', 'Canceled.', 'two'],
  );
});

test('the mode is the one that the events name, not the one that a prompt asks for', async () => {
  const { session, state } = recorded();
  session.heard('/approval plan', TERMINAL);
  session.state('completed', 'Not allowed.');
  assert.equal((await state()).approval, 'ask');
  session.state('input-required', 'From now on …', { approval: 'plan' });
  assert.equal((await state()).approval, 'plan');
});

test('a local notice does not split a paragraph', async () => {
  const { session, state } = recorded();
  session.say('A sentence ');
  const half = reduceState(await state(), { kind: 'notice', level: 'info', text: 'hello' });
  assert.deepEqual(
    [...half.log.finished, ...half.log.open].map((entry) => 'text' in entry && entry.text),
    ['hello', 'A sentence '],
  );
});

test('a repeated event has no effect', async () => {
  const { session, state } = recorded();
  session.heard('once', TERMINAL);
  const before = await state();
  const again: LiveItem = { kind: 'event', taskId: session.task.id, seq: 2, event: session.task };
  assert.equal(reduceState(before, again), before);
});

// Steps of a session, which can happen in any order.
type Step = (session: ScriptedSession) => void;
const ids = fc.constantFrom('a', 'b', 'c');
const words = fc.constantFrom('word ', 'end.\n\n', '- item\n', '```\ncode\n', '```\n', 'ha', '\n');
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: words.map(
      (text): Step =>
        (session) =>
          session.say(text),
    ),
  },
  { weight: 1, arbitrary: fc.constant<Step>((session) => session.think('S', 'D')) },
  {
    weight: 2,
    arbitrary: ids.map(
      (id): Step =>
        (session) =>
          session.call({ ...shellCall(id, 'x'), status: 'EXECUTING', live_content: 'y' }),
    ),
  },
  {
    weight: 2,
    arbitrary: ids.map(
      (id): Step =>
        (session) =>
          session.call({ ...shellCall(id, 'x'), status: 'SUCCEEDED', output: { text: 'y' } }),
    ),
  },
  {
    weight: 1,
    arbitrary: ids.map(
      (id): Step =>
        (session) =>
          void session.ask(editCall(`e${id}`)),
    ),
  },
  {
    weight: 1,
    arbitrary: ids.map((id): Step => (session) => {
      try {
        session.answer({ tool_call_id: `e${id}`, selected_option_id: 'cancel' }, PHONE);
      } catch {
        // Already answered.
      }
    }),
  },
);
/** The text of a completed turn repeats all text since its last call. */
const turn = fc
  .array(step, { maxLength: 12 })
  .map((steps): Step[] => steps.toSpliced(0, 0, begin).concat(end));

function begin(session: ScriptedSession): void {
  session.heard('go', PHONE);
}

/** Answers the open questions first, because a turn cannot complete before. */
function end(session: ScriptedSession): void {
  for (const tool_call_id of waitingIn(session)) {
    session.answer({ tool_call_id, selected_option_id: 'cancel' }, TERMINAL);
  }
  const said = sinceLastCall(session);
  session.state('completed', said.trim() === '' ? undefined : said);
}

function waitingIn(session: ScriptedSession): string[] {
  return waitingCalls(reduceState(INITIAL, session.snapshot())).map(
    ({ call }) => call.tool_call_id,
  );
}

function sinceLastCall({ task }: ScriptedSession): string {
  const messages = [...(task.history ?? []), ...(task.status.message ? [task.status.message] : [])];
  const last = messages.findLastIndex(
    ({ role, parts }) =>
      role === 'user' ||
      parts.some(
        (part) => part.kind === 'data' && JSON.stringify(part.data).includes('tool_call_id'),
      ),
  );
  return messages
    .slice(last + 1)
    .flatMap(({ parts }) => parts)
    .map((part) => (part.kind === 'text' ? part.text : ''))
    .join('');
}

test('a snapshot of any prefix plus the remaining events leads to the same state as all events', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(turn, { maxLength: 4 }), fc.nat(), async (turns, cut) => {
      const steps = turns.flat();
      const { session, state } = recorded();
      const at = steps.length === 0 ? 0 : cut % steps.length;
      for (const each of steps.slice(0, at)) each(session);
      const late: LiveItem[] = [session.snapshot()];
      const lateReader = session.items();
      await lateReader.next();
      void (async () => {
        for await (const item of lateReader) late.push(item);
      })();
      const early = await state();
      for (const each of steps.slice(at)) each(session);
      const all = await state();
      const joined = late.reduce(next, INITIAL);
      assert.deepEqual(shown(joined), shown(all));
      assert.deepEqual(waitingCalls(joined).length, waitingCalls(all).length);
      assert.equal(joined.turn, all.turn);
      // A client that reconnects and gets another snapshot prints nothing twice.
      assert.deepEqual(shown(reduceState(early, session.snapshot())), shown(all));
      await session.close();
    }),
    { numRuns: 200 },
  );
});

test('a client that joins after a canceled turn sees the earlier task, once', async () => {
  const session = new ScriptedSession();
  session.heard('the first prompt', TERMINAL);
  session.say('The beginning of an answer.');
  const before = session.snapshot().snapshot.task;
  await session.cancel();
  session.heard('the second prompt', TERMINAL);
  const { snapshot } = session.snapshot();
  const history = [
    ...(before.history ?? []),
    before.status.message ?? assert.fail('it says nothing'),
  ];
  const canceled = { ...before, history, status: { state: 'canceled' as const } };
  const item: LiveItem = { kind: 'snapshot', snapshot: { ...snapshot, earlier: [canceled] } };
  const state = reduceState(INITIAL, item);
  const kinds = (of: SessionState) => [...of.log.finished, ...of.log.open].map(({ kind }) => kind);
  assert.deepEqual(kinds(state), ['prompt', 'text', 'notice', 'prompt']);
  assert.deepEqual(kinds(reduceState(state, item)), kinds(state));
  assert.deepEqual(
    [...state.log.finished, ...state.log.open].map(({ gap }) => gap),
    [false, true, true, true],
  );
});

test('files and data of an answer and of a prompt are entries with their content', () => {
  const log = new LogWriter(EMPTY_LOG);
  const message = (role: 'user' | 'agent', parts: Part[]) => {
    for (const fact of readMessage({ kind: 'message', messageId: 'm', role, parts }))
      log.take(fact);
  };
  const file: Part = { kind: 'file', file: { name: 'a.txt', bytes: 'aGk=' } };
  const metadata = { [ARTIFACT_NAME_KEY]: 'report' };
  message('user', [{ kind: 'data', data: { messages: [] } }]);
  message('agent', [{ kind: 'text', text: 'Here.', metadata }]);
  message('agent', [file, { kind: 'data', data: [1, 2], metadata }]);
  log.end();
  assert.deepEqual(
    log.log.finished.map((entry) => [
      entry.kind,
      'text' in entry && entry.text,
      entry.kind === 'prompt' ? entry.parts : entry.kind === 'notice' ? entry.part : undefined,
    ]),
    [
      ['prompt', '[data]', [{ kind: 'data', data: { messages: [] } }]],
      ['notice', 'Artifact: report', undefined],
      ['text', 'Here.', undefined],
      ['notice', 'The answer contains data: report', { kind: 'data', data: [1, 2] }],
      ['notice', 'The answer contains a file: a.txt', file],
    ],
  );
});

test('the pieces of a thought are one entry, which grows', () => {
  const log = new LogWriter(EMPTY_LOG);
  const thought = (subject: string, description: string, continues?: true) =>
    log.take({
      kind: 'thought',
      thought: { subject, description, ...(continues && { continues }) },
    });
  thought('Reading', 'First');
  thought('Reading', ' I read', true);
  assert.deepEqual(
    log.log.open.map((entry) => entry.kind === 'thought' && entry.thought.description),
    ['First I read'],
  );
  log.notice('info', 'A notice.', true);
  thought('Reading', ' the file.', true);
  log.take({ kind: 'text', text: 'Done.' });
  thought('Next', 'Another');
  log.end();
  assert.deepEqual(
    log.log.finished.map((entry) =>
      entry.kind === 'thought' ? entry.thought.description : entry.kind,
    ),
    ['notice', 'First I read the file.', 'text', 'Another'],
  );
});
