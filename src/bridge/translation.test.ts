import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { fold, type Task, type TaskEvent } from '../protocol/index.ts';
import { completeEvent } from '../tasks/execution/complete-event.ts';
import type { ExecutorEvent } from '../tasks/index.ts';
import type { ContentPart } from '../agent/content.ts';
import { createEvent, type Event, type EventFields } from '../agent/event.ts';
import type { ConverterOptions } from './converter.ts';
import { createTranslation } from './translation.ts';

const TURN = { artifactId: 'response-1' };
const text = (said: string): ContentPart => ({ kind: 'text', text: said });
const thought = (said: string): ContentPart => ({ kind: 'thought', text: said });
const picture: ContentPart = { kind: 'blob', mediaType: 'image/png', data: 'AAAA', name: 'a.png' };
const call: ContentPart = { kind: 'function-call', id: 'c1', name: 'look', args: { at: 'x' } };
const response: ContentPart = {
  kind: 'function-response',
  id: 'c1',
  name: 'look',
  response: 'seen',
};

function says(parts: ContentPart[], fields: EventFields = {}): Event {
  return createEvent(
    { runId: 'r1', author: 'helper' },
    { content: { role: 'model', parts }, ...fields },
  );
}
const piece = (...parts: ContentPart[]) => says(parts, { partial: true });
const whole = (...parts: ContentPart[]) => says(parts);

function told(events: Event[], options: ConverterOptions = {}): ExecutorEvent[] {
  const translation = createTranslation(options, TURN);
  return events.flatMap((event) => translation.translate(event));
}

/** The task as a client folds it. */
function taskOf(events: readonly ExecutorEvent[]): Task {
  const ids = { taskId: 't1', contextId: 'x1' };
  const first: TaskEvent = {
    kind: 'task',
    id: 't1',
    contextId: 'x1',
    status: { state: 'submitted' },
  };
  return fold([first, ...events.map((event) => completeEvent(ids, event))])!;
}

function textsOf(task: Task): string[] {
  return (task.artifacts ?? []).map(({ parts }) =>
    parts.map((part) => (part.kind === 'text' ? part.text : '')).join(''),
  );
}

const chunks = (events: readonly ExecutorEvent[]) =>
  events.map((event) => {
    if (event.kind !== 'artifact-update') return event.state;
    const said = event.artifact.parts.map((part) => (part.kind === 'text' ? part.text : part.kind));
    return [said.join('|'), event.append === true, event.lastChunk === true];
  });

describe('what an agent says', () => {
  test('in pieces is one artifact in chunks, and no chunk is empty', () => {
    assert.deepEqual(chunks(told([piece(text('ab')), piece(text('c😀')), whole(text('abc😀'))])), [
      ['a', false, false],
      ['bc', true, false],
      ['😀', true, true],
    ]);
  });

  test('is sent to its last character when no complete answer follows', () => {
    const translation = createTranslation({}, TURN);
    const events = [...translation.translate(piece(text('ab'))), ...translation.flush()];
    assert.deepEqual(chunks(events), [
      ['a', false, false],
      ['b', true, false],
    ]);
    assert.deepEqual(translation.flush(), []);
  });

  test('beyond its pieces comes with the last chunk', () => {
    const events = told([piece(text('ab')), whole(text('abc'), picture)]);
    assert.deepEqual(chunks(events), [
      ['a', false, false],
      ['bc|file', true, true],
    ]);
  });

  test('without pieces is one chunk, in its own order', () => {
    assert.deepEqual(chunks(told([whole(picture, text('a'))])), [['file|a', false, true]]);
  });

  test('in other words than its pieces takes their place', () => {
    const events = told([piece(text('secret')), whole(text('[removed]'))]);
    assert.deepEqual(textsOf(taskOf(events)), ['[removed]']);
    assert.deepEqual(textsOf(taskOf(told([piece(text('secret')), whole(call)]))), ['']);
  });

  test('in a turn is one artifact with one text, with the author’s name', () => {
    const events = told([whole(text('first'), call), whole(response), whole(text('second'))]);
    const [artifact, ...others] = taskOf(events).artifacts ?? [];
    assert.deepEqual(others, []);
    assert.deepEqual(artifact?.parts, [text('first\n\nsecond')]);
    assert.equal(artifact.metadata?.['parley.author'], 'helper');
    assert.deepEqual(chunks(events), [
      ['first', false, false],
      ['\n\nsecond', true, true],
    ]);
  });

  test('after a question continues the artifact, and other words replace only the last answer', () => {
    const known = taskOf(told([whole(text('first'), call)])).artifacts;
    const translation = createTranslation({}, { ...TURN, known });
    const events = [piece(text('se')), whole(text('other'))].flatMap((event) =>
      translation.translate(event),
    );
    assert.deepEqual(chunks(events), [
      ['\n\ns', true, false],
      ['first\n\nother', false, true],
    ]);
  });

  test('side by side with others stays apart from what they say', () => {
    const speaks = (branch: string, said: string, partial: boolean) =>
      says([text(said)], { branch, partial });
    const events = told([
      speaks('team.left', 'l1 ', true),
      speaks('team.right', 'r1 ', true),
      speaks('team.left', 'l2', true),
      speaks('team.right', 'r1 r2', false),
      speaks('team.left', 'l1 l2', false),
    ]);
    assert.deepEqual(textsOf(taskOf(events)), ['l1 l2', 'r1 r2']);
  });

  test('however it is cut, adds up to the whole, once', () => {
    const cut = fc.array(fc.string({ maxLength: 5 }), { maxLength: 6 });
    fc.assert(
      fc.property(cut, fc.string({ maxLength: 5 }), fc.boolean(), (pieces, rest, changed) => {
        const said = changed ? `!${pieces.join('')}` : pieces.join('') + rest;
        const events = told([...pieces.map((each) => piece(text(each))), whole(text(said))]);
        assert.equal(textsOf(taskOf(events)).join('\n'), said);
        const artifacts = events.filter((event) => event.kind === 'artifact-update');
        assert.equal(
          artifacts.findIndex(({ lastChunk }) => lastChunk),
          artifacts.length - 1,
        );
      }),
    );
  });

  test('is not ended by what a tool responds meanwhile', () => {
    const events = told([piece(text('a')), whole(response), piece(text('b')), whole(text('ab'))]);
    assert.deepEqual(textsOf(taskOf(events)), ['ab']);
  });

  test('of the user, or nothing, is not told', () => {
    assert.deepEqual(told([says([text('hi')], { author: 'user' }), whole()]), []);
  });
});

