import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Artifact, StreamEvent, Task } from '../protocol/index.ts';
import { answerText, createTextTracker } from './text.ts';

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
