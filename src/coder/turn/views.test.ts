import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  EXTENSION_URI,
  extensionMetadata,
  questionId,
  type DevelopmentToolEventKind,
} from '../../protocol/development-tool/index.ts';
import {
  fold,
  reduce,
  type Message,
  type Part,
  type Task,
  type TaskEvent,
  type TaskState,
} from '../../protocol/index.ts';
import { AnswerText } from './answer-text.ts';
import { developmentToolView, plainView } from '../views/views.ts';

const ids = { taskId: 't', contextId: 'c' };
const text = (said: string): Part => ({ kind: 'text', text: said });
const call: Part = { kind: 'data', data: { tool_call_id: 'x', tool_name: 'y', status: 'PENDING' } };
const yes: Part = { kind: 'data', data: { tool_call_id: 'x', selected_option_id: 'proceed_once' } };

/** What may happen in a turn: a text, its end, a thought or a call, and a question that is answered in one of two ways. */
type Step = { readonly say: string } | 'end' | 'call' | 'asked in words' | 'asked by data';

/** Writes a log as the coding agent does. Each turn ends with `completed`. */
function logOf(turns: readonly (readonly Step[])[]): TaskEvent[] {
  let made = 0;
  const message = (role: Message['role'], parts: Part[], messageId = `m${++made}`): Message => {
    const metadata =
      role === 'user' ? { metadata: extensionMetadata({ workspace_path: '/w' }) } : {};
    return { kind: 'message', messageId, role, parts, ...ids, ...metadata };
  };
  const status = (state: TaskState, kind: DevelopmentToolEventKind, said?: Message): TaskEvent => ({
    kind: 'status-update',
    ...ids,
    status: { state, ...(said && { message: said }) },
    final: state !== 'working',
    metadata: extensionMetadata({ kind, model: 'm' }),
  });
  const first = message('user', [text('go')]);
  const task: Task = {
    kind: 'task',
    id: 't',
    contextId: 'c',
    status: { state: 'submitted' },
    history: [first],
    metadata: { [EXTENSION_URI]: {}, own: 1 },
  };
  const log: TaskEvent[] = [task];
  for (const [at, steps] of turns.entries()) {
    const prompt = at === 0 ? first : message('user', [text('more')]);
    log.push(status('working', 'STATE_CHANGE', at === 0 ? undefined : prompt));
    const executed = () => new AnswerText({ task: fold(log)!, turn: [prompt] });
    let answer = executed();
    for (const [index, step] of steps.entries()) {
      // A text ends right after its last chunk.
      if (step === 'end' && typeof steps[index - 1] !== 'object') continue;
      if (typeof step === 'object' || step === 'end') {
        const parts = [text(step === 'end' ? '' : step.say)];
        const said = message('agent', parts, answer.next(step === 'end'));
        log.push(status('working', 'TEXT_CONTENT', said));
      } else if (step === 'call') {
        answer.pause();
        log.push(status('working', 'TOOL_CALL_UPDATE', message('agent', [call])));
      } else {
        const asked = message('agent', [text('May I?')], questionId(made % 2 === 0));
        log.push(status('input-required', 'STATE_CHANGE', asked));
        const reply = step === 'asked in words' ? text('yes') : yes;
        log.push(status('working', 'TEXT_CONTENT', message('user', [reply])));
        answer = executed();
      }
    }
    log.push(status('completed', 'STATE_CHANGE'));
  }
  return log;
}

const steps = fc.array(
  fc.oneof(
    fc.record({ say: fc.string({ minLength: 1, maxLength: 5 }) }),
    fc.constantFrom<Step>('end', 'call', 'asked in words', 'asked by data'),
  ),
  { maxLength: 8 },
);
const logs = fc.array(steps, { minLength: 1, maxLength: 3 }).map(logOf);

for (const view of [plainView, developmentToolView]) {
  const shown = (log: readonly TaskEvent[]): TaskEvent[] =>
    log.flatMap((event) => (event.kind === 'task' ? view.task(event) : (view.update(event) ?? [])));

  test(`the ${view.name} view of a log can be cut anywhere: folded, it is the view of the task`, () => {
    fc.assert(
      fc.property(logs, fc.nat(), (log, at) => {
        const cut = 1 + (at % log.length);
        const before = view.task(fold(log.slice(0, cut))!);
        // A client may have folded the events before the cut, or got the task as it was then.
        assert.deepEqual(fold(shown(log.slice(0, cut))), before);
        let task: Task | undefined = structuredClone(before);
        for (const event of shown(log.slice(cut))) task = reduce(task, event);
        assert.deepEqual(task, view.task(fold(log)!));
      }),
    );
  });
}

test('a plain client sees nothing of the extension, and one text part for each turn', () => {
  fc.assert(
    fc.property(logs, (log) => {
      const task = plainView.task(fold(log)!);
      const updates = log.flatMap((event) =>
        event.kind === 'task' ? [] : plainView.update(event),
      );
      assert.doesNotMatch(JSON.stringify([task, updates]), /developer-profile|tool_call_id/);
      assert.deepEqual(task.metadata, { own: 1 });
      for (const { parts } of task.artifacts ?? []) assert.equal(parts.length, 1);
    }),
  );
});

test('events that are the same in the extension’s view are not copied', () => {
  for (const event of logOf([[{ say: 'a' }, 'call', { say: 'b' }]])) {
    if (event.kind !== 'task') assert.equal(developmentToolView.update(event), event);
    else assert.equal(developmentToolView.task(event), event);
  }
});

test('a log of an earlier version is shown: its text is in the status that completes it', () => {
  const log = logOf([[]]);
  const said = (messageId: string): Message => {
    return { kind: 'message', messageId, role: 'agent', parts: [text('Done.')], ...ids };
  };
  const [task, working] = log;
  assert.ok(task && working?.kind === 'status-update');
  const chunk = { ...working, status: { ...working.status, message: said('1') } };
  const last = {
    ...working,
    status: { state: 'completed', message: said('2') },
    final: true,
  } as const;
  assert.equal(plainView.update(chunk), undefined);
  const folded = plainView.task(fold([task, working, chunk, last])!);
  assert.deepEqual(folded.status.message, said('2'));
  assert.deepEqual(folded.history?.length, 1);
});