describe('thoughts', () => {
  test('go out as one marked part in a working status, before what comes of them', () => {
    const events = told([
      piece(thought('I ')),
      piece(thought('wonder')),
      piece(text('Yes')),
      whole(thought('I wonder'), text('Yes')),
    ]);
    assert.deepEqual(chunks(events), ['working', ['Ye', false, false], ['s', true, true]]);
    const [first] = events;
    assert.ok(first?.kind === 'status-update' && typeof first.message === 'object');
    assert.deepEqual(first.message.parts, [
      { kind: 'text', text: 'I wonder', metadata: { 'parley.thought': true } },
    ]);
  });

  test('that were not streamed come with the whole', () => {
    assert.deepEqual(chunks(told([whole(thought('hm'), text('Yes'))])), [
      'working',
      ['Yes', false, true],
    ]);
  });

  test('are kept back when they are not to be seen', () => {
    const events = told([piece(thought('hm')), whole(thought('hm'), text('Yes'))], {
      exposeThoughts: false,
    });
    assert.deepEqual(chunks(events), [['Yes', false, true]]);
  });
});

describe('calls', () => {
  test('are not told', () => {
    assert.deepEqual(told([whole(call), whole(response)]), []);
  });

  test('are told in a working status when they are to be seen', () => {
    const events = told([whole(call), whole(response)], { exposeToolCalls: true });
    assert.deepEqual(chunks(events), ['working', 'working']);
    assert.equal(taskOf(events).artifacts, undefined);
  });
});

describe('the final text', () => {
  function finalOf(...events: Event[]): string {
    const translation = createTranslation({}, TURN);
    for (const event of events) translation.translate(event);
    return translation.finalText();
  }
  const on = (branch: string, said: string) => says([text(said)], { branch });

  test('is the last answer, not what was said beside a call', () => {
    assert.equal(finalOf(whole(text('wait'), call), whole(thought('hm'), text('done'))), 'done');
    assert.equal(finalOf(whole(text('draft')), whole(text('final'))), 'final');
    assert.equal(finalOf(whole(text('wait'), call)), '');
  });

  test('is each one’s last answer when agents ran side by side', () => {
    const side = [on('team.left', 'l1'), on('team.right', 'r'), on('team.left', 'l2')];
    assert.equal(finalOf(whole(text('before')), ...side), 'r\n\nl2');
    assert.equal(finalOf(...side, whole(text('sum'))), 'sum');
  });

  test('knows a branch from another whose name begins like it', () => {
    assert.equal(finalOf(on('team.a', '1'), on('team.ab', '2')), '1\n\n2');
    assert.equal(finalOf(on('team.a.x', '1'), on('team.a', '2')), '2');
  });
});
