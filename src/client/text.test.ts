import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EXTENSION_URI } from '../protocol/development-tool/index.ts';
import type { Artifact, Message, Part, StreamEvent, Task } from '../protocol/index.ts';
import { answerText, createTextTracker, questionAfterText } from './text.ts';

const ids = { taskId: 't', contextId: 'c' };

function artifact(artifactId: string, text: string): Artifact {
  return { artifactId, parts: [{ kind: 'text', text }] };
}

function task(...artifacts: Artifact[]): Task {
  return { kind: 'task', id: 't', contextId: 'c', status: { state: 'working' }, artifacts };
}

function chunk(artifactId: string, text: string, append = true): StreamEvent {
  return { kind: 'artifact-update', ...ids, artifact: artifact(artifactId, text), append };
}

test('a task’s text is that of its artifacts, with an empty line between', () => {
  assert.equal(answerText(task(artifact('a', 'one'), artifact('b', 'two'))), 'one\n\ntwo');
});

test('text as it comes is the text at the end, however artifacts alternate', () => {
  const added = createTextTracker();
  const update = (id: string, text: string, append: boolean) =>
    added({
      kind: 'artifact-update',
      taskId: 't',
      contextId: 'c',
      artifact: artifact(id, text),
      append,
    });
  assert.equal(
    update('a', 'one', false) +
      update('a', ' more', true) +
      update('b', '', false) +
      update('b', 'two', true),
    'one more\n\ntwo',
  );
});

test('a task without artifacts has the text of its status', () => {
  const answer = task();
  answer.status = {
    state: 'completed',
    message: {
      kind: 'message',
      messageId: 'm',
      role: 'agent',
      parts: [{ kind: 'text', text: 'done' }],
    },
  };
  assert.equal(answerText(answer), 'done');
});

test('a snapshot adds only the text that was missed', () => {
  const added = createTextTracker();
  assert.equal(added(task()), '');
  assert.equal(added(chunk('a', 'one ', false)), 'one ');
  assert.equal(added(chunk('a', 'two ')), 'two ');
  assert.equal(added(task(artifact('a', 'one two three '))), 'three ');
  assert.equal(added(chunk('a', 'four')), 'four');
});

test('an artifact that is replaced is given out whole', () => {
  const added = createTextTracker();
  added(chunk('a', 'draft', false));
  assert.equal(added(chunk('a', 'final', false)), 'final');
});

test('what an agent says in status updates is its answer: streamed by kind, and in the task without artifacts', () => {
  const kinds: [string, object][] = [
    ['THOUGHT', { kind: 'data', data: { subject: 'Why', description: 'Because.' } }],
    ['TEXT_CONTENT', { kind: 'text', text: 'One ' }],
    ['TEXT_CONTENT', { kind: 'text', text: 'text.' }],
    ['TOOL_CALL_UPDATE', { kind: 'data', data: { tool_call_id: 'c1' } }],
    ['TEXT_CONTENT', { kind: 'text', text: 'Another.' }],
  ];
  const history = kinds.map(([, part], n) => ({
    kind: 'message' as const,
    role: 'agent' as const,
    messageId: `a${n}`,
    parts: [part as Part],
  }));
  const added = createTextTracker();
  const streamed = history.map((message, n) =>
    added({
      kind: 'status-update',
      ...ids,
      status: { state: 'working', message },
      final: false,
      metadata: { [EXTENSION_URI]: { kind: kinds[n]![0], model: 'm' } },
    }),
  );
  const text = 'One text.\n\nAnother.';
  assert.equal(streamed.join(''), text);
  const prompt = { ...history[0]!, role: 'user' as const, messageId: 'u' };
  const earlier = { ...history[1]!, messageId: 'e' };
  assert.equal(answerText({ ...task(), history: [earlier, prompt, ...history] }), text);
  // Where a server sends both, the text is not counted twice.
  assert.equal(answerText({ ...task(artifact('a', text)), history }), text);
  const message = { ...history[4]!, messageId: 'last' };
  const completed = { ...task(), history, status: { state: 'completed' as const, message } };
  assert.equal(answerText(completed), 'Another.');
});

test('the question of a waiting task follows the text, unless the text ends with it', () => {
  const waiting = (question: string, ...artifacts: Artifact[]): Task => ({
    ...task(...artifacts),
    status: {
      state: 'input-required',
      message: {
        kind: 'message',
        messageId: 'q',
        role: 'agent',
        parts: [{ kind: 'text', text: question }],
      },
    },
  });
  assert.equal(answerText(waiting('Which?', artifact('a', 'So.'))), 'So.\n\nWhich?');
  assert.equal(answerText(waiting('Which?', artifact('a', 'So. Which?'))), 'So. Which?');
  assert.equal(answerText(waiting('2', artifact('a', 'Total: 42'))), 'Total: 42\n\n2');
  assert.equal(answerText(waiting('Which?')), 'Which?');
});

test('the question about a tool call is the text of a task that waits for its approval', () => {
  const call = {
    tool_call_id: 'c1',
    tool_name: 'run_shell_command',
    description: 'Remove the build folder',
    status: 'PENDING',
    input_parameters: { command: 'rm -r dist' },
    confirmation_request: {
      options: [{ id: 'proceed_once', name: 'Allow once' }],
      execute_details: { command: 'rm -r dist' },
    },
  };
  const said = (messageId: string, ...parts: Part[]): Message => ({
    kind: 'message',
    messageId,
    role: 'agent',
    parts,
  });
  const message = said('q', { kind: 'data', data: call });
  const waiting: Task = { ...task(), status: { state: 'input-required', message } };
  const question = 'Remove the build folder\nrm -r dist';
  assert.equal(answerText(waiting), question);
  const first = said('a', { kind: 'text', text: 'I will clean up.' });
  assert.equal(answerText({ ...waiting, history: [first] }), `I will clean up.\n\n${question}`);
  const asked: Task = {
    ...waiting,
    history: [first, message],
    status: { state: 'input-required' },
  };
  assert.equal(answerText(asked), `I will clean up.\n\n${question}`);
  assert.equal(questionAfterText(asked), question);
  assert.equal(questionAfterText(waiting), '');
  assert.equal(answerText({ ...asked, status: { state: 'working' } }), 'I will clean up.');
});
